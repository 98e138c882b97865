/** The code in the pages about the client and the verifier is run as it is written, against a server. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ApprovalStage } from "../support/approvals.ts";
import { adminKey, temporaryDirectory } from "../support/server.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

let stage: ApprovalStage;
let receiptId: string;

/** A server with the receipt of something that an approver has signed. */
before(async () => {
  stage = await ApprovalStage.open();
  const ann = await stage.approver("ann");
  const task = await stage.task(await stage.persona());
  await ann.decide(task, "approve", "go");
  receiptId = (await stage.ended(task)).receipt_id;
});
after(() => stage[Symbol.asyncDispose]());

/** What the blocks of a page print, one after the other. */
async function printedBy(path: string): Promise<string[]> {
  await using directory = await temporaryDirectory();
  const page = await readFile(join(root, path), "utf8");
  const blocks = [...page.matchAll(/^```ts run\n(.*?)^```/gms)].map(([, block]) => block ?? "");
  assert.equal(blocks.length, page.match(/^```ts/gm)?.length, "every block is run");
  // As in a project that has installed it.
  await mkdir(join(directory.path, "node_modules"));
  await symlink(root, join(directory.path, "node_modules/bridle"));
  for (const [n, block] of blocks.entries()) await writeFile(join(directory.path, `block-${n}.mts`), block);
  const main = join(directory.path, "main.mts");
  await writeFile(main, blocks.map((_, n) => `await import("./block-${n}.mts");\n`).join(""));
  const env = {
    ...process.env,
    BRIDLE_URL: stage.server.url,
    BRIDLE_KEY: adminKey,
    BRIDLE_RECEIPT: receiptId,
  };
  const options = { cwd: directory.path, env, timeout: 120_000 };
  const { stdout } = await promisify(execFile)(process.execPath, [main], options);
  return stdout.trim().split("\n");
}

test("CLT-9 given the code blocks of docs/reference/client.md, when they are run with node against a server, then they print what the page says", async () => {
  const printed = await printedBy("docs/reference/client.md");
  const said = printed.join("\n");
  assert.deepEqual(printed.slice(0, 3), [
    "INPUT_REQUIRED Where to?",
    "COMPLETED",
    "persona_rehearsal [ '1.0.0' ]",
  ]);
  assert.match(said, /^input The task asked "Which way\?" and waits for the answer/m);
  assert.ok(printed.includes("task.completed"), said);
  assert.ok(printed.includes("asked: Where to?") && printed.includes("done, last event read: true"), said);
  assert.deepEqual(printed.slice(-3), [
    "receipt valid: true",
    "Dear all",
    "true resource_not_found docs/errors/resource_not_found.md",
  ]);
});

test("CLT-1 CLT-9 given the code blocks of docs/reference/verify.md, when they are run about a receipt that an approver signed for, then receipt, chain, inclusion and approval are valid", async () => {
  assert.deepEqual(await printedBy("docs/reference/verify.md"), [
    "receipt: true null",
    "chain: true true",
    "included: true true",
    "approval: approved true null [ 'ann' ]",
  ]);
});
