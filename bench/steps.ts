/** A task that records ten steps, beside ten commits of bare node:sqlite: the least that ten durable steps can cost. */

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { benchFile, makeDataFolder, startBridle } from "./bridle.ts";
import { load } from "./load.ts";
import { submitTask } from "./requests.ts";
import { spread } from "./statistics.ts";
import type { Section } from "./table.ts";

const steps = 10;
const rowText = "x".repeat(200);

export async function measureSteps(seconds: number, rounds: number): Promise<Section> {
  await using bridle = await startBridle({ serve: ["--agents", benchFile("./steps-agent.ts")] });
  using bare = openBare();
  const target = await submitTask(bridle.url, { persona: "persona_steps", input: String(steps) });
  await load(target, 1, { seconds: 1 });
  bare.perSecond(0.5);
  const measured = { bare: [] as number[], alone: [] as number[], many: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    measured.bare.push(bare.perSecond(seconds));
    measured.alone.push((await load(target, 1, { seconds })).perSecond);
    measured.many.push((await load(target, 32, { seconds })).perSecond);
  }
  const ratios = (rates: number[]) => rates.map((rate, n) => rate / (measured.bare[n] ?? Number.NaN));
  return {
    title: "Ten recorded steps",
    about: [
      `A task whose agent calls \`ctx.step\` ${steps} times, each on disk before the next begins, submitted and awaited over Harn. The floor is ${steps} transactions of one`,
      `row (${rowText.length} bytes) in bare node:sqlite, with \`synchronous = FULL\` and a write-ahead log, in a process that does nothing else. A task has more to commit than`,
      "its steps: its submission, its start, its outcome and its receipt. Of 32 tasks at once, several share an fsync.",
    ].join("\n"),
    columns: ["", "ratio", "tasks/s"],
    rows: [
      ["bare node:sqlite", "1.00", spread(measured.bare)],
      ["Bridle, one task at a time", spread(ratios(measured.alone)), spread(measured.alone)],
      ["Bridle, 32 tasks at a time", spread(ratios(measured.many)), spread(measured.many)],
    ],
  };
}

interface Bare extends Disposable {
  perSecond(seconds: number): number;
}

function openBare(): Bare {
  const folder = makeDataFolder();
  const database = new DatabaseSync(join(folder.path, "bare.db"));
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE log (body TEXT)");
  const insert = database.prepare("INSERT INTO log (body) VALUES (?)");
  return {
    perSecond(seconds) {
      const startedAt = performance.now();
      let tasks = 0;
      for (; performance.now() < startedAt + seconds * 1000; tasks++)
        for (let step = 0; step < steps; step++) insert.run(rowText);
      return (tasks / (performance.now() - startedAt)) * 1000;
    },
    [Symbol.dispose]() {
      database.close();
      folder[Symbol.dispose]();
    },
  };
}
