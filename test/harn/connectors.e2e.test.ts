/** Deliveries of other systems: signed, taken once, turned into tasks; whatever happens in between. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Client, errorOf, type Json, until } from "../support/client.ts";
import { eventsOf, sendDelivery } from "../support/deliveries.ts";
import { assertRebuildable } from "../support/log.ts";
import { startProcess, startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

let server: TestServer;
let client: Client;

before(async () => {
  server = await startServer();
  client = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

const ping = { type: "invoice.paid", data: { amount: 5 } };
const patch = (id: string, body: object) => client.call(`/v1/connectors/${id}`, { method: "PATCH", body });
const namesOf = (events: Json[]) => events.map(({ event }) => event);

async function tasksOf(by: Client, sessionId: string): Promise<Json[]> {
  return await by.listAll(`/v1/sessions/${sessionId}/tasks`);
}

describe("Connectors", () => {
  test("CON-1 creates, reads, changes and deletes a connector and shows its secret once", async () => {
    // Given a connector, when it is created, read, changed and deleted, then each is so, and the secret is shown once.
    const connector = await client.createConnector({ event_kinds: ["a"], metadata: { of: "billing" } });
    const { secret, ...shown } = connector;
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.deepEqual([shown.status, shown.provider, shown.event_kinds], ["ACTIVE", "webhook", ["a"]]);
    assert.deepEqual(shown.dedupe_policy, { window_seconds: 604_800 });
    assert.equal(shown.webhook.path, `/v1/connectors/${connector.id}/deliveries`);
    assert.deepEqual((await client.get(`/v1/connectors/${connector.id}`)).body, shown);
    assert.ok((await client.listAll("/v1/connectors")).some(({ id }) => id === connector.id));

    const { body } = await patch(connector.id, { status: "PAUSED", target_persona_id: "persona_rehearsal" });
    assert.deepEqual([body.status, body.target_persona_id], ["PAUSED", "persona_rehearsal"]);
    const path = `/v1/connectors/${connector.id}`;
    assert.equal((await client.call(path, { method: "DELETE" })).status, 204);
    errorOf(await client.get(path), 404);
    errorOf(await patch(connector.id, { status: "ACTIVE" }), 404);
    assert.ok((await client.listAll("/v1/connectors")).every(({ id }) => id !== connector.id));
    errorOf(await sendDelivery(client, { connector, id: "m", body: ping }), 401);
  });

  const refused: Record<string, [body: object, status: number, param: string | null]> = {
    "another provider": [{ provider: "pigeon" }, 400, "provider"],
    "a workspace that is not there": [{ workspace_id: "workspace_none" }, 404, null],
    "a persona that is not there": [{ target_persona_id: "persona_none" }, 404, null],
    "a session that is not there": [{ target_session_id: "session_none" }, 404, null],
    "an unknown status": [{ status: "TIRED" }, 400, "status"],
    "a window that is too short": [
      { dedupe_policy: { window_seconds: 1 } },
      400,
      "dedupe_policy.window_seconds",
    ],
    "a window that is too long": [
      { dedupe_policy: { window_seconds: 1e9 } },
      400,
      "dedupe_policy.window_seconds",
    ],
  };
  for (const [what, [body, status, param]] of Object.entries(refused)) {
    test(`CON-1 given ${what}, when a connector is created, then it is refused and none is made`, async () => {
      const count = (await client.listAll("/v1/connectors")).length;
      const answer = await client.post("/v1/connectors", {
        provider: "webhook",
        workspace_id: "workspace_default",
        ...body,
      });
      assert.equal(errorOf(answer, status).param, param);
      assert.equal((await client.listAll("/v1/connectors")).length, count);
    });
  }

  test("CON-1 a creation repeated under its Idempotency-Key returns the connector, not the secret", async () => {
    // Given an Idempotency-Key, when the creation is repeated, then it is the same connector without the secret.
    const body = { provider: "webhook", workspace_id: "workspace_default" };
    const headers = { "idempotency-key": "connector-once" };
    const first = await client.post("/v1/connectors", body, headers);
    const second = await client.post("/v1/connectors", body, headers);
    assert.equal(second.body.id, first.body.id);
    assert.equal(second.body.secret, null);
  });

  test("CON-1 keys without the scope or of another workspace or tenant cannot use a connector", async () => {
    // Given keys without the scope, of another workspace and of another tenant, when they use a connector, then they are
    // refused.
    const { body: other } = await client.post("/v1/workspaces", { name: "Other", root: "." });
    const connector = await client.createConnector({ workspace_id: other.id });
    const path = `/v1/connectors/${connector.id}`;
    const reader = await client.withScopes("connectors:read");
    errorOf(await reader.call(path, { method: "DELETE" }), 403);
    const neighbour = client.as((await client.createKey({ workspace_ids: ["workspace_default"] })).key);
    const stranger = client.as((await client.createKey({ tenant_id: "tenant_stranger" })).key);
    for (const by of [neighbour, stranger]) {
      errorOf(await by.get(path), 404);
      errorOf(await by.call(path, { method: "PATCH", body: { status: "DISABLED" } }), 404);
      errorOf(await by.call(path, { method: "DELETE" }), 404);
      assert.ok((await by.listAll("/v1/connectors")).every(({ id }) => id !== connector.id));
    }
    const session = await client.createSession();
    const answer = await client.post("/v1/connectors", {
      provider: "webhook",
      workspace_id: other.id,
      target_session_id: session.id,
    });
    assert.equal(errorOf(answer, 400).param, "target_session_id");
  });

  test("CON-2 the secret is nowhere in what the server says and keeps", async () => {
    // Given a secret, when everything that the server says and keeps is searched, then it is nowhere.
    await using directory = await temporaryDirectory();
    await using own = await startProcess({ data: directory.path, env: { BRIDLE_LOG_LEVEL: "debug" } });
    const by = new Client(own);
    const connector = await by.createConnector();
    await sendDelivery(by, { connector, id: "m", body: ping });
    await sendDelivery(by, { connector, id: "m2", body: ping, sent: "{}" });
    const bytes = Buffer.from(connector.secret.slice("whsec_".length), "base64");
    const forms = [connector.secret.slice(6), bytes.toString("hex"), bytes.toString("latin1")];
    const said = JSON.stringify([
      await by.listAll("/v1/events"),
      await by.listAll("/v1/connectors"),
      (await by.get(`/v1/connectors/${connector.id}`)).body,
    ]);
    assert.ok(!said.includes("sealed_secret"));
    await own.stop();
    const files = readdirSync(directory.path, { recursive: true, encoding: "utf8" })
      .map((name) => join(directory.path, name))
      .filter((file) => statSync(file).isFile());
    assert.ok(files.some((file) => file.endsWith("bridle.db")));
    const texts = [said, own.output(), ...files.map((file) => readFileSync(file).toString("latin1"))];
    for (const form of forms) assert.ok(texts.every((text) => !text.includes(form)));
    assert.equal(statSync(join(directory.path, "master.key")).mode & 0o777, 0o600);
  });
});

describe("Deliveries", () => {
  test("CON-3 a signed delivery becomes a task of the connector, logged in one commit", async () => {
    // Given a signed delivery, when it arrives, then it is a task of the connector, and the log says how, in one commit.
    const session = await client.createSession();
    const connector = await client.createConnector({
      target_session_id: session.id,
      target_persona_id: "persona_default",
    });
    const { status, body } = await sendDelivery(client, { connector, id: "msg_1", body: ping });
    assert.equal(status, 202, JSON.stringify(body));
    assert.equal(body.deduped, false);
    const task = await client.untilTask(body.task_id, (each) => each.status === "COMPLETED");
    assert.deepEqual(
      [task.created_by, task.session_id, task.persona_id],
      [connector.id, session.id, "persona_default"],
    );
    assert.deepEqual(task.input, { delivery_id: body.delivery_id, event_kind: "invoice.paid", body: ping });
    const events = (await eventsOf(client, connector.id)).slice(1);
    assert.deepEqual(namesOf(events), [
      "connector.delivery_received",
      "connector.normalized",
      "connector.task_submitted",
    ]);
    assert.equal(new Set(events.map(({ created_at }) => created_at)).size, 1);
    assert.ok(events.every(({ payload }) => payload.delivery_id === body.delivery_id));
  });

  test("CON-2 rotating the master key seals the secret again and deliveries go on", async () => {
    // Given a connector, when the master key is turned, then its secret is sealed again and deliveries go on.
    const connector = await client.createConnector();
    const rotated = await client.post("/v1/vaults/rotate-master-key");
    assert.equal(rotated.status, 200, JSON.stringify(rotated.body));
    assert.ok(rotated.body.rewrapped > 0);
    const { status } = await sendDelivery(client, { connector, id: "after", body: ping });
    assert.equal(status, 202);
    assert.ok(
      namesOf(await eventsOf(client, connector.id)).includes("vendor.bridle.connector.data_key_rewrapped"),
    );
  });

  test("CON-3 concurrent deliveries share one own session, and get another once it is closed", async () => {
    // Given no session to go to, when deliveries arrive at once, then they share one session of the connector's own, and
    // get another when it is closed.
    const connector = await client.createConnector();
    const ids = Array.from({ length: 6 }, (_, n) => `msg_${n}`);
    const answers = await Promise.all(ids.map((id) => sendDelivery(client, { connector, id, body: ping })));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([202]));
    const { webhook } = (await client.get(`/v1/connectors/${connector.id}`)).body;
    assert.equal((await tasksOf(client, webhook.session_id)).length, 6);
    await client.post(`/v1/sessions/${webhook.session_id}/close`);
    const { body } = await sendDelivery(client, { connector, id: "later", body: ping });
    assert.notEqual((await client.get(`/v1/tasks/${body.task_id}`)).body.session_id, webhook.session_id);
  });

  test("CON-4 a badly signed delivery answers 401 like an unknown connector and leaves no trace", async () => {
    // Given deliveries that are not signed as they must be, when they arrive, then they are 401 as for a connector that
    // is not there, and leave no trace.
    const connector = await client.createConnector();
    const other = await client.createConnector();
    const good = { connector, id: "msg_1", body: ping };
    const minutes = (n: number) => new Date(Date.now() + n * 60_000);
    const bad = {
      "another body": { ...good, sent: JSON.stringify({ ...ping, extra: 1 }) },
      "another secret": { ...good, connector: { ...connector, secret: other.secret } },
      "another id": { ...good, headers: { "webhook-id": "msg_2" } },
      "another time": {
        ...good,
        headers: { "webhook-timestamp": String(Math.floor(Date.now() / 1000) + 30) },
      },
      "no signature": { ...good, headers: { "webhook-signature": undefined } },
      "no id": { ...good, headers: { "webhook-id": undefined } },
      "no time": { ...good, headers: { "webhook-timestamp": undefined } },
      "a time that is none": { ...good, headers: { "webhook-timestamp": "soon" } },
      "an empty signature": { ...good, headers: { "webhook-signature": "v1," } },
      "another scheme": { ...good, headers: { "webhook-signature": "v1a,abc" } },
      "six minutes ago": { ...good, at: minutes(-6) },
      "in six minutes": { ...good, at: minutes(6) },
      "a connector that is not there": { ...good, connector: { ...connector, id: "connector_none" } },
    };
    const before = await client.listAll("/v1/events");
    const messages = new Set<string>();
    for (const [what, delivery] of Object.entries(bad)) {
      const error = errorOf(await sendDelivery(client, delivery), 401);
      assert.equal(error.code, "unauthenticated", what);
      messages.add(error.message);
    }
    assert.equal(messages.size, 1);
    const withKey = await client.post(`/v1/connectors/${connector.id}/deliveries`, ping);
    errorOf(withKey, 401);
    assert.deepEqual(await client.listAll("/v1/events"), before);
    const several = signedTwice(connector.secret, "msg_1", JSON.stringify(ping));
    const rotated = await sendDelivery(client, { ...good, headers: several });
    assert.equal(rotated.status, 202, "one of several signatures is enough");
  });

  /** By hand, as the specification says it, beside one by somebody else. */
  function signedTwice(secret: string, id: string, text: string): Record<string, string> {
    const time = String(Math.floor(Date.now() / 1000));
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    const signature = createHmac("sha256", key).update(`${id}.${time}.${text}`).digest("base64");
    return { "webhook-timestamp": time, "webhook-signature": `v1,${"A".repeat(43)}= v1,${signature}` };
  }

  test("CON-5 a repeated delivery, even many at once, makes one task and every answer names it", async () => {
    // Given a delivery that comes again, alone and many at once, when it is answered, then there is one task and each
    // hears of it.
    const connector = await client.createConnector();
    const delivery = { connector, id: "again", body: ping };
    const answers = await Promise.all(Array.from({ length: 20 }, () => sendDelivery(client, delivery)));
    assert.deepEqual(answers.map(({ status, body }) => `${status} ${body.deduped}`).sort(), [
      ...Array(19).fill("200 true"),
      "202 false",
    ]);
    assert.equal(new Set(answers.map(({ body }) => `${body.task_id} ${body.delivery_id}`)).size, 1);
    const changed = await sendDelivery(client, { ...delivery, body: { ...ping, retry: 2 } });
    assert.deepEqual([changed.status, changed.body.task_id], [200, answers[0]?.body.task_id]);
    const { webhook } = (await client.get(`/v1/connectors/${connector.id}`)).body;
    assert.equal((await tasksOf(client, webhook.session_id)).length, 1);
    const names = namesOf(await eventsOf(client, connector.id));
    assert.equal(names.filter((name) => name === "connector.delivery_deduped").length, 20);
    assert.equal(names.filter((name) => name === "connector.delivery_received").length, 1);

    const other = await client.createConnector();
    const elsewhere = await sendDelivery(client, { ...delivery, connector: other });
    assert.equal(elsewhere.status, 202, "an id counts per connector");
  });

  test("CON-6 deliveries of other event kinds are recorded as ignored and make no task", async () => {
    // Given event kinds, when deliveries of other kinds arrive, then they are recorded as ignored and are no tasks.
    const connector = await client.createConnector({ event_kinds: ["invoice.paid"] });
    const bodies: [string, unknown, boolean][] = [
      ["m1", ping, true],
      ["m2", { type: "invoice.voided" }, false],
      ["m3", { data: 1 }, false],
      ["m4", ["invoice.paid"], false],
      ["m5", { type: 5 }, false],
    ];
    for (const [id, body, isTaken] of bodies) {
      const answer = await sendDelivery(client, { connector, id, body });
      assert.equal(answer.status, 202);
      assert.equal(answer.body.task_id !== null, isTaken, id);
      const again = await sendDelivery(client, { connector, id, body });
      assert.deepEqual([again.status, again.body.deduped], [200, true]);
    }
    const normalized = (await eventsOf(client, connector.id)).filter(
      ({ event }) => event === "connector.normalized",
    );
    assert.deepEqual(
      normalized.map(({ payload }) => [payload.event_kind, payload.status]),
      [
        ["invoice.paid", "accepted"],
        ["invoice.voided", "ignored"],
        [null, "ignored"],
        [null, "ignored"],
        [null, "ignored"],
      ],
    );
  });

  test("CON-3 a delivery makes a task for each persona triggered by its kind, in one session", async () => {
    // Given personas with triggers, when a delivery arrives, then each that asked for its kind has a task, in one
    // session.
    const connector = await client.createConnector();
    const createPersona = async (triggers: object[]) => {
      const answer = await client.post("/v1/personas", {
        name: "triggered",
        version: "1",
        entry_workflow: "echo",
        description: "Waits for deliveries.",
        autonomy_tier: "act_auto",
        receipt_policy: "optional",
        triggers,
      });
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      return answer.body.id;
    };
    const all = await createPersona([{ connector_id: connector.id }]);
    const paid = await createPersona([{ connector_id: connector.id, event_kinds: ["invoice.paid"] }]);
    const other = await createPersona([{ connector_id: (await client.createConnector()).id }]);
    const personasOf = async (id: string, type: string) => {
      const { body } = await sendDelivery(client, { connector, id, body: { type } });
      const tasks = await Promise.all(
        body.task_ids.map(async (task: string) => (await client.get(`/v1/tasks/${task}`)).body),
      );
      assert.ok(new Set(tasks.map(({ session_id }) => session_id)).size <= 1);
      return tasks.map(({ persona_id }) => persona_id);
    };
    assert.deepEqual(await personasOf("m1", "invoice.paid"), [all, paid]);
    assert.deepEqual(await personasOf("m2", "invoice.voided"), [all]);
    await patch(connector.id, { target_persona_id: other });
    assert.deepEqual(await personasOf("m3", "invoice.voided"), [other, all]);
    await client.call(`/v1/personas/${all}`, { method: "PATCH", body: { triggers: [] } });
    await patch(connector.id, { target_persona_id: null });
    assert.deepEqual(await personasOf("m4", "invoice.voided"), []);
  });

  test("CON-6 an inactive connector refuses and records a delivery, and takes it once active", async () => {
    // Given a connector that takes nothing now, when a delivery arrives, then it is refused, recorded, and taken when it
    // comes again later.
    const connector = await client.createConnector({ status: "PAUSED" });
    const delivery = { connector, id: "patient", body: ping };
    errorOf(await sendDelivery(client, delivery), 409);
    for (const status of ["DISABLED", "FAILED"]) {
      await patch(connector.id, { status });
      assert.equal(errorOf(await sendDelivery(client, delivery), 422).details.status, status);
    }
    await patch(connector.id, { status: "ACTIVE" });
    assert.equal((await sendDelivery(client, delivery)).status, 202);
    const failed = (await eventsOf(client, connector.id)).filter(({ event }) => event === "connector.failed");
    assert.deepEqual(
      failed.map(({ payload }) => payload.code),
      ["conflict", "policy_violation", "policy_violation"],
    );
  });

  test("CON-6 a delivery for a closed session is a conflict and is recorded as failed", async () => {
    // Given a session that was closed, when a delivery for it arrives, then it is a conflict and recorded as failed.
    const session = await client.createSession();
    const connector = await client.createConnector({ target_session_id: session.id });
    await client.post(`/v1/sessions/${session.id}/close`);
    errorOf(await sendDelivery(client, { connector, id: "m", body: ping }), 409);
    assert.equal((await eventsOf(client, connector.id)).at(-1).event, "connector.failed");
  });

  test("CON-6 unreadable signed deliveries get an error and no task, and the server goes on", async () => {
    // Given signed deliveries that cannot be read, when they arrive, then each has its error, no task, and the server
    // goes on.
    const connector = await client.createConnector();
    const deep = `${"[".repeat(5000)}${"]".repeat(5000)}`;
    const cases: [id: string, body: string, status: number][] = [
      ["m1", "{not json", 400],
      ["m2", deep, 400],
      ["m3", "", 400],
      ["m4", JSON.stringify({ text: "x".repeat(1024 * 1024) }), 413],
      ["i".repeat(300), "{}", 400],
    ];
    for (const [id, body, status] of cases)
      errorOf(await sendDelivery(client, { connector, id, body }), status);
    const wrongType = await sendDelivery(client, {
      connector,
      id: "m6",
      body: "{}",
      headers: { "content-type": "text/plain" },
    });
    assert.equal(wrongType.status, 415);
    assert.equal((await sendDelivery(client, { connector, id: "m7", body: "null" })).status, 202);
    const { webhook } = (await client.get(`/v1/connectors/${connector.id}`)).body;
    assert.equal((await tasksOf(client, webhook.session_id)).length, 1);
  });

  test("CON-6 a credential in a delivery is redacted", async () => {
    // Given a delivery with a credential in it, when it is taken, then what looks like one is not kept.
    const connector = await client.createConnector();
    const token = `sk-live-${"Q7zKv9Rt".repeat(4)}`;
    const { body } = await sendDelivery(client, {
      connector,
      id: "m",
      body: { type: "a", note: `use ${token}` },
    });
    const { input } = (await client.get(`/v1/tasks/${body.task_id}`)).body;
    assert.equal(input.body.note, "use [redacted:api_key]");
    assert.ok(!JSON.stringify(await eventsOf(client, connector.id)).includes(token));
  });

  test("CON-7 deliveries repeated across server crashes make one task each", async () => {
    // Given a server that is killed again and again, when the sender repeats what was not answered, then every delivery
    // is one task.
    await using directory = await temporaryDirectory();
    await using prepared = await startServer({ data: directory.path });
    let by = new Client(prepared);
    const connector = await by.createConnector();
    const first = await sendDelivery(by, { connector, id: "first", body: ping });
    const tasks = new Map<string, string>([["first", first.body.task_id]]);
    await prepared.stop();
    for (const point of ["commit.written:2", "commit.durable:1"]) {
      let own = await startProcess({ data: directory.path, env: { BRIDLE_FAIL_POINT: point } });
      by = new Client(own);
      const ids = Array.from({ length: 4 }, (_, n) => `${point} ${n}`);
      const send = async (id: string) => {
        const answer = await sendDelivery(by, { connector, id, body: ping }).catch(() => null);
        if (answer === null) return;
        assert.ok([200, 202].includes(answer.status), JSON.stringify(answer.body));
        const { task_id } = answer.body;
        assert.equal(task_id, tasks.get(id) ?? task_id, "an answer once given stays");
        tasks.set(id, task_id);
      };
      for (const id of ids) await Promise.all([send(id), send(id)]);
      await until(
        async () => own.process.signalCode,
        (signal) => signal === "SIGKILL",
      );
      own = await startProcess({ data: directory.path });
      by = new Client(own);
      await Promise.all([...tasks.keys(), ...ids].map(send));
      assert.ok(ids.every((id) => tasks.has(id)));
      await own.stop();
    }
    const events = await assertRebuildable(directory.path);
    const submitted = events.filter(({ event }) => event === "connector.task_submitted");
    assert.equal(submitted.length, tasks.size);
    assert.equal(events.filter(({ event }) => event === "task.submitted").length, tasks.size);
    assert.equal(new Set(tasks.values()).size, tasks.size);
  });
});
