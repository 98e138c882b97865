/** Which key did it: in events, in receipts, and not in imports. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client, errorOf, isFinal, type Json } from "../support/client.ts";
import { exportOf, importInto, Log } from "../support/exported-log.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let admin: Client;
before(async () => {
  server = await startServer();
  admin = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

async function eventsOf(sessionId: string): Promise<Json[]> {
  return await admin.listAll(`/v1/events?session_id=${sessionId}`);
}

/** A task that somebody submitted and somebody else approved, once it is over. */
async function approvedTask(submitter: Client, approver: Client): Promise<Json> {
  const session = await submitter.createSession();
  const task = await submitter.rehearse(session.id, "approve pay");
  const request = task.waiting_for.permission_request_id;
  const answer = await approver.post(`/v1/permission-requests/${request}/respond`, { approved: true });
  assert.ok(answer.status < 300, JSON.stringify(answer.body));
  return await admin.untilTask(task.id, isFinal);
}

test("KEY-3 events name the key that was used, and none where there was none", async () => {
  const [mine, theirs] = [await admin.createKey(), await admin.createKey()];
  const session = await admin.as(mine.key).createSession();
  await admin.as(theirs.key).append(session.id, "hello");
  await admin.append(session.id, "hello from the administrator");
  const events = await eventsOf(session.id);
  assert.equal(events.find(({ event }) => event === "session.created").key_id, mine.id);
  const [first, second] = events.filter(({ event }) => event === "user.message");
  assert.deepEqual([first.actor, first.key_id], ["tester", theirs.id], "the same actor, another key");
  assert.equal(second.actor, "admin");
  assert.ok(!("key_id" in second));
});

test("KEY-3 no key is called like the server's own parts, or has invisible characters in its actor", async () => {
  const make = (actor: string) => admin.post("/v1/api-keys", { name: "x", actor, scopes: ["sessions:read"] });
  const reserved = ["agent:echo", "schedule:x", "connector_x", " Agent:echo"];
  for (const actor of [...reserved, "ad\u200bmin", "a\u0000b", "a\nb", "\u202enimda", "a\u2028b"]) {
    const { param } = errorOf(await make(actor), 400);
    assert.equal(param, "actor", JSON.stringify(actor));
  }
  for (const actor of ["agents", "Zoë Müller", "ci/deploy"]) assert.equal((await make(actor)).status, 201);
});

test("KEY-3 a task's receipts name the keys that submitted and approved it", async () => {
  const [submitter, approver] = [await admin.createKey(), await admin.createKey({ actor: "boss" })];
  const task = await approvedTask(admin.as(submitter.key), admin.as(approver.key));
  const receipt = (await admin.get(`/v1/receipts/${task.receipt_id}`)).body;
  assert.deepEqual(receipt.metadata.submitted_by, { actor: "tester", key_id: submitter.id });
  assert.equal(receipt.approvals[0].actor, "boss");
  assert.equal(receipt.approvals[0].quorum_proof.key_id, approver.id);
  const all = (await admin.get(`/v1/tasks/${task.id}/receipts`)).body.data;
  const decision = all.find(({ subject }: Json) => subject.object === "approval");
  assert.deepEqual(decision.approvals, receipt.approvals);
  const verified = await admin.post(`/v1/receipts/${task.receipt_id}/verify`);
  assert.equal(verified.body.valid, true, JSON.stringify(verified.body));
});

test("KEY-3 a withdrawn request is not signed with the key of whoever canceled the task", async () => {
  const key = await admin.createKey();
  const session = await admin.createSession();
  const task = await admin.rehearse(session.id, "approve pay");
  await admin.as(key.key).post(`/v1/tasks/${task.id}/cancel`);
  const { receipt_id } = await admin.untilTask(task.id, isFinal);
  const [approval] = (await admin.get(`/v1/receipts/${receipt_id}`)).body.approvals;
  assert.deepEqual([approval.actor, approval.quorum_proof.key_id], ["system", undefined]);
});

test("KEY-3 exports have no key ids, and a file that has one is refused", async () => {
  const key = await admin.createKey();
  // The key of whoever approved is in the receipt, which is as it was signed.
  const approver = await admin.createKey({ actor: "boss" });
  const task = await approvedTask(admin.as(key.key), admin.as(approver.key));
  const text = await exportOf(admin, task.session_id);
  assert.ok(!new Log(text).events.some((event) => "key_id" in event));
  const other = await startServer();
  await using _ = other;
  const there = new Client(other);
  const forged = new Log(text);
  forged.event("task.submitted").key_id = key.id;
  errorOf(await importInto(there, forged.text()), 400);
  const imported = await importInto(there, text);
  assert.equal(imported.status, 201, JSON.stringify(imported.body));
  const events = await there.listAll(`/v1/events?session_id=${task.session_id}`);
  assert.ok(events.length > 5 && !events.some((event) => "key_id" in event));
});
