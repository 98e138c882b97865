/** What operators find in the log: of requests that failed on any surface, and of all the others. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { GrpcWire } from "../opvs/grpc-wire.ts";
import { Client, type Json, until } from "../support/client.ts";
import { startProcess, type TestProcess } from "../support/server.ts";
import { openSession, openSocket } from "../support/socket.ts";

const script = fileURLToPath(new URL("../support/faulty-server.ts", import.meta.url));
const secret = "sk-ant-api03-a-key-that-nobody-may-see-0123456789";
const faulty = "faulty-key";
const openHarnessRequest = { protocol_version: "1.0.0", request: { user_intent: { text: "hello" } } };

let server: TestProcess;
let client: Client;
before(async () => {
  server = await startProcess({ script, env: { BRIDLE_LOG_LEVEL: "info", FAULT: secret } });
  client = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

function lines(): Json[] {
  return server
    .output()
    .split("\n")
    .flatMap((line) => (line.startsWith("{") ? [JSON.parse(line)] : []));
}

/** The line that says what went wrong with a request. */
async function errorLine(requestId: string): Promise<Json> {
  assert.match(requestId, /^req_/);
  const found = await until(
    async () => lines().filter(({ request_id, level }) => request_id === requestId && level === 50),
    ({ length }) => length > 0,
  );
  assert.equal(found.length, 1);
  assert.equal(found[0].err.type, "TypeError");
  assert.match(found[0].err.stack, /faulty-server\.ts/);
  return found[0];
}

async function send(path: string, headers: Record<string, string>, body?: string): Promise<Response> {
  const method = body === undefined ? "GET" : "POST";
  const authorization = `Bearer ${faulty}`;
  const json = { authorization, "content-type": "application/json", ...headers };
  return await fetch(server.url + path, { method, headers: json, ...(body === undefined ? {} : { body }) });
}

describe("requests that fail", () => {
  const rpc = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks", params: {} });
  const form = new URLSearchParams({ grant_type: "client_credentials", client_id: "a", client_secret: "b" });
  const requests: Record<string, () => Promise<Response>> = {
    Harn: () => send("/v1/tasks", client.headers({}, faulty)),
    "OPVS over JSON-RPC": () => send("/opvs/rpc", { "a2a-version": "1.0" }, rpc),
    "OPVS over HTTP": () => send("/a2a/rest/tasks", { "a2a-version": "1.0" }),
    OpenHarness: () => send("/openharness/v1", {}, JSON.stringify(openHarnessRequest)),
    MCP: () => send("/mcp", {}, rpc),
    HARP: () => send("/harp/v1/exchanges/some-request", {}),
    OAuth: () => fetch(`${server.url}/oauth/token`, { method: "POST", body: form }),
  };
  for (const [name, request] of Object.entries(requests)) {
    test(`MET-10 a server fault over ${name} stays hidden and returns the id of its log line`, async () => {
      // Given a fault of the server, when a request fails over ${name}, then the answer says nothing of it, and carries
      // the id of the line that does.
      const response = await request();
      const text = await response.text();
      assert.doesNotMatch(text, /What is this/);
      await errorLine(response.headers.get("x-request-id") ?? "");
    });
  }

  test("MET-10 a server fault over gRPC returns the id of its log line in the metadata", async () => {
    // Given a fault of the server, when a call fails over gRPC, then its metadata carry the id of the line that says
    // why.
    const { error, headers } = await new GrpcWire(server.grpcUrl()).call("ListTasks", {}, { key: faulty });
    assert.equal(error?.status, "INTERNAL");
    await errorLine(headers.get("x-request-id") ?? "");
  });

  test("MET-10 a failed WebSocket frame of session, shell or gateway names its log line", async () => {
    // Given open connections, when a frame fails over the WebSocket of a session, a shell or the gateway, then the
    // answer names the line that says why.
    const session = await client.createSession();
    await using harn = await openSession(client, session.id);
    const frame = await harn.ask({ type: "message.append", message: {} });
    await errorLine(frame.error.request_id);

    await using shell = await openSocket(client, "/openharness/v1/ws");
    shell.send({ ...openHarnessRequest, request_id: "mine", correlation_id: "corr-socket" });
    const { response } = await shell.next();
    const line = await errorLine(response.error.details.server_request_id);
    assert.equal(line.correlation_id, "corr-socket");
    assert.equal(line.shell_request_id, "mine");

    const { key } = await client.createKey({ scopes: ["harp:enforcer:one"] });
    await using gateway = await openSocket(client.as(key), "/harp/v1/ws?role=enforcer&id=one");
    gateway.send({ msgType: "hello", msgId: "m1" });
    const { body } = await gateway.until(({ msgType }) => msgType === "error");
    await errorLine(body.details.serverRequestId);
  });

  test("MET-11 a shell's failed request has its correlation id in log line and answer", async () => {
    // Given a correlation id, in the header or in the message, when the request of a shell fails, then its line has it,
    // and so does the answer.
    const inMessage = { ...openHarnessRequest, correlation_id: "corr-message" };
    for (const [id, headers, body] of [
      ["corr-header", { "x-correlation-id": "corr-header" }, openHarnessRequest],
      ["corr-message", { authorization: "Bearer later-faulty-key" }, inMessage],
    ] as const) {
      const response = await send("/openharness/v1", headers, JSON.stringify(body));
      assert.equal(response.headers.get("x-correlation-id"), id);
      const line = await errorLine(response.headers.get("x-request-id") ?? "");
      assert.equal(line.correlation_id, id);
    }
  });
});

describe("all the others", () => {
  test("MET-12 by default only failed requests are logged, with route, duration and outcome", async () => {
    // Given the default level, when requests are answered and refused, then no line is written; when one fails, its line
    // says which route, how long and how.
    const quiet = [
      await client.post("/v1/sessions", { workspace_id: "workspace_default" }),
      await client.get("/nothing"),
      await client.as("wrong").get("/v1/tasks"),
    ];
    assert.deepEqual(
      quiet.map(({ status }) => status),
      [201, 404, 401],
    );
    const { headers } = await client.as(faulty).get("/v1/tasks");
    const id = headers.get("x-request-id");
    const own = await until(
      async () => lines().filter(({ request_id }) => request_id === id),
      ({ length }) => length === 2,
    );
    const ids = quiet.map((answer) => answer.headers.get("x-request-id"));
    assert.deepEqual(
      lines().filter(({ request_id }) => ids.includes(request_id)),
      [],
    );
    const { method, route, status, level, ms } = own.find(({ msg }) => msg === "request");
    assert.deepEqual(
      { method, route, status, level },
      { method: "GET", route: "/v1/tasks", status: 500, level: 40 },
    );
    assert.equal(typeof ms, "number");
  });

  test("MET-13 failed requests log no secret from address, header, body or error", async () => {
    // Given secrets in addresses, headers, bodies and errors, when requests with them fail, then no line has one.
    const before = lines().length;
    const headers = { ...client.headers({}, faulty), "x-api-key": secret, cookie: `token=${secret}` };
    await send(`/v1/tasks/${secret}?token=${secret}`, headers);
    await send("/v1/tasks", headers, JSON.stringify({ input: { text: secret } }));
    await send(`/harp/v1/exchanges/${secret}`, headers);
    await until(
      async () => lines().length,
      (count) => count >= before + 4,
    );
    assert.match(server.output(), /What is this\?/);
    assert.doesNotMatch(server.output(), /nobody-may-see/);
    assert.doesNotMatch(server.output(), /test-administrator-key-0001/);
  });
});
