/** What is refused, how it is said, and that nothing happens then. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { type Answer, type CallOptions, Client, errorOf, type Json, userMessage } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let client: Client;
/** A session, and tasks of it that wait for an answer and for permission. */
let session: Json;
let asking: Json;
let approving: Json;

before(async () => {
  server = await startServer();
  client = new Client(server);
  session = await client.createSession({ initial_messages: [userMessage("first")] });
  asking = await client.rehearse(session.id, "ask who?");
  approving = await client.rehearse(session.id, "approve it");
});
after(() => server[Symbol.asyncDispose]());

const lists = ["sessions", "tasks", "artifacts", "workspaces", "outcomes", "api-keys", "permission-requests"];

interface State {
  counts: number[];
  head: string;
}

/** The last event that was seen. */
let head = "";

async function state(): Promise<State> {
  const counts = await Promise.all(lists.map(async (list) => (await client.listAll(`/v1/${list}`)).length));
  // Only what is new: one of the events is as large as they may be.
  const events = await client.listAll(`/v1/events${head === "" ? "" : `?after_event_id=${head}`}`);
  head = events.at(-1)?.id ?? head;
  return { counts, head };
}

/** Makes the request and fails if it leaves any trace. */
async function withoutTrace(attempt: () => Promise<Answer>): Promise<Answer> {
  const before = await state();
  const answer = await attempt();
  assert.deepEqual(await state(), before, "something was recorded");
  return answer;
}

/** The places of the templates below, by name. */
function fill(path: string): string {
  const ids: Record<string, string> = {
    session: session.id,
    asking: asking.id,
    request: approving.waiting_for.permission_request_id,
  };
  return path.replaceAll(/\{(\w+)\}/g, (_, name) => ids[name] ?? assert.fail(`no ${name}`));
}

function nested(depth: number): string {
  return `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
}

describe("The shape of errors", () => {
  const refused: Record<
    string,
    [status: number, code: string, type: string, path: string, options?: CallOptions]
  > = {
    "a bad field": [400, "invalid_request", "request_error", "/v1/sessions", { body: {} }],
    "no key": [401, "unauthenticated", "auth_error", "/v1/sessions", { key: null }],
    "an unknown id": [404, "resource_not_found", "not_found_error", "/v1/sessions/unknown"],
    "an unknown route": [404, "resource_not_found", "not_found_error", "/v1/nothing"],
    "an unknown route outside the API": [
      404,
      "resource_not_found",
      "not_found_error",
      "/nothing",
      { key: null },
    ],
    "no version": [
      426,
      "unsupported_protocol_version",
      "request_error",
      "/v1/sessions",
      { headers: { "harn-agents-protocol-version": undefined } },
    ],
    "a cursor beyond the log": [
      410,
      "cursor_expired",
      "request_error",
      "/v1/events?after_event_id=evt_9000000000000000",
    ],
    "a path that cannot be decoded": [400, "invalid_request", "request_error", "/v1/sessions/%E0%A4%A"],
  };
  for (const [what, [status, code, type, path, options]] of Object.entries(refused)) {
    test(`ERR-1 the error for ${what} has code, message, type, param, request id and details`, async () => {
      // Given ${what}, when the request is refused, then the error has code, message, type, param, request id and
      // details.
      const answer = await client.call(path, options);
      const error = errorOf(answer, status);
      assert.deepEqual(Object.keys(answer.body), ["error"]);
      assert.deepEqual(Object.keys(error).sort(), [
        "code",
        "details",
        "message",
        "param",
        "request_id",
        "type",
      ]);
      assert.equal(error.code, code);
      assert.equal(error.type, type);
      assert.ok(error.message.length > 10 && /[.a-z_]$/.test(error.message), error.message);
      assert.ok(error.param === null || typeof error.param === "string");
      assert.match(answer.headers.get("content-type") ?? "", /^application\/json/);
    });
  }

  test("ERR-1 every answer has a request id of its own, also on success", async () => {
    // Given two requests, when both are answered, then each has a request id of its own, also when it succeeds.
    const ids = new Set<string | null>();
    for (const path of ["/v1/sessions", "/v1/sessions", "/v1/sessions/unknown", "/health"]) {
      ids.add((await client.get(path)).headers.get("x-request-id"));
    }
    assert.equal(ids.size, 4);
    assert.ok(!ids.has(null));
  });

  test("ERR-1 the server ignores a client's request id and gives its own", async () => {
    // Given a request id that the client made up, when it is sent, then the server gives its own.
    const answer = await client.get("/v1/sessions/unknown", { "x-request-id": "mine" });
    assert.notEqual(errorOf(answer, 404).request_id, "mine");
  });

  test("ERR-1 the text of an error contains no stack and no file of the server", async () => {
    // Given an error, when its text is read, then it has no stack and no file of the server.
    for (const path of [
      "/v1/sessions/unknown",
      "/v1/nothing",
      "/v1/sessions/%E0%A4%A",
      "/v1/sessions?limit=x",
    ]) {
      assert.doesNotMatch(
        JSON.stringify((await client.get(path)).body),
        /\\n\s+at |\.ts\b|node_modules|FST_/,
      );
    }
  });
});

describe("Bad bodies", () => {
  const sessions = "/v1/sessions";
  const ok = { workspace_id: "workspace_default" };
  const tasks = "/v1/tasks";
  const messages = "/v1/sessions/{session}/messages";
  const answers = "/v1/tasks/{asking}/messages";
  const keys = "/v1/api-keys";
  const key = { name: "k", actor: "a", scopes: ["admin"] };
  const artifacts = "/v1/artifacts";
  const artifact = { kind: "file", mime_type: "text/plain", visibility: "public" };
  const branches = "/v1/sessions/{session}/branches";
  const respond = "/v1/permission-requests/{request}/respond";
  const truncate = "/v1/sessions/{session}/truncate";
  const workspaces = "/v1/workspaces";

  const withParts = (...parts: unknown[]) => ({ message: { role: "user", parts } });
  const text = { type: "text", text: "x", visibility: "public" };
  const task = (change: object) => ({ session_id: session.id, input: userMessage("x"), ...change });

  /** The path, the field that must be named, and the body. */
  const wrong: [path: string, param: string, body: () => unknown][] = [
    [sessions, "workspace_id", () => ({})],
    [sessions, "workspace_id", () => ({ workspace_id: 7 })],
    [sessions, "workspace_id", () => ({ workspace_id: null })],
    [sessions, "workspace_id", () => ({ workspace_id: "" })],
    [sessions, "workspace_id", () => ({ workspace_id: "w".repeat(201) })],
    [sessions, "workspace_id", () => ({ workspace_id: ["workspace_default"] })],
    [sessions, "persona_id", () => ({ ...ok, persona_id: 7 })],
    [sessions, "metadata", () => ({ ...ok, metadata: "x" })],
    [sessions, "metadata", () => ({ ...ok, metadata: [] })],
    [sessions, "metadata", () => ({ ...ok, metadata: null })],
    [sessions, "initial_messages", () => ({ ...ok, initial_messages: {} })],
    [sessions, "initial_messages[0]", () => ({ ...ok, initial_messages: ["hello"] })],
    [
      sessions,
      "initial_messages[1].role",
      () => ({ ...ok, initial_messages: [userMessage("a"), { parts: [text] }] }),
    ],
    [tasks, "session_id", () => task({ session_id: undefined })],
    [tasks, "session_id", () => task({ session_id: 7 })],
    [tasks, "input", () => task({ input: undefined })],
    [tasks, "input", () => task({ input: "do it" })],
    [tasks, "input", () => task({ input: null })],
    [tasks, "input", () => task({ input: [1] })],
    [tasks, "input.role", () => task({ input: { parts: [text] } })],
    [tasks, "input.role", () => task({ input: { role: "king", parts: [text] } })],
    [tasks, "input.parts", () => task({ input: { role: "user", parts: "x" } })],
    [tasks, "input.parts", () => task({ input: { role: "user", parts: [] } })],
    [tasks, "input.parts[0].text", () => task({ input: { role: "user", parts: [{ ...text, text: 7 }] } })],
    [
      tasks,
      "input.parts[1].type",
      () => task({ input: { role: "user", parts: [text, { ...text, type: "song" }] } }),
    ],
    [tasks, "metadata", () => task({ metadata: 7 })],
    [messages, "message", () => ({})],
    [messages, "message", () => ({ message: "hello" })],
    [messages, "message.role", () => ({ message: { parts: [text] } })],
    [messages, "message.parts", () => ({ message: { role: "user" } })],
    [messages, "message.parts", () => withParts()],
    [messages, "message.parts", () => withParts(...Array(1001).fill(text))],
    [messages, "message.parts[0]", () => withParts("hello")],
    [messages, "message.parts[0].type", () => withParts({ text: "x", visibility: "public" })],
    [messages, "message.parts[0].visibility", () => withParts({ type: "text", text: "x" })],
    [messages, "message.parts[0].visibility", () => withParts({ ...text, visibility: "secret" })],
    [messages, "message.parts[0].text", () => withParts({ type: "text", visibility: "public" })],
    [messages, "message.parts[0].value", () => withParts({ type: "json", visibility: "public" })],
    [
      messages,
      "message.parts[1].status",
      () =>
        withParts(text, {
          type: "tool_result",
          tool_call_id: "c",
          output: 1,
          status: "fine",
          visibility: "public",
        }),
    ],
    [
      messages,
      "message.parts[0].input",
      () => withParts({ type: "tool_call", tool_call_id: "c", name: "n", input: "x", visibility: "public" }),
    ],
    [
      messages,
      "message.parts[0].uri",
      () => withParts({ type: "file_ref", mime_type: "a/b", visibility: "public" }),
    ],
    [answers, "kind", () => ({ message: userMessage("x") })],
    [answers, "kind", () => ({ kind: "shout", message: userMessage("x") })],
    [answers, "message.parts", () => ({ kind: "input", message: { role: "user", parts: [] } })],
    [keys, "name", () => ({ ...key, name: "" })],
    [keys, "actor", () => ({ ...key, actor: undefined })],
    [keys, "scopes", () => ({ ...key, scopes: [] })],
    [keys, "scopes", () => ({ ...key, scopes: "admin" })],
    [keys, "scopes", () => ({ ...key, scopes: ["nothing:read"] })],
    [keys, "tenant_id", () => ({ ...key, tenant_id: "Other Tenant" })],
    [keys, "expires_at", () => ({ ...key, expires_at: "tomorrow" })],
    [keys, "workspace_ids", () => ({ ...key, workspace_ids: [] })],
    [artifacts, "kind", () => ({ ...artifact, kind: "song" })],
    [artifacts, "mime_type", () => ({ ...artifact, mime_type: undefined })],
    [artifacts, "visibility", () => ({ ...artifact, visibility: "secret" })],
    [artifacts, "sha256", () => ({ ...artifact, sha256: "abc" })],
    [branches, "kind", () => ({ kind: "twig", base_ref: "main" })],
    [branches, "base_ref", () => ({ kind: "task" })],
    [respond, "approved", () => ({})],
    [respond, "approved", () => ({ approved: "yes" })],
    [respond, "decision", () => ({ decision: "perhaps" })],
    [truncate, "keep_first", () => ({})],
    [truncate, "keep_first", () => ({ keep_first: -1 })],
    [truncate, "keep_first", () => ({ keep_first: 1.5 })],
    [truncate, "keep_first", () => ({ keep_first: "1" })],
    [workspaces, "name", () => ({ root: "." })],
    [workspaces, "root", () => ({ name: "W", root: 7 })],
  ];
  for (const [n, [path, param, body]] of wrong.entries()) {
    test(`ERR-2 POST ${path} with a bad ${param} (case ${n + 1}) names it and records nothing`, async () => {
      // Given a bad ${param} (case ${n + 1}), when POST ${path} is sent with it, then the error names it and nothing is
      // recorded.
      const error = errorOf(await withoutTrace(() => client.post(fill(path), body())), 400);
      assert.equal(error.code, "invalid_request");
      assert.equal(error.param, param, error.message);
    });
  }

  test("ERR-2 given an unknown enum value, when it is refused, then the error says which there are", async () => {
    const { message } = errorOf(await client.post("/v1/artifacts", { ...artifact, kind: "song" }), 400);
    for (const kind of ["file", "patch", "dataset", "other"]) assert.ok(message.includes(kind), message);
  });

  const notObjects: Record<string, string> = {
    "no body": "",
    "half a body": '{"workspace_id":',
    "a trailing comma": '{"workspace_id":"workspace_default",}',
    "something after the body": '{"workspace_id":"workspace_default"} and more',
    "plain text": "hello",
    "an array": "[]",
    "a string": '"workspace_default"',
    null: "null",
    "a number": "7",
    "form data": "workspace_id=workspace_default",
  };
  for (const [what, raw] of Object.entries(notObjects)) {
    test(`ERR-2 ${what} as the body is invalid_request and records nothing`, async () => {
      // Given ${what} as the body, when it is sent, then it is invalid_request and nothing is recorded.
      const answer = await withoutTrace(() =>
        client.call("/v1/sessions", { raw, method: "POST", headers: { "idempotency-key": `body ${what}` } }),
      );
      assert.equal(errorOf(answer, 400).code, "invalid_request");
    });
  }

  const hostile: Record<string, string> = {
    "metadata nested far too deep": `{"workspace_id":"workspace_default","metadata":${nested(5_000)}}`,
    "a number that JSON cannot give back": '{"workspace_id":"workspace_default","metadata":{"n":1e999}}',
  };
  /** Of a server where there is nothing yet. */
  let writer: Client;
  let own: TestServer;
  before(async () => {
    own = await startServer();
    writer = new Client(own);
  });
  after(() => own[Symbol.asyncDispose]());
  for (const [what, raw] of Object.entries(hostile)) {
    for (const headers of [{}, { "idempotency-key": crypto.randomUUID() }]) {
      const how = "idempotency-key" in headers ? "with a key" : "without a key";
      test(`ERR-2 ${what}, sent ${how}, is invalid_request and leaves everything readable`, async () => {
        // Given ${what}, when it is sent ${how}, then it is invalid_request and everything can still be read.
        const answer = await writer.call("/v1/sessions", { raw, headers });
        const reads = ["/v1/sessions", "/v1/events"].map((path) => writer.get(path));
        assert.deepEqual(
          (await Promise.all(reads)).map(({ status }) => status),
          [200, 200],
        );
        assert.equal(errorOf(answer, 400).code, "invalid_request");
        assert.deepEqual(await writer.listAll("/v1/sessions"), []);
      });
    }
  }

  test("ERR-2 closing a session with an array as its body is refused", async () => {
    // Given a body where none is needed, when a session is closed with an array, then it is refused.
    const { id } = await client.createSession();
    errorOf(await client.call(`/v1/sessions/${id}/close`, { raw: "[1]" }), 400);
    assert.equal((await client.get(`/v1/sessions/${id}`)).body.state, "ACTIVE");
  });

  for (const [path, body] of Object.entries({ sessions: { summary: 7 }, workspaces: { name: "" } })) {
    test(`ERR-2 a bad PATCH /v1/${path} names the field and records nothing`, async () => {
      // Given a bad change, when PATCH /v1/${path} is sent with it, then the error names the field and nothing is
      // recorded.
      const id = path === "sessions" ? session.id : "workspace_default";
      const answer = await withoutTrace(() => client.call(`/v1/${path}/${id}`, { method: "PATCH", body }));
      assert.equal(errorOf(answer, 400).param, Object.keys(body)[0]);
    });
  }

  const tooMuch = 5 * 1024 * 1024;

  test("ERR-3 an announced body over the limit answers 413 before it is sent, recording nothing", async () => {
    // Given a body over the limit, when it is announced, then it is 413 payload_too_large before it is sent, and nothing
    // is recorded.
    const answer = await withoutTrace(async () => {
      const headers = {
        ...client.headers({ "content-type": "application/json" }),
        "content-length": tooMuch,
      };
      const sending = request(client.url + fill(messages), { method: "POST", headers });
      sending.write("{");
      const [response]: Json[] = await once(sending, "response");
      const body = JSON.parse(Buffer.concat(await response.toArray()).toString());
      sending.destroy();
      return { status: response.statusCode, headers: new Headers(response.headers), body };
    });
    const error = errorOf(answer, 413);
    assert.equal(error.code, "payload_too_large");
    assert.equal(error.type, "request_error");
  });

  test("ERR-3 a client that sends all of an oversized body before it reads still gets the 413", async () => {
    // Given a body over the limit, when a client sends all of it before it reads, then it still gets the 413.
    for (let n = 0; n < 10; n++) {
      const answer = await client.post(fill(messages), { message: userMessage("x".repeat(tooMuch)) });
      assert.equal(errorOf(answer, 413).code, "payload_too_large");
    }
  });

  test("ERR-3 given a body just under the limit, when it is sent, then it is taken", async () => {
    const { id } = await client.createSession();
    const size = 4 * 1024 * 1024 - 200;
    const body = { message: userMessage("x".repeat(size)) };
    const { status, body: message } = await client.post(`/v1/sessions/${id}/messages`, body);
    assert.equal(status, 201);
    assert.equal(message.parts[0].text.length, size);
  });

  for (const type of ["text/plain", "application/xml", "application/x-www-form-urlencoded", "nonsense"]) {
    test(`ERR-3 a body of media type ${type} is refused by the header's name and records nothing`, async () => {
      // Given a body of the media type ${type}, when it is sent, then it is refused, names the header, and nothing is
      // recorded.
      const raw = JSON.stringify(ok);
      const answer = await withoutTrace(() =>
        client.call("/v1/sessions", { raw, headers: { "content-type": type } }),
      );
      assert.ok([400, 415].includes(answer.status), String(answer.status));
      const error = errorOf(answer, answer.status);
      assert.equal(error.code, "invalid_request");
      assert.equal(error.param, "Content-Type");
    });
  }

  test("ERR-3 given JSON with a charset, when it is sent, then it is taken", async () => {
    const headers = { "content-type": "application/json; charset=utf-8" };
    assert.equal((await client.call("/v1/sessions", { raw: JSON.stringify(ok), headers })).status, 201);
  });

  test("ERR-1 input that is not HTTP gets a 400, its connection ends and the server lives on", async () => {
    // Given something that is not HTTP, when it is sent, then the connection ends with 400 and the server lives on.
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.write("this is not HTTP\r\n\r\n");
    let answer = "";
    for await (const chunk of socket) answer += chunk;
    assert.match(answer, /^HTTP\/1\.1 400 /);
    assert.equal((await client.get("/health")).status, 200);
  });
});

describe("What is not there", () => {
  const reads = [
    "sessions/{id}",
    "sessions/{id}/messages",
    "sessions/{id}/tasks",
    "sessions/{id}/branches",
    "sessions/{id}/events",
    "sessions/{id}/events/stream",
    "tasks/{id}",
    "tasks/{id}/events",
    "tasks/{id}/stream",
    "tasks/{id}/permission-requests",
    "messages/{id}",
    "artifacts/{id}",
    "artifacts/{id}/content",
    "outcomes/{id}",
    "branches/{id}",
    "workspaces/{id}",
    "personas/{id}",
    "api-keys/{id}",
    "events/{id}",
  ];
  for (const path of reads) {
    test(`ERR-4 GET /v1/${path} with an unknown id is resource_not_found`, async () => {
      // Given an unknown id, when GET /v1/${path} is sent with it, then it is resource_not_found.
      for (const id of ["unknown", "session_01ARZ3NDEKTSV4RRFFQ69G5FAV", "evt_9000000000000000", "a%20b"]) {
        const error = errorOf(await client.get(`/v1/${path.replace("{id}", id)}`), 404);
        assert.equal(error.code, "resource_not_found", id);
      }
    });
  }

  test("ERR-4 an overlong id is resource_not_found", async () => {
    // Given an id that is longer than any, when something is asked for by it, then it is resource_not_found.
    for (const path of ["sessions", "tasks", "events"]) {
      assert.equal(
        errorOf(await client.get(`/v1/${path}/${"x".repeat(500)}`), 404).code,
        "resource_not_found",
      );
    }
  });

  const unknownWrites: [method: string, path: string, body: object][] = [
    ["PATCH", "sessions/unknown", { summary: "x" }],
    ["POST", "sessions/unknown/close", {}],
    ["POST", "sessions/unknown/fork", {}],
    ["POST", "sessions/unknown/truncate", { keep_first: 1 }],
    ["POST", "sessions/unknown/compact", { keep_last: 1 }],
    ["POST", "sessions/unknown/erase", {}],
    ["POST", "tenants/unknown/erase", {}],
    ["POST", "sessions/unknown/messages", { message: userMessage("x") }],
    ["POST", "sessions/unknown/tasks", { input: { a: 1 } }],
    ["POST", "sessions/unknown/branches", { kind: "task", base_ref: "x" }],
    ["POST", "tasks/unknown/cancel", {}],
    ["POST", "tasks/unknown/messages", { kind: "input", message: userMessage("x") }],
    ["POST", "permission-requests/unknown/respond", { approved: true }],
    ["PATCH", "workspaces/unknown", { name: "x" }],
    ["DELETE", "api-keys/unknown", {}],
    ["POST", "sessions", { workspace_id: "unknown" }],
  ];
  for (const [method, path, body] of unknownWrites) {
    test(`ERR-4 ${method} /v1/${path} with an unknown id is resource_not_found and records nothing`, async () => {
      // Given an unknown id, when ${method} /v1/${path} is sent, then it is resource_not_found and nothing is recorded.
      const answer = await withoutTrace(() => client.call(`/v1/${path}`, { method, body }));
      assert.equal(errorOf(answer, 404).code, "resource_not_found");
    });
  }

  for (const [method, path] of [
    ["GET", "/v1/nothing"],
    ["GET", "/v2/sessions"],
    ["POST", "/"],
    ["DELETE", "/v1/sessions"],
    ["PUT", "/v1/workspaces"],
  ] as const) {
    test(`ERR-4 unrouted ${method} ${path} is resource_not_found and says what was asked for`, async () => {
      // Given no such route, when ${method} ${path} is sent, then it is resource_not_found and says what was asked for.
      const error = errorOf(await client.call(path, { method }), 404);
      assert.equal(error.code, "resource_not_found");
      assert.ok(error.message.includes(`${method} ${path}`), error.message);
    });
  }

  const badCursors = ["nonsense", "", "eyJ4IjoxfQ", Buffer.from('["session",-1,"x"]').toString("base64url")];
  for (const list of [...lists, "personas", "events"]) {
    test(`ERR-4 GET /v1/${list} refuses bad cursors and names the cursor`, async () => {
      // Given bad cursors, when GET /v1/${list} is sent with them, then each is refused and the cursor is named.
      for (const cursor of badCursors) {
        const error = errorOf(await client.get(`/v1/${list}?cursor=${cursor}`), 400);
        assert.equal(error.code, "invalid_request", cursor);
        assert.equal(error.param, "cursor", cursor);
      }
    });
  }

  test("ERR-4 given the cursor of one list, when it is used for another, then it is refused", async () => {
    await client.createSession();
    const { next_cursor } = (await client.get("/v1/sessions?limit=1")).body.page;
    assert.notEqual(next_cursor, null);
    assert.equal(errorOf(await client.get(`/v1/tasks?cursor=${next_cursor}`), 400).param, "cursor");
    errorOf(await client.get(`/v1/sessions/${session.id}/messages?cursor=${next_cursor}`), 400);
  });

  test("ERR-4 reading events after an id that the log does not have is 410 cursor_expired", async () => {
    // Given an event id that the log does not have, when events are read after it, then it is 410 cursor_expired.
    for (const path of ["/v1/events", `/v1/sessions/${session.id}/events`, `/v1/tasks/${asking.id}/events`]) {
      const error = errorOf(await client.get(`${path}?after_event_id=evt_9000000000000000`), 410);
      assert.equal(error.code, "cursor_expired");
      assert.equal(error.param, "after_event_id");
    }
  });

  test("ERR-4 reading events after something that is no event id is refused by the field's name", async () => {
    // Given something that is no event id, when events are read after it, then it is refused and the field is named.
    const error = errorOf(await client.get("/v1/events?after_event_id=nonsense"), 400);
    assert.equal(error.param, "after_event_id");
  });
});
