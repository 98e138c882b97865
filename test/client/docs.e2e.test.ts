/** The code in the page about the client is run as it is written, against a server. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { adminKey, startServer, temporaryDirectory } from "../support/server.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("CLT-9 given the code blocks of docs/reference/client.md, when they are run with node against a server, then they print what the page says", async () => {
  await using directory = await temporaryDirectory();
  await using server = await startServer();
  const page = await readFile(join(root, "docs/reference/client.md"), "utf8");
  const blocks = [...page.matchAll(/^```ts run\n(.*?)^```/gms)].map(([, block]) => block ?? "");
  assert.equal(blocks.length, page.match(/^```ts/gm)?.length, "every block is run");
  // As in a project that has installed it.
  await mkdir(join(directory.path, "node_modules"));
  await symlink(root, join(directory.path, "node_modules/bridle"));
  for (const [n, block] of blocks.entries()) await writeFile(join(directory.path, `block-${n}.mts`), block);
  const main = join(directory.path, "main.mts");
  await writeFile(main, blocks.map((_, n) => `await import("./block-${n}.mts");\n`).join(""));
  const env = { ...process.env, BRIDLE_URL: server.url, BRIDLE_KEY: adminKey };
  const options = { cwd: directory.path, env, timeout: 120_000 };
  const { stdout } = await promisify(execFile)(process.execPath, [main], options);
  const printed = stdout.trim().split("\n");
  assert.deepEqual(printed.slice(0, 2), ["INPUT_REQUIRED Where to?", "COMPLETED"]);
  assert.ok(printed.includes("task.completed"), stdout);
  assert.deepEqual(printed.slice(-3), [
    "receipt valid: true",
    "Dear all",
    "true resource_not_found docs/errors/resource_not_found.md",
  ]);
});
