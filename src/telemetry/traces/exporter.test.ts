/** A collector that is away, late, or refuses: what it is given, what is given up, and what the log says of it. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { namesOf, TracedStage } from "../../../test/support/traced-stage.ts";
import { defineAgent } from "../../runtime/agents/agent.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

const worker = defineAgent({
  name: "worker",
  version: "1.0.0",
  run: async (ctx) => await ctx.step("work", () => "done"),
});
const whole = ["step work", "invoke_agent worker"];
const away = () => ({ status: null, message: "connect ECONNREFUSED 127.0.0.1:4318" });

const said = (world: TracedStage, text: string) => world.lines.filter(({ msg }) => msg.includes(text));

describe("a collector that is away", () => {
  for (const status of [503, 429, 401, null]) {
    test(`TRC-10 after ${status ?? "nothing"} the collector gets every span once, with one log line`, async () => {
      // Given a collector that answers with ${status ?? "nothing"}, when it is back, then it is given everything once,
      // and the log said so once.
      await using world = await TracedStage.begin([worker]);
      world.answer = () => ({ status, message: "not now" });
      await world.follow();
      const tasks = [await world.run("worker"), await world.run("worker")];
      await world.until(() => world.attempts >= 4, 1000);
      world.answer = () => null;
      await world.until(() => world.spans.length >= 4, 1000);
      for (const task of tasks) assert.deepEqual(namesOf(world.spans, task), whole);
      assert.equal(said(world, "cannot be exported").length, 1);
      await world.until(() => said(world, "exported again").length === 1);
    });
  }

  test("TRC-10 logs an unreachable collector every five minutes at most", async () => {
    // Given a collector that stays away, when an hour has passed, then it is told every five minutes at most.
    await using world = await TracedStage.begin([worker]);
    world.answer = away;
    await world.follow();
    await world.run("worker");
    await world.until(() => world.attempts >= 1);
    const since = world.stage.clock.now();
    await world.until(() => world.stage.clock.now() >= since + hour, 10_000);
    const told = said(world, "cannot be exported");
    assert.ok(told.length >= 2 && told.length <= 13, `${told.length} times`);
    assert.equal(told[0]?.problem, "connect ECONNREFUSED 127.0.0.1:4318");
  });

  test("TRC-15 after an outage of over a day, drops and logs older spans and exports the rest", async () => {
    // Given a collector that is away for more than a day, when it is back, then what is older than a day is given up and
    // told of, and what is younger is given to it.
    await using world = await TracedStage.begin([worker]);
    world.answer = away;
    await world.follow();
    const old = await world.run("worker");
    await world.until(() => world.attempts >= 1);
    world.pass(20 * hour);
    const young = await world.run("worker");
    world.pass(5 * hour);
    await world.until(() => said(world, "took no spans for a day").length > 0, minute);
    world.answer = () => null;
    await world.until(() => world.spans.length >= 2, minute);
    assert.deepEqual(namesOf(world.spans, old), []);
    assert.deepEqual(namesOf(world.spans, young), whole);
    assert.equal(said(world, "took no spans for a day")[0]?.spans, 2);
  });

  test("TRC-15 a start from a two-day-old cursor exports the last day and logs that there was more", async () => {
    // Given a cursor that is two days old, when a process begins, then it tells what is younger than a day, and says
    // that there was more.
    await using world = await TracedStage.begin([worker]);
    await (await world.follow()).stop(30_000);
    const old = await world.run("worker");
    world.pass(2 * day);
    const young = await world.run("worker");
    await world.follow();
    await world.until(() => world.spans.length >= 2);
    assert.deepEqual(namesOf(world.spans, old), []);
    assert.deepEqual(namesOf(world.spans, young), whole);
    assert.equal(said(world, "older than a day").length, 1);
  });

  test("TRC-9 work done right before a crash, after idle days, is exported by the next process", async () => {
    // Given a server at which nothing happened for days, when its process dies right after some work, then the next one
    // tells of it.
    await using world = await TracedStage.begin([worker]);
    const before = await world.follow();
    const first = await world.run("worker");
    await world.until(() => world.spans.length === 2);
    await before.stop(30_000);
    world.pass(3 * day);
    const second = await world.run("worker");
    await world.follow();
    await world.until(() => world.spans.length >= 4);
    assert.deepEqual(
      [first, second].map((task) => namesOf(world.spans, task)),
      [whole, whole],
    );
    assert.deepEqual(said(world, "day"), []);
  });

  test("TRC-9, TRC-10 after a crash the next process exports the rest of a backlog, nothing twice", async () => {
    // Given a backlog of an hour of which one batch was taken, when the process dies, then the next one tells the rest,
    // and nothing twice.
    await using world = await TracedStage.begin([worker]);
    world.answer = away;
    const before = await world.follow({ spansMax: 2 });
    const tasks: string[] = [];
    for (let n = 0; n < 4; n++) {
      tasks.push(await world.run("worker"));
      world.pass(15 * minute);
    }
    // One batch, and no more.
    world.answer = () => (world.taken.length === 0 ? null : away());
    await world.until(() => world.taken.length === 1 && said(world, "cannot").length >= 2, 1000);
    await before.stop(30_000);
    world.answer = () => null;
    await world.follow({ spansMax: 2 });
    await world.until(() => world.spans.length >= 8);
    assert.deepEqual(
      tasks.map((task) => namesOf(world.spans, task)),
      tasks.map(() => whole),
    );
  });
});

describe("a collector that refuses", () => {
  test("TRC-15 does not retry a rejected batch, logs how many spans are lost and takes the next", async () => {
    // Given a batch that is refused as wrong, when the next one comes, then it is taken, the refused one is not tried
    // again, and the log says how many spans are lost.
    for (const status of [400, 413, 422]) {
      await using world = await TracedStage.begin([worker]);
      world.answer = () => ({ status, message: "no" });
      await world.follow();
      const refused = await world.run("worker");
      await world.until(() => world.attempts >= 1 && said(world, "refused").length > 0);
      world.answer = () => null;
      const next = await world.run("worker");
      await world.until(() => namesOf(world.spans, next).length === 2);
      assert.ok(!namesOf(world.spans, refused).includes("invoke_agent worker"));
      assert.match(String(said(world, "refused")[0]?.msg), new RegExp(`with ${status}`));
    }
  });

  test("TRC-15 logs a collector that rejects everything every five minutes at most, with totals", async () => {
    // Given a collector that refuses everything, when minutes have passed, then the log says so every five minutes at
    // most, with all that was lost.
    await using world = await TracedStage.begin([worker]);
    world.answer = () => ({ status: 400, message: "no" });
    await world.follow({ spansMax: 1 });
    for (let n = 0; n < 4; n++) await world.run("worker");
    await world.until(() => world.attempts === 8);
    assert.deepEqual(
      said(world, "refused").map(({ spans }) => spans),
      [1],
    );
    world.pass(5 * minute);
    await world.run("worker");
    await world.until(() => world.attempts === 10);
    assert.deepEqual(
      said(world, "refused").map(({ spans }) => spans),
      [1, 8],
    );
  });
});
