/** Writes that are sent twice: the same key and the same body are the same write. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Answer, Client, errorOf, isFinal, type Json, userMessage } from "../support/client.ts";
import { startProcess, startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

let server: TestServer;
let client: Client;

before(async () => {
  server = await startServer();
  client = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

let used = 0;
/** A key that nobody has used on this server. */
const newKey = () => `key-${++used}`;

function write(path: string, body: object, key: string, writer = client): Promise<Answer> {
  return writer.post(path, body, { "idempotency-key": key });
}

const isReplay = ({ headers }: Answer) => headers.get("idempotent-replayed") === "true";
const eventCount = async () => (await client.listAll("/v1/events")).length;

/** Every write of the API that is not idempotent by itself, on something that is there. */
const writes: Record<string, () => Promise<[path: string, body: object, method?: string]>> = {
  "create a session": async () => ["/v1/sessions", { workspace_id: "workspace_default", metadata: { a: 1 } }],
  "create a workspace": async () => ["/v1/workspaces", { name: "W", root: "." }],
  "submit a task": async () => ["/v1/tasks", { session_id: await session(), input: userMessage("hello") }],
  "submit a task under its session": async () => [
    `/v1/sessions/${await session()}/tasks`,
    { input: { a: 1 } },
  ],
  "append a message": async () => [
    `/v1/sessions/${await session()}/messages`,
    { message: userMessage("hello") },
  ],
  "create a branch": async () => [
    `/v1/sessions/${await session()}/branches`,
    { kind: "sandbox", base_ref: "x" },
  ],
  "register an artifact": async () => [
    "/v1/artifacts",
    { kind: "file", mime_type: "a/b", visibility: "public" },
  ],
  "fork a session": async () => [`/v1/sessions/${await session()}/fork`, {}],
  "truncate a session": async () => [`/v1/sessions/${await session()}/truncate`, { keep_first: 0 }],
  "compact a session": async () => [`/v1/sessions/${await session()}/compact`, { keep_last: 0 }],
  "erase a session": async () => [`/v1/sessions/${await session()}/erase`, { reason: "asked for" }],
  "close a session": async () => [`/v1/sessions/${await session()}/close`, {}],
  "update a session": async () => [`/v1/sessions/${await session()}`, { summary: "new" }, "PATCH"],
  "cancel a task": async () => [`/v1/tasks/${(await waiting("ask who?")).id}/cancel`, { reason: "because" }],
  "answer a task": async () => [
    `/v1/tasks/${(await waiting("ask who?")).id}/messages`,
    { kind: "input", message: userMessage("Ada") },
  ],
  "answer a permission request": async () => [
    `/v1/permission-requests/${(await waiting("approve it")).waiting_for.permission_request_id}/respond`,
    { approved: true },
  ],
};

async function session(): Promise<string> {
  return (await client.createSession({ initial_messages: [userMessage("first")] })).id;
}

async function waiting(line: string): Promise<Json> {
  return await client.rehearse(await session(), line);
}

/** Waits until no task of the server has anything left to do by itself. */
async function quiet(): Promise<void> {
  for (const task of await client.listAll("/v1/tasks")) {
    await client.settled(await client.untilTask(task.id, (now) => isFinal(now) || now.waiting_for !== null));
  }
}

describe("Repeated writes", () => {
  for (const [what, write] of Object.entries(writes)) {
    test(`IDM-1 repeating to ${what} with the same key returns the first answer and records nothing`, async () => {
      // Given a key, when a client repeats to ${what}, then it gets the first answer again and nothing more is recorded.
      const [path, body, method = "POST"] = await write();
      const options = { method, body, headers: { "idempotency-key": newKey() } };
      const first = await client.call(path, options);
      assert.ok(first.status < 300, JSON.stringify(first.body));
      assert.ok(!isReplay(first));
      await quiet();
      const events = await eventCount();
      const second = await client.call(path, options);
      assert.equal(second.status, first.status);
      assert.deepEqual(second.body, first.body);
      assert.ok(isReplay(second));
      assert.equal(await eventCount(), events);
    });
  }

  test("IDM-1 repeating the creation of a session that changed since returns the first answer", async () => {
    // Given a session that has gone on since, when its creation is repeated, then the answer is the first one.
    const key = newKey();
    const body = { workspace_id: "workspace_default" };
    const first = await write("/v1/sessions", body, key);
    await client.submit(first.body.id, "hello");
    assert.deepEqual((await write("/v1/sessions", body, key)).body, first.body);
  });

  test("IDM-1 repeating the submission of a task that ended since returns the first answer", async () => {
    // Given a task that has ended since, when its submission is repeated, then the answer is the first one.
    const key = newKey();
    const body = { session_id: await session(), input: userMessage("hello") };
    const first = await write("/v1/tasks", body, key);
    assert.equal(first.body.status, "SUBMITTED");
    await client.untilTask(first.body.id, isFinal);
    assert.deepEqual((await write("/v1/tasks", body, key)).body, first.body);
  });

  test("IDM-1 repeating a submission with wait waits for the same task and submits nothing", async () => {
    // Given a submission that waited for its task, when it is repeated with the same wait, then it waits for that task
    // again and submits nothing.
    const headers = { "idempotency-key": newKey(), prefer: "wait=30" };
    const body = {
      session_id: await session(),
      persona_id: "persona_rehearsal",
      input: userMessage("ask who are you?"),
    };
    const first = await client.post("/v1/tasks", body, headers);
    assert.equal(first.body.status, "INPUT_REQUIRED");
    await client.answer(first.body.id, "Ada");
    await client.untilTask(first.body.id, isFinal);
    const again = await client.post("/v1/tasks", body, headers);
    assert.equal(again.headers.get("idempotent-replayed"), "true");
    assert.deepEqual(again.body, (await client.get(`/v1/tasks/${first.body.id}`)).body);
    assert.equal((await client.listAll(`/v1/sessions/${body.session_id}/tasks`)).length, 1);
  });

  test("IDM-1 a repeated write with its body fields in another order is the same write", async () => {
    // Given the fields of the body in another order, when the write is repeated, then it is the same write.
    const key = newKey();
    const sessionId = await session();
    const one = `{"session_id":"${sessionId}","input":{"a":1,"b":{"c":[1,2],"d":null}}}`;
    const other = `{ "input": {"b": {"d": null, "c": [1.0, 2]}, "a": 1}, "session_id": "${sessionId}" }`;
    const headers = { "idempotency-key": key };
    const first = await client.call("/v1/tasks", { raw: one, headers });
    const second = await client.call("/v1/tasks", { raw: other, headers });
    assert.equal(second.status, 202);
    assert.equal(second.body.id, first.body.id);
    assert.ok(isReplay(second));
  });

  test("IDM-1 given no key, when a write is repeated, then it is made twice", async () => {
    const body = { workspace_id: "workspace_default" };
    const [one, two] = [await client.post("/v1/sessions", body), await client.post("/v1/sessions", body)];
    assert.notEqual(one.body.id, two.body.id);
  });

  test("IDM-1 a rejected write succeeds with the same key once its cause is gone", async () => {
    // Given a write that was refused, when it is repeated with the same key after its cause is gone, then it is made.
    const key = newKey();
    const { id } = await waiting("ask who are you?");
    const message = { kind: "tool_confirmation", message: userMessage("x") };
    errorOf(await write(`/v1/tasks/${id}/messages`, message, key), 409);
    const input = { kind: "input", message: userMessage("Ada") };
    const { status } = await write(`/v1/tasks/${id}/messages`, input, key);
    assert.equal(status, 201);
  });

  const otherBodies: Record<string, (body: Json) => object> = {
    "another value": (body) => ({ ...body, metadata: { a: 2 } }),
    "a field more": (body) => ({ ...body, persona_id: "persona_default" }),
    "a field less": ({ metadata: _, ...body }) => body,
  };
  for (const [what, change] of Object.entries(otherBodies)) {
    test(`IDM-2 reusing a key with ${what} answers 409 idempotency_key_reused and creates nothing`, async () => {
      // Given a key that was used, when it is sent with ${what}, then it is 409 idempotency_key_reused and nothing is
      // made.
      const key = newKey();
      const body = { workspace_id: "workspace_default", metadata: { a: 1 } };
      await write("/v1/sessions", body, key);
      const events = await eventCount();
      const error = errorOf(await write("/v1/sessions", change(body), key), 409);
      assert.equal(error.code, "idempotency_key_reused");
      assert.equal(await eventCount(), events);
      assert.ok(isReplay(await write("/v1/sessions", body, key)));
    });
  }

  test("IDM-2 given a list in another order, when the key is used again, then it is another body", async () => {
    const key = newKey();
    const body = { session_id: await session(), input: { list: [1, 2] } };
    await write("/v1/tasks", body, key);
    errorOf(await write("/v1/tasks", { ...body, input: { list: [2, 1] } }, key), 409);
  });

  for (const [what, write] of Object.entries(writes)) {
    test(`IDM-3 20 concurrent requests to ${what} with one key act once and get the same answer`, async () => {
      // Given 20 clients at once, when they all ${what} with one key, then it happens once and all get the same answer.
      const [path, body, method = "POST"] = await write();
      const options = { method, body, headers: { "idempotency-key": newKey() } };
      const answers = await Promise.all(Array.from({ length: 20 }, () => client.call(path, options)));
      const [first] = answers;
      assert.ok(first !== undefined && first.status < 300, JSON.stringify(first?.body));
      for (const answer of answers) {
        assert.equal(answer.status, first.status);
        assert.deepEqual(answer.body, first.body);
      }
      assert.equal(answers.filter((answer) => !isReplay(answer)).length, 1);
    });
  }

  test("IDM-3 20 concurrent submissions with one key create one task and one message", async () => {
    // Given 20 clients at once, when they submit one task with one key, then there is one task and one message.
    const [id, key] = [await session(), newKey()];
    const body = { session_id: id, persona_id: "persona_rehearsal", input: userMessage("ask who?") };
    await Promise.all(Array.from({ length: 20 }, () => write("/v1/tasks", body, key)));
    assert.equal((await client.listAll(`/v1/sessions/${id}/tasks`)).length, 1);
    assert.deepEqual(await client.texts(id), ["first", "ask who?"]);
  });

  test("IDM-3 of two bodies sent concurrently with one key one wins, and the others get an error", async () => {
    // Given 20 clients at once, when half of them send another body, then one body wins and the others are told.
    const key = newKey();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        write("/v1/sessions", { workspace_id: "workspace_default", metadata: { n: n % 2 } }, key),
      ),
    );
    const made = answers.filter(({ status }) => status === 201);
    assert.equal(made.length, 10);
    assert.equal(new Set(made.map(({ body }) => body.id)).size, 1);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      assert.equal(errorOf(answer, 409).code, "idempotency_key_reused");
    }
  });

  test("IDM-3 20 concurrent copies of a bad request with one key all get the reason", async () => {
    // Given 20 clients at once, when they all send the same bad request with one key, then all are told why.
    const key = newKey();
    const body = { session_id: "unknown", input: userMessage("hello") };
    const answers = await Promise.all(Array.from({ length: 20 }, () => write("/v1/tasks", body, key)));
    for (const answer of answers) assert.equal(errorOf(answer, 404).code, "resource_not_found");
  });

  test("IDM-4 a restart or kill keeps the first answer, and another body is still rejected", async () => {
    // Given a write, when the server is stopped or killed and started again, then repeating it gives the first answer
    // and another body is refused.
    await using data = await temporaryDirectory();
    const body = { workspace_id: "workspace_default", metadata: { a: 1 } };
    let first: Answer | null = null;
    for (const end of ["stop", "kill"] as const) {
      await using running = await startProcess({ data: data.path });
      const answer = await write("/v1/sessions", body, "the key", new Client(running));
      assert.equal(isReplay(answer), first !== null);
      first ??= answer;
      assert.deepEqual(answer.body, first.body);
      await running[end]();
    }
    await using last = await startServer({ data: data.path });
    const again = new Client(last);
    assert.deepEqual((await write("/v1/sessions", body, "the key", again)).body, first?.body);
    const error = errorOf(await write("/v1/sessions", { ...body, metadata: {} }, "the key", again), 409);
    assert.equal(error.code, "idempotency_key_reused");
    assert.equal((await again.listAll("/v1/sessions")).length, 1);
  });
});

describe("What a key counts for", () => {
  test("IDM-5 given two actors, when both use one key, then each makes a write of its own", async () => {
    const key = newKey();
    const body = { workspace_id: "workspace_default" };
    const ids = new Set<string>();
    for (const actor of ["ada", "bob"]) {
      const writer = client.as((await client.createKey({ actor })).key);
      const answer = await write("/v1/sessions", body, key, writer);
      assert.equal(answer.status, 201);
      ids.add(answer.body.id);
    }
    assert.equal(ids.size, 2);
  });

  test("IDM-5 two API keys of one actor make a write each with one idempotency key", async () => {
    // Given two keys of one actor, when both send one write with one idempotency key, then each makes its own.
    const key = newKey();
    const ids = new Set<string>();
    for (let n = 0; n < 2; n++) {
      const writer = client.as((await client.createKey({ actor: "carol" })).key);
      ids.add((await write("/v1/sessions", { workspace_id: "workspace_default" }, key, writer)).body.id);
    }
    assert.equal(ids.size, 2);
  });

  test("IDM-5 the same actor in two tenants makes a separate write in each with one key", async () => {
    // Given the same actor in two tenants, when both use one key, then each makes a write of its own.
    const key = newKey();
    const body = { name: "W", root: "." };
    const ids = new Set<string>();
    for (const tenant_id of ["tenant_default", "tenant_twin"]) {
      const writer = client.as((await client.createKey({ actor: "dave", tenant_id })).key);
      ids.add((await write("/v1/workspaces", body, key, writer)).body.id);
    }
    assert.equal(ids.size, 2);
  });

  test("IDM-5 given two workspaces, when one key is used in both, then each has a write of its own", async () => {
    const key = newKey();
    const other = (await client.post("/v1/workspaces", { name: "W", root: "." })).body.id;
    const one = await write("/v1/sessions", { workspace_id: "workspace_default" }, key);
    const two = await write("/v1/sessions", { workspace_id: other }, key);
    assert.equal(two.status, 201);
    assert.equal(two.body.workspace_id, other);
    assert.notEqual(one.body.id, two.body.id);
  });

  test("IDM-5 given two targets, when one key is used for both, then each has a write of its own", async () => {
    const key = newKey();
    const [one, other] = [await session(), await session()];
    const body = { message: userMessage("hello") };
    const ids = new Set<string>();
    for (const id of [one, other]) ids.add((await write(`/v1/sessions/${id}/messages`, body, key)).body.id);
    assert.equal(ids.size, 2);
  });

  test("IDM-5 one key used for two methods on one target carries out both", async () => {
    // Given two methods on one target, when one key is used for both, then both are carried out.
    const key = newKey();
    const { id } = await client.createKey();
    const path = `/v1/api-keys/${id}`;
    const headers = { "idempotency-key": key };
    assert.equal((await client.call(path, { headers })).status, 200);
    const revoked = await client.call(path, { method: "DELETE", headers });
    assert.notEqual(revoked.body.revoked_at, null);
    assert.ok(!isReplay(revoked));
  });

  test("IDM-5 one key used for two spellings of the same target makes one write", async () => {
    // Given one target written in two ways, when one key is used for both, then it is one write.
    const key = newKey();
    const id = await session();
    const body = { message: userMessage("hello") };
    const one = await write(`/v1/sessions/${id}/messages`, body, key);
    const forms = [
      `/v1/sessions/${id}/messages?a=b`,
      `/v1/sessions/${id}/messages/`,
      `/v1/sessions/%73${id.slice(1)}/messages`,
    ];
    for (const path of forms) {
      const two = await write(path, body, key);
      assert.equal(two.body.id, one.body.id, path);
    }
  });

  for (const [what, key] of Object.entries({ "too long": "k".repeat(256), empty: "" })) {
    test(`IDM-1 a write with a key that is ${what} is rejected and creates nothing`, async () => {
      // Given a key that is ${what}, when something is written with it, then it is refused and nothing is made.
      const events = await eventCount();
      const error = errorOf(await write("/v1/sessions", { workspace_id: "workspace_default" }, key), 400);
      assert.equal(error.code, "invalid_request");
      assert.equal(error.param, "Idempotency-Key");
      assert.equal(await eventCount(), events);
    });
  }

  test("IDM-1 a repeated write with a key of maximum length is recognized", async () => {
    // Given a key of the greatest length, when a write is repeated with it, then it is recognized.
    const key = "k".repeat(255);
    const body = { workspace_id: "workspace_default" };
    assert.equal((await write("/v1/sessions", body, key)).status, 201);
    assert.ok(isReplay(await write("/v1/sessions", body, key)));
  });
});
