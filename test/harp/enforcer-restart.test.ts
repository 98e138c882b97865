/** What the enforcer knows is on disk, and what is on disk is not believed when somebody else wrote it. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { approverRegistryId } from "../../src/kernel/kinds/approver-registry.ts";
import { defineAgent } from "../../src/runtime/agents/agent.ts";
import { caller, EnforcementStage, runsOf, ScriptedGateway } from "../support/enforcement.ts";
import { assertRebuildable } from "../support/log.ts";
import { temporaryDirectory } from "../support/server.ts";

/** Wants something else whenever it is run again. */
let wishes = 0;
const shifty = defineAgent({
  name: "shifty",
  version: "1.0.0",
  async run(ctx) {
    wishes += 1;
    const payload = { build: `v${wishes}` };
    if (ctx.text === "ask") await ctx.approve({ action: "deploy", payload });
    const { output } = await ctx.effect("deploy", () => `deployed ${payload.build}`, { payload });
    return output;
  },
});

describe("after a restart", () => {
  test("HARP-28 an accepted decision delivered again after a restart is a replay", async () => {
    // Given a decision that was accepted, when the enforcer starts again and it is delivered again, then it is a replay.
    await using directory = await temporaryDirectory();
    const gateway = new ScriptedGateway();
    const at = { directory: directory.path, gateway };
    const before = await EnforcementStage.open(at);
    const ann = await before.person("ann");
    const task = await before.task(await before.persona());
    const { request_id } = await before.asked(task, ann);
    const body = await before.signed(ann, request_id);
    gateway.deliver(request_id, body);
    await before.ended(task);
    await before[Symbol.asyncDispose]();

    await using after = await EnforcementStage.open(at);
    const refused = await after.judged(gateway.deliver(request_id, body));
    assert.equal(refused.at(-1)?.code, "HARP_ERR_REPLAY");
    assert.equal(runsOf(task), 1);
  });

  test("a request decided while the enforcer was away resumes, and the log rebuilds the state", async () => {
    // Given a request that was asked and decided while the enforcer was away, when it starts, then it goes on where it
    // was, and the log can be folded again.
    await using directory = await temporaryDirectory();
    const gateway = new ScriptedGateway();
    const at = { directory: directory.path, gateway };
    const before = await EnforcementStage.open(at);
    const ann = await before.person("ann");
    const task = await before.task(await before.persona());
    const { request_id } = await before.asked(task, ann);
    const body = await before.signed(ann, request_id);
    await before[Symbol.asyncDispose]();
    gateway.deliver(request_id, body);
    const after = await EnforcementStage.open(at);
    assert.equal((await after.ended(task)).status, "COMPLETED");
    assert.equal(runsOf(task), 1);
    await after[Symbol.asyncDispose]();
    await assertRebuildable(directory.path);
  });

  test("a request made while the gateway was away is submitted once at restart, with its id", async () => {
    // Given a gateway that was away when the request was made, when the enforcer starts again, then it is submitted
    // then, once and under the same name.
    await using directory = await temporaryDirectory();
    const gateway = new ScriptedGateway();
    const at = { directory: directory.path, gateway };
    const before = await EnforcementStage.open(at);
    const ann = await before.person("ann");
    gateway.problem = new Error("away");
    const task = await before.task(await before.persona());
    await before[Symbol.asyncDispose]();
    gateway.problem = null;
    await using after = await EnforcementStage.open(at);
    const { request_id } = await after.asked(task, ann);
    assert.deepEqual([...gateway.submitted.keys()], [request_id]);
  });
});

describe("what is about to be done", () => {
  for (const [how, text] of [
    ["an effect", "effect"],
    ["a question of the agent's own", "ask"],
  ]) {
    test(`HARP-18 ${how} that changes after its approval does not run and the task fails`, async () => {
      // Given ${how} that was approved, when the code wants something else by then, then nothing is done and the task
      // fails.
      await using stage = await EnforcementStage.open({ agents: [shifty] });
      const ann = await stage.person("ann");
      const task = await stage.task(await stage.persona({ channel: "harp" }, "shifty"), text);
      const { request_id } = await stage.asked(task, ann);
      stage.gateway.deliver(request_id, await stage.signed(ann, request_id));
      const { status, failure } = await stage.ended(task);
      assert.equal(status, "FAILED");
      assert.match(failure?.message ?? "", /"deploy" as it was put to people.*with other details/);
    });
  }
});

describe("a store that somebody else wrote to", () => {
  interface Kept {
    keys: { approverId: string; signerKeyId: string }[];
    mac: string;
  }

  /** Changes the list of approvers behind the server's back. */
  function tamper(directory: string, change: (kept: Kept) => Kept): void {
    const database = new DatabaseSync(join(directory, "bridle.db"));
    const id = approverRegistryId(caller.tenantId);
    const row = database.prepare("SELECT body FROM documents WHERE id = ?").get(id);
    const changed = change(JSON.parse(String(row?.body)));
    database.prepare("UPDATE documents SET body = ? WHERE id = ?").run(JSON.stringify(changed), id);
    database.close();
  }

  const changes: Record<string, (kept: Kept) => Kept> = {
    "a key of another name": (kept) => ({
      ...kept,
      keys: kept.keys.map((key) => ({ ...key, approverId: "mallory" })),
    }),
    "a key that was never confirmed": (kept) => ({
      ...kept,
      keys: kept.keys.flatMap((key) => [key, { ...key, signerKeyId: "x".repeat(43) }]),
    }),
    "no code": (kept) => ({ ...kept, mac: "" }),
  };

  for (const [what, change] of Object.entries(changes)) {
    test(`HARP-36, HARP-108 a tampered approver list with ${what} rejects every decision`, async () => {
      // Given a list of approvers with ${what}, when a good decision arrives, then it is refused like everything else.
      await using directory = await temporaryDirectory();
      const gateway = new ScriptedGateway();
      const at = { directory: directory.path, gateway };
      const before = await EnforcementStage.open(at);
      const ann = await before.person("ann");
      const task = await before.task(await before.persona());
      const { request_id } = await before.asked(task, ann);
      const body = await before.signed(ann, request_id);
      await before[Symbol.asyncDispose]();
      tamper(directory.path, change);
      await using after = await EnforcementStage.open(at);
      const refused = await after.judged(gateway.deliver(request_id, body));
      assert.deepEqual(
        [refused.at(-1)?.code, refused.at(-1)?.reason],
        ["HARP_ERR_SIGNATURE_INVALID", "key_store_corrupt"],
      );
      assert.equal(runsOf(task), 0);
    });
  }
});
