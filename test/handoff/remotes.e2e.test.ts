/** Hand-offs to remote agents: what they give, ask and need comes back, and what comes of it is in the evidence. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isFinal, type Json, until } from "../support/client.ts";
import {
  begin,
  delegate,
  eventsOf,
  messagesIn,
  resultOf,
  sends,
  sharedServer,
  untilEvent,
} from "../support/handoffs.ts";
import { receiptOf, resultsOf } from "../support/policy.ts";
import { RemoteAgent } from "../support/remote-agent.ts";

const shared = sharedServer();

describe("Remote agents", () => {
  const ways = [
    { binding: "JSONRPC", isStreaming: true },
    { binding: "JSONRPC", isStreaming: false },
    { binding: "HTTP+JSON", isStreaming: true },
    { binding: "HTTP+JSON", isStreaming: false },
  ] as const;

  test("HND-1 OPVS-72 a remote of every binding returns its result, with and without streams", async () => {
    // Given a remote of every binding, with and without streams, when it is given work, then what comes of it is the
    // result.
    const { client } = shared;
    for (const way of ways) {
      await using remote = await RemoteAgent.start(way);
      const { url } = remote;
      const inputs = ["say hello", "message hi", "fail because", "reject no", "pieces a b c", { a: 1 }];
      const results = await resultsOf(
        client,
        await delegate(
          client,
          inputs.map((input) => ({ url, input })),
        ),
      );
      const [said, answered, failed, rejected, pieces, json] = results;
      assert.equal(said.status, "SUCCEEDED", JSON.stringify(said));
      assert.equal(said.output, "hello");
      assert.ok(remote.taskIds.has(said.task_id));
      assert.equal(typeof said.context_id, "string");
      assert.deepEqual(said.artifacts, [
        {
          artifact_id: "result",
          name: "result",
          parts: [{ type: "text", text: "hello", visibility: "public" }],
        },
      ]);
      assert.deepEqual([answered.status, answered.output, answered.task_id], ["SUCCEEDED", "hi", null]);
      assert.deepEqual([failed.status, failed.summary], ["FAILED", "because"]);
      assert.deepEqual([rejected.status, rejected.summary], ["REJECTED", "no"]);
      assert.deepEqual([pieces.output, pieces.summary], ["a\nb\nc", "All pieces are there."]);
      assert.equal(json.status, "SUCCEEDED");
      assert.deepEqual(remote.messages.at(-1)?.parts[0]?.content, { $case: "data", value: { a: 1 } });
      assert.equal(remote.taskIds.size, 5);
    }
  });

  test("HND-1 OPVS-66, OPVS-120, OPVS-121 uses the first known interface, with version and tenant", async () => {
    // Given a card with several interfaces and a tenant, when work is sent, then the first that is known is used at its
    // URL, with version and tenant.
    const { client } = shared;
    await using remote = await RemoteAgent.start({
      tenant: "acme",
      card: (card) => {
        const [own] = card.supportedInterfaces;
        assert.ok(own !== undefined);
        const strange = { ...own, protocolBinding: "https://example.com/bindings/pigeon", url: "coop://1" };
        const later = { ...own, url: `${own.url}-elsewhere`, tenant: "other" };
        return { ...card, supportedInterfaces: [strange, own, later] };
      },
    });
    const { status } = await resultOf(client, [{ url: remote.url, input: "say hi" }]);
    assert.equal(status, "SUCCEEDED");
    const calls = remote.requests.filter(({ what }) => what.startsWith("POST"));
    assert.ok(calls.length >= 2);
    for (const { what, headers, body } of calls) {
      assert.match(what, /^POST \/rpc /);
      assert.equal(headers["a2a-version"], "1.0");
      assert.equal(headers["opvs-version"], "1.0");
      assert.equal(body.params.tenant, "acme");
    }
  });

  test("HND-2 OPVS-39, OPVS-40 the answer to a remote's question goes to the same remote task", async () => {
    // Given a remote that asks back, when the local task is answered, then the answer goes to the same remote task.
    const { client } = shared;
    for (const isStreaming of [true, false]) {
      await using remote = await RemoteAgent.start({ isStreaming });
      const task = await delegate(client, [{ url: remote.url, input: "ask Which color?" }]);
      assert.equal(task.status, "INPUT_REQUIRED");
      assert.equal(task.waiting_for.description, "Which color?");
      assert.equal((await client.answer(task.id, "blue")).status, 201);
      const done = await client.untilTask(task.id, isFinal);
      const [result] = await resultsOf(client, done);
      assert.deepEqual([result.status, result.output], ["SUCCEEDED", "answered: blue"]);
      assert.equal(remote.taskIds.size, 1);
      const [first, second] = messagesIn(remote);
      assert.equal(first.taskId, undefined);
      assert.equal(second.taskId, result.task_id);
      assert.notEqual(first.messageId, second.messageId);
      assert.equal(remote.messages.length, 2);
    }
  });

  test("HND-2 several remotes that ask at once each get their own answer", async () => {
    // Given several remotes that ask at once, when they are answered one after the other, then each gets its own answer.
    const { client } = shared;
    await using remote = await RemoteAgent.start();
    const requests = ["ask one?", "ask two?", "ask three?"].map((input) => ({ url: remote.url, input }));
    const task = await begin(client, requests, { isParallel: true });
    for (let n = 1; n <= 3; n++) {
      const asked = await until(
        async () => (await client.get(`/v1/tasks/${task.id}`)).body,
        ({ status, waiting_for }) =>
          status === "INPUT_REQUIRED" && remote.messages.length === 2 + n && waiting_for !== null,
      );
      const answer = await client.answer(task.id, `answer to ${asked.waiting_for.description}`);
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
    }
    const results = await resultsOf(client, await client.untilTask(task.id, isFinal));
    assert.deepEqual(
      results.map(({ output }: Json) => output),
      ["one?", "two?", "three?"].map((question) => `answered: answer to ${question}`),
    );
    assert.equal(remote.taskIds.size, 3);
  });

  test("HND-3 the local task resumes by itself once the remote is authorized out of band", async () => {
    // Given a remote that needs an authorization, when it is given out of band, then the local task goes on by itself.
    const { client } = shared;
    await using remote = await RemoteAgent.start();
    const task = await delegate(client, [{ url: remote.url, input: "auth Sign in at the bank" }]);
    assert.equal(task.status, "AUTH_REQUIRED");
    assert.equal(task.waiting_for.description, "Sign in at the bank");
    const requests = await client.get(`/v1/permission-requests?task_id=${task.id}`);
    assert.deepEqual(requests.body.data, [], "nobody here can approve it");
    remote.release();
    const done = await client.untilTask(task.id, isFinal);
    assert.equal((await resultsOf(client, done))[0].output, "authorized");
    assert.equal(remote.messages.length, 1);
    const moves = (await eventsOf(client, task)).flatMap(({ event, payload }) =>
      event === "task.status_changed" ? [payload.to] : [],
    );
    assert.deepEqual(moves, ["WORKING", "AUTH_REQUIRED", "WORKING", "COMPLETED"]);
  });

  test("HND-3 a message to the local task reaches a remote that waits for an authorization", async () => {
    // Given a remote that needs an authorization, when something is said to the local task, then the remote is told.
    const { client } = shared;
    await using remote = await RemoteAgent.start();
    const task = await delegate(client, [{ url: remote.url, input: "auth Sign in" }]);
    assert.equal((await client.answer(task.id, "never mind")).status, 201);
    await until(
      async () => remote.messages.length,
      (count) => count === 2,
    );
    const [first, second] = messagesIn(remote);
    assert.equal(first.taskId, undefined);
    assert.deepEqual([...remote.taskIds], [second.taskId]);
  });

  test("HND-5 canceling the local task cancels the remote task too", async () => {
    // Given a remote at work, when the local task is canceled, then the remote task is canceled too.
    const { client } = shared;
    await using remote = await RemoteAgent.start();
    const task = await begin(client, [{ url: remote.url, input: "wait forever" }]);
    await untilEvent(client, task, ({ event }) => event === "agent.handoff");
    assert.equal((await client.post(`/v1/tasks/${task.id}/cancel`)).status, 200);
    await until(
      async () => remote.canceled,
      (canceled) => canceled.length === 1,
    );
    await untilEvent(client, task, ({ payload }) => payload.changes?.status === "ended");
  });

  test("HND-11 the result of a remote that goes away is taken once it is back", async () => {
    // Given a remote that goes away while it works, when it is back, then its result is taken.
    const { client } = shared;
    await using remote = await RemoteAgent.start();
    const task = await begin(client, [{ url: remote.url, input: "wait for it" }]);
    await untilEvent(client, task, ({ event }) => event === "agent.handoff");
    await remote.close();
    remote.release();
    await untilEvent(client, task, ({ payload }) => payload.changes?.attempts === 1);
    await remote.listen();
    const [result] = await resultsOf(client, await client.untilTask(task.id, isFinal));
    assert.equal(result.output, "for it");
    assert.equal(sends(remote).length, 1);
  });

  test("HND-11 a remote that exceeds its time fails the step and is canceled", async () => {
    // Given a remote that takes longer than it may, when the time is over, then the step fails and the remote is
    // canceled.
    const { client } = shared;
    await using remote = await RemoteAgent.start();
    const requests = ["wait long", "ask Who?"].map((input) => ({
      url: remote.url,
      input,
      expiresInMs: 1500,
    }));
    const task = await begin(client, requests, { isParallel: true });
    const results = await resultsOf(client, await client.untilTask(task.id, isFinal));
    for (const { error, message } of results) {
      assert.equal(error, "deadline_exceeded");
      assert.match(message, /was not done before/);
    }
    await until(
      async () => remote.requests.filter(({ what }) => what.includes("Cancel")).length,
      (count) => count === 2,
    );
  });
});

describe("Evidence", () => {
  test("HND-9 a replayed hand-off uses the recorded or overridden result and calls no remote", async () => {
    // Given a hand-off with a question, when it is replayed, then the remote hears nothing and what it gave, or what is
    // put in its place, is given.
    const { client } = shared;
    await using remote = await RemoteAgent.start();
    const task = await delegate(client, [
      { url: remote.url, input: "ask Which?" },
      { url: remote.url, input: "say b" },
    ]);
    await client.answer(task.id, "this");
    const done = await client.untilTask(task.id, isFinal);
    const results = await resultsOf(client, done);
    const heard = remote.requests.length;
    await remote.close();
    const replayed = await client.post(
      `/v1/tasks/${task.id}/replay`,
      { mode: "exact" },
      { prefer: "wait=30" },
    );
    const replay = await client.untilTask(replayed.body.id, isFinal);
    assert.equal(replay.status, "COMPLETED", JSON.stringify(replay.failure));
    assert.equal(remote.requests.length, heard);

    const key = `handoff:${new URL(remote.url).host}:2`;
    const given = { ...results[1], output: "another" };
    const override = { [key]: { kind: "tool_result", value: given } };
    const changed = await client.post(`/v1/tasks/${task.id}/replay`, { mode: "with_overrides", override });
    const other = await client.untilTask(changed.body.id, isFinal);
    assert.equal(other.status, "COMPLETED", JSON.stringify(other.failure));
    const { body: outcome } = await client.get(`/v1/outcomes/${other.outcome_id}`);
    assert.equal(outcome.messages[0].parts[0].value[1].output, "another");
  });

  test("HND-10, RCP-16 the receipt of a task names the remotes that worked for it and verifies", async () => {
    // Given work that went to remotes, when the task has ended, then its receipt names them and verifies.
    const { client } = shared;
    await using remote = await RemoteAgent.start();
    const inputs = ["say a", "fail b", "reject c"];
    const task = await delegate(
      client,
      inputs.map((input) => ({ url: remote.url, input })),
    );
    const results = await resultsOf(client, task);
    const receipt = await receiptOf(client, task);
    assert.deepEqual(
      receipt.side_effects.a2a_handoffs,
      ["completed", "failed", "rejected"].map((status, index) => ({
        target_agent: `${remote.url}/`,
        task_id: results[index].task_id,
        status,
      })),
    );
    assert.equal(receipt.autonomy_budget.consumed.tool_calls, 3);
    const sent = receipt.side_effects.network_egress.map(({ destination }: Json) => destination);
    assert.deepEqual(sent, Array(3).fill(remote.url));
    const [delegation] = receipt.metadata.delegations;
    const { delegation_hash: _, url, remote_task_id, ...offered } = delegation;
    assert.deepEqual(remote.messages[0]?.metadata?.["urn:bridle:delegation:1"], offered);
    assert.deepEqual([url, remote_task_id], [`${remote.url}/`, results[0].task_id]);
    const verified = await client.post(`/v1/receipts/${receipt.receipt_id}/verify`);
    assert.equal(verified.status, 200, JSON.stringify(verified.body));
    assert.equal(verified.body.valid ?? verified.body.verified, true, JSON.stringify(verified.body));
  });

  test("HND-12 a hand-off to a local persona or agent is a child task with the same result", async () => {
    // Given a persona or an agent that is loaded here, when work is handed to it, then it is a child task with the same
    // result.
    const { client } = shared;
    const requests = [
      { agent: "echo", input: "hello" },
      { persona: "persona_echo", input: "hello" },
      { agent: "echo", input: [{ type: "text", text: "in parts", visibility: "public" }] },
      { agent: "nobody", input: "hello" },
    ];
    const task = await delegate(client, requests);
    const [byAgent, byPersona, inParts, nobody] = await resultsOf(client, task);
    assert.equal(byAgent.status, "SUCCEEDED", JSON.stringify(byAgent));
    assert.equal(byAgent.context_id, task.session_id);
    const { body: child } = await client.get(`/v1/tasks/${byAgent.task_id}`);
    assert.equal(child.parent_task_id, task.id);
    assert.equal(byPersona.error, "resource_not_found");
    assert.equal(inParts.status, "SUCCEEDED");
    assert.equal(nobody.error, "resource_not_found");
  });
});
