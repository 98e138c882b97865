/** Public agents over a real server: who gets in without credentials, how often, and what they can see. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Role } from "@a2a-js/sdk";
import { ClientFactory } from "@a2a-js/sdk/client";
import { closedAgents, config } from "../support/cards-server.ts";
import { type Answer, Client, type Json } from "../support/client.ts";
import { createQuota } from "../support/policy.ts";
import { startProcess, startServer, type TestProcess, temporaryDirectory } from "../support/server.ts";

const script = new URL("../support/cards-server.ts", import.meta.url).pathname;

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: TestProcess;
let client: Client;

before(async () => {
  directory = await temporaryDirectory();
  server = await startProcess({ data: directory.path, script });
  client = new Client(server);
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await directory[Symbol.asyncDispose]();
});

interface RpcOptions {
  agent?: string | null;
  key?: string | null;
  headers?: Record<string, string>;
}

/** Without credentials, unless a key is given. */
async function rpc(method: string, params: object, options: RpcOptions = {}): Promise<Answer> {
  const { agent = "open", key = null, headers = {} } = options;
  const base = agent === null ? "/opvs" : `/opvs/agents/${agent}`;
  return await client.call(`${base}/rpc`, {
    body: { jsonrpc: "2.0", id: 1, method, params },
    key,
    headers: { "a2a-version": "1.0", ...headers },
  });
}

function messageOf(text: string, fields: object = {}): { message: object } {
  return { message: { messageId: "m1", role: "ROLE_USER", parts: [{ text }], ...fields } };
}

async function send(text: string, options: RpcOptions = {}, fields: object = {}): Promise<Json> {
  const { status, body } = await rpc("SendMessage", messageOf(text, fields), options);
  assert.equal(status, 200, JSON.stringify(body));
  assert.ok(body.result?.task, JSON.stringify(body));
  return body.result.task;
}

test("PUB-1 a message without credentials runs as an anonymous actor in the public workspace", async () => {
  // Given a public agent, when somebody without credentials sends it a message, then it is done as an anonymous actor in
  // the public workspace.
  const sent = await send("hello");
  assert.equal(sent.status.state, "TASK_STATE_COMPLETED");
  assert.match(JSON.stringify(sent.artifacts), /heard: hello/);
  const { body: task } = await client.get(`/v1/tasks/${sent.id}`);
  assert.deepEqual([task.workspace_id, task.created_by], ["workspace_public", "anonymous"]);
  const read = await rpc("GetTask", { id: sent.id });
  assert.deepEqual(read.body.result.status, sent.status);
  const again = await send("and more", {}, { contextId: sent.contextId });
  assert.equal(again.contextId, sent.contextId);
});

test("PUB-1 using a public agent of another tenant creates the tenant and works in it", async () => {
  // Given a public agent of another tenant, when somebody uses it, then the tenant is there and the work is in it.
  const sent = await send("hello", { agent: "elsewhere" });
  const lobby = client.as((await client.createKey({ tenant_id: "tenant_lobby" })).key);
  const { body: task } = await lobby.get(`/v1/tasks/${sent.id}`);
  assert.equal(task.workspace_id, "workspace_public.tenant_lobby");
  assert.equal((await client.get(`/v1/tasks/${sent.id}`)).status, 404);
});

test("PUB-1 the official client works without credentials from a public agent's card", async () => {
  // Given the official client and no credentials, when it is made from the card of a public agent, then it works.
  const path = "/opvs/agents/open/.well-known/agent-card.json";
  const official = await new ClientFactory().createFromUrl(server.url, path);
  const message = {
    messageId: "from-the-library",
    role: Role.ROLE_USER,
    parts: [
      { content: { $case: "text" as const, value: "hi" }, metadata: undefined, filename: "", mediaType: "" },
    ],
    contextId: "",
    taskId: "",
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
  const request = { tenant: "", message, configuration: undefined, metadata: undefined };
  const answer = await official.sendMessage(request);
  assert.match(JSON.stringify(answer), /heard: hi/);
  const states: string[] = [];
  for await (const event of official.sendMessageStream(request)) states.push(JSON.stringify(event));
  assert.match(states.at(-1) ?? "", /heard: hi|COMPLETED|3/);
});

test("PUB-1 agents that are not public answer 401 without credentials and do nothing", async () => {
  // Given agents that are not public, when somebody without credentials calls them, then it is 401 and nothing is done.
  const count = async () => (await client.get("/v1/runtime")).body.task_count;
  const before = await count();
  for (const agent of ["echo", "skilled", "plain", null]) {
    const { status, body, headers } = await rpc("SendMessage", messageOf("hello"), { agent });
    assert.deepEqual([status, body.error?.code], [401, -32000], String(agent));
    assert.match(headers.get("www-authenticate") ?? "", /^Bearer/);
  }
  for (const tenant of ["@echo", "tenant_default@echo", "tenant_other"]) {
    const { status, body } = await rpc("SendMessage", { ...messageOf("hello"), tenant }, { agent: null });
    assert.equal(status, 401, JSON.stringify(body));
  }
  assert.equal(await count(), before);
  assert.equal(
    (await client.call("/v1/tasks", { key: null })).status,
    401,
    "nor does the other surface let them in",
  );
});

test("PUB-1 the front door routes to a named public agent and rejects a foreign tenant", async () => {
  // Given the front door, when a public agent is named by the routing string, then it is reached; a tenant that is not
  // its own is refused.
  const { body } = await rpc("SendMessage", { ...messageOf("by name"), tenant: "@open" }, { agent: null });
  assert.match(JSON.stringify(body.result), /heard: by name/);
  const right = await rpc(
    "SendMessage",
    { ...messageOf("x"), tenant: "tenant_default@open" },
    { agent: null },
  );
  assert.ok(right.body.result);
  const wrong = await rpc("SendMessage", { ...messageOf("x"), tenant: "tenant_lobby@open" }, { agent: null });
  assert.equal(wrong.status, 403);
  const { status } = await rpc("SendMessage", { ...messageOf("x"), tenant: "@echo" });
  assert.equal(status, 200, "a refusal of parameters");
});

test("PUB-2 a public agent works as the valid key sent and answers 401 to a wrong key", async () => {
  // Given a public agent, when a valid key is sent, then the work is that key's; when a wrong one is, then it is 401.
  const sent = await send("as myself", { key: client.key });
  const { body: task } = await client.get(`/v1/tasks/${sent.id}`);
  assert.deepEqual([task.workspace_id, task.created_by], ["workspace_default", "admin"]);
  for (const key of ["wrong", "bk_wrong"]) {
    assert.equal((await rpc("SendMessage", messageOf("hello"), { key })).status, 401);
  }
  for (const authorization of ["Basic YTpi", "Bearer", "Bearer ", "nonsense"]) {
    const answer = await rpc("SendMessage", messageOf("hello"), { headers: { authorization } });
    assert.equal(answer.status, 401, authorization);
  }
});

test("PUB-4 the tenant's own work is not found without credentials", async () => {
  // Given work of the tenant, when somebody without credentials asks for it, then it is as if it were not there.
  const own = await send("of the tenant", { key: client.key });
  for (const method of ["GetTask", "CancelTask", "SubscribeToTask"]) {
    const { body } = await rpc(method, { id: own.id });
    assert.equal(body.error?.code, -32001, method);
  }
  const { body: continued } = await rpc("SendMessage", messageOf("me too", { taskId: own.id }));
  assert.equal(continued.error.code, -32001);
  const { body: joined } = await rpc("SendMessage", messageOf("me too", { contextId: own.contextId }));
  assert.ok(joined.error, "the conversation is not theirs to join");
  const { body: listed } = await rpc("ListTasks", { contextId: own.contextId });
  assert.deepEqual([listed.result.tasks, listed.result.totalSize], [[], 0]);
});

test("PUB-4 anonymous callers must name a context to list tasks and get only that one", async () => {
  // Given callers without names, when they list tasks, then they say of which context, and get that one only.
  const mine = await send("mine");
  await send("somebody else's");
  const { body: all } = await rpc("ListTasks", {});
  assert.equal(all.error.code, -32602);
  assert.match(JSON.stringify(all.error), /contextId/);
  const { body } = await rpc("ListTasks", { contextId: mine.contextId });
  assert.deepEqual(
    body.result.tasks.map(({ id }: Json) => id),
    [mine.id],
  );
});

test("PUB-4 two anonymous callers with the same message never share a task", async () => {
  // Given two strangers, when they send the very same message, then neither gets the other's task.
  const [one, other] = [await send("the same"), await send("the same")];
  assert.notEqual(one.id, other.id);
  assert.notEqual(one.contextId, other.contextId);
});

test("PUB-4 rejects a made-up context without credentials, as others may have the same", async () => {
  // Given a context that somebody made up, when it is sent without credentials, then it is refused: others may have made
  // up the same.
  for (const contextId of ["chat", "default", "Session_01"]) {
    const { body } = await rpc("SendMessage", messageOf("hello", { contextId }));
    assert.equal(body.error.code, -32602, contextId);
    assert.match(JSON.stringify(body.error.data), /message\.contextId/);
  }
  assert.ok((await send("hello", { key: client.key }, { contextId: "chat" })).id);
});

test("PUB-4 ids of anonymous tasks made at the same moment do not predict each other", async () => {
  // Given ids that were made in the same moment, when they are compared, then none of an anonymous task follows from
  // another.
  const tasks = await Promise.all(Array.from({ length: 20 }, (_, n) => send(`at once ${n}`)));
  // Ids that count up differ in their last characters only: here that would be those of a task and its context.
  const ids: string[] = tasks.flatMap(({ id, contextId }) => [id, contextId]);
  const beginnings = ids.map((id) => id.replace(/^[a-z]+_/, "").slice(0, -6));
  assert.equal(new Set(beginnings).size, beginnings.length);
});

test("PUB-4 given webhooks, when somebody without credentials asks for one, then it is 401", async () => {
  const configuration = { taskPushNotificationConfig: { url: "https://example.com/hook" } };
  const { status } = await rpc("SendMessage", { ...messageOf("hello"), configuration });
  assert.equal(status, 401);
});

test("PUB-3 over its limit an address gets 429 with Retry-After, and keys are not limited", async () => {
  // Given an agent with a limit, when one address calls more often, then it is 429 with Retry-After on every binding,
  // nothing is done, and keys are not limited.
  const narrow = { agent: "narrow" };
  for (let n = 0; n < 3; n++) await send(`call ${n}`, narrow);
  const count = async () => (await client.get("/v1/runtime")).body.task_count;
  const before = await count();
  const overRpc = await rpc("SendMessage", messageOf("too many"), narrow);
  const overRest = await client.call("/opvs/agents/narrow/rest/message:send", {
    body: messageOf("too many"),
    key: null,
    headers: { "a2a-version": "1.0" },
  });
  const reading = await rpc("GetTask", { id: "task_x" }, narrow);
  for (const { status, headers, body } of [overRpc, overRest, reading]) {
    assert.equal(status, 429, JSON.stringify(body));
    const seconds = Number(headers.get("retry-after"));
    assert.ok(seconds >= 1 && seconds <= 60, `${seconds}`);
  }
  assert.equal(await count(), before);
  assert.ok((await send("with a key", { ...narrow, key: client.key })).id);
  assert.ok((await send("elsewhere")).id, "other agents are counted apart");
});

test("PUB-5 a used-up public quota rejects anonymous work but not the tenant's own", async () => {
  // Given a quota of the public workspace, when anonymous work has used it up, then more of it is refused, and the
  // tenant's own is not.
  const quota = await createQuota(client, { scope: "workspace", limits: { tasks: 1 } });
  const setQuota = (id: string | null) =>
    client.call("/v1/workspaces/workspace_public", { method: "PATCH", body: { quota_id: id } });
  assert.equal((await setQuota(quota.id)).status, 200);
  await send("the last one");
  const { body } = await rpc("SendMessage", messageOf("one too many"));
  assert.match(body.error?.message ?? "", /workspace's quota is exhausted/);
  assert.ok((await send("of the tenant", { key: client.key })).id);
  assert.equal((await setQuota(null)).status, 200);
  assert.ok((await send("and on")).id);
});

test("PUB-1 after a crash anonymous tasks are readable by id in the same public workspace", async () => {
  // Given a server that is killed, when it is back, then what anonymous callers had done is theirs by name, and the
  // workspace is the same.
  const sent = await send("before the crash");
  await server.kill();
  server = await startProcess({ data: directory.path, script });
  client = new Client(server);
  assert.deepEqual((await rpc("GetTask", { id: sent.id })).body.result.status, sent.status);
  const workspaces = await client.listAll("/v1/workspaces");
  assert.equal(workspaces.filter(({ id }) => id === "workspace_public").length, 1);
});

test("PUB-3 anonymous waits and streams end at their time limit while the task goes on", async () => {
  // Given calls without credentials that would last for ever, when their time is over, then waiting and streams end, and
  // the task goes on.
  await using brief = await startServer({ config: { ...config, anonymousMs: 300 } });
  const owner = new Client(brief);
  const headers = { "a2a-version": "1.0" };
  const post = (path: string, key: string | null) =>
    owner.call(`/opvs/agents/patient/rest/${path}`, { body: messageOf("wait"), key, headers });
  const waited = await post("message:send", null);
  assert.deepEqual([waited.status, waited.body.error.status], [504, "DEADLINE_EXCEEDED"]);
  const streamed = await post("message:stream", null);
  assert.equal(streamed.status, 200);
  const [, taskId = ""] = /"id":"(task_\w+)"/.exec(streamed.body) ?? [];
  assert.equal((await owner.get(`/v1/tasks/${taskId}`)).body.status, "WORKING");
});

test("PUB-6 without public agents anonymous calls get 401 and no public workspace exists", async () => {
  // Given a server without public agents, when somebody calls without credentials, then it is 401 everywhere and there
  // is no public workspace.
  await using closed = await startServer({ config: { agents: closedAgents } });
  const owner = new Client(closed);
  for (const path of ["/opvs/rpc", "/opvs/agents/skilled/rpc", "/opvs/agents/open/rpc"]) {
    const { status } = await owner.call(path, {
      body: { jsonrpc: "2.0", id: 1, method: "ListTasks", params: { contextId: "session_x" } },
      key: null,
      headers: { "a2a-version": "1.0" },
    });
    assert.equal(status, 401, path);
  }
  const ids = (await owner.listAll("/v1/workspaces")).map(({ id }) => id);
  assert.deepEqual(ids, ["workspace_default"]);
});
