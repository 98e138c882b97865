/** Hand-offs: work for remote agents survives crashes here and there, and nothing is sent that was not meant to be. */

import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { generateAgentCardSignature } from "@a2a-js/sdk";
import { exportJWK, generateKeyPair, type JWK } from "jose";
import { hashOf } from "../src/receipts/canonical.ts";
import { type BridleFront, startFront } from "./support/bridle-front.ts";
import { fixtureAgents } from "./support/cli.ts";
import { Client, isFinal, type Json, until } from "./support/client.ts";
import { assertRebuildable } from "./support/log.ts";
import { createPersona, createQuota, receiptOf, resultsOf, usageOf } from "./support/policy.ts";
import { RemoteAgent } from "./support/remote-agent.ts";
import { startServer, type TestServer, temporaryDirectory } from "./support/server.ts";

const flags = ["--agents", fixtureAgents("delegator.ts")];

function start(data?: string): Promise<TestServer> {
  return startServer(data === undefined ? { flags } : { flags, data });
}

/** Has the delegator hand work on; gives the task once it has ended or waits for somebody. */
async function delegate(client: Client, requests: object[], fields: object = {}): Promise<Json> {
  const { session_id, ...rest } = { session_id: (await client.createSession()).id, ...fields };
  const body = { session_id, persona_id: "persona_delegator", input: { requests }, ...rest };
  const answer = await client.post("/v1/tasks", body, { prefer: "wait=30" });
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  return answer.body;
}

/** The same without waiting for anything. */
async function begin(client: Client, requests: object[], input: object = {}): Promise<Json> {
  const session = await client.createSession();
  const persona_id = "persona_delegator";
  const body = { session_id: session.id, persona_id, input: { requests, ...input } };
  const answer = await client.post("/v1/tasks", body);
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  return answer.body;
}

async function resultOf(client: Client, requests: object[]): Promise<Json> {
  return (await resultsOf(client, await delegate(client, requests)))[0];
}

async function eventsOf(client: Client, task: Json): Promise<Json[]> {
  return await client.listAll(`/v1/tasks/${task.id}/events`);
}

function untilEvent(client: Client, task: Json, holds: (event: Json) => boolean): Promise<Json[]> {
  return until(
    () => eventsOf(client, task),
    (events) => events.some(holds),
  );
}

/** Any server that speaks HTTP, for what no agent would do. */
async function serve(listener: RequestListener): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function sends(remote: RemoteAgent): string[] {
  return remote.requests.flatMap(({ what }) => (/Send|message:/.test(what) ? [what] : []));
}

/** The messages as they came. */
function messagesIn(remote: RemoteAgent): Json[] {
  return remote.requests.flatMap(({ body }) => body?.params?.message ?? []);
}

/** A server that tests share; each has its own remotes. */
function sharedServer(): { client: Client } {
  let server: TestServer;
  const shared = { client: new Client({ url: "" }) };
  before(async () => {
    server = await start();
    shared.client = new Client(server);
  });
  after(() => server[Symbol.asyncDispose]());
  return shared;
}

describe("Remote agents", () => {
  const shared = sharedServer();
  const ways = [
    { binding: "JSONRPC", isStreaming: true },
    { binding: "JSONRPC", isStreaming: false },
    { binding: "HTTP+JSON", isStreaming: true },
    { binding: "HTTP+JSON", isStreaming: false },
  ] as const;

  test("HND-1 OPVS-72 given a remote of every binding, with and without streams, when it is given work, then what comes of it is the result", async () => {
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

  test("HND-1 OPVS-66, OPVS-120, OPVS-121 given a card with several interfaces and a tenant, when work is sent, then the first that is known is used at its URL, with version and tenant", async () => {
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

  test("HND-2 OPVS-39, OPVS-40 given a remote that asks back, when the local task is answered, then the answer goes to the same remote task", async () => {
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

  test("HND-2 given several remotes that ask at once, when they are answered one after the other, then each gets its own answer", async () => {
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

  test("HND-3 given a remote that needs an authorization, when it is given out of band, then the local task goes on by itself", async () => {
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

  test("HND-3 given a remote that needs an authorization, when something is said to the local task, then the remote is told", async () => {
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

  test("HND-5 given a remote at work, when the local task is canceled, then the remote task is canceled too", async () => {
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

  test("HND-11 given a remote that goes away while it works, when it is back, then its result is taken", async () => {
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

  test("HND-11 given a remote that takes longer than it may, when the time is over, then the step fails and the remote is canceled", async () => {
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

  test("HND-4 given hand-offs at every stage, when the server is killed and started again, then each goes on where it was and no work is given twice", async () => {
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
      await using server = await start(directory.path);
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
    await using server = await start(directory.path);
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

describe("Trust and policy", () => {
  const shared = sharedServer();
  async function signer(
    kid: string,
  ): Promise<{ sign: ReturnType<typeof generateAgentCardSignature>; jwk: JWK }> {
    const { publicKey, privateKey } = await generateKeyPair("EdDSA", { extractable: true });
    const sign = generateAgentCardSignature(privateKey, { alg: "EdDSA", kid, typ: "JOSE" });
    return { sign, jwk: { ...(await exportJWK(publicKey)), kid } };
  }

  test("HND-6 OPVS-131, OPVS-132 given cards that are signed, or not, or by others, when a key is asked for, then only what it signed gets work", async () => {
    const { client } = shared;
    const [ours, theirs] = [await signer("ours"), await signer("ours")];
    await using signed = await RemoteAgent.start({ sign: ours.sign });
    await using unsigned = await RemoteAgent.start();
    await using keys = await serve((request, response) => {
      const set =
        request.url === "/gone" ? [] : [{ kty: "OKP", crv: "Ed25519", x: "AA", kid: "other" }, ours.jwk];
      response.setHeader("content-type", "application/json").end(JSON.stringify({ keys: set }));
    });
    const input = "say hello";
    const expired = { ...ours.jwk, exp: Math.floor(Date.now() / 1000) - 1 };
    const requests = [
      { url: signed.url, input, trust: { keys: [ours.jwk] } },
      { url: signed.url, input, trust: { jwksUrls: [keys.url] } },
      { url: signed.url, input, trust: { keys: [theirs.jwk] } },
      { url: signed.url, input, trust: { keys: [expired] } },
      { url: signed.url, input, trust: { jwksUrls: [`${keys.url}/gone`] } },
      { url: unsigned.url, input, trust: { keys: [ours.jwk] } },
    ];
    const results = await resultsOf(client, await delegate(client, requests));
    assert.deepEqual(
      results.map(({ status, error }: Json) => status ?? error),
      ["SUCCEEDED", "SUCCEEDED", "untrusted_card", "untrusted_card", "untrusted_card", "untrusted_card"],
    );
    assert.equal(signed.taskIds.size, 2);
    assert.deepEqual(sends(unsigned), []);
  });

  test("HND-6 given a signed card that was changed, when it is used, then nothing is sent", async () => {
    const { client } = shared;
    const { sign, jwk } = await signer("ours");
    await using remote = await RemoteAgent.start({ sign });
    await using middle = await serve(async (_request, response) => {
      const card: Json = await (await fetch(`${remote.url}/.well-known/agent-card.json`)).json();
      const changed = {
        ...card,
        supportedInterfaces: card.supportedInterfaces.map((each: Json) => ({ ...each, tenant: "evil" })),
      };
      response.setHeader("content-type", "application/json").end(JSON.stringify(changed));
    });
    const result = await resultOf(client, [
      { url: `${middle.url}/card.json`, input: "say hi", trust: { keys: [jwk] } },
    ]);
    assert.equal(result.error, "untrusted_card");
    assert.deepEqual(sends(remote), []);
  });

  test("HND-7 given credentials in a vault, when work is sent, then the remote gets them, the log does not, and nobody else does", async () => {
    const { client } = shared;
    const token = "tok-9f8e7d6c5b4a39281706";
    const vault = await client.post("/v1/vaults", { provider: "local", capabilities: ["read", "write"] });
    const path = `/v1/vaults/${vault.body.id}/secrets/partner`;
    assert.equal((await client.call(path, { method: "PUT", body: { value: token } })).status, 200);
    await using remote = await RemoteAgent.start({ token });
    // A card that points somewhere else must not lead the token there.
    await using elsewhere = await serve(async (_request, response) => {
      const card: Json = await (await fetch(`${remote.url}/.well-known/agent-card.json`)).json();
      response.setHeader("content-type", "application/json").end(JSON.stringify(card));
    });
    const requests = [
      { url: remote.url, input: `say it is ${token}`, credentials: "partner" },
      { url: remote.url, input: "say hello" },
      { url: elsewhere.url, input: "say hello", credentials: "partner" },
      { url: remote.url, input: "say hello", credentials: "nothing" },
      { url: remote.url, input: "say hello", credentials: `Bearer ${token}` },
      { url: `http://user:${token}@127.0.0.1/`, input: "say hello" },
    ];
    const task = await delegate(client, requests);
    const [granted, denied, stolen, missing, misused, inUrl] = await resultsOf(client, task);
    assert.equal(granted.status, "SUCCEEDED");
    assert.equal(denied.error, "remote_denied");
    assert.equal(stolen.error, "remote_denied");
    assert.equal(missing.error, "resource_not_found");
    assert.equal(misused.error, "invalid_handoff");
    assert.equal(inUrl.error, "invalid_handoff");
    const seen = remote.requests.filter(({ what }) => what.startsWith("POST"));
    assert.equal(seen.filter(({ headers }) => headers.authorization === undefined).length, 2);
    const written = JSON.stringify(await eventsOf(client, task));
    const typed = JSON.stringify((await client.get(`/v1/tasks/${task.id}`)).body.input);
    assert.ok(!written.replaceAll(typed, "").includes(`Bearer ${token}`));
    assert.ok(!JSON.stringify(granted).includes(token), "what the remote repeats is taken out");
  });

  test("HND-8 given a persona's list of hand-offs, when a remote is not on it, then the step fails and nothing is sent", async () => {
    const { client } = shared;
    await using remote = await RemoteAgent.start();
    const { host } = new URL(remote.url);
    const listed = async (handoffs: string[]) => {
      const persona = await createPersona(client, { entry_workflow: "delegator", handoffs });
      const task = await delegate(client, [{ url: remote.url, input: "say hi" }], { persona_id: persona.id });
      const [result] = await resultsOf(client, task);
      return result.status ?? result.error;
    };
    assert.equal(await listed([remote.url]), "SUCCEEDED");
    assert.equal(await listed([`${remote.url}/*`]), "SUCCEEDED");
    assert.equal(await listed(["*"]), "SUCCEEDED");
    assert.equal(remote.taskIds.size, 3);
    const refused = [
      [],
      [`https://${host}`],
      [`${remote.url}/other/*`],
      [`${remote.url.slice(0, -1)}*`],
      ["persona_echo"],
    ];
    for (const handoffs of refused) assert.equal(await listed(handoffs), "policy_violation");
    assert.equal(remote.requests.filter(({ what }) => what.startsWith("POST")).length, 6);
  });

  test("HND-8 given the tiers of autonomy, when work is handed off, then it is simulated, proposed, approved or done", async () => {
    const { client } = shared;
    await using remote = await RemoteAgent.start();
    const under = async (autonomy_tier: string) => {
      const persona = await createPersona(client, { entry_workflow: "delegator", autonomy_tier });
      return await delegate(client, [{ url: remote.url, input: "say hi" }], { persona_id: persona.id });
    };
    const [shadow] = await resultsOf(client, await under("shadow"));
    const [suggested] = await resultsOf(client, await under("suggest"));
    assert.deepEqual([shadow.status, suggested.status], ["SIMULATED", "PROPOSED"]);
    assert.deepEqual(remote.requests, []);
    const asked = await under("act_with_approval");
    assert.equal(asked.status, "AUTH_REQUIRED");
    assert.deepEqual(remote.requests, []);
    const permission = asked.waiting_for.permission_request_id;
    const answer = await client.post(`/v1/permission-requests/${permission}/respond`, { approved: true });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const [done] = await resultsOf(client, await client.untilTask(asked.id, isFinal));
    assert.equal(done.output, "hi");
    assert.equal(remote.taskIds.size, 1);
  });

  test("HND-8 given a quota of tool calls, when work is handed off, then it counts as one, whatever is asked back", async () => {
    const { client } = shared;
    await using remote = await RemoteAgent.start();
    const quota = await createQuota(client, { limits: { tool_calls: 2 } });
    const persona = await createPersona(client, { entry_workflow: "delegator", quota_id: quota.id });
    const requests = ["ask Who?", "say a", "say b"].map((input) => ({ url: remote.url, input }));
    const task = await delegate(client, requests, { persona_id: persona.id });
    await client.answer(task.id, "me");
    const ended = await client.untilTask(task.id, isFinal);
    assert.equal(ended.status, "FAILED");
    assert.equal(ended.failure.code, "policy_violation");
    assert.equal(remote.taskIds.size, 2);
    assert.equal((await usageOf(client, quota.id)).tool_calls, 2);
  });

  test("HND-13 given remotes that are no agents or mean harm, when work is handed to them, then the step fails with a reason", async () => {
    const { client } = shared;
    await using strange = await serve((request, response) => {
      switch (request.url?.split("/")[1]) {
        case "html":
          return response.end("<h1>hello</h1>");
        case "list":
          return response.end("[1, 2]");
        case "redirect":
          return response.writeHead(302, { location: "http://127.0.0.1:1/" }).end();
        case "large":
          return response.end(" ".repeat(9 * 1024 * 1024));
        case "pigeon":
          return response.end(
            JSON.stringify({ supportedInterfaces: [{ url: "x", protocolBinding: "PIGEON" }] }),
          );
        case "nowhere":
          return response.end(
            JSON.stringify({
              supportedInterfaces: [
                { url: "file:///etc/passwd", protocolBinding: "JSONRPC", protocolVersion: "1.0" },
              ],
            }),
          );
        default:
          return response.writeHead(404).end();
      }
    });
    const places = ["html", "list", "redirect", "large", "pigeon", "nowhere", "missing"];
    const requests = [
      ...places.map((place) => ({ url: `${strange.url}/${place}`, input: "hi" })),
      { url: "ftp://example.com", input: "hi" },
      { url: "not a url", input: "hi" },
      { url: strange.url, input: [] },
      { url: strange.url, input: "hi", expiresInMs: -1 },
      { url: strange.url, input: "hi", trust: {} },
    ];
    const results = await resultsOf(client, await delegate(client, requests));
    assert.deepEqual(
      results.map(({ error }: Json) => error),
      [
        "not_an_agent",
        "not_an_agent",
        "remote_refused",
        "remote_too_large",
        "no_common_binding",
        "not_an_agent",
        "not_an_agent",
        ...Array(5).fill("invalid_handoff"),
      ],
    );
  });
});

describe("Evidence", () => {
  const shared = sharedServer();
  test("HND-9 given a hand-off with a question, when it is replayed, then the remote hears nothing and what it gave, or what is put in its place, is given", async () => {
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

  test("HND-10 given work that went to remotes, when the task has ended, then its receipt names them and verifies", async () => {
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
    const [delegation] = receipt.metadata.delegations;
    const { delegation_hash: _, url, remote_task_id, ...offered } = delegation;
    assert.deepEqual(remote.messages[0]?.metadata?.["urn:bridle:delegation:1"], offered);
    assert.deepEqual([url, remote_task_id], [`${remote.url}/`, results[0].task_id]);
    const verified = await client.post(`/v1/receipts/${receipt.receipt_id}/verify`);
    assert.equal(verified.status, 200, JSON.stringify(verified.body));
    assert.equal(verified.body.valid ?? verified.body.verified, true, JSON.stringify(verified.body));
  });

  test("HND-12 given a persona or an agent that is loaded here, when work is handed to it, then it is a child task with the same result", async () => {
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

describe("From one server to another", () => {
  const shared = sharedServer();
  let behind: TestServer;
  let other: Client;
  before(async () => {
    behind = await startServer();
    other = new Client(behind);
  });
  after(() => behind[Symbol.asyncDispose]());

  const open = (): Promise<BridleFront> => startFront(behind, "rehearsal");
  const tasksThere = () => other.listAll("/v1/tasks");

  test("HND-10 given work that another server did, when both have ended, then each receipt names the other by its hash", async () => {
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

  test("HND-4 given answers that were lost and a server that was killed, when it is back, then the other server has one task", async () => {
    await using directory = await temporaryDirectory();
    await using front = await open();
    const before = (await tasksThere()).length;
    front.lost = "SendStreamingMessage";
    let task: Json;
    {
      await using server = await start(directory.path);
      task = await begin(new Client(server), [{ url: front.url, input: "sleep 1500\nreturn done" }]);
      await until(tasksThere, (tasks) => tasks.length === before + 1);
      await server.kill();
    }
    front.lost = null;
    await using server = await start(directory.path);
    const client = new Client(server);
    const [result] = await resultsOf(client, await client.untilTask(task.id, isFinal));
    assert.equal(result.output, "done");
    assert.ok(front.methods.filter((method) => method === "SendStreamingMessage").length >= 2);
    assert.equal((await tasksThere()).length, before + 1);
  });

  test("HND-2 HND-3 given a chain of three agents, when the last one asks and then needs a permission, then both come up to the first", async () => {
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

  test("HND-1 given a task that is part of a trace, when it hands work on, then the remote's work is part of it too", async () => {
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
});
