/** SEC-C2: what will be named after a tenant's work cannot be taken by another tenant's log. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { receiptIdOf } from "../../src/kernel/receipts/subjects.ts";
import { hashOf } from "../../src/receipts/canonical.ts";
import { receiptHash } from "../../src/receipts/hash.ts";
import { type Attack, evilWorkspace, foreignLog, startAttack } from "../support/attack.ts";
import { errorOf, isFinal, type Json } from "../support/client.ts";
import { exportOf, importInto, Log } from "../support/exported-log.ts";

let attack: Attack;
let log: Log;
let receipt: Json;
before(async () => {
  attack = await startAttack();
  const { home } = attack;
  const session = await home.createSession({ workspace_id: evilWorkspace });
  const { id } = await home.submit(session.id, "return done");
  const task = await home.untilTask(id, isFinal);
  receipt = (await home.get(`/v1/receipts/${task.receipt_id}`)).body;
  log = new Log(await exportOf(home, session.id));
});
after(() => attack[Symbol.asyncDispose]());

/** The attacker's log with its receipt under another id, and about something else. */
function withReceipt(id: string, subject: Json = receipt.subject): string {
  const { receipt_id } = receipt;
  const changed = new Log(log.text());
  const issued = changed.event("receipt.issued");
  const content = { ...receipt, receipt_id: id, subject };
  content.chain = { ...content.chain, receipt_hash: receiptHash(content) };
  const record = { ...issued.payload.record, id, subject, hash: content.chain.receipt_hash };
  issued.payload = { ...issued.payload, record, receipt: { inline: content } };
  return changed.text().replaceAll(receipt_id, id);
}

/** A task of the victim that has ended. */
async function victimsTask(): Promise<Json> {
  const session = await attack.victim.createSession();
  const { id } = await attack.victim.submit(session.id, "return done");
  return await attack.victim.untilTask(id, isFinal);
}

/** Receipts of everybody are issued in one order: one that cannot be would stop all. */
async function assertReceiptsGoOn(id: string): Promise<void> {
  const { status, body } = await attack.victim.get(`/v1/receipts/${id}`);
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.identifiers.tenant_id ?? "tenant_default", "tenant_default");
}

test("SEC-C2 a log cannot take the receipt that another tenant's replay will have", async () => {
  const { victim, attacker } = attack;
  const { id } = await victimsTask();
  const how = { source_task_id: id, mode: "exact", checkpoint: null, overrides: {} };
  const expected = `receipt_replay_${hashOf(how).slice("sha256:".length, 33)}`;
  errorOf(await importInto(attacker, withReceipt(expected)), 400);
  const replay = await victim.post(`/v1/tasks/${id}/replay`, { mode: "exact" });
  const ended = await victim.untilTask(replay.body.id, isFinal);
  assert.equal(ended.receipt_id, expected);
  await assertReceiptsGoOn(expected);
});

test("SEC-C2 a log cannot take the receipt that another tenant will ask for", async () => {
  const { victim, attacker } = attack;
  const { id, outcome_id } = await victimsTask();
  const subject = { object: "outcome", id: outcome_id };
  const expected = receiptIdOf(id, subject);
  errorOf(await importInto(attacker, withReceipt(expected, subject)), 400);
  const { body } = await victim.post("/v1/receipts", { subject });
  assert.equal(body.receipt_id, expected);
  await assertReceiptsGoOn(expected);
});

test("SEC-C2 a log cannot take the artifact that another tenant's replay will make", async () => {
  const { attacker } = attack;
  const made = await foreignLog(attack, "artifact a.txt some text", "return done");
  const { id } = made.event("artifact.created").resource;
  const expected = `artifact_replay_${"0".repeat(32)}`;
  errorOf(await importInto(attacker, made.text().replaceAll(id, expected)), 400);
  const own = await importInto(attacker, made.text().replaceAll(id, `${expected}.tenant_evil`));
  assert.equal(own.status, 201, JSON.stringify(own.body));
});

test("SEC-C2 a tenant's own receipts of replays and on request can be imported", async () => {
  const { home, attacker } = attack;
  const session = await home.createSession({ workspace_id: evilWorkspace });
  const { id } = await home.submit(session.id, "step a\nask well?\nreturn done", {
    persona_id: "persona_rehearsal.tenant_evil",
  });
  await home.untilTask(id, ({ status }) => status === "INPUT_REQUIRED");
  const early = await home.post("/v1/receipts", { subject: { object: "tool_call", id: `${id}/step:a:1` } });
  assert.equal(early.status, 201, JSON.stringify(early.body));
  await home.answer(id, "yes");
  await home.untilTask(id, isFinal);
  const again = (await home.post(`/v1/tasks/${id}/replay`, { mode: "exact" })).body;
  const { receipt_id, outcome_id } = await home.untilTask(again.id, isFinal);
  assert.match(receipt_id, /^receipt_replay_[0-9a-f]+\.tenant_evil$/);
  const asked = await home.post("/v1/receipts", { subject: { object: "outcome", id: outcome_id } });
  assert.equal(asked.status, 201, JSON.stringify(asked.body));
  const imported = await importInto(attacker, await exportOf(home, session.id));
  assert.equal(imported.status, 201, JSON.stringify(imported.body));
  for (const { receipt_id: receiptId } of [{ receipt_id }, early.body, asked.body]) {
    assert.equal((await attacker.get(`/v1/receipts/${receiptId}`)).body.receipt_id, receiptId);
  }
});

test("SEC-C1 what was imported gets no receipt of this server", async () => {
  const { home, attacker } = attack;
  const session = await home.createSession({ workspace_id: evilWorkspace });
  const { id } = await home.submit(session.id, "return done");
  const { outcome_id } = await home.untilTask(id, isFinal);
  await importInto(attacker, await exportOf(home, session.id));
  const [event] = (await attacker.get(`/v1/tasks/${id}/events?limit=1`)).body.data;
  for (const subject of [
    { object: "outcome", id: outcome_id },
    { object: "event", id: event.id },
  ]) {
    errorOf(await attacker.post("/v1/receipts", { subject }), 409);
  }
});
