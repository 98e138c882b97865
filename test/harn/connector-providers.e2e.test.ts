/** Connectors beyond Standard Webhooks: GitHub, Slack and URLs that are asked; what they emit, and how they fail. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer, type Server } from "node:http";
import { after, before, describe, test } from "node:test";
import { type Answer, Client, errorOf, isFinal, type Json, until } from "../support/client.ts";
import { eventsOf, sendDelivery } from "../support/deliveries.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let client: Client;
before(async () => {
  server = await startServer({ config: { allowPrivateAddresses: true } });
  client = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

const hmac = (secret: string, text: string) => createHmac("sha256", secret).update(text).digest("hex");

async function send(id: string, text: string, headers: Record<string, string>): Promise<Answer> {
  return await client.call(`/v1/connectors/${id}/deliveries`, {
    raw: text,
    key: null,
    headers: { "harn-agents-protocol-version": undefined, ...headers },
  });
}

function sendGithub(connector: Json, event: string, body: object, secret = connector.secret) {
  const text = JSON.stringify(body);
  return send(connector.id, text, {
    "x-github-event": event,
    "x-github-delivery": crypto.randomUUID(),
    "x-hub-signature-256": `sha256=${hmac(secret, text)}`,
  });
}

const push = {
  ref: "refs/heads/main",
  before: "a",
  after: "b",
  repository: { full_name: "acme/site" },
  sender: { login: "ada" },
  commits: [{ id: "b", message: "Fix", url: "https://github.com/acme/site/commit/b" }],
};

async function inputOf(taskId: string): Promise<Json> {
  return (await client.get(`/v1/tasks/${taskId}`)).body.input;
}

describe("github", () => {
  test("CON-8 GitHub's signature lets a delivery in, once; it is normalized and becomes a task", async () => {
    const connector = await client.createConnector({ provider: "github", event_kinds: ["push"] });
    const { status, body } = await sendGithub(connector, "push", push);
    assert.equal(status, 202, JSON.stringify(body));
    const { event_kind, normalized } = await inputOf(body.task_id);
    assert.equal(event_kind, "push");
    assert.deepEqual(
      [normalized.repository, normalized.sender, normalized.ref, normalized.commits[0].message],
      ["acme/site", "ada", "refs/heads/main", "Fix"],
    );
    // The id is not signed, so the same bytes under another one are the same delivery.
    const again = await sendGithub(connector, "push", push);
    assert.deepEqual([again.status, again.body.task_id], [200, body.task_id]);
    assert.equal((await sendGithub(connector, "ping", { zen: "Keep it." })).body.task_id, null);
    errorOf(await sendGithub(connector, "push", { ...push, after: "c" }, "wrong"), 401);
  });
});

describe("slack", () => {
  const secret = "slack-signing-secret-01";
  const sign = (text: string, at = Math.floor(Date.now() / 1000)) => ({
    "x-slack-request-timestamp": String(at),
    "x-slack-signature": `v0=${hmac(secret, `v0:${at}:${text}`)}`,
  });

  test("CON-9 Slack's events and commands become tasks; its challenge is answered, old ones are refused", async () => {
    const connector = await client.createConnector({ provider: "slack", secret });
    assert.equal(connector.secret, null);
    const challenge = JSON.stringify({ type: "url_verification", challenge: "c-1" });
    assert.deepEqual((await send(connector.id, challenge, sign(challenge))).body, { challenge: "c-1" });

    const event = { type: "app_mention", user: "U1", channel: "C1", text: "deploy, please" };
    const text = JSON.stringify({ type: "event_callback", event_id: "Ev1", team_id: "T1", event });
    const { body } = await send(connector.id, text, sign(text));
    const { normalized } = await inputOf(body.task_id);
    assert.deepEqual([normalized.kind, normalized.text, normalized.user], ["app_mention", event.text, "U1"]);
    assert.equal((await send(connector.id, text, sign(text))).body.deduped, true);
    const byBot = JSON.stringify({
      type: "event_callback",
      event_id: "Ev2",
      event: { ...event, bot_id: "B" },
    });
    assert.equal((await send(connector.id, byBot, sign(byBot))).body.task_id, null);
    errorOf(await send(connector.id, text, sign(text, Math.floor(Date.now() / 1000) - 3600)), 401);

    const form = new URLSearchParams({ command: "/deploy", text: "site", trigger_id: "1.2", token: "t" });
    const said = await send(connector.id, String(form), {
      "content-type": "application/x-www-form-urlencoded",
      ...sign(String(form)),
    });
    assert.deepEqual([said.status, said.body.response_type], [200, "ephemeral"]);
    const taskId = said.body.text.split(" ").at(-1);
    const input = await inputOf(taskId);
    assert.deepEqual([input.normalized.command, input.body.token], ["/deploy", undefined]);
  });

  test("CON-8 secrets are refused where they are made here, and needed where they are not", async () => {
    const base = { workspace_id: "workspace_default" };
    const create = (body: object) => client.post("/v1/connectors", { ...base, ...body });
    assert.equal(errorOf(await create({ provider: "slack" }), 400).param, "secret");
    assert.equal(errorOf(await create({ provider: "webhook", secret }), 400).param, "secret");
    assert.equal(errorOf(await create({ provider: "polling" }), 400).param, "polling");
    const polling = { url: "https://example.com", interval_seconds: 60 };
    assert.equal(errorOf(await create({ provider: "github", polling }), 400).param, "polling");
  });
});

/** What a URL answers, and how it was asked. */
class Feed implements AsyncDisposable {
  readonly #server: Server;
  readonly asked: { url: string; authorization: string | undefined }[] = [];
  items: object[] | null = [];

  constructor() {
    this.#server = createServer((request, response) => {
      this.asked.push({ url: request.url ?? "", authorization: request.headers.authorization });
      if (this.items === null) response.statusCode = 500;
      response.end(JSON.stringify({ data: { items: this.items } }));
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/feed`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

test("CON-10 a URL is polled; each item is a delivery once, the cursor and the secret go along", async () => {
  await using feed = new Feed();
  const url = await feed.listen();
  feed.items = [{ ref: "i-1" }, { ref: "i-2" }];
  const polling = {
    ...{ url, interval_seconds: 1, items_path: "data.items", id_path: "ref", cursor_param: "after" },
  };
  const connector = await client.createConnector({ provider: "polling", polling, secret: "feed-token-1" });
  const submitted = async () =>
    (await eventsOf(client, connector.id)).filter(({ event }) => event === "connector.task_submitted");
  await until(submitted, (found: Json[]) => found.length === 2);
  assert.equal(feed.asked[0]?.authorization, "Bearer feed-token-1");
  feed.items = [{ ref: "i-2" }, { ref: "i-3" }];
  const found = await until(submitted, (list: Json[]) => list.length > 2);
  assert.equal(found.length, 3);
  assert.equal(feed.asked.at(-1)?.url, "/feed?after=i-2");
  const { body } = await client.get(`/v1/connectors/${connector.id}`);
  assert.deepEqual([body.polled, body.failure], [{ cursor: "i-3" }, null]);
  assert.equal((await client.call(`/v1/connectors/${connector.id}`, { method: "DELETE" })).status, 204);
});

test("CON-10 the secret goes to the server that it was given for, whoever changes the URL", async () => {
  await using feed = new Feed();
  await using foreign = new Feed();
  const polling = { url: await feed.listen(), interval_seconds: 1, items_path: "data.items", id_path: "ref" };
  const connector = await client.createConnector({ provider: "polling", polling, secret: "feed-token-2" });
  const writer = await client.withScopes("connectors:write", "connectors:read");
  const change = (url: string) =>
    writer.call(`/v1/connectors/${connector.id}`, {
      method: "PATCH",
      body: { polling: { ...polling, url } },
    });
  const refused = errorOf(await change(await foreign.listen()), 422);
  assert.deepEqual([refused.code, refused.param], ["policy_violation", "polling.url"]);
  assert.equal((await change(`${polling.url}?page=2`)).status, 200);
  await until(
    async () => feed.asked.map(({ url }) => url),
    (asked) => asked.includes("/feed?page=2"),
  );
  assert.deepEqual(foreign.asked, []);
  // What takes long to read is not read.
  feed.items = [{ ref: "large", list: Array(10_000).fill(0) }];
  const path = `/v1/connectors/${connector.id}`;
  const { failure } = await until(
    async () => (await client.get(path)).body,
    (found: Json) => found.failure !== null,
  );
  assert.match(JSON.stringify(failure), /more than 10000 values/);
  assert.equal((await client.call(path, { method: "DELETE" })).status, 204);
});

describe("what is emitted", () => {
  test("CON-11 a connector that emits messages appends them to its session and makes no task", async () => {
    const connector = await client.createConnector({ emits: "message" });
    const body = { type: "invoice.paid", amount: 5 };
    const { body: taken } = await sendDelivery(client, { connector, id: "m-1", body });
    assert.equal(taken.task_id, null);
    const { session_id } = (await client.get(`/v1/connectors/${connector.id}`)).body.webhook;
    const messages = await client.listAll(`/v1/sessions/${session_id}/messages`);
    assert.deepEqual(
      messages.map(({ id }) => id),
      [taken.message_id],
    );
    assert.deepEqual(messages[0].parts[0].value.body, body);
  });

  test("CON-11 a connector that emits events says what was delivered in connector.normalized", async () => {
    const connector = await client.createConnector({ emits: "event" });
    const body = { type: "invoice.paid", amount: 5 };
    const { body: taken } = await sendDelivery(client, { connector, id: "e-1", body });
    assert.deepEqual([taken.task_id, taken.message_id], [null, null]);
    const events = await eventsOf(client, connector.id);
    const told = events.find(({ event }) => event === "connector.normalized");
    assert.deepEqual([told.payload.status, told.payload.content.body], ["accepted", body]);
  });
});

test("CON-12 five failures in a row make a connector FAILED, with the reason; a success brings it back", async () => {
  const connector = await client.createConnector();
  const read = async () => (await client.get(`/v1/connectors/${connector.id}`)).body;
  for (let n = 1; n <= 5; n++) {
    assert.equal((await read()).status, "ACTIVE");
    errorOf(await sendDelivery(client, { connector, id: `broken-${n}`, body: "{" }), 400);
  }
  const failed = await read();
  assert.deepEqual(
    [failed.status, failed.failure.count, failed.failure.code],
    ["FAILED", 5, "invalid_request"],
  );
  const { status, body } = await sendDelivery(client, { connector, id: "whole", body: { type: "ok" } });
  assert.equal(status, 202);
  await client.untilTask(body.task_id, isFinal);
  const back = await read();
  assert.deepEqual([back.status, back.failure], ["ACTIVE", null]);

  await client.call(`/v1/connectors/${connector.id}`, { method: "PATCH", body: { status: "FAILED" } });
  errorOf(await sendDelivery(client, { connector, id: "after", body: { type: "ok" } }), 422);
});
