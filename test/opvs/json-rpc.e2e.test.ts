/** The JSON-RPC binding by itself: whatever is sent, the answer is one JSON-RPC response. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import type { Json } from "../support/client.ts";
import { adminKey, startServer, type TestServer } from "../support/server.ts";
import { message, opvsConfig } from "./wire.ts";

let server: TestServer;
before(async () => {
  server = await startServer({ config: opvsConfig });
});
after(() => server[Symbol.asyncDispose]());

interface Said {
  status: number;
  headers: Headers;
  body: Json;
}

async function post(
  body: string | Uint8Array,
  headers: Record<string, string> = {},
  method = "POST",
): Promise<Said> {
  const response = await fetch(`${server.url}/opvs/rpc`, {
    method,
    headers: {
      authorization: `Bearer ${adminKey}`,
      "a2a-version": "1.0",
      "content-type": "application/json",
      ...headers,
    },
    ...(method === "POST" ? { body } : {}),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** Fails unless it is a response as JSON-RPC 2.0 has them. */
function assertEnvelope({ status, headers, body }: Said): void {
  assert(status < 500, `${status} ${JSON.stringify(body)}`);
  assert.match(headers.get("content-type") ?? "", /^application\/json/);
  assert.equal(body.jsonrpc, "2.0");
  assert(body.id === null || typeof body.id === "string" || typeof body.id === "number");
  const { result, error } = body;
  assert.notEqual(result === undefined, error === undefined, JSON.stringify(body));
  if (error === undefined) return;
  assert(Number.isInteger(error.code));
  assert.equal(typeof error.message, "string");
  assert(error.data === undefined || Array.isArray(error.data));
}

const call = (method: unknown, params: unknown, id: unknown = 7) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });

describe("JSON-RPC", () => {
  test("OPVS-105 each invalid request returns its own error code and the id if there is one", async () => {
    // Given requests that are none, when they are sent, then each gets its number and the id as far as there is one.
    const table: [name: string, body: string, code: number, id: unknown][] = [
      ["nothing", "", -32700, null],
      ["no JSON", "{", -32700, null],
      ["two values", "{}{}", -32700, null],
      ["a word", "ListTasks", -32700, null],
      ["single quotes", "{'jsonrpc':'2.0'}", -32700, null],
      ["a batch", `[${call("ListTasks", {})}]`, -32600, null],
      ["an empty batch", "[]", -32600, null],
      ["null", "null", -32600, null],
      ["a string", '"ListTasks"', -32600, null],
      ["a number", "7", -32600, null],
      ["no version", JSON.stringify({ id: 7, method: "ListTasks" }), -32600, 7],
      ["version 1", JSON.stringify({ jsonrpc: "1.0", id: 7, method: "ListTasks" }), -32600, 7],
      ["version as a number", JSON.stringify({ jsonrpc: 2.0, id: 7, method: "ListTasks" }), -32600, 7],
      ["no method", JSON.stringify({ jsonrpc: "2.0", id: 7 }), -32600, 7],
      ["an empty method", call("", {}), -32600, 7],
      ["a method that is a number", call(1, {}), -32600, 7],
      ["an id that is an object", call("ListTasks", {}, {}), -32600, null],
      ["an id that is a list", call("ListTasks", {}, [7]), -32600, null],
      ["an id that is true", call("ListTasks", {}, true), -32600, null],
      ["an id that is a fraction", call("ListTasks", {}, 1.5), -32600, null],
      ["an unknown method", call("NoSuchMethod", {}), -32601, 7],
      ["a method by its REST name", call("message:send", {}), -32601, 7],
      ["a method in another case", call("listTasks", {}), -32601, 7],
      ["a member of all objects", call("constructor", {}), -32601, 7],
      ["a prototype", call("__proto__", {}), -32601, 7],
      ["params by position", call("GetTask", ["x"]), -32602, 7],
      ["params as a string", call("GetTask", "x"), -32602, 7],
      ["params as a number", call("GetTask", 3), -32602, 7],
      ["params with an empty name", call("GetTask", { "": 1, id: "x" }), -32602, 7],
      ["params of the wrong type", call("GetTask", { id: 5 }), -32602, 7],
      ["an object where text belongs", call("GetTask", { id: {} }), -32602, 7],
      ["a field under both its names", call("ListTasks", { pageSize: 5, page_size: 6 }), -32602, 7],
      ["a number that is too large", call("ListTasks", { pageSize: 1e300 }), -32602, 7],
      ["an endless number", '{"jsonrpc":"2.0","id":7,"method":"ListTasks","params":{"x":1e400}}', -32602, 7],
      [
        "half a character",
        '{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{"id":"\\ud800"}}',
        -32602,
        7,
      ],
      [
        "half a character in free JSON",
        '{"jsonrpc":"2.0","id":7,"method":"CancelTask","params":{"id":"x","metadata":{"\\udfff":1}}}',
        -32602,
        7,
      ],
      [
        "a prototype in the params",
        '{"jsonrpc":"2.0","id":7,"method":"ListTasks","params":{"__proto__":{}}}',
        -32602,
        7,
      ],
      [
        "endless nesting",
        `{"jsonrpc":"2.0","id":7,"method":"ListTasks","params":${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}}`,
        -32602,
        7,
      ],
    ];
    for (const [name, body, code, id] of table) {
      const said = await post(body);
      assertEnvelope(said);
      assert.equal(said.status, 200, name);
      assert.equal(said.body.error?.code, code, name);
      assert.equal(said.body.id, id, name);
    }
  });

  test("OPVS-105 the response repeats a request id of any kind, and has null for none", async () => {
    // Given ids of every kind that there is, when a request has one, then the answer has the same, and null for none.
    for (const id of ["", "a", "7", 0, 7, -1, 2 ** 53 - 1, null, "\u0000", "𝒳"]) {
      assert.equal((await post(call("ListTasks", {}, id))).body.id, id);
    }
    assert.equal((await post('{"jsonrpc":"2.0","method":"ListTasks"}')).body.id, null);
    const { body } = await post('{"jsonrpc":"2.0","id":2,"method":"ListTasks","params":null}');
    assert.equal(body.id, 2);
    assert(Array.isArray(body.result.tasks));
    const twice = await post('{"jsonrpc":"2.0","id":1,"id":2,"method":"ListTasks"}');
    assert.match(twice.body.error.message, /"id" at position 24 comes twice/);
  });

  test("OPVS-105 any input at all gets a JSON-RPC response and never a server error", async () => {
    // Given anything at all, when it is sent, then the answer is a response of JSON-RPC and never an error of the
    // server.
    const anything = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.json(),
      fc
        .record(
          {
            jsonrpc: fc.constantFrom("2.0", "1.0", 2),
            id: fc.jsonValue(),
            method: fc.oneof(
              fc.constantFrom(
                "GetTask",
                "ListTasks",
                "CancelTask",
                "SubscribeToTask",
                "GetExtendedAgentCard",
              ),
              fc.jsonValue(),
            ),
            params: fc.oneof(
              fc.jsonValue(),
              fc.record(
                {
                  id: fc.jsonValue(),
                  tenant: fc.jsonValue(),
                  pageSize: fc.jsonValue(),
                  pageToken: fc.oneof(fc.base64String(), fc.jsonValue()),
                  status: fc.jsonValue(),
                  historyLength: fc.jsonValue(),
                  metadata: fc.jsonValue(),
                  statusTimestampAfter: fc.oneof(fc.date().map(String), fc.jsonValue()),
                },
                { requiredKeys: [] },
              ),
            ),
          },
          { requiredKeys: [] },
        )
        .map((request) => JSON.stringify(request)),
      fc
        .record({ message: fc.jsonValue(), part: fc.jsonValue(), configuration: fc.jsonValue() })
        .map(({ message: sent, part, configuration }) =>
          call("SendMessage", {
            message: { messageId: "m", role: "ROLE_AGENT", parts: [part], metadata: sent },
            configuration,
          }),
        ),
    );
    await fc.assert(
      fc.asyncProperty(anything, async (body) => assertEnvelope(await post(body))),
      { numRuns: 150 },
    );
    assert(!server.output().includes("A request failed"), server.output());
  });

  test("OPVS-99, OPVS-105 a body that is compressed or not UTF-8 is a JSON parse error", async () => {
    // Given bytes that are not UTF-8 or packed, when they are sent, then they are no JSON.
    const whole = Buffer.from(call("SendMessage", { message: message("x") }));
    const broken = Buffer.concat([whole.subarray(0, 20), Buffer.from([0xff, 0xfe]), whole.subarray(20)]);
    const bodies: [Uint8Array, Record<string, string>][] = [
      [broken, {}],
      [Buffer.from(whole.toString(), "utf16le"), { "content-type": "application/json; charset=utf-16" }],
      [gzipSync(whole), { "content-encoding": "gzip" }],
    ];
    for (const [body, headers] of bodies) {
      const said = await post(body, headers);
      assertEnvelope(said);
      assert.equal(said.body.error.code, -32700);
    }
  });

  test("OPVS-106 rejects a media type other than JSON, whatever its parameters", async () => {
    // Given other media types than JSON, when a request is sent as one, then it is refused as a content type, whatever
    // its parameters.
    for (const type of [
      "text/plain",
      "application/a2a+json",
      "application/x-www-form-urlencoded",
      "json",
      "*/*",
      "",
    ]) {
      const said = await post(call("ListTasks", {}), { "content-type": type });
      assertEnvelope(said);
      assert.equal(said.status, 415, type);
      assert.equal(said.body.error.code, -32005, type);
      assert.equal(said.body.error.data[0].reason, "CONTENT_TYPE_NOT_SUPPORTED");
    }
    for (const type of [
      "application/json; charset=utf-8",
      "Application/JSON",
      'application/json;charset="UTF-8"',
    ]) {
      assert.equal((await post(call("ListTasks", {}), { "content-type": type })).status, 200, type);
    }
  });

  test("OPVS-106 an unsupported part type is a JSON-RPC error and not an HTTP error", async () => {
    // Given a part that an agent does not take, when it is sent, then that is an error in the answer and none of HTTP.
    const sent = message("", { parts: [{ raw: "AA==" }] });
    const { status, body } = await post(call("SendMessage", { message: sent }));
    assert.equal(body.error.code, -32005);
    assert.equal(status, 200);
  });

  test("OPVS-105 a 5 MB body or a method other than POST still gets a JSON-RPC response", async () => {
    // Given a body of five megabytes, or another method than POST, when it is sent, then that too is answered by a
    // response.
    const large = await post(call("SendMessage", { message: message("x".repeat(5_000_000)) }));
    assertEnvelope(large);
    assert.equal(large.status, 413);
    for (const method of ["GET", "PUT", "PATCH", "DELETE"]) {
      const said = await post("", {}, method);
      assertEnvelope(said);
      assert.equal(said.status, 405);
      assert.equal(said.headers.get("allow"), "POST");
    }
  });

  test("OPVS-107 every event of a streamed message is a response with the request's id", async () => {
    // Given a message to be streamed, when it is sent, then every event is a response with the request's id.
    const response = await fetch(`${server.url}/opvs/rpc`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${adminKey}`,
        "a2a-version": "1.0",
        "content-type": "application/json",
      },
      body: call("SendStreamingMessage", { message: message("hello") }, "stream-1"),
    });
    assert.match(response.headers.get("content-type") ?? "", /^text\/event-stream/);
    const events = [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(([, data]) =>
      JSON.parse(data ?? ""),
    );
    assert(events.length >= 2);
    for (const { jsonrpc, id, result, ...others } of events) {
      assert.deepEqual({ jsonrpc, id, others }, { jsonrpc: "2.0", id: "stream-1", others: {} });
      assert.equal(Object.keys(result).length, 1);
    }
  });

  test("OPVS-68, OPVS-70 a version offers only its own methods, and no version means 0.3", async () => {
    // Given a method of each version, when a request names a version, none or an empty one, then only the version's own
    // methods are there, and none is 0.3.
    const old = call("message/send", {
      message: {
        kind: "message",
        messageId: "m-old",
        role: "user",
        parts: [{ kind: "text", text: "hello" }],
      },
    });
    const current = call("SendMessage", { message: message("hello") });
    for (const version of ["", "0.3", "0.3.0"]) {
      const headers = { "a2a-version": version };
      assert.equal((await post(old, headers)).body.result.status.state, "completed", version);
      assert.equal((await post(current, headers)).body.error.code, -32009, version);
    }
    assert.equal((await post(old)).body.error.code, -32601);
    assert.equal((await post(current)).body.result.task.status.state, "TASK_STATE_COMPLETED");
  });
});
