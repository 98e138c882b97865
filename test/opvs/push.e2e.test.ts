/** Webhooks over real sockets: what they are told, how often, in which order, and who learns what of them. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { type Client, errorOf, isFinal, type Json, until } from "../support/client.ts";
import {
  answer,
  finish,
  Hooks,
  type PushServer,
  refusalOf,
  send,
  startPushServer,
  startReceiver,
  story,
  untilState,
  waitingTask,
} from "../support/push.ts";

const url = "http://127.0.0.1:9/";

describe("Webhooks", () => {
  let server: PushServer;
  let client: Client;
  before(async () => {
    server = await startPushServer();
    client = server.client;
  });
  after(() => server[Symbol.asyncDispose]());

  test("PSH-1 OPVS-55 OPVS-56 each webhook gets all later events in order as a StreamResponse", async () => {
    // Given webhooks registered with the message and later, when the task goes on, then each is told everything since
    // then, in order, as one StreamResponse each and as streams say it.
    await using first = await startReceiver();
    await using second = await startReceiver();
    const script = "say hello\nartifact notes.txt words\nask question 0?\nstream 3\nreturn done";
    const task = await send(client, script, { url: first.url });
    await until(
      async () => first.bodies().at(-1)?.statusUpdate?.status.state,
      (state) => state === "TASK_STATE_INPUT_REQUIRED",
    );
    const before = first.received.length;
    await new Hooks(client, task.id).create({ url: second.url });
    await finish(server, task.id);
    await untilState(server, task.id, "ended");
    const all = await story(client, task.id);
    assert.deepEqual(first.bodies(), all);
    assert.deepEqual(second.bodies(), all.slice(before));
    assert.ok(second.received.length > 3 && first.bodies()[0].task.id === task.id);
    for (const { headers, body } of first.received) {
      assert.equal(headers["content-type"], "application/a2a+json");
      assert.equal(Object.keys(body).length, 1);
      assert.equal(headers.authorization, undefined);
    }
  });

  test("PSH-1 a webhook request continues the trace of its task", async () => {
    // Given a task that is part of a trace, when its webhook is told, then the trace goes on there.
    await using receiver = await startReceiver();
    const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
    const task = await send(client, "say hello", { url: receiver.url }, { traceparent });
    await untilState(server, task.id, "ended");
    assert.match(String(receiver.received[0]?.headers.traceparent), /^00-a{32}-(?!b{16})[0-9a-f]{16}-01$/);
  });

  test("PSH-1 given many events at once, when a webhook is told, then all of them arrive in order", async () => {
    await using receiver = await startReceiver();
    const task = await send(client, "stream 250\nreturn done", { url: receiver.url });
    await untilState(server, task.id, "ended");
    assert.deepEqual(receiver.bodies(), await story(client, task.id));
    assert.ok(receiver.received.length > 250);
  });

  test("PSH-7 OPVS-47 OPVS-50 OPVS-52 configs show name, URL and scheme, but no secrets", async () => {
    // Given configs with and without a name, when they are created, read and listed, then they come with names, URLs and
    // schemes, and without secrets.
    const task = await waitingTask(client);
    const hooks = new Hooks(client, task.id);
    const authentication = { scheme: "Bearer", credentials: "credentials-of-mine" };
    const given = { url: "http://127.0.0.1:9/?key=value", token: "token-of-mine", authentication };
    const mine = await hooks.create({ ...given, id: "mine / mine" });
    assert.deepEqual(mine, {
      id: "mine / mine",
      taskId: task.id,
      url: given.url,
      authentication: { scheme: "Bearer" },
    });
    const other = await hooks.create({ url: "http://127.0.0.1:9/other" });
    assert.match(other.id, /^pushcfg_/);
    assert.deepEqual(await hooks.get("mine / mine"), mine);
    assert.deepEqual(await hooks.list(), { configs: [mine, other], nextPageToken: "" });
  });

  test("PSH-7 OPVS-48 OPVS-51 an unknown task or config returns TASK_NOT_FOUND", async () => {
    // Given tasks and configs that are not there, when they are asked for, then it is TASK_NOT_FOUND.
    const task = await waitingTask(client);
    const nobody = new Hooks(client, "task_nobody");
    const refusals = [
      await nobody.create({ url }),
      await nobody.get("nobody"),
      await nobody.list(),
      await nobody.delete("nobody"),
      await new Hooks(client, task.id).get("nobody"),
      await new Hooks(client, task.id, "echo").list(),
      await new Hooks(client, task.id, "echo").create({ url }),
    ];
    for (const refusal of refusals) {
      assert.deepEqual(refusalOf(refusal), { status: 404, reason: "TASK_NOT_FOUND", field: null });
    }
    assert.deepEqual(await server.configs(task.id), []);
    assert.equal(refusalOf(await new Hooks(client, task.id).list("?pageToken=made-up")).field, "pageToken");
  });

  test("PSH-8 OPVS-41 an agent without push returns PUSH_NOTIFICATION_NOT_SUPPORTED", async () => {
    // Given an agent without push notifications, when webhooks are asked for, then it is
    // PUSH_NOTIFICATION_NOT_SUPPORTED.
    const task = await waitingTask(client);
    const hooks = new Hooks(client, task.id, "silent");
    const refusals = [
      await hooks.create({ url }),
      await hooks.get("nobody"),
      await hooks.list(),
      await hooks.delete("nobody"),
    ];
    for (const refusal of refusals) {
      assert.equal(refusalOf(refusal).reason, "PUSH_NOTIFICATION_NOT_SUPPORTED");
    }
  });

  test("PSH-1 OPVS-49 a webhook of an ended task is stored, readable and never called", async () => {
    // Given a task that has ended, when a webhook is registered, then it is there, can be read, and is told nothing.
    await using receiver = await startReceiver();
    await using witness = await startReceiver();
    const task = await finish(server, (await waitingTask(client)).id);
    const hooks = new Hooks(client, task.id);
    assert.equal((await hooks.create({ id: "late", url: receiver.url })).id, "late");
    assert.equal((await hooks.get("late")).url, receiver.url);
    assert.equal((await server.configs(task.id))[0].state, "ended");
    const other = await send(client, "say hello", { url: witness.url });
    await untilState(server, other.id, "ended");
    assert.deepEqual(receiver.received, []);
  });

  test("PSH-2 a dead webhook delays neither the task nor a working webhook", async () => {
    // Given a dead webhook beside one that works, when the task goes on, then neither the task nor the other waits.
    await using dead = await startReceiver(() => {});
    await using alive = await startReceiver();
    const task = await waitingTask(client, 3);
    for (const receiver of [dead, alive]) await new Hooks(client, task.id).create({ url: receiver.url });
    await finish(server, task.id, 3);
    await untilState(server, task.id, "active", "ended");
    assert.equal(dead.received.length, 1);
    const all = await story(client, task.id);
    assert.deepEqual(alive.bodies(), all.slice(-alive.received.length));
    assert.deepEqual(alive.bodies()[0], dead.bodies()[0]);
  });

  test("PSH-2 PSH-10 retries deliver everything in order after any failure and show the error", async () => {
    // Given a webhook that fails in every way before it works, when it is told, then all of it arrives in order, and
    // what was wrong is visible.
    await using receiver = await startReceiver((response, _, index) => {
      if (index === 0) response.writeHead(500).end("secret words");
      else if (index === 1) response.destroy();
      else if (index === 2) response.writeHead(302, { location: "http://127.0.0.1:1/" }).end();
      else if (index === 3) response.writeHead(404).end();
      else response.writeHead(202).write("endless");
    });
    const task = await waitingTask(client);
    await new Hooks(client, task.id).create({ url: receiver.url });
    await finish(server, task.id);
    const config = await untilState(server, task.id, "ended");
    assert.deepEqual([config.last_error, config.attempts], ["The answer was 404.", 0]);
    const told = receiver.bodies();
    const all = (await story(client, task.id)).slice(-config.delivered_count);
    assert.deepEqual(told.slice(4), all);
    for (const early of told.slice(0, 4)) assert.deepEqual(early, all[0]);
    const events: Json[] = (await client.get(`/v1/tasks/${task.id}/events?limit=200`)).body.data;
    const failed = events.filter(({ event }) => event === "vendor.bridle.push_config.attempt_failed");
    assert.deepEqual(
      failed.map(({ payload }) => [payload.attempts, payload.problem]),
      [
        [1, "The answer was 500."],
        [2, "The connection failed (ECONNRESET)."],
        [3, "The answer was 302: redirects are not followed."],
        [4, "The answer was 404."],
      ],
    );
    const end = events.find(({ event }) => event === "task.completed");
    assert.equal(config.delivered_through_event_id, end?.id);
  });

  test("PSH-2 PSH-4 a webhook fails for good after its attempts and resumes if registered again", async () => {
    // Given a webhook that never works, when it was tried often enough, then it is given up, and registered again it
    // goes on where it failed.
    await using broken = await startReceiver((response) => response.writeHead(503).end());
    await using repaired = await startReceiver();
    const task = await waitingTask(client);
    const hooks = new Hooks(client, task.id);
    await hooks.create({ id: "mine", url: broken.url });
    await finish(server, task.id);
    const config = await untilState(server, task.id, "failed");
    assert.deepEqual(
      [config.attempts, config.delivered_count, config.last_error],
      [6, 0, "The answer was 503."],
    );
    assert.equal(broken.received.length, 6);
    await hooks.create({ id: "mine", url: repaired.url });
    await untilState(server, task.id, "ended");
    assert.deepEqual(repaired.bodies()[0], broken.bodies()[0]);
    assert.deepEqual(repaired.bodies(), (await story(client, task.id)).slice(-repaired.received.length));
    assert.equal(broken.received.length, 6);
  });

  test("PSH-2 given a webhook that says 410, when it is told, then it is given up at once", async () => {
    await using receiver = await startReceiver((response) => response.writeHead(410).end());
    const task = await waitingTask(client);
    await new Hooks(client, task.id).create({ url: receiver.url });
    await finish(server, task.id);
    const config = await untilState(server, task.id, "failed");
    assert.deepEqual([config.attempts, receiver.received.length], [1, 1]);
  });

  test("PSH-3 a webhook hears nothing more once the key that registered it has expired", async () => {
    await using receiver = await startReceiver();
    const task = await waitingTask(client);
    const expires_at = new Date(Date.now() + 1000).toISOString();
    const guest = client.as((await client.createKey({ expires_at })).key);
    assert.equal((await new Hooks(guest, task.id).create({ id: "guest", url: receiver.url })).id, "guest");
    await until(
      async () => (await guest.get("/v1/sessions")).status,
      (status) => status === 401,
    );
    await finish(server, task.id);
    const { last_error } = await untilState(server, task.id, "failed");
    assert.match(last_error, /API key that registered it has expired/);
    assert.deepEqual(receiver.received, []);
  });

  test("PSH-3 OPVS-53 OPVS-54 deleting a webhook aborts its delivery and can be repeated", async () => {
    // Given a webhook that is being told, when it is deleted, then the request is broken off, nothing comes any more,
    // and deleting it again succeeds.
    let broken = 0;
    await using receiver = await startReceiver((response) => {
      response.on("close", () => {
        broken += 1;
      });
    });
    const task = await waitingTask(client, 2);
    const hooks = new Hooks(client, task.id);
    await hooks.create({ id: "mine", url: receiver.url });
    await answer(client, task.id, 0);
    await receiver.count(1);
    const since = Date.now();
    assert.equal(await hooks.delete("mine"), "");
    await until(
      async () => broken,
      (count) => count === 1,
    );
    assert.ok(Date.now() - since < 10_000, "it does not wait until its time is over");
    assert.equal(await hooks.delete("mine"), "");
    assert.equal(refusalOf(await hooks.get("mine")).status, 404);
    assert.deepEqual((await hooks.list()).configs, []);
    await answer(client, task.id, 1);
    await client.untilTask(task.id, isFinal);
    assert.equal(receiver.received.length, 1);
  });

  test("PSH-4 a replaced webhook's pending notification goes to its successor and its secrets", async () => {
    // Given a webhook that is being told, when another takes its place, then the other hears it, with its own secrets.
    await using hanging = await startReceiver(() => {});
    await using other = await startReceiver();
    const task = await waitingTask(client);
    const hooks = new Hooks(client, task.id);
    await hooks.create({ id: "mine", url: hanging.url, token: "first" });
    await finish(server, task.id);
    await hanging.count(1);
    await hooks.create({ id: "mine", url: other.url, token: "second" });
    await untilState(server, task.id, "ended");
    assert.equal((await server.configs(task.id)).length, 1);
    assert.deepEqual(other.bodies()[0], hanging.bodies()[0]);
    assert.deepEqual(other.bodies(), (await story(client, task.id)).slice(-other.received.length));
    assert.equal(other.received[0]?.headers["x-opvs-notification-token"], "second");
    assert.equal(hanging.received.length, 1);
  });

  test("PSH-5 OPVS-57 a webhook request carries the token and the credentials in its headers", async () => {
    // Given a token and credentials, when the webhook is told, then both are in the headers.
    await using receiver = await startReceiver();
    const authentication = { scheme: "Basic", credentials: "dXNlcjpwYXNz" };
    const task = await send(client, "say hello", { url: receiver.url, token: "a token", authentication });
    await untilState(server, task.id, "ended");
    for (const { headers } of receiver.received) {
      assert.equal(headers.authorization, "Basic dXNlcjpwYXNz");
      assert.equal(headers["x-opvs-notification-token"], "a token");
      assert.equal(headers["x-a2a-notification-token"], "a token");
    }
  });

  test("PSH-5 without credentials a webhook gets a signed 5-minute token valid for it only", async () => {
    // Given a scheme without credentials, when the webhook is told, then a token comes that the published keys verify,
    // for this webhook and five minutes only, and that opens nothing here.
    await using receiver = await startReceiver();
    const task = await send(client, "say hello", { url: receiver.url, authentication: { scheme: "bearer" } });
    await untilState(server, task.id, "ended");
    const tokens = receiver.received.map(
      ({ headers }) => /^bearer (\S+)$/.exec(headers.authorization ?? "")?.[1] ?? "",
    );
    const keys = createRemoteJWKSet(new URL(`${server.url}/.well-known/jwks.json`));
    const ids = new Set<unknown>();
    for (const token of tokens) {
      const audience = new URL(receiver.url).origin;
      const { payload } = await jwtVerify(token, keys, {
        issuer: server.url,
        audience,
        algorithms: ["EdDSA"],
      });
      assert.equal(payload.task_id, task.id);
      assert.equal((payload.exp ?? 0) - (payload.iat ?? 0), 300);
      ids.add(payload.jti);
    }
    assert.equal(ids.size, tokens.length);
    assert.ok(tokens.length > 0);
    errorOf(await client.as(tokens[0] ?? "").get("/v1/tasks"), 401);
  });

  const bad: [what: string, field: string, config: Json][] = [
    ["no URL", "url", {}],
    ["a URL that is none", "url", { url: "hello" }],
    ["another scheme", "url", { url: "ftp://example.com/" }],
    ["a password in the URL", "url", { url: "https://user:hunter2pass@example.com/" }],
    ["a metadata service", "url", { url: "http://169.254.169.254/latest/meta-data" }],
    ["a URL that is too long", "url", { url: `${url}${"x".repeat(2048)}` }],
    ["a token with a line break", "token", { url, token: "a\r\nX-Injected: 1" }],
    ["a token that is too long", "token", { url, token: "x".repeat(4097) }],
    ["a token that is no ASCII", "token", { url, token: "schlüssel" }],
    ["no scheme", "authentication.scheme", { url, authentication: { credentials: "abc" } }],
    ["a scheme of two words", "authentication.scheme", { url, authentication: { scheme: "Bearer x" } }],
    [
      "credentials with a line break",
      "authentication.credentials",
      { url, authentication: { scheme: "Bearer", credentials: "a\nb" } },
    ],
    [
      "a scheme that needs credentials",
      "authentication.credentials",
      { url, authentication: { scheme: "Basic" } },
    ],
    ["a name that is too long", "id", { url, id: "x".repeat(257) }],
    ["a name with a line break", "id", { url, id: "a\nb" }],
    ["a name that is a secret", "id", { url, id: "password=hunter2pass" }],
  ];
  for (const [what, field, config] of bad) {
    test(`PSH-8 rejects a webhook with ${what}, naming ${field}, and creates no task`, async () => {
      // Given ${what}, when a webhook is registered, then ${field} is named, and there is neither a webhook nor a task.
      const task = await waitingTask(client);
      const count = (await client.listAll("/v1/tasks")).length;
      const refused = await new Hooks(client, task.id).create(config);
      const along = await send(client, "say hello", config);
      const path = "configuration.taskPushNotificationConfig";
      assert.deepEqual(refusalOf(refused), { status: 400, reason: null, field });
      assert.deepEqual(refusalOf(along), { status: 400, reason: null, field: `${path}.${field}` });
      assert.doesNotMatch(JSON.stringify([refused, along]), /hunter2pass|X-Injected|schlüssel/);
      assert.deepEqual(await server.configs(task.id), []);
      assert.equal((await client.listAll("/v1/tasks")).length, count);
    });
  }

  test("PSH-8 concurrent registrations stop at the task's limit, and replacing still works", async () => {
    // Given many registrations at once, when a task has as many webhooks as it may have, then the others are refused,
    // and one can be replaced or make room.
    const task = await waitingTask(client);
    const hooks = new Hooks(client, task.id);
    const create = (id: string) => hooks.create({ id, url });
    const answers = await Promise.all(Array.from({ length: 25 }, (_, index) => create(`name ${index}`)));
    const refused = answers.filter(({ error }) => error !== undefined);
    assert.deepEqual([refused.length, ...new Set(refused.map(({ error }) => error.code))], [15, 422]);
    assert.equal((await server.configs(task.id)).length, 10);
    const [{ config_id: id }] = await server.configs(task.id);
    assert.equal((await create(id)).id, id);
    await hooks.delete(id);
    assert.equal((await create("another")).id, "another");
  });

  test("PSH-7 rejects callers without the scope, workspace or tenant as for the task itself", async () => {
    // Given callers without the scope, the workspace or the tenant, when they ask for webhooks, then they are refused as
    // for the task itself.
    const task = await waitingTask(client);
    await new Hooks(client, task.id).create({ id: "mine", url });
    const statuses = async (key: Json) => {
      const hooks = new Hooks(client.as((await client.createKey(key)).key), task.id);
      const answers = [
        await hooks.create({ id: "mine", url }),
        await hooks.get("mine"),
        await hooks.list(),
        await hooks.delete("mine"),
      ];
      return answers.map((each) => each.error?.code ?? 200);
    };
    assert.deepEqual(await statuses({ tenant_id: "tenant_stranger" }), [404, 404, 404, 404]);
    const { body: workspace } = await client.post("/v1/workspaces", { name: "Other", root: "/srv/other" });
    assert.deepEqual(await statuses({ workspace_ids: [workspace.id] }), [404, 404, 404, 404]);
    assert.deepEqual(await statuses({ scopes: ["sessions:read"] }), [403, 403, 403, 403]);
    assert.deepEqual(await statuses({ scopes: ["tasks:read"] }), [403, 200, 200, 403]);
    assert.deepEqual(await statuses({ scopes: ["tasks:read", "tasks:write"] }), [200, 200, 200, 200]);
    const path = `/v1/tasks/${task.id}/push-configs`;
    errorOf(await (await client.withScopes("sessions:read")).get(path), 403);
    const stranger = client.as((await client.createKey({ tenant_id: "tenant_stranger" })).key);
    errorOf(await stranger.get(path), 404);
    assert.equal((await (await client.withScopes("tasks:read")).get(path)).status, 200);
  });

  test("PSH-7 a webhook omits messages and artifacts that its caller may not read", async () => {
    // Given a caller that may read neither messages nor artifacts, when its webhook is told of a task, then nothing of
    // them is in it.
    await using receiver = await startReceiver();
    const scopes = ["tasks:read", "tasks:write", "sessions:write", "messages:write"];
    const limited = await client.withScopes(...scopes);
    const task = await send(limited, "say hello\nartifact a.txt hello\nreturn hello", { url: receiver.url });
    await untilState(server, task.id, "ended");
    const told = receiver.bodies();
    assert.equal(told[0].task.history, undefined);
    assert.equal(told.at(-1).statusUpdate.status.state, "TASK_STATE_COMPLETED");
    assert(!JSON.stringify(told).includes("hello"));
  });
});
