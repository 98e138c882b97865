/** The examples are run as their readers would run them, without network and keys. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));

/** What a check prints. One that finds something wrong exits with 1, which is thrown here with what it printed. */
async function check(example: string): Promise<string> {
  const { BRIDLE_MODEL: _, NODE_TEST_CONTEXT: __, ...env } = process.env;
  const file = join(root, "examples", example, "check.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [file], { env, timeout: 240_000 });
  return stdout;
}

test("EXA-4 given the nightly report, when its check is run, then the nights are rehearsed and the schedule has really run", async () => {
  const told = await check("nightly-report");
  assert.match(told, /\| porto \| €152\.00 \| \+€42\.00 \|/);
  assert.match(
    told,
    /The schedule ran: reports\/\d{4}-\d\d-\d\d\.md\nIt ran again, and remembers: 4200 cents more/,
  );
});

test("EXA-5 given a prompt that was changed, when its check is run, then old runs repeat, the change is found, and the answers are compared", async () => {
  const told = await check("prompt-regression");
  assert.match(told, /3 recorded runs repeat with 1\.0\.0/);
  assert.match(told, /1\.1\.0 asks something else/);
  assert.match(told, /^refund .*\n.*1\.1\.0/m);
});
