/** SEC-C1: a log must not become an administrator of the whole server. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { type Attack, foreignLog, startAttack } from "../support/attack.ts";
import { errorOf, type Json } from "../support/client.ts";
import { importInto, type Log } from "../support/exported-log.ts";

let attack: Attack;
before(async () => {
  attack = await startAttack();
});
after(() => attack[Symbol.asyncDispose]());

const keyId = "key_01J0000000000000000000000X";
const secret = `bridle_${keyId}_${"A".repeat(43)}`;
const forgedKey = {
  ...{
    object: "api_key",
    id: keyId,
    tenant_id: "tenant_default",
    name: "x",
    actor: "admin",
    scopes: ["admin"],
  },
  ...{ workspace_ids: null, expires_at: null, revoked_at: null },
  hash: createHash("sha256").update(secret).digest("hex"),
};

function handoffIn(log: Log, id: string): Json {
  const { tenant_id, session_id, workspace, ...rest } = log.header;
  const task = log.event("task.submitted").resource.id;
  assert.equal(rest.task_id, null);
  return {
    ...{
      id,
      object: "handoff",
      tenant_id,
      workspace_id: workspace.id,
      session_id,
      task_id: task,
      metadata: {},
    },
    ...{ created_at: "2026-01-01T00:00:00.000Z", updated_at: "2026-01-01T00:00:00.000Z" },
    ...{ first_step: "handoff:x:1", step: null, url: "https://a.example/", credentials: null, trust: null },
    delegation: {
      ...{ issuer: "x", workspace_id: workspace.id, task_id: task, handoff_id: id },
      ...{ task_hash: "x", input_hash: "x", chain_head: null },
    },
    ...{ outgoing: null, remote: null, status: "ended", problem: null, attempts: 0 },
    ...{ look_at: "2026-01-01T00:00:00.000Z", expires_at: "2026-01-01T00:00:00.000Z" },
  };
}

/** The log with events of a hand-off at its end. */
async function withHandoff(
  events: { event: string; id: string; payload: (log: Log) => Json }[],
): Promise<string> {
  const log = await foreignLog(attack);
  for (const { event, id, payload } of events) {
    const last = log.events.at(-1) ?? {};
    const resource = { object: "handoff", id };
    log.insertAfter(last, { ...last, event, resource, payload: payload(log), replay: undefined });
  }
  return log.text();
}

const begun = "vendor.bridle.handoff.created";
const updated = "vendor.bridle.handoff.updated";
const forgeries = {
  "a hand-off under another id that becomes a key": [
    { event: begun, id: "handoff_1", payload: (log: Log) => ({ handoff: handoffIn(log, "handoff_1") }) },
    { event: begun, id: "handoff_1", payload: (log: Log) => ({ handoff: handoffIn(log, keyId) }) },
    { event: updated, id: keyId, payload: () => ({ changes: forgedKey }) },
  ],
  "changes that make a key of a hand-off": [
    { event: begun, id: keyId, payload: (log: Log) => ({ handoff: handoffIn(log, keyId) }) },
    { event: updated, id: keyId, payload: () => ({ changes: forgedKey }) },
  ],
  "a change of the tenant alone": [
    { event: begun, id: "handoff_2", payload: (log: Log) => ({ handoff: handoffIn(log, "handoff_2") }) },
    { event: updated, id: "handoff_2", payload: () => ({ changes: { tenant_id: "tenant_default" } }) },
  ],
  "a key in the place of a hand-off": [{ event: begun, id: keyId, payload: () => ({ handoff: forgedKey }) }],
  "an event about something else than it makes": [
    { event: begun, id: "handoff_3", payload: (log: Log) => ({ handoff: handoffIn(log, "handoff_4") }) },
  ],
};

for (const [what, events] of Object.entries(forgeries)) {
  test(`SEC-C1 an import with ${what} is refused and makes no key`, async () => {
    const { attacker, victim } = attack;
    const keys = await victim.listAll("/v1/api-keys");
    errorOf(await importInto(attacker, await withHandoff(events)), 400);
    errorOf(await attacker.as(secret).get("/v1/api-keys"), 401);
    assert.deepEqual(await victim.listAll("/v1/api-keys"), keys);
  });
}

test("SEC-C1 the same log without the forgery is imported", async () => {
  const payload = (log: Log) => ({ handoff: handoffIn(log, "handoff_01J00000000000000000000009") });
  const { status, body } = await importInto(
    attack.attacker,
    await withHandoff([
      { event: begun, id: "handoff_01J00000000000000000000009", payload },
      {
        event: updated,
        id: "handoff_01J00000000000000000000009",
        payload: () => ({ changes: { attempts: 1 } }),
      },
    ]),
  );
  assert.equal(status, 201, JSON.stringify(body));
});
