/** Webhooks and the disk: kills and restarts, secrets, erasure, retention, and settings that change. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { InvalidArgumentError } from "commander";
import { serveOptions } from "../../src/cli/settings/settings.ts";
import { until } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import {
  answer,
  finish,
  Hooks,
  refusalOf,
  send,
  startPushProcess,
  startPushServer,
  startReceiver,
  story,
  untilState,
  waitingTask,
} from "../support/push.ts";
import { temporaryDirectory } from "../support/server.ts";

const url = "http://127.0.0.1:9/";

test("PSH-1 a repeatedly killed server delivers every notification in order, none lost", async () => {
  // Given a server that is killed again and again while a webhook takes something, when it has come back, then all of it
  // arrives in order and nothing is lost.
  await using directory = await temporaryDirectory();
  const data = directory.path;
  const kills = new Set([2, 6, 11]);
  let server = await startPushProcess({ data });
  // Killed before the answer is sent, or as soon as it is.
  await using receiver = await startReceiver((response, _, index) => {
    if (!kills.has(index) || index % 2 === 0) response.writeHead(204).end();
    if (kills.has(index)) server.process.kill("SIGKILL");
  });
  try {
    const lines = Array.from({ length: 8 }, (_, index) => `say ${index}\nsleep 30`);
    const task = await send(server.client, lines.join("\n"), { url: receiver.url });
    let restarts = 0;
    while (true) {
      const state = await server.configs(task.id).then(
        ([config]) => config.state,
        () => null,
      );
      if (state === "ended") break;
      if (state !== null && server.process.signalCode === null) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        continue;
      }
      await server[Symbol.asyncDispose]();
      server = await startPushProcess({ data });
      restarts += 1;
    }
    assert.equal(restarts, kills.size);
    const told = receiver.bodies().map((body) => JSON.stringify(body));
    const expected = (await story(server.client, task.id)).map((body) => JSON.stringify(body));
    assert.deepEqual([...new Set(told)], expected, "all of it, first told in order");
    assert.ok(told.length > expected.length, "some of it twice");
    assert.equal(await server.stop(), 0);
    await assertRebuildable(data);
  } finally {
    await server[Symbol.asyncDispose]();
  }
});

test("PSH-2 PSH-3 a restart retries waiting webhooks except one deleted meanwhile", async () => {
  // Given webhooks that wait for their next attempt, when the server is started again, then they are tried again, but
  // for one that was deleted meanwhile.
  await using directory = await temporaryDirectory();
  let isRepaired = false;
  await using receiver = await startReceiver((response) => response.writeHead(isRepaired ? 200 : 500).end());
  await using deleted = await startReceiver((response) => response.writeHead(500).end());
  const backoff = { firstMs: 500, mostMs: 500, attemptsMax: 100 };
  await using first = await startPushProcess({ data: directory.path, backoff });
  const task = await waitingTask(first.client);
  const hooks = new Hooks(first.client, task.id);
  await hooks.create({ id: "kept", url: receiver.url });
  await hooks.create({ id: "deleted", url: deleted.url });
  await finish(first, task.id);
  await until(
    () => first.configs(task.id),
    (configs) => configs.every(({ attempts }) => attempts > 0),
  );
  await hooks.delete("deleted");
  const count = deleted.received.length;
  await first.kill();
  isRepaired = true;
  await using second = await startPushServer({ data: directory.path, backoff });
  await untilState(second, task.id, "ended");
  assert.equal(deleted.received.length, count);
});

test("PSH-6 OPVS-144 OPVS-145 no answer, event, log or file contains a webhook secret", async () => {
  // Given webhooks that work, fail and are refused, when answers, events, logs and files are searched, then nothing of
  // their secrets is there.
  const secrets = ["Tok3n-Zq81xKpW", "Cr3d-Vb72mYtR", "Qu3ry-Hd93sLfN"];
  const forms = secrets.flatMap((secret) => {
    const bytes = Buffer.from(secret);
    return [secret, bytes.toString("hex"), bytes.toString("base64").slice(0, 16)];
  });
  const find = (text: string) => forms.filter((form) => text.includes(form));
  const [token = "", credentials = "", query = ""] = secrets;
  await using directory = await temporaryDirectory();
  await using receiver = await startReceiver();
  await using failing = await startReceiver((response, { headers }) =>
    response.writeHead(500, { "x-echo": String(headers.authorization) }).end(String(headers.authorization)),
  );
  await using server = await startPushServer({ data: directory.path });
  const { client } = server;
  const task = await waitingTask(client, 2);
  const hooks = new Hooks(client, task.id);
  const authentication = { scheme: "Bearer", credentials };
  const config = (base: string) => ({ url: `${base}?token=${query}`, token, authentication });
  const answers = [
    await hooks.create({ ...config(receiver.url), id: "works" }),
    await hooks.create({ ...config(failing.url), id: "fails" }),
    await hooks.create({ ...config("http://169.254.0.1/"), id: "refused" }),
  ];
  assert.ok(answers[0].url.includes(query), "the URL is given back to those who may see the task");
  await answer(client, task.id, 0);
  await receiver.count(1);
  assert.equal(receiver.received[0]?.headers.authorization, `Bearer ${credentials}`);
  const whileActive = JSON.stringify([
    answers.map(({ url: _, ...rest }) => rest),
    await server.configs(task.id),
  ]);
  await answer(client, task.id, 1);
  await untilState(server, task.id, "ended", "failed");
  const ended = await hooks.get("works");
  assert.match(ended.url, /^http:\/\/127\.0\.0\.1:\d+\/hook\?token=/);
  const { body: events } = await client.get(`/v1/tasks/${task.id}/events?limit=200`);
  assert.deepEqual(find(whileActive + JSON.stringify([ended, events]) + server.output()), []);
  assert.equal(await server.stop(), 0);
  const files = readdirSync(directory.path, { recursive: true, encoding: "utf8" })
    .map((name) => join(directory.path, name))
    .filter((file) => statSync(file).isFile());
  assert.ok(files.length > 0);
  for (const file of files) assert.deepEqual(find(readFileSync(file, "latin1")), [], file);
  const log = await assertRebuildable(directory.path);
  assert.ok(log.some(({ event }) => event === "vendor.bridle.push_config.gave_up"));
});

describe("What becomes of webhooks otherwise", () => {
  test("PSH-9 webhooks are not exported, survive master key rotation and end with erasure", async () => {
    // Given webhooks of a session, when it is exported, when the master key is changed, and when it is erased, then they
    // stay behind, are still told, and then are told nothing more.
    await using directory = await temporaryDirectory();
    await using receiver = await startReceiver();
    await using failing = await startReceiver((response) => response.writeHead(500).end());
    const backoff = { firstMs: 20, mostMs: 20, attemptsMax: 1_000_000 };
    await using server = await startPushServer({ data: directory.path, backoff });
    const { client } = server;
    const task = await waitingTask(client);
    const hooks = new Hooks(client, task.id);
    await hooks.create({ id: "works", url: receiver.url, token: "a token" });
    await hooks.create({ id: "fails", url: `${failing.url}/remembered-path` });
    assert.equal((await client.post("/v1/vaults/rotate-master-key")).body.rewrapped, 2);
    await finish(server, task.id);
    await untilState(server, task.id, "ended", "active");
    assert.equal(receiver.received[0]?.headers["x-a2a-notification-token"], "a token");

    const exported = `${client.url}/v1/sessions/${task.session_id}/export`;
    const log = await (await fetch(exported, { headers: client.headers() })).text();
    assert.match(log, /task\.completed/);
    assert.doesNotMatch(log, /push_config|\/hook/);
    await failing.count(1);
    assert.equal((await client.post(`/v1/sessions/${task.session_id}/erase`)).status, 200);
    const count = failing.received.length;
    assert.deepEqual(await server.configs(task.id), []);
    assert.equal(refusalOf(await hooks.create({ id: "mine", url })).reason, "UNSUPPORTED_OPERATION");
    assert.equal((await client.post("/v1/vaults/rotate-master-key")).body.locked.length, 0);
    assert.equal(await server.stop(), 0);
    assert.equal(failing.received.length, count);
    await assertRebuildable(directory.path);
    for (const name of readdirSync(directory.path)) {
      const file = join(directory.path, name);
      if (statSync(file).isFile()) assert.ok(!readFileSync(file, "latin1").includes("remembered-path"), name);
    }
  });

  test("PSH-9 a retention sweep removes a webhook together with its old task", async () => {
    // Given a webhook of a task that is old enough, when the log is swept, then it leaves with it.
    await using directory = await temporaryDirectory();
    await using receiver = await startReceiver();
    await using server = await startPushServer({ data: directory.path, variables: { RETAIN_MS: "1" } });
    const { client } = server;
    const task = await send(client, "say hello", { url: receiver.url });
    await untilState(server, task.id, "ended");
    assert.equal((await client.post("/v1/retention/sweep", {})).body.tasks, 1);
    assert.deepEqual(await server.configs(task.id), []);
    const refused = await new Hooks(client, task.id).create({ url: receiver.url });
    assert.equal(refusalOf(refused).reason, "UNSUPPORTED_OPERATION");
    assert.equal(await server.stop(), 0);
    const events = await assertRebuildable(directory.path);
    assert.ok(events.every(({ event }) => !event.includes("push_config")));
  });

  test("SSR-1 SSR-6 by default private webhook addresses are rejected, older ones never called", async () => {
    // Given a server with its usual settings, when webhooks on private addresses are registered, then they are refused,
    // and one from before the setting changed is not called.
    await using directory = await temporaryDirectory();
    await using receiver = await startReceiver();
    await using lenient = await startPushServer({ data: directory.path });
    const task = await waitingTask(lenient.client);
    await new Hooks(lenient.client, task.id).create({ url: receiver.url });
    assert.equal(await lenient.stop(), 0);
    await using strict = await startPushServer({ data: directory.path, variables: { PUSH_STRICT: "1" } });
    const refused = ["127.0.0.1", "localhost", "[::1]", "0x7f000001", "10.0.0.1"].map(
      (host) => `https://${host}/`,
    );
    for (const refusedUrl of [...refused, "http://example.com/"]) {
      const answered = await new Hooks(strict.client, task.id).create({ url: refusedUrl });
      assert.equal(refusalOf(answered).field, "url", refusedUrl);
    }
    await finish(strict, task.id);
    const config = await untilState(strict, task.id, "failed");
    assert.match(config.last_error, /plain http/);
    assert.deepEqual(receiver.received, []);
  });

  test("SSR-6 only an explicit true or 1 allows private addresses", () => {
    // Given the setting with and without a value, when it is read, then only what says so means yes.
    const option = serveOptions.find(({ long }) => long === "--allow-private-addresses");
    const read = (text: string) => option?.parseArg?.(text, undefined);
    assert.deepEqual([option?.defaultValue, option?.presetArg], [false, "true"]);
    assert.deepEqual(["true", "1", "false", "0"].map(read), [true, true, false, false]);
    for (const text of ["perhaps", "", "TRUE "]) assert.throws(() => read(text), InvalidArgumentError);
  });
});
