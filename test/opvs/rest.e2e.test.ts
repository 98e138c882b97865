/** The HTTP+JSON binding by itself: addresses, queries, bodies, media types, and refusals in one form. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import type { Json } from "../support/client.ts";
import { adminKey, startServer, type TestServer } from "../support/server.ts";
import { message, opvsConfig } from "./wire.ts";

let server: TestServer;
let task: Json;
before(async () => {
  server = await startServer({ config: opvsConfig });
  task = (await send({ message: message("hello") })).body.task;
});
after(() => server[Symbol.asyncDispose]());

interface Said {
  status: number;
  type: string;
  body: Json;
}

interface Options {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  base?: string;
}

/** The address goes out as it is written here: nothing tidies it up on the way. */
async function ask(
  path: string,
  { method = "GET", headers = {}, body, base = "/opvs/rest" }: Options = {},
): Promise<Said> {
  const { hostname, port } = new URL(server.url);
  const sent = httpRequest({
    ...{ hostname, port, method, path: base + path },
    headers: {
      authorization: `Bearer ${adminKey}`,
      "a2a-version": "1.0",
      ...(body === undefined
        ? {}
        : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
      ...headers,
    },
  });
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const answer = await text(response);
  const type = response.headers["content-type"] ?? "";
  return {
    status: response.statusCode ?? 0,
    type,
    body: /json/.test(type) && answer !== "" ? JSON.parse(answer) : answer,
  };
}

function send(request: Json, options: Options = {}): Promise<Said> {
  return ask("/message:send", { method: "POST", body: JSON.stringify(request), ...options });
}

/** Fails unless it is an error as AIP-193 has them. */
function assertError({ status, type, body }: Said, expected: number | null, what: string): void {
  if (expected !== null) assert.equal(status, expected, `${what}: ${JSON.stringify(body)}`);
  assert.match(type, /^application\/(?:a2a\+)?json/, what);
  assert.deepEqual(Object.keys(body), ["error"], what);
  const { code, status: name, message: said, details, ...others } = body.error;
  assert.deepEqual(others, {}, what);
  assert.equal(code, status, what);
  assert.match(name, /^[A-Z_]+$/, what);
  assert.equal(typeof said, "string", what);
  for (const detail of details) assert.match(detail["@type"], /^type\.googleapis\.com\/google\.rpc\./, what);
}

describe("HTTP+JSON", () => {
  test("OPVS-77, OPVS-81 unknown paths and methods get the one error form, never a task", async () => {
    // Given addresses and methods that are none, when they are asked, then each refusal has the one form and none takes
    // an address for a task.
    const id = task.id;
    const table: [method: string, path: string, status: number][] = [
      ...["PUT", "PATCH", "DELETE", "POST"].map((method): [string, string, number] => [
        method,
        "/tasks",
        404,
      ]),
      ...["PUT", "PATCH", "DELETE", "POST"].map((method): [string, string, number] => [
        method,
        `/tasks/${id}`,
        404,
      ]),
      ["GET", "", 404],
      ["GET", "/", 404],
      ["GET", "/message:send", 404],
      ["GET", `/tasks/${id}:cancel`, 404],
      ["POST", "/tasks/:cancel", 404],
      ["GET", `/tasks/${id}/nothing`, 404],
      ["GET", `/tasks/${id}//`, 404],
      ["GET", "/message:send/tasks", 404],
      ["GET", "/extendedAgentCard/tasks", 404],
      ["GET", "/tasks/tasks/tasks", 404],
      ["GET", `/tasks/${"x".repeat(5000)}`, 404],
      ["GET", "/tasks/%zz", 400],
      ["GET", "/tasks/%ff%fe", 400],
      ["GET", "/someone-else/tasks", 403],
    ];
    for (const [method, path, status] of table) {
      const said = await ask(path, method === "POST" ? { method, body: "{}" } : { method });
      assertError(said, status, `${method} ${path}`);
    }
    for (const path of [
      "/opvs",
      "/opvs/x",
      "/a2a/y",
      "/opvs/agents/rehearsal",
      `/opvs/agents/${"n".repeat(300)}/rest/tasks`,
    ]) {
      assertError(await ask(path, { base: "" }), 404, path);
    }
    const unknown = await ask("/nowhere/at/all");
    assert.equal(unknown.body.error.status, "UNIMPLEMENTED");
    assert.deepEqual(unknown.body.error.details, []);
    const head = await ask("/tasks", { method: "HEAD" });
    assert.deepEqual([head.status, head.body], [404, ""]);
  });

  test("OPVS-81 any path at all returns a result or the one error form, never a server error", async () => {
    // Given any address at all, when it is asked, then the answer is a result or an error of the one form, never one of
    // the server.
    const segment = fc.oneof(
      fc.constantFrom(
        "tasks",
        "message:send",
        "extendedAgentCard",
        "@rehearsal",
        "tenant_default",
        "",
        ".",
        "..",
        ":cancel",
      ),
      fc.string({ unit: "binary" }).map(encodeURIComponentSafely),
      fc.string({ unit: fc.constantFrom("%", "2", "F", ":", "@", "a", "z", "~") }),
    );
    const parameter = fc.tuple(
      fc.constantFrom(
        "pageSize",
        "status",
        "historyLength",
        "pageToken",
        "includeArtifacts",
        "tenant",
        "id",
        "x",
        "__proto__",
      ),
      fc.oneof(
        fc.nat().map(String),
        fc.string({ unit: "binary" }).map(encodeURIComponentSafely),
        fc.constant("true"),
      ),
    );
    const address = fc.tuple(fc.array(segment, { maxLength: 4 }), fc.array(parameter, { maxLength: 3 }));
    await fc.assert(
      fc.asyncProperty(
        address,
        fc.constantFrom("GET", "DELETE", "PUT"),
        async ([segments, parameters], method) => {
          const query = parameters.map(([name, value]) => `${name}=${value}`).join("&");
          const path = `/${segments.join("/")}${query === "" ? "" : `?${query}`}`;
          const said = await ask(path, { method });
          assert(said.status < 500, `${method} ${path}: ${said.status}`);
          if (said.status >= 400) assertError(said, null, `${method} ${path}`);
        },
      ),
      { numRuns: 100 },
    );
    assert(!server.output().includes("A request failed"), server.output());
  });

  test("OPVS-110 a GET reads path and query parameters and ignores its body", async () => {
    // Given a task, when parameters come in the body of a GET, then only path and query count.
    const body = JSON.stringify({ id: "other", historyLength: 0, pageSize: 0 });
    assert.deepEqual((await ask(`/tasks/${task.id}`, { body })).body, task);
    assert.equal((await ask("/tasks", { body })).status, 200);
    const { history: _, ...short } = task;
    assert.deepEqual((await ask(`/tasks/${task.id}?historyLength=0`, { body })).body, short);
    assert.deepEqual((await ask(`/tasks/${task.id}?id=other`)).body, task);
  });

  test("OPVS-111 reads camel case query names and rejects a duplicate in any spelling", async () => {
    // Given names in a query, when they are in camel case, then they are read; one that comes twice is refused,
    // whichever way it is spelled.
    for (const query of ["pageSize=1", "page_size=1"]) {
      assert.equal((await ask(`/tasks?${query}`)).body.pageSize, 1, query);
    }
    for (const query of ["PAGESIZE=1", "unknown=1", "__proto__=1", "page%20Size=1"]) {
      assert.equal((await ask(`/tasks?${query}`)).body.pageSize, 50, query);
    }
    for (const query of ["pageSize=1&pageSize=2", "pageSize=1&page_size=1", "status=working&status=failed"]) {
      assertError(await ask(`/tasks?${query}`), 400, query);
    }
    for (const query of [
      "pageSize=",
      "pageSize=x",
      "includeArtifacts=yes",
      "status=nothing",
      "statusTimestampAfter=now",
    ]) {
      const said = await ask(`/tasks?${query}`);
      assertError(said, 400, query);
      assert.equal(said.body.error.details[0].fieldViolations[0].field, query.split("=")[0]);
    }
    const states = ["completed", "COMPLETED", "TASK_STATE_COMPLETED"];
    for (const state of states) assert.equal((await ask(`/tasks?status=${state}`)).body.totalSize, 1, state);
    assert.equal((await ask("/tasks?status=input-required")).body.totalSize, 0);
    assert.deepEqual((await ask("/tasks?includeArtifacts=true")).body.tasks[0].artifacts, task.artifacts);
    assert.equal((await ask("/tasks?includeArtifacts=false")).body.tasks[0].artifacts, undefined);
  });

  test("OPVS-112 encoded query and path values arrive unchanged with any awkward character", async () => {
    // Given values with every awkward character, when they are encoded in a query or path, then they arrive as they
    // were.
    const contexts = ["a b&c=d", "50%", "ä/ö?#", "true", "+1", "x;y,z", "\t", "𝒳", ".."];
    for (const contextId of contexts) {
      const { body } = await send({ message: message("x", { contextId }) });
      assert.equal(body.task.contextId, contextId);
      const listed = await ask(`/tasks?contextId=${encodeURIComponent(contextId)}`);
      assert.deepEqual(
        listed.body.tasks.map(({ id }: Json) => id),
        [body.task.id],
        contextId,
      );
    }
    for (const id of ["a/b", "a:b", "a:cancel", "50%", "ä", "x y", "?", "a:b:c"]) {
      const said = await ask(`/tasks/${encodeURIComponent(id)}:cancel`, { method: "POST" });
      assertError(said, 404, id);
      assert.equal(said.body.error.details[0].reason, "TASK_NOT_FOUND", id);
      assert(said.body.error.message.includes(`Task not found: ${id}`), said.body.error.message);
    }
  });

  test("OPVS-113 ignores nested objects in a query for operations that read a body", async () => {
    // Given nested objects in a query, when an operation would take them from a body, then they are not seen.
    const nested = encodeURIComponent(JSON.stringify(message("smuggled")));
    assertError(await ask(`/message:send?message=${nested}`, { method: "POST", body: "{}" }), 400, "message");
    assertError(await ask(`/message:send?message=${nested}`, { method: "POST" }), 400, "no body");
    const { body } = await send(
      { message: message("sleep 60000"), configuration: { returnImmediately: true } },
      { base: "/opvs/agents/rehearsal/rest" },
    );
    const reason = encodeURIComponent(JSON.stringify({ reason: "smuggled" }));
    const canceled = await ask(`/tasks/${body.task.id}:cancel?metadata=${reason}`, { method: "POST" });
    assert.equal(canceled.body.status.state, "TASK_STATE_CANCELED");
    assert(!JSON.stringify(canceled.body).includes("smuggled"));
  });

  test("OPVS-107 subscribing to a running task by GET or POST streams bare events", async () => {
    // Given a running task, when it is subscribed to by GET or by POST, then both stream bare events.
    const base = "/opvs/agents/rehearsal/rest";
    for (const method of ["GET", "POST"]) {
      const { body } = await send({ message: message("ask Well?") }, { base });
      assert.equal(body.task.status.state, "TASK_STATE_INPUT_REQUIRED");
      const response = await fetch(`${server.url}${base}/tasks/${body.task.id}:subscribe`, {
        method,
        headers: { authorization: `Bearer ${adminKey}`, "a2a-version": "1.0" },
      });
      assert.match(response.headers.get("content-type") ?? "", /^text\/event-stream/);
      await send({ message: message("fine", { taskId: body.task.id }) }, { base });
      const events = [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(([, data = ""]) =>
        JSON.parse(data),
      );
      assert.deepEqual(Object.keys(events[0]), ["task"]);
      assert.equal(events.at(-1).statusUpdate.status.state, "TASK_STATE_COMPLETED");
    }
  });

  test("OPVS-77 rejects a body of another type or no JSON object in the one error form", async () => {
    // Given bodies that are no JSON objects or of another type, when they are sent, then they are refused in the one
    // form.
    const bodies = [
      "{",
      "[]",
      "null",
      '"x"',
      "7",
      `{"a":${"[".repeat(500)}${"]".repeat(500)}}`,
      '{"message":{"messageId":"\\ud800"}}',
    ];
    for (const body of bodies) assertError(await ask("/message:send", { method: "POST", body }), 400, body);
    for (const type of ["text/plain", "multipart/form-data", "json", "*/*"]) {
      const said = await send({ message: message("x") }, { headers: { "content-type": type } });
      assertError(said, 415, type);
      assert.equal(said.body.error.details[0].reason, "CONTENT_TYPE_NOT_SUPPORTED");
    }
    assertError(await send({ message: message("x".repeat(5_000_000)) }), 413, "5 MB");
  });

  test("OPVS-101 accepts both JSON media types and answers in the one that the client accepts", async () => {
    // Given both media types of JSON, when a client sends or accepts either, then it is understood and answered in kind.
    const own = "application/a2a+json";
    const sent = await send(
      { message: message("x") },
      { headers: { "content-type": `${own}; charset=utf-8` } },
    );
    assert.equal(sent.status, 200);
    assert.match(sent.type, /^application\/json/);
    for (const path of [`/tasks/${task.id}`, "/tasks/unknown", "/nowhere"]) {
      assert.match(
        (await ask(path, { headers: { accept: `${own}, application/json` } })).type,
        /^application\/a2a\+json/,
      );
      assert.match((await ask(path, { headers: { accept: "*/*" } })).type, /^application\/json/);
    }
  });

  test("OPVS-47, OPVS-54 webhook create, read and delete return 201, 200 and an empty 204", async () => {
    // Given a webhook, when it is created, read and deleted twice, then the statuses are 201, 200 and 204 without a
    // body.
    const path = `/tasks/${task.id}/pushNotificationConfigs`;
    const body = JSON.stringify({ id: "mine", url: "https://example.com/hook" });
    const created = await ask(path, { method: "POST", body });
    assert.deepEqual([created.status, created.body.id], [201, "mine"]);
    assert.equal((await ask(`${path}/mine`)).status, 200);
    for (const _ of ["once", "twice"]) {
      const { status, type, body: nothing } = await ask(`${path}/mine`, { method: "DELETE" });
      assert.deepEqual([status, type, nothing], [204, "", ""]);
    }
  });

  test("OPVS-73 reads the version from the query in any case, and a header overrides it", async () => {
    // Given a version in the query, when no header says one, then it holds, in any case; a header has the last word.
    const unsaid = { "a2a-version": "" };
    for (const name of ["OPVS-Version", "a2a-version", "A2A-VERSION"]) {
      assert.equal((await ask(`/tasks?${name}=1.0`, { headers: unsaid })).status, 200, name);
      const refused = await ask(`/tasks?${name}=7.0`, { headers: unsaid });
      assert.equal(refused.body.error.details[0].reason, "VERSION_NOT_SUPPORTED");
      assert.equal((await ask(`/tasks?${name}=7.0`)).status, 200);
    }
    assertError(await ask("/tasks?a2a-version=1.0&a2a-version=0.3", { headers: unsaid }), 400, "twice");
    assertError(await ask("/tasks?a2a-version=1.0&opvs-version=0.3", { headers: unsaid }), 400, "both");
  });

  test("OPVS-100 A2A paths and our own answer the same, with or without a tenant", async () => {
    // Given the addresses of A2A beside our own, with a tenant or without, when they are asked, then they answer the
    // same.
    const bases = ["/opvs/rest", "/a2a/rest", "/opvs/rest/tenant_default", "/a2a/rest/tenant_default"];
    for (const base of bases) {
      assert.deepEqual((await ask(`/tasks/${task.id}`, { base })).body, task, base);
      assert.deepEqual((await ask(`/tasks/${task.id}/`, { base })).body, task, base);
    }
  });
});

function encodeURIComponentSafely(value: string): string {
  return encodeURIComponent(value.toWellFormed());
}
