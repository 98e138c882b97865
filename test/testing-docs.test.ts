/** The code in the page about testing is run as it is written. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { temporaryDirectory } from "./support/server.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

test("TST-13 given the code blocks of docs/guides/testing.md, when they are run with node, then all their tests pass", async () => {
  await using directory = await temporaryDirectory();
  const page = await readFile(join(root, "docs/guides/testing.md"), "utf8");
  const blocks = [...page.matchAll(/^```ts run\n(.*?)^```/gms)].map(([, block]) => block ?? "");
  assert.equal(blocks.length, 5);
  assert.equal(blocks.length, page.match(/^```ts/gm)?.length, "every block is run");
  // As in a project that has installed it.
  await mkdir(join(directory.path, "node_modules"));
  await symlink(root, join(directory.path, "node_modules/bridle"));
  const files = blocks.map((_, n) => join(directory.path, `block-${n + 1}.test.ts`));
  for (const [n, file] of files.entries()) await writeFile(file, blocks[n] ?? "");
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const options = { cwd: directory.path, env, timeout: 60_000 };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--test", "--test-isolation=none", "--test-reporter=tap", ...files],
    options,
  );
  assert.match(stdout, /^# pass 6$/m);
  assert.match(stdout, /^# fail 0$/m);
});
