/** The README's tour is run as it is written. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { main, startServer, temporaryDirectory } from "./support/server.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));

test("given the README's tour, when its commands are run one after the other, then each prints what the README says", async () => {
  await using directory = await temporaryDirectory();
  const data = join(directory.path, ".bridle");
  await mkdir(data);
  await using server = await startServer({ data, env: { BRIDLE_API_KEY: undefined } });

  const readme = await readFile(join(root, "README.md"), "utf8");
  const blocks = [...readme.matchAll(/^```sh tour\n(.*?)^```/gms)].map(([, block]) => block ?? "");
  assert.equal(blocks.length, 8);
  const script = blocks
    .join("\n")
    .replaceAll("http://127.0.0.1:8080", server.url)
    .replaceAll("npm run -s bridle --", `node ${main}`);
  const { stdout } = await run("bash", ["-euo", "pipefail", "-c", script], {
    cwd: directory.path,
    env: {
      ...process.env,
      PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
      BRIDLE_URL: server.url,
      BRIDLE_DATA: data,
    },
  });
  const lines = stdout.trim().split("\n");
  assert.equal(lines[0], "COMPLETED");
  assert.equal(lines[1], "Which region?");
  assert.match(lines[2] ?? "", /^msg_/);
  assert.equal(lines[3], "approved");
  assert.equal(lines.filter((line) => line.startsWith("event: ")).at(-1), "event: task.completed");
  const [first, second] = lines.filter((line) => line.startsWith("session_"));
  assert.notEqual(first, undefined);
  assert.equal(first, second);
  assert.ok(lines.includes("true"), "the receipt is valid");
  assert.ok(lines.some((line) => /^≠ step:measure:1\s+0\.\d+\s+42$/.test(line)));
  assert.match(lines.at(-1) ?? "", /^task_\w+ is COMPLETED, receipt receipt_replay_/);
});
