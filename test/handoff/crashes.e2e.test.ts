/** Hand-offs across crashes, here and there: each goes on where it was, and no work is given twice. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { hashOf } from "../../src/receipts/canonical.ts";
import { type BridleFront, startFront } from "../support/bridle-front.ts";
import { Client, isFinal, type Json, until } from "../support/client.ts";
import { begin, delegate, sharedServer, startToKill, untilEvent } from "../support/handoffs.ts";
import { assertRebuildable } from "../support/log.ts";
import { receiptOf, resultsOf } from "../support/policy.ts";
import { RemoteAgent } from "../support/remote-agent.ts";
import { startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

describe("Crashes", () => {
  /** A remote that does not answer what it was sent before it is told to. */
  function silent(isStreaming: boolean, from = 1) {
    const held = Promise.withResolvers<void>();
    let sent = 0;
    const beforeAnswer = async (method: string) => {
      if (method.startsWith("Send") && ++sent >= from) await held.promise;
    };
    return { isStreaming, beforeAnswer, speak: held.resolve };
  }

  const remoteHas = (remote: RemoteAgent, count: number) =>
    until(
      async () => remote.messages.length,
      (found) => found === count,
    );

  test("HND-4 hand-offs at every stage resume after a crash and give no work twice", async () => {
    // Given hand-offs at every stage, when the server is killed and started again, then each goes on where it was and no
    // work is given twice.
    await using directory = await temporaryDirectory();
    const [streamed, polled] = [silent(true), silent(false)];
    const answering = silent(false, 2);
    await using down = await RemoteAgent.start();
    await down.close();
    await using sentStreaming = await RemoteAgent.start(streamed);
    await using sentPolled = await RemoteAgent.start(polled);
    await using working = await RemoteAgent.start();
    await using workingPolled = await RemoteAgent.start({ isStreaming: false });
    await using asking = await RemoteAgent.start();
    await using answered = await RemoteAgent.start(answering);
    await using authorizing = await RemoteAgent.start();
    await using canceled = await RemoteAgent.start();
    const tasks = new Map<RemoteAgent, Json>();
    {
      await using server = await startToKill(directory.path);
      const client = new Client(server);
      const give = async (remote: RemoteAgent, input: string) => {
        tasks.set(remote, await begin(client, [{ url: remote.url, input }]));
      };
      const taskOf = (remote: RemoteAgent) => tasks.get(remote);
      await give(down, "say hello");
      await give(sentStreaming, "say hello");
      await give(sentPolled, "say hello");
      await give(working, "wait hello");
      await give(workingPolled, "wait hello");
      await give(asking, "ask Which?");
      await give(answered, "ask Which?");
      await give(authorizing, "auth Sign in");
      await give(canceled, "wait hello");

      await untilEvent(client, taskOf(down), ({ payload }) => payload.changes?.attempts === 1);
      const waiting = await client.untilTask(taskOf(down).id, ({ waiting_for }) => waiting_for !== null);
      assert.equal(waiting.waiting_for.kind, "remote_agent");
      assert.equal(waiting.waiting_for.description, `waits for the remote agent at ${down.url}/`);
      const { body: told } = await client.get(`/v1/tasks/${waiting.id}/why`);
      assert.equal(told.waits_for, "remote_agent");
      assert.match(
        told.sentence,
        /^The task waits for the remote agent at \S+ \(the last attempt to reach it failed: /,
      );
      await Promise.all([remoteHas(sentStreaming, 1), remoteHas(sentPolled, 1)]);
      for (const remote of [working, workingPolled, canceled])
        await untilEvent(client, taskOf(remote), ({ event }) => event === "agent.handoff");
      await client.untilTask(taskOf(asking).id, ({ status }) => status === "INPUT_REQUIRED");
      await client.untilTask(taskOf(authorizing).id, ({ status }) => status === "AUTH_REQUIRED");
      await client.untilTask(taskOf(answered).id, ({ status }) => status === "INPUT_REQUIRED");
      await client.answer(taskOf(answered).id, "this");
      await remoteHas(answered, 2);
      await canceled.close();
      await client.post(`/v1/tasks/${taskOf(canceled).id}/cancel`);
      await server.kill();
    }
    await Promise.all([down.listen(), canceled.listen()]);
    streamed.speak();
    polled.speak();
    const seen = new Map([working, workingPolled].map((remote) => [remote, remote.requests.length]));
    await using server = await startToKill(directory.path);
    const client = new Client(server);
    // These end only once the new process follows them.
    for (const [remote, count] of seen) {
      await until(
        async () => remote.requests.length,
        (found) => found > count + 1,
      );
      remote.release();
    }
    authorizing.release();
    assert.equal((await client.answer(tasks.get(asking).id, "that")).status, 201);
    const outputOf = async (remote: RemoteAgent) => {
      const ended = await client.untilTask(tasks.get(remote).id, isFinal);
      const [{ status, output, error }] = await resultsOf(client, ended);
      assert.equal(status, "SUCCEEDED", error);
      return output;
    };
    for (const remote of [down, sentStreaming, sentPolled, working, workingPolled])
      assert.equal(await outputOf(remote), "hello");
    assert.equal(await outputOf(asking), "answered: that");
    assert.equal(await outputOf(answered), "answered: this");
    assert.equal(await outputOf(authorizing), "authorized");
    await until(
      async () => canceled.canceled.length,
      (count) => count === 1,
    );
    answering.speak();

    for (const remote of [down, working, workingPolled, asking, answered, authorizing, canceled])
      assert.equal(remote.taskIds.size, 1);
    for (const remote of [down, working, workingPolled, authorizing, canceled])
      assert.equal(remote.messages.length, 1);
    for (const remote of [asking, answered]) assert.equal(remote.messages.length, 2);
    // A server that does not know its messages by their ids cannot know better; the message is the same.
    for (const { messages } of [sentStreaming, sentPolled]) {
      const [first, second] = messages;
      assert.equal(messages.length, 2);
      assert.deepEqual(
        [second?.messageId, second?.parts, second?.metadata],
        [first?.messageId, first?.parts, first?.metadata],
      );
    }
    await server.kill();
    await assertRebuildable(directory.path);
  });
});

describe("From one server to another", () => {
  const shared = sharedServer();
  let behind: TestServer;
  let other: Client;
  before(async () => {
    behind = await startServer({ flags: ["--allow-private-addresses"] });
    other = new Client(behind);
  });
  after(() => behind[Symbol.asyncDispose]());

  const open = (): Promise<BridleFront> => startFront(behind, "rehearsal");
  const tasksThere = () => other.listAll("/v1/tasks");

  test("HND-10 receipts of work done on another server name each other by hash", async () => {
    // Given work that another server did, when both have ended, then each receipt names the other by its hash.
    const { client } = shared;
    await using front = await open();
    const task = await delegate(client, [{ url: front.url, input: "return done" }]);
    const [result] = await resultsOf(client, task);
    assert.deepEqual([result.status, result.output], ["SUCCEEDED", "done"]);
    const ours = await receiptOf(client, task);
    const { body: theirs } = await other.get(`/v1/receipts/${result.receipt.receipt_id}`);
    assert.equal(theirs.chain.receipt_hash, result.receipt.receipt_hash);
    const [delegation] = ours.metadata.delegations;
    assert.equal(delegation.remote_receipt_id, theirs.receipt_id);
    assert.equal(delegation.remote_receipt_hash, theirs.chain.receipt_hash);
    assert.equal(theirs.identifiers.task_id, delegation.remote_task_id);
    const { delegation_hash, ...offered } = theirs.metadata.delegated_by;
    assert.equal(delegation_hash, delegation.delegation_hash);
    assert.equal(delegation_hash, hashOf(offered));
    assert.equal(offered.task_id, ours.identifiers.task_id);
    assert.equal(offered.issuer, ours.issuer.id);
    assert.deepEqual(ours.side_effects.a2a_handoffs, [
      {
        target_agent: `${front.url}/`,
        task_id: result.task_id,
        status: "completed",
        receipt_id: theirs.receipt_id,
      },
    ]);
  });

  test("HND-4 a crash amid lost answers and a question leaves one remote task and repeats nothing", async () => {
    // Given another server whose answers are lost and one that asks, when ours is killed and started again, then there
    // is one task and nothing is told twice.
    await using directory = await temporaryDirectory();
    await using losing = await open();
    await using asking = await open();
    const before = (await tasksThere()).length;
    losing.lost = "SendStreamingMessage";
    let lost: Json;
    let asked: Json;
    {
      await using server = await startToKill(directory.path);
      const client = new Client(server);
      lost = await begin(client, [{ url: losing.url, input: "sleep 1500\nreturn done" }]);
      asked = await begin(client, [{ url: asking.url, input: "say one\nask Which?\nreturn this" }]);
      await client.untilTask(asked.id, ({ status }) => status === "INPUT_REQUIRED");
      await until(tasksThere, (tasks) => tasks.length === before + 2);
      await server.kill();
    }
    losing.lost = null;
    const from = asking.headers.length;
    await using server = await startToKill(directory.path);
    const client = new Client(server);
    const resultOf = async (task: Json) =>
      (await resultsOf(client, await client.untilTask(task.id, isFinal)))[0].output;
    assert.equal(await resultOf(lost), "done");
    assert.ok(losing.methods.filter((method) => method === "SendStreamingMessage").length >= 2);
    // A remote that can go on from an event is asked for what came after the last one that was seen.
    const [first] = await until(
      async () => asking.headers.slice(from),
      (seen) => seen.some((headers) => headers["a2a-since"] !== undefined),
    );
    assert.match(String(first?.["a2a-since"]), /^evt_\d{16}$/);
    assert.equal(first?.["opvs-since"], first?.["a2a-since"]);
    await client.answer(asked.id, "that");
    assert.equal(await resultOf(asked), "this");
    assert.equal((await tasksThere()).length, before + 2);
  });

  test("HND-2 HND-3 a question and a permission of the last of three agents reach the first", async () => {
    // Given a chain of three agents, when the last one asks and then needs a permission, then both come up to the first.
    const { client } = shared;
    await using front = await open();
    const session = await client.createSession();
    const task = await client.rehearse(session.id, `handoff ${front.url} handoff ${front.url} ask Which?`);
    assert.equal(task.status, "INPUT_REQUIRED");
    assert.equal(task.waiting_for.description, "Which?");
    assert.equal((await client.answer(task.id, "this one")).status, 201);
    const ended = await client.untilTask(task.id, isFinal);
    assert.equal(ended.status, "COMPLETED", JSON.stringify(ended.failure));
    const said = (await client.texts(session.id)).at(-1);
    assert.match(said ?? "", /ended SUCCEEDED/);

    const needing = await client.rehearse(
      session.id,
      `handoff ${front.url} handoff ${front.url} approve launch`,
    );
    assert.equal(needing.status, "AUTH_REQUIRED");
    assert.equal(needing.waiting_for.description, "launch");
    const requests = await other.listAll("/v1/permission-requests");
    const pending = requests.find(({ status }) => status === "pending");
    await other.post(`/v1/permission-requests/${pending.id}/respond`, { approved: true });
    const launched = await client.untilTask(needing.id, isFinal);
    assert.equal(launched.status, "COMPLETED", JSON.stringify(launched.failure));
  });

  test("HND-6 HND-7 another server works for us with a trusted card and a key from the vault", async () => {
    // Given another server's own card, when its keys are trusted and a key of it is in a vault, then it does the work.
    const { client } = shared;
    const { key } = await other.createKey();
    const vault = await client.post("/v1/vaults", { provider: "local", capabilities: ["read", "write"] });
    const path = `/v1/vaults/${vault.body.id}/secrets/neighbour`;
    assert.equal((await client.call(path, { method: "PUT", body: { value: key } })).status, 200);
    const url = `${behind.url}/opvs/agents/rehearsal`;
    const trust = { jwksUrls: [`${behind.url}/.well-known/jwks.json`] };
    const input = "return done";
    const task = await delegate(client, [
      { url, input, credentials: "neighbour", trust },
      { url, input, credentials: "neighbour", trust: { jwksUrls: [`${client.url}/.well-known/jwks.json`] } },
      { url, input },
    ]);
    const [done, untrusted, unknown] = await resultsOf(client, task);
    assert.deepEqual([done.status, done.output], ["SUCCEEDED", "done"], JSON.stringify(done));
    assert.equal(untrusted.error, "untrusted_card");
    assert.equal(unknown.error, "remote_denied");
  });

  test("HND-1 a traced task that hands work on makes the remote's work part of its trace", async () => {
    // Given a task that is part of a trace, when it hands work on, then the remote's work is part of it too.
    const { client } = shared;
    await using front = await open();
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    const data = { requests: [{ url: front.url, input: "return done" }] };
    const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ data }] };
    const body = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };
    const headers = { "a2a-version": "1.0", traceparent: `00-${traceId}-b7ad6b7169203331-01` };
    const { body: answer } = await client.call("/opvs/agents/delegator/rpc", { body, headers });
    assert.equal(answer.result.task.status.state, "TASK_STATE_COMPLETED", JSON.stringify(answer));
    assert.ok(front.headers.length > 0);
    for (const { traceparent } of front.headers)
      assert.match(String(traceparent), new RegExp(`^00-${traceId}-(?!b7ad6b7169203331)[0-9a-f]{16}-01$`));
  });

  test("HND-5 given a chain of three agents, when the first is canceled, then so are the others", async () => {
    const { client } = shared;
    await using front = await open();
    const session = await client.createSession();
    const before = (await tasksThere()).length;
    const line = `handoff ${front.url} handoff ${front.url} sleep 60000`;
    const body = { session_id: session.id, persona_id: "persona_rehearsal", input: { text: line } };
    const { body: task } = await client.post("/v1/tasks", body);
    await until(tasksThere, (tasks) => tasks.length === before + 2);
    await untilEvent(client, task, ({ event }) => event === "agent.handoff");
    await until(tasksThere, (tasks) =>
      tasks.every(({ status, waiting_for }) => isFinal({ status }) || waiting_for !== null),
    );
    assert.equal((await client.post(`/v1/tasks/${task.id}/cancel`)).status, 200);
    const all = await until(tasksThere, (tasks) => tasks.every(isFinal));
    assert.equal(all.filter(({ status }) => status === "CANCELED").length, 2);
  });

  test("HND-14 hand-offs of a moved or erased session go on nowhere else and leave nothing", async () => {
    // Given a session with hand-offs, when it is moved or erased, then no other server goes on with them and nothing of
    // them is left.
    const { client } = shared;
    await using remote = await RemoteAgent.start();
    const word = "marzipan";
    const task = await delegate(client, [
      { url: remote.url, input: `say ${word}` },
      { url: remote.url, input: `ask ${word}?` },
    ]);
    await remote.close();
    await client.post(`/v1/tasks/${task.id}/cancel`);
    const exported = `${client.url}/v1/sessions/${task.session_id}/export`;
    const log = await (await fetch(exported, { headers: client.headers() })).text();
    assert.match(log, /"status":"canceling"/);
    const heard = remote.requests.length;
    await remote.listen();
    const headers = { "content-type": "application/jsonl" };
    const imported = await other.call("/v1/sessions/import", { raw: log, headers });
    assert.equal(imported.status, 201, JSON.stringify(imported.body));
    await until(
      async () => remote.requests.slice(heard).filter(({ what }) => what.includes("CancelTask")).length,
      (count) => count === 1,
    );
    await untilEvent(client, task, ({ payload }) => payload.changes?.status === "ended");
    const there = (await other.listAll(`/v1/tasks/${task.id}/events`)).at(-1);
    assert.equal(there.payload.changes.status, "ended");

    const erased = await client.post(`/v1/sessions/${task.session_id}/erase`);
    assert.equal(erased.status, 200, JSON.stringify(erased.body));
    const left = JSON.stringify(await client.listAll(`/v1/tasks/${task.id}/events`));
    assert.ok(!left.includes(word));
  });
});
