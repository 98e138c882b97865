/** SEC-L2: MCP shows nothing of a task to a key without `tasks:read`, but of the one that it has just begun. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { writeQuestionId } from "../../src/surfaces/mcp/questions.ts";
import { connect, eras, rawCall, textOf } from "../mcp/client.ts";
import { Client, type Json } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let admin: Client;
before(async () => {
  server = await startServer();
  admin = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

async function waitingTask(...lines: string[]): Promise<Json> {
  const session = await admin.createSession();
  return await admin.rehearse(session.id, "progress 40 counting the secret money", ...lines);
}

for (const era of eras) {
  test(`SEC-L2 answer_task needs tasks:read before it shows a task (${era})`, async () => {
    for (const script of ["approve wire the secret money", "ask which secret account?"]) {
      const task = await waitingTask(script);
      const { key } = await admin.createKey({ scopes: ["messages:write", "approvals:write"] });
      await using mcp = await connect(server, era, { key });
      const progress: unknown[] = [];
      const answered = await mcp.call("answer_task", { task_id: task.id, answer: "yes" }, undefined, {
        onprogress: (told: unknown) => progress.push(told),
      });
      assert.equal(answered.isError, true);
      assert.match(textOf(answered), /tasks:read/);
      assert.doesNotMatch(JSON.stringify(answered), /secret|REQUIRED/);
      assert.deepEqual(progress, []);
      assert.equal((await admin.get(`/v1/tasks/${task.id}`)).body.status, task.status);
    }
  });
}

test("SEC-L2 a call that goes on from a state needs tasks:read: the state can be made up", async () => {
  const task = await waitingTask("ask which secret account?");
  const requestState = writeQuestionId({ taskId: task.id, step: "ask:1" });
  const params = { name: "rehearsal", arguments: {}, requestState };
  const shownTo = async (...scopes: string[]): Promise<string> => {
    const { key } = await admin.createKey({ scopes });
    const meta = { "bridle/wait-seconds": 0 };
    const response = await rawCall(server, key, "2026-07-28", params, meta, AbortSignal.timeout(20_000));
    return await response.text();
  };
  const refused = await shownTo("tasks:write");
  assert.match(refused, /tasks:read/);
  assert.doesNotMatch(refused, /secret account/);
  assert.match(await shownTo("tasks:write", "tasks:read"), /secret account/);
});

test("SEC-L2 what is in a task is in no answer to a key that may only write tasks, but to its own", async () => {
  const writer = await admin.withScopes("tasks:write", "sessions:write");
  const secret = /secret|account/;
  for (const action of ["signals", "cancel", "retry", "replay"]) {
    const task = await waitingTask("ask which secret account?");
    if (action === "retry" || action === "replay") await admin.post(`/v1/tasks/${task.id}/cancel`);
    const body = action === "signals" ? { name: "paid", payload: 1 } : {};
    const answer = await writer.post(`/v1/tasks/${task.id}/${action}`, body);
    assert.ok(answer.status < 300, JSON.stringify(answer.body));
    assert.doesNotMatch(JSON.stringify(answer.body), secret, action);
    assert.equal(answer.body.input.redacted, true);
  }
  const task = await waitingTask("ask which secret account?");
  const cancel = { jsonrpc: "2.0", id: 1, method: "CancelTask", params: { id: task.id } };
  const refused = await writer.post("/opvs/rpc", cancel, { "a2a-version": "1.0" });
  assert.match(JSON.stringify(refused.body), /tasks:read/);
  assert.doesNotMatch(JSON.stringify(refused.body), secret);
  const params = { name: "signal_task", arguments: { task_id: task.id, name: "paid" } };
  const signaled = await rawCall(server, writer.key, "2026-07-28", params, {}, AbortSignal.timeout(20_000));
  const text = await signaled.text();
  assert.match(text, /was sent the signal paid/);
  assert.doesNotMatch(text, /secret|account|REQUIRED/);
  const own = await writer.rehearse((await writer.createSession()).id, "ask which secret account?");
  assert.match(JSON.stringify(own), /which secret account/);
});
