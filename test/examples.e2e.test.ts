/** The examples find themselves right: each is run as its README says. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));

/** What the check printed; it is thrown when the check exits with 1, or does not end. */
async function check(example: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [`examples/${example}/check.ts`], {
    cwd: root,
    timeout: 120_000,
  });
  return stdout;
}

test("EXA-1 given the release assistant, when its check is run, then a release is published after it was approved", async () => {
  assert.match(
    await check("release-assistant"),
    /^It asks: publish\n(.*\n)*# v0\.2\.0\n(.*\n)*The receipt is valid\.$/m,
  );
});
