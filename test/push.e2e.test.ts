/** Webhooks over real sockets: what they are told, how often, in which order, and who learns what of them. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { bridle } from "./support/cli.ts";
import { type Client, errorOf, isFinal, type Json, until } from "./support/client.ts";
import { assertRebuildable } from "./support/log.ts";
import { type PushServer, startPushServer, startReceiver, toBeTold, toldOf } from "./support/push.ts";
import { temporaryDirectory } from "./support/server.ts";

/** A task that changes its status once a line, as soon as it is answered. */
async function waitingTask(client: Client, questions = 1): Promise<Json> {
  const session = await client.createSession();
  const lines = Array.from({ length: questions }, (_, index) => `ask question ${index}?`);
  return await client.rehearse(session.id, ...lines);
}

async function finish({ client }: PushServer, taskId: string, answers = 1): Promise<Json> {
  for (let index = 0; index < answers; index++) {
    await client.untilTask(taskId, (task) => task.waiting_for?.description === `question ${index}?`);
    assert.equal((await client.answer(taskId, "yes")).status, 201);
  }
  return await client.untilTask(taskId, isFinal);
}

async function untilState(server: PushServer, taskId: string, ...states: string[]): Promise<Json> {
  const configs = await until(
    () => server.configs(taskId),
    (found) => found.length > 0 && found.every(({ state }, index) => state === (states[index] ?? states[0])),
  );
  return configs[0];
}

describe("Webhooks", () => {
  let server: PushServer;
  before(async () => {
    server = await startPushServer();
  });
  after(() => server[Symbol.asyncDispose]());

  test("PSH-1 OPVS-55 OPVS-56 given webhooks registered with the message and later, when the task goes on, then each is told everything since then, in order, as one StreamResponse each", async () => {
    await using first = await startReceiver();
    await using second = await startReceiver();
    const task = await server.push("send", {
      text: "ask question 0?",
      agent: "rehearsal",
      config: { url: first.url },
    });
    await server.client.untilTask(task.id, ({ status }) => status === "INPUT_REQUIRED");
    const before = await toBeTold(server.client, task.id);
    await first.count(before.length);
    await server.push("create", { taskId: task.id, url: second.url });
    await finish(server, task.id);
    await untilState(server, task.id, "ended");
    const all = await toBeTold(server.client, task.id);
    assert.ok(all.length > before.length && before.length > 0);
    assert.deepEqual(first.received.map(toldOf), all);
    assert.deepEqual(second.received.map(toldOf), all.slice(before.length));
    for (const { headers, body } of first.received) {
      assert.equal(headers["content-type"], "application/a2a+json");
      assert.deepEqual(Object.keys(body), ["statusUpdate"]);
      assert.equal(headers.authorization, undefined);
    }
  });

  test("PSH-1 given a webhook that was registered under 0.3, when it is told, then it is in the shape and the media type of that version", async () => {
    await using receiver = await startReceiver();
    const task = await waitingTask(server.client);
    await server.push("create", { taskId: task.id, url: receiver.url }, { version: "0.3" });
    await finish(server, task.id);
    await untilState(server, task.id, "ended");
    assert.equal(receiver.received[0]?.body.kind, "status-update");
    assert.equal(receiver.received[0]?.headers["content-type"], "application/json");
  });

  test("PSH-1 given a task that is part of a trace, when its webhook is told, then the trace goes on there", async () => {
    await using receiver = await startReceiver();
    const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
    const config = { url: receiver.url };
    const task = await server.push("send", {
      text: "say hello",
      agent: "rehearsal",
      config,
      trace: { traceparent },
    });
    await untilState(server, task.id, "ended");
    assert.match(String(receiver.received[0]?.headers.traceparent), /^00-a{32}-(?!b{16})[0-9a-f]{16}-01$/);
  });

  test("OPVS-47 OPVS-50 OPVS-52 given configs with and without a name, when they are created, read and listed, then they come with names, URLs and schemes, and without secrets", async () => {
    const task = await waitingTask(server.client);
    const authentication = { scheme: "Bearer", credentials: "credentials-of-mine" };
    const given = {
      taskId: task.id,
      url: "http://127.0.0.1:9/?key=value",
      token: "token-of-mine",
      authentication,
    };
    const mine = await server.push("create", { ...given, id: "mine" });
    assert.deepEqual(mine, {
      id: "mine",
      taskId: task.id,
      url: given.url,
      authentication: { scheme: "Bearer" },
    });
    const other = await server.push("create", { taskId: task.id, url: "http://127.0.0.1:9/other" });
    assert.match(other.id, /^pushcfg_/);
    assert.deepEqual(await server.push("get", { taskId: task.id, id: "mine" }), mine);
    assert.deepEqual(await server.push("list", { taskId: task.id }), {
      configs: [mine, other],
      nextPageToken: "",
    });
  });

  test("OPVS-48 OPVS-51 given tasks and configs that are not there, when they are asked for, then it is resource_not_found", async () => {
    const task = await waitingTask(server.client);
    const refusals = [
      await server.push("create", { taskId: "task_nobody", url: "http://127.0.0.1:9/" }),
      await server.push("get", { taskId: task.id, id: "nobody" }),
      await server.push("get", { taskId: "task_nobody", id: "nobody" }),
      await server.push("list", { taskId: "task_nobody" }),
      await server.push("delete", { taskId: "task_nobody", id: "nobody" }),
      await server.push("list", { taskId: task.id }, { agent: "echo" }),
    ];
    assert.deepEqual(
      refusals.map(({ error }) => error?.code),
      refusals.map(() => "resource_not_found"),
    );
    const { error } = await server.push("list", { taskId: task.id, pageToken: "made-up" });
    assert.deepEqual([error.code, error.param], ["invalid_request", "pageToken"]);
  });

  test("PSH-1 OPVS-49 given a task that has ended, when a webhook is registered, then it is there, can be read, and is told nothing", async () => {
    await using receiver = await startReceiver();
    const task = await finish(server, (await waitingTask(server.client)).id);
    const config = { taskId: task.id, id: "late", url: receiver.url };
    assert.equal((await server.push("create", config)).id, "late");
    assert.equal((await server.push("get", config)).url, receiver.url);
    assert.equal((await server.configs(task.id))[0].state, "ended");
    await finish(server, (await waitingTask(server.client)).id);
    assert.deepEqual(receiver.received, []);
  });

  test("PSH-2 given a dead webhook beside one that works, when the task goes on, then neither the task nor the other waits", async () => {
    await using dead = await startReceiver(() => {});
    await using alive = await startReceiver();
    const task = await waitingTask(server.client, 3);
    for (const { url } of [dead, alive]) await server.push("create", { taskId: task.id, url });
    await finish(server, task.id, 3);
    await untilState(server, task.id, "active", "ended");
    assert.equal(dead.received.length, 1);
    const told = await toBeTold(server.client, task.id);
    assert.deepEqual(alive.received.map(toldOf), told.slice(-alive.received.length));
  });

  test("PSH-2 PSH-10 given a webhook that fails in every way before it works, when it is told, then all of it arrives in order, and what was wrong was visible", async () => {
    const problems: string[] = [];
    await using receiver = await startReceiver((response, _, index) => {
      if (index === 0) response.writeHead(500).end("secret words");
      else if (index === 1) response.destroy();
      else if (index === 2) response.writeHead(302, { location: "http://127.0.0.1:1/" }).end();
      else if (index === 3) response.writeHead(404).end();
      else response.writeHead(202).write("endless");
    });
    const task = await waitingTask(server.client);
    await server.push("create", { taskId: task.id, url: receiver.url });
    await finish(server, task.id);
    await until(
      async () => {
        const [{ last_error, attempts }] = await server.configs(task.id);
        if (last_error !== null && problems.at(-1) !== last_error) problems.push(last_error);
        assert.ok(attempts <= 4);
        return receiver.received.length;
      },
      (count) => count >= 4,
    );
    const config = await untilState(server, task.id, "ended");
    assert.equal(config.last_error, "The answer was 404.");
    assert.ok(problems.every((problem) => !problem.includes("secret words")));
    const told = receiver.received.map(toldOf);
    const all = (await toBeTold(server.client, task.id)).slice(-config.delivered_count);
    assert.deepEqual(told.slice(4), all);
    assert.deepEqual(new Set(told.slice(0, 4)), new Set(all.slice(0, 1)));
    const events = (await server.client.get(`/v1/tasks/${task.id}/events?limit=200`)).body.data;
    const failed = events.filter(({ event }: Json) => event === "vendor.bridle.push_config.attempt_failed");
    assert.deepEqual(
      failed.map(({ payload }: Json) => [payload.attempts, payload.problem]),
      [
        [1, "The answer was 500."],
        [2, "The connection failed (ECONNRESET)."],
        [3, "The answer was 302: redirects are not followed."],
        [4, "The answer was 404."],
      ],
    );
  });

  test("PSH-2 PSH-4 given a webhook that never works, when it was tried often enough, then it is given up, and registered again it goes on where it failed", async () => {
    await using broken = await startReceiver((response) => response.writeHead(503).end());
    await using repaired = await startReceiver();
    const task = await waitingTask(server.client);
    const name = { taskId: task.id, id: "mine" };
    await server.push("create", { ...name, url: broken.url });
    await finish(server, task.id);
    const config = await untilState(server, task.id, "failed");
    assert.deepEqual(
      [config.attempts, config.delivered_count, config.last_error],
      [15, 0, "The answer was 503."],
    );
    assert.equal(broken.received.length, 15);
    await server.push("create", { ...name, url: repaired.url });
    await untilState(server, task.id, "ended");
    const first = toldOf(broken.received[0] ?? assert.fail());
    const all = await toBeTold(server.client, task.id);
    assert.deepEqual(repaired.received.map(toldOf), all.slice(all.indexOf(first)));
    assert.equal(broken.received.length, 15);
  });

  test("PSH-2 given a webhook that says 410, when it is told, then it is given up at once", async () => {
    await using receiver = await startReceiver((response) => response.writeHead(410).end());
    const task = await waitingTask(server.client);
    await server.push("create", { taskId: task.id, url: receiver.url });
    await finish(server, task.id);
    const config = await untilState(server, task.id, "failed");
    assert.deepEqual([config.attempts, receiver.received.length], [1, 1]);
  });

  test("PSH-3 OPVS-53 OPVS-54 given a webhook that is being told, when it is deleted, then the request is broken off, nothing comes any more, and deleting it again succeeds", async () => {
    let broken = 0;
    await using receiver = await startReceiver((response) => {
      response.on("close", () => {
        broken += 1;
      });
    });
    const task = await waitingTask(server.client, 2);
    const name = { taskId: task.id, id: "mine" };
    await server.push("create", { ...name, url: receiver.url });
    assert.equal((await server.client.answer(task.id, "yes")).status, 201);
    await receiver.count(1);
    assert.deepEqual(await server.push("delete", name), {});
    await until(
      async () => broken,
      (count) => count === 1,
    );
    assert.deepEqual(await server.push("delete", name), {});
    assert.equal((await server.push("get", name)).error.code, "resource_not_found");
    assert.deepEqual((await server.push("list", name.id === "mine" ? { taskId: task.id } : {})).configs, []);
    await server.client.untilTask(task.id, ({ waiting_for }) => waiting_for?.description === "question 1?");
    await server.client.answer(task.id, "yes");
    await server.client.untilTask(task.id, isFinal);
    assert.equal(receiver.received.length, 1);
  });

  test("PSH-4 given a webhook that is being told, when another takes its place, then the other hears it, with its own secrets", async () => {
    await using hanging = await startReceiver(() => {});
    await using other = await startReceiver();
    const task = await waitingTask(server.client);
    const name = { taskId: task.id, id: "mine" };
    await server.push("create", { ...name, url: hanging.url, token: "first" });
    await finish(server, task.id);
    await hanging.count(1);
    await server.push("create", { ...name, url: other.url, token: "second" });
    await untilState(server, task.id, "ended");
    assert.deepEqual((await server.configs(task.id)).length, 1);
    const all = await toBeTold(server.client, task.id);
    const first = toldOf(hanging.received[0] ?? assert.fail());
    assert.deepEqual(other.received.map(toldOf), all.slice(all.indexOf(first)));
    assert.equal(other.received[0]?.headers["x-opvs-notification-token"], "second");
    assert.equal(hanging.received.length, 1);
  });

  test("PSH-5 OPVS-57 given a token and credentials, when the webhook is told, then both are in the headers", async () => {
    await using receiver = await startReceiver();
    const task = await waitingTask(server.client);
    const authentication = { scheme: "Basic", credentials: "dXNlcjpwYXNz" };
    await server.push("create", { taskId: task.id, url: receiver.url, token: "a token", authentication });
    await finish(server, task.id);
    await untilState(server, task.id, "ended");
    for (const { headers } of receiver.received) {
      assert.equal(headers.authorization, "Basic dXNlcjpwYXNz");
      assert.equal(headers["x-opvs-notification-token"], "a token");
      assert.equal(headers["x-a2a-notification-token"], "a token");
    }
  });

  test("PSH-5 given a scheme without credentials, when the webhook is told, then a token comes that the published keys verify, for this webhook and five minutes only, and that opens nothing here", async () => {
    await using receiver = await startReceiver();
    const task = await waitingTask(server.client);
    await server.push("create", { taskId: task.id, url: receiver.url, authentication: { scheme: "bearer" } });
    await finish(server, task.id);
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
    errorOf(await server.client.as(tokens[0] ?? "").get("/v1/tasks"), 401);
  });

  const url = "http://127.0.0.1:9/";
  const bad: [what: string, param: string, config: Json][] = [
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
  for (const [what, param, config] of bad) {
    test(`PSH-8 given ${what}, when a webhook is registered, then ${param} is named, and there is none`, async () => {
      const task = await waitingTask(server.client);
      const { error } = await server.push("create", { taskId: task.id, ...config });
      assert.deepEqual([error?.code, error?.param], ["invalid_request", param]);
      assert.doesNotMatch(error.message, /hunter2pass|X-Injected|schlüssel/);
      assert.deepEqual(await server.configs(task.id), []);
    });
  }

  test("PSH-8 given many registrations at once, when a task has as many webhooks as it may have, then the others are refused, and one can be replaced or make room", async () => {
    const task = await waitingTask(server.client);
    const create = (id: string) => server.push("create", { taskId: task.id, id, url });
    const answers = await Promise.all(Array.from({ length: 25 }, (_, index) => create(`name ${index}`)));
    const refused = answers.filter(({ error }) => error !== undefined);
    assert.deepEqual(new Set(refused.map(({ error }) => error.code)), new Set(["policy_violation"]));
    assert.equal((await server.configs(task.id)).length, 10);
    const [{ config_id: id }] = await server.configs(task.id);
    assert.equal((await create(id)).id, id);
    await server.push("delete", { taskId: task.id, id });
    assert.equal((await create("another")).id, "another");
  });

  test("PSH-7 given callers without the scope, the workspace or the tenant, when they ask for webhooks, then they are refused as for the task itself", async () => {
    const task = await waitingTask(server.client);
    const name = { taskId: task.id, id: "mine" };
    await server.push("create", { ...name, url });
    const all = ["create", "get", "list", "delete"] as const;
    const codes = async (caller: Json) =>
      await Promise.all(
        all.map(async (operation) => {
          const request =
            operation === "create" ? { ...name, url } : operation === "list" ? { taskId: task.id } : name;
          return (await server.push(operation, request, { caller })).error?.code ?? "done";
        }),
      );
    const nowhere = all.map(() => "resource_not_found");
    assert.deepEqual(await codes({ tenantId: "tenant_other" }), nowhere);
    assert.deepEqual(await codes({ workspaceIds: ["workspace_other"] }), nowhere);
    const denied = "permission_denied";
    assert.deepEqual(await codes({ scopes: ["sessions:read"] }), [denied, denied, denied, denied]);
    assert.deepEqual(await codes({ scopes: ["tasks:read"] }), [denied, "done", "done", denied]);
    assert.deepEqual(await codes({ scopes: ["tasks:write"] }), ["done", denied, denied, "done"]);
    const path = `/v1/tasks/${task.id}/push-configs`;
    errorOf(await (await server.client.withScopes("sessions:read")).get(path), 403);
    const stranger = server.client.as((await server.client.createKey({ tenant_id: "tenant_stranger" })).key);
    errorOf(await stranger.get(path), 404);
    assert.equal((await (await server.client.withScopes("tasks:read")).get(path)).status, 200);
  });
});

test("PSH-1 given a server that is killed again and again while a webhook takes something, when it has come back, then all of it arrives in order and nothing is lost", async () => {
  await using directory = await temporaryDirectory();
  const data = directory.path;
  const kills = 4;
  let server = await startPushServer({ data });
  // In turn: killed with the answer not sent, and killed as soon as it is.
  await using receiver = await startReceiver((response, _, index) => {
    if (index % 3 === 2 && index < kills * 3) {
      if (index % 2 === 0) response.writeHead(204).end();
      server.process.kill("SIGKILL");
    } else response.writeHead(204).end();
  });
  try {
    const task = await waitingTask(server.client, 6);
    await server.push("create", { taskId: task.id, url: receiver.url });
    const [{ delivered_through_event_id: since }] = await server.configs(task.id);
    let answered = 0;
    let restarts = 0;
    const hasEnded = async (): Promise<boolean> => {
      const shown = (await server.client.get(`/v1/tasks/${task.id}`)).body;
      if (shown.waiting_for?.description === `question ${answered}?`) {
        await server.client.answer(task.id, "yes");
        answered += 1;
      }
      return isFinal(shown) && (await server.configs(task.id))[0].state === "ended";
    };
    while (true) {
      try {
        if (await hasEnded()) break;
      } catch (error) {
        if (server.process.signalCode === null && server.process.exitCode === null) {
          await new Promise((resolve) => setTimeout(resolve, 20));
          if (server.process.signalCode === null) throw error;
        }
        await server[Symbol.asyncDispose]();
        server = await startPushServer({ data });
        restarts += 1;
        const shown = (await server.client.get(`/v1/tasks/${task.id}`)).body;
        answered = Number(/\d+/.exec(shown.waiting_for?.description ?? `${answered}`)?.[0]);
      }
    }
    assert.ok(restarts >= 3, `${restarts} restarts`);
    const told = receiver.received.map(toldOf);
    const expected = (await toBeTold(server.client, task.id)).filter((id) => id > since);
    assert.deepEqual([...new Set(told)], expected, "all of it, first told in order");
    assert.ok(told.length > expected.length, "some of it twice");
    assert.equal(await server.stop(), 0);
    await assertRebuildable(data);
  } finally {
    await server[Symbol.asyncDispose]();
  }
});

test("PSH-2 given a webhook that waits for its next attempt, when the server is started again, then it is tried again, and one that was deleted meanwhile is not", async () => {
  await using directory = await temporaryDirectory();
  let isRepaired = false;
  await using receiver = await startReceiver((response) => response.writeHead(isRepaired ? 200 : 500).end());
  await using deleted = await startReceiver((response) => response.writeHead(500).end());
  const backoff = { baseMs: 1000, capMs: 1000, attemptsMax: 100 };
  await using first = await startPushServer({ data: directory.path, backoff });
  const task = await waitingTask(first.client);
  await first.push("create", { taskId: task.id, id: "kept", url: receiver.url });
  await first.push("create", { taskId: task.id, id: "deleted", url: deleted.url });
  await finish(first, task.id);
  await until(
    () => first.configs(task.id),
    (configs) => configs.every(({ attempts }) => attempts > 0),
  );
  await first.push("delete", { taskId: task.id, id: "deleted" });
  const count = deleted.received.length;
  await first.kill();
  isRepaired = true;
  await using second = await startPushServer({ data: directory.path, backoff });
  await untilState(second, task.id, "ended");
  assert.equal(deleted.received.length, count);
});

describe("Secrets of webhooks", () => {
  const secrets = ["Tok3n-Zq81xKpW", "Cr3d-Vb72mYtR", "Qu3ry-Hd93sLfN"];
  const forms = secrets.flatMap((secret) => {
    const bytes = Buffer.from(secret);
    return [secret, bytes.toString("hex"), bytes.toString("base64").slice(0, 16)];
  });
  const find = (text: string) => forms.filter((form) => text.includes(form));

  test("PSH-6 OPVS-144 OPVS-145 given webhooks that work, fail and are refused, when answers, events, logs and files are searched, then nothing of their secrets is there, and what has ended cannot be opened any more", async () => {
    await using directory = await temporaryDirectory();
    const [token, credentials, query] = secrets;
    await using receiver = await startReceiver();
    await using failing = await startReceiver((response, { headers }) =>
      response.writeHead(500, { "x-echo": String(headers.authorization) }).end(String(headers.authorization)),
    );
    await using server = await startPushServer({ data: directory.path });
    const task = await waitingTask(server.client, 2);
    const authentication = { scheme: "Bearer", credentials };
    const config = (url: string) => ({
      taskId: task.id,
      url: `${url}?token=${query}`,
      token,
      authentication,
    });
    const answers = [
      await server.push("create", { ...config(receiver.url), id: "works" }),
      await server.push("create", { ...config(failing.url), id: "fails" }),
      await server.push("create", { ...config("http://169.254.0.1/"), id: "refused" }),
    ];
    assert.ok(answers[0].url.includes(query), "the URL is given back to those who may see the task");
    await server.client.answer(task.id, "yes");
    await receiver.count(1);
    assert.equal(receiver.received[0]?.headers.authorization, `Bearer ${credentials}`);
    const shown = JSON.stringify([
      answers.map(({ url: _, ...rest }) => rest),
      await server.configs(task.id),
      (await server.client.get(`/v1/tasks/${task.id}/events?limit=200`)).body,
    ]);
    await server.client.untilTask(task.id, ({ waiting_for }) => waiting_for?.description === "question 1?");
    await server.client.answer(task.id, "yes");
    await untilState(server, task.id, "ended", "failed");
    const ended = await server.push("get", { taskId: task.id, id: "works" });
    assert.deepEqual(find(shown + JSON.stringify(ended) + server.output()), []);
    assert.match(ended.url, /^http:\/\/127\.0\.0\.1:\d+\/hook\?token=/);
    assert.equal(await server.stop(), 0);
    let searched = 0;
    for (const name of readdirSync(directory.path, { recursive: true, encoding: "utf8" })) {
      const file = join(directory.path, name);
      if (!statSync(file).isFile()) continue;
      searched += 1;
      assert.deepEqual(find(readFileSync(file, "latin1")), [], name);
    }
    assert.ok(searched > 0);
    const events = await assertRebuildable(directory.path);
    assert.ok(events.some(({ event }) => event === "vendor.bridle.push_config.gave_up"));
  });
});

describe("What becomes of webhooks otherwise", () => {
  test("PSH-9 given webhooks of a session, when it is erased, then they are told nothing more and nothing is left of them", async () => {
    await using directory = await temporaryDirectory();
    await using receiver = await startReceiver((response) => response.writeHead(500).end());
    const backoff = { baseMs: 20, capMs: 20, attemptsMax: 1_000_000 };
    await using server = await startPushServer({ data: directory.path, backoff });
    const task = await waitingTask(server.client);
    const url = `${receiver.url}/remembered-path`;
    await server.push("create", { taskId: task.id, id: "mine", url });
    await finish(server, task.id);
    await receiver.count(1);
    assert.equal((await server.client.post(`/v1/sessions/${task.session_id}/erase`)).status, 200);
    const count = receiver.received.length;
    assert.deepEqual(await server.configs(task.id), []);
    const { error } = await server.push("create", { taskId: task.id, id: "mine", url });
    assert.equal(error.code, "conflict");
    assert.equal((await server.client.post("/v1/vaults/rotate-master-key")).body.locked.length, 0);
    assert.equal(await server.stop(), 0);
    assert.equal(receiver.received.length, count);
    await assertRebuildable(directory.path);
    for (const name of readdirSync(directory.path)) {
      const file = join(directory.path, name);
      if (statSync(file).isFile()) assert.ok(!readFileSync(file, "latin1").includes("remembered-path"), name);
    }
  });

  test("PSH-9 given a webhook of a task that is old enough, when the log is swept, then it leaves with it", async () => {
    await using directory = await temporaryDirectory();
    await using receiver = await startReceiver();
    await using server = await startPushServer({ data: directory.path, env: { RETAIN_MS: "1" } });
    const task = await waitingTask(server.client);
    await server.push("create", { taskId: task.id, url: receiver.url });
    await finish(server, task.id);
    await untilState(server, task.id, "ended");
    assert.equal((await server.client.post("/v1/retention/sweep", {})).body.tasks, 1);
    assert.deepEqual(await server.configs(task.id), []);
    const { error } = await server.push("create", { taskId: task.id, url: receiver.url });
    assert.equal(error.code, "conflict");
    assert.equal(await server.stop(), 0);
    const events = await assertRebuildable(directory.path);
    assert.deepEqual(
      events.filter(({ event }) => event.includes("push_config")),
      [],
    );
  });

  test("PSH-9 given a session with webhooks, when it is exported and imported elsewhere, then they stay behind, and its receipts hold", async () => {
    await using receiver = await startReceiver();
    await using server = await startPushServer();
    await using elsewhere = await startPushServer();
    const task = await waitingTask(server.client);
    await server.push("create", { taskId: task.id, url: receiver.url });
    await finish(server, task.id);
    await untilState(server, task.id, "ended");
    const { body: log } = await server.client.get(`/v1/sessions/${task.session_id}/log`);
    assert.doesNotMatch(log, /push_config|\/hook/);
    const headers = { "content-type": "application/jsonl" };
    const imported = await elsewhere.client.call("/v1/sessions/import", { raw: log, headers });
    assert.equal(imported.status, 201, JSON.stringify(imported.body));
    assert.deepEqual(await elsewhere.configs(task.id), []);
  });

  test("PSH-9 given a webhook that waits, when the master key is changed, then it is still told, with its secrets", async () => {
    await using receiver = await startReceiver();
    await using server = await startPushServer();
    const task = await waitingTask(server.client);
    await server.push("create", { taskId: task.id, url: receiver.url, token: "a token" });
    assert.equal((await server.client.post("/v1/vaults/rotate-master-key")).body.rewrapped, 1);
    await finish(server, task.id);
    await untilState(server, task.id, "ended");
    assert.equal(receiver.received[0]?.headers["x-a2a-notification-token"], "a token");
  });

  test("SSR-1 SSR-6 given a server with its usual settings, when webhooks on private addresses are registered, then they are refused, and one from before the setting changed is not called", async () => {
    await using directory = await temporaryDirectory();
    await using receiver = await startReceiver();
    const lenient = await startPushServer({ data: directory.path });
    const task = await waitingTask(lenient.client);
    await lenient.push("create", { taskId: task.id, url: receiver.url });
    assert.equal(await lenient.stop(), 0);
    await using strict = await startPushServer({ data: directory.path, env: { PUSH_STRICT: "1" } });
    const refused = [
      "https://127.0.0.1/",
      "https://localhost/",
      "https://[::1]/",
      "https://0x7f000001/",
      "http://example.com/",
    ];
    for (const url of refused) {
      const { error } = await strict.push("create", { taskId: task.id, url });
      assert.deepEqual([error?.code, error?.param], ["invalid_request", "url"], url);
    }
    await finish(strict, task.id);
    const config = await untilState(strict, task.id, "failed");
    assert.match(config.last_error, /plain http/);
    assert.deepEqual(receiver.received, []);
  });

  test("SSR-6 given the setting in the environment, when it is no truth value, then the server does not start", async () => {
    const env = { BRIDLE_ALLOW_PRIVATE_ADDRESSES: "perhaps" };
    const { code, stderr } = await bridle(["serve", "--port", "0"], { env });
    assert.equal(code, 2);
    assert.match(stderr, /BRIDLE_ALLOW_PRIVATE_ADDRESSES|--allow-private-addresses/);
  });
});
