/**
 * Who reaches what, beside `/v1`: every operation of OPVS over every binding, every tool of MCP, every frame of a session's
 * WebSocket and OpenHarness, called by everybody who may not, and by a key that is bound to the right workspace. What is new
 * fails here until a table says what is expected of it. The same for all operations of the OpenAPI document, import, export and
 * replay among them, is `test/harn/authorization.e2e.test.ts`; the routes of HARP are in `matrix-harp.e2e.test.ts`.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Client as GrpcClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { A2AService as A2AService03 } from "../../proto/generated/a2a/v1/a2a_pb.js";
import { A2AService, OPVSService } from "../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { commandFrames } from "../../src/surfaces/harn/ws/frames.ts";
import { type OperationName, operations } from "../../src/surfaces/opvs/operations.ts";
import { restRoutes } from "../../src/surfaces/opvs/rest.ts";
import { v03Methods } from "../../src/surfaces/opvs/v03/methods.ts";
import { v03Routes } from "../../src/surfaces/opvs/v03/routes.ts";
import { rawCall } from "../mcp/client.ts";
import { continued, message, path as openHarnessPath, Shell } from "../openharness/wire.ts";
import { Client, type Json, userMessage } from "../support/client.ts";
import { type GrpcServer, startGrpcServer } from "../support/grpc.ts";
import { messageFor, requestFor } from "../support/opvs-requests.ts";
import { openSession, openSocket, refusedUpgrade } from "../support/socket.ts";

/** `reached` is whatever the operation itself answers. */
type Outcome = "unauthenticated" | "denied" | "not_found" | "reached";
const visitors = ["no key", "no scope", "another tenant", "another workspace", "bound key"] as const;
type Visitor = (typeof visitors)[number];
type Row = Record<Visitor, Outcome>;

/** About something of ours. */
const guarded: Row = {
  "no key": "unauthenticated",
  "no scope": "denied",
  "another tenant": "not_found",
  "another workspace": "not_found",
  "bound key": "reached",
};
/** In the caller's own place: nothing of ours is in the answer. */
const ownPlace: Row = { ...guarded, "another tenant": "reached", "another workspace": "reached" };

const opvsRows: Record<OperationName, Row> = {
  SendMessage: guarded,
  SendStreamingMessage: guarded,
  GetTask: guarded,
  ListTasks: ownPlace,
  CancelTask: guarded,
  SubscribeToTask: guarded,
  CreateTaskPushNotificationConfig: guarded,
  GetTaskPushNotificationConfig: guarded,
  ListTaskPushNotificationConfigs: guarded,
  DeleteTaskPushNotificationConfig: guarded,
  // For everybody with a key; what their tenant adds is theirs.
  GetExtendedAgentCard: { ...ownPlace, "no scope": "reached" },
};

let server: GrpcServer;
let admin: Client;
/** Null presents nothing. */
let keys: Record<Visitor, string | null>;
let task: Json;
let ours: string[];

before(async () => {
  server = await startGrpcServer();
  admin = new Client(server);
  const workspace = (await admin.post("/v1/workspaces", { name: "Ours", root: "ours" })).body.id;
  const session = await admin.createSession({ workspace_id: workspace });
  task = await admin.rehearse(session.id, "ask our question?");
  ours = [task.id, session.id, "our question"];
  const keyOf = async (body: object) => String((await admin.createKey(body)).key);
  keys = {
    "no key": null,
    "no scope": await keyOf({ scopes: ["metrics:read"] }),
    "another tenant": await keyOf({ tenant_id: "tenant_other" }),
    "another workspace": await keyOf({ workspace_ids: ["workspace_default"] }),
    "bound key": await keyOf({ workspace_ids: [workspace] }),
  };
});
after(() => server[Symbol.asyncDispose]());

interface Said {
  outcome: Outcome;
  text: string;
}

/** Has every visitor try it, and compares with what is expected. Whoever is not bound to our place sees nothing of it. */
async function tryAll(what: string, row: Row, attempt: (key: string | null) => Promise<Said>): Promise<void> {
  for (const visitor of visitors) {
    const { outcome, text } = await attempt(keys[visitor]);
    assert.equal(outcome, row[visitor], `${what} by ${visitor}: ${text}`);
    if (visitor === "bound key") continue;
    // A refusal may name what it was asked about.
    const marks = outcome === "reached" ? ours : ["our question"];
    for (const mark of marks) assert.ok(!text.includes(mark), `${what} shows ${visitor} ${mark}: ${text}`);
  }
}

async function post(path: string, key: string | null, body: unknown, more: Json = {}): Promise<Said> {
  const { method = "POST", headers = {} } = more;
  const gone = new AbortController();
  const response = await fetch(server.url + path, {
    method,
    headers: admin.headers({ "content-type": "application/json", ...headers }, key),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: gone.signal,
  });
  // Of a stream the first piece tells whether it was let in.
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    if (response.headers.get("content-type")?.startsWith("text/event-stream")) break;
  }
  gone.abort();
  const text = Buffer.concat(chunks).toString();
  return { outcome: outcomeOf(response.status, text), text };
}

const taskNotFound = -32001;

function outcomeOf(status: number, text: string): Outcome {
  if (status === 401) return "unauthenticated";
  // Where a refusal is an event of a stream, its status says nothing.
  if (status === 403 || text.includes("needs the scope")) return "denied";
  const isAbsent = status === 404 || text.includes(`"code":${taskNotFound}`);
  return isAbsent ? "not_found" : "reached";
}

/** A task that is canceled or answered by the bound key is followed by a new one. */
async function renewTask(): Promise<void> {
  const { status } = (await admin.get(`/v1/tasks/${task.id}`)).body;
  if (status === "INPUT_REQUIRED") return;
  task = await admin.rehearse(task.session_id, "ask our question?");
  ours[0] = task.id;
}

async function makeHook(): Promise<void> {
  await renewTask();
  const hook = requestFor("CreateTaskPushNotificationConfig", task.id);
  const headers = { "a2a-version": "1.0" };
  const path = `/opvs/rest/tasks/${task.id}/pushNotificationConfigs`;
  const { outcome, text } = await post(path, admin.key, hook, { headers });
  assert.equal(outcome, "reached", text);
}

describe("OPVS", () => {
  for (const operation of Object.keys(operations) as OperationName[]) {
    test(`SEC-MATRIX ${operation} over JSON-RPC`, async () => {
      await makeHook();
      const headers = { "a2a-version": "1.0" };
      await tryAll(operation, opvsRows[operation], (key) => {
        const call = { jsonrpc: "2.0", id: 1, method: operation, params: requestFor(operation, task.id) };
        return post("/opvs/rpc", key, call, { headers });
      });
    });
  }

  test("SEC-MATRIX every route of REST, in both versions", async () => {
    const routes = [
      ...restRoutes.map((route) => ({ ...route, base: "/opvs/rest", version: "1.0" })),
      ...v03Routes.map((route) => ({ ...route, base: "/a2a/rest/v1", version: "0.3" })),
    ];
    for (const { base, path, methods, operation, version } of routes) {
      for (const method of methods) {
        await makeHook();
        const { id: _, taskId: __, ...body } = requestFor(operation, task.id);
        const hookBody = {
          ...body,
          id: "hook",
          config: { name: "x", pushNotificationConfig: { id: "hook", ...body } },
        };
        const v03Message = { request: { ...body.message, content: [{ text: "x" }], parts: undefined } };
        const bodies = operation.startsWith("Send") && version === "0.3" ? v03Message : hookBody;
        const address = path
          .join("/")
          .replace(/\{(?:id|configId)\}$/, (whole) =>
            path[0] === "tasks" && path.length === 4 ? "hook" : whole,
          )
          .replaceAll(/\{\w+\}/g, task.id);
        await tryAll(`${method} ${base}/${address}`, opvsRows[operation], (key) =>
          post(`${base}/${address}`, key, method === "POST" ? bodies : undefined, {
            method,
            headers: { "a2a-version": version },
          }),
        );
      }
    }
  });

  /** The methods of 0.3 and what they are called in 1.0. */
  const legacy: Record<string, OperationName> = {
    "message/send": "SendMessage",
    "message/stream": "SendStreamingMessage",
    "tasks/get": "GetTask",
    "tasks/cancel": "CancelTask",
    "tasks/resubscribe": "SubscribeToTask",
    "tasks/pushNotificationConfig/set": "CreateTaskPushNotificationConfig",
    "tasks/pushNotificationConfig/get": "GetTaskPushNotificationConfig",
    "tasks/pushNotificationConfig/list": "ListTaskPushNotificationConfigs",
    "tasks/pushNotificationConfig/delete": "DeleteTaskPushNotificationConfig",
    "agent/getAuthenticatedExtendedCard": "GetExtendedAgentCard",
  };

  test("SEC-MATRIX every method of JSON-RPC in version 0.3", async () => {
    assert.deepEqual([...v03Methods.keys()].sort(), Object.keys(legacy).sort());
    for (const [method, operation] of Object.entries(legacy)) {
      await makeHook();
      const parts = [{ kind: "text", text: "x" }];
      const message = { kind: "message", messageId: "m", role: "user", taskId: task.id, parts };
      const pushNotificationConfig = { id: "hook", url: "https://example.com/hook" };
      const params = {
        ...{ id: task.id, taskId: task.id, pushNotificationConfigId: "hook", pushNotificationConfig },
        ...(method.startsWith("message/") ? { message, configuration: { blocking: false } } : {}),
      };
      await tryAll(method, opvsRows[operation], (key) =>
        post("/a2a/rpc", key, { jsonrpc: "2.0", id: 1, method, params }),
      );
    }
  });

  const grpcOutcomes = new Map<Code, Outcome>([
    [Code.Unauthenticated, "unauthenticated"],
    [Code.PermissionDenied, "denied"],
    [Code.NotFound, "not_found"],
  ]);
  const renamed: Record<string, OperationName> = {
    TaskSubscription: "SubscribeToTask",
    ListTaskPushNotificationConfig: "ListTaskPushNotificationConfigs",
    GetAgentCard: "GetExtendedAgentCard",
  };

  for (const service of [A2AService, OPVSService, A2AService03]) {
    test(`SEC-MATRIX every method of the gRPC service ${service.typeName}`, async () => {
      const client: GrpcClient<DescService> = createClient(
        service as DescService,
        createGrpcTransport({ baseUrl: server.grpcUrl }),
      );
      for (const method of service.methods) {
        await makeHook();
        const row = opvsRows[renamed[method.name] ?? (method.name as OperationName)];
        assert.ok(row !== undefined, `${method.name} is new: say who may call it`);
        await tryAll(`${service.typeName}/${method.name}`, row, async (key) => {
          const version = service === A2AService03 ? "0.3" : "1.0";
          const headers = {
            "a2a-version": version,
            ...(key === null ? {} : { authorization: `Bearer ${key}` }),
          };
          try {
            const answer: Json = (client as Json)[method.localName](messageFor(service, method, task.id), {
              headers,
            });
            if (method.methodKind === "unary") return { outcome: "reached", text: described(await answer) };
            for await (const event of answer) return { outcome: "reached", text: described(event) };
            return { outcome: "reached", text: "" };
          } catch (error) {
            const { code, message } = ConnectError.from(error);
            return { outcome: grpcOutcomes.get(code) ?? "reached", text: message };
          }
        });
      }
    });
  }
});

function described(value: unknown): string {
  return JSON.stringify(value, (_name, inner) => (typeof inner === "bigint" ? String(inner) : inner));
}

test("SEC-MATRIX every tool of MCP", async () => {
  const calls: Record<string, { row: Row; arguments: () => object }> = {
    get_task: { row: guarded, arguments: () => ({ task_id: task.id }) },
    answer_task: { row: guarded, arguments: () => ({ task_id: task.id, answer: "x" }) },
    signal_task: { row: guarded, arguments: () => ({ task_id: task.id, name: "go" }) },
    cancel_task: { row: guarded, arguments: () => ({ task_id: task.id }) },
  };
  // An agent begins a task in the caller's own place; in our session it does not.
  const agent = { row: guarded, arguments: () => ({ text: "return x", session_id: task.session_id }) };
  const tools: string[] = (await mcp(admin.key, "tools/list")).result.tools.map(({ name }: Json) => name);
  const agents = (await admin.listAll("/v1/agents")).map(({ name }) => name);
  assert.deepEqual(tools.filter((name) => !agents.includes(name)).sort(), Object.keys(calls).sort());
  for (const [name, { row, arguments: given }] of Object.entries({ ...calls, rehearsal: agent })) {
    await renewTask();
    await tryAll(name, row, async (key) => {
      const params = { name, arguments: given() };
      const signal = AbortSignal.timeout(20_000);
      const meta = { "bridle/wait-seconds": 0 };
      const response = await rawCall(server, key ?? "", "2026-07-28", params, meta, signal);
      const text = await response.text();
      if (response.status === 401) return { outcome: "unauthenticated", text };
      if (/needs the scope|There is no tool/.test(text)) return { outcome: "denied", text };
      return { outcome: /\w+ not found: \S+/.test(text) ? "not_found" : "reached", text };
    });
  }
});

async function mcp(key: string, method: string): Promise<Json> {
  const response = await fetch(`${server.url}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-11-25",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method }),
  });
  const text = await response.text();
  return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text);
}

test("SEC-MATRIX every frame of a session's WebSocket", async () => {
  const frames: Record<keyof typeof commandFrames, () => object> = {
    "message.append": () => ({ message: userMessage("x") }),
    "task.submit": () => ({ input: userMessage("x") }),
    "task.cancel": () => ({ task_id: task.id }),
    "session.truncate": () => ({ keep_first: 100 }),
    "input.submit": () => ({ task_id: task.id, message: userMessage("x") }),
    "approval.respond": () => ({ request_id: "perm_x", decision: "approved" }),
    "host.result": () => ({ call_id: `${task.id}:x`, output: 1 }),
  };
  assert.deepEqual(Object.keys(frames).sort(), Object.keys(commandFrames).sort());
  const path = `/v1/sessions/${task.session_id}/ws`;
  const statuses = { "no key": 401, "no scope": 403, "another tenant": 404, "another workspace": 404 };
  for (const [visitor, status] of Object.entries(statuses)) {
    const key = keys[visitor as Visitor];
    const refused = await refusedUpgrade(admin.as(key ?? ""), path, { withKey: key !== null });
    assert.equal(refused.status, status, visitor);
  }
  const reader = await admin.withScopes("events:read", "sessions:read");
  await using reading = await openSession(reader, task.session_id);
  await using bound = await openSession(admin.as(keys["bound key"] ?? ""), task.session_id);
  for (const [type, frame] of Object.entries(frames)) {
    await renewTask();
    assert.equal((await reading.refusal({ type, ...frame() })).code, "permission_denied", type);
    const answer = await bound.ask({ type, ...frame() });
    assert.notEqual(answer.error?.code, "permission_denied", type);
  }
});

/** A shell has one address for everything: it begins a run in the caller's own place, or goes on with one of its own. */
test("SEC-MATRIX a run of OpenHarness is begun in one's own place and continued by nobody else", async () => {
  const outcomes: Record<string, Outcome> = {
    unauthenticated: "unauthenticated",
    permission_denied: "denied",
    continuation_invalid: "not_found",
  };
  const send = async (key: string | null, message: Json): Promise<Said> => {
    const { body } = await admin.as(key ?? "").call(openHarnessPath, { raw: JSON.stringify(message) });
    return { outcome: outcomes[body.response.error?.code] ?? "reached", text: JSON.stringify(body) };
  };
  const intent = { user_intent: "return x", task_hint: { sop_id: "rehearsal" } };
  await tryAll("a new run", ownPlace, (key) => send(key, message(intent)));
  const bound = new Shell(server, keys["bound key"] ?? "");
  // Every visitor tries it before the one whose run it is.
  const begun = await bound.play(["ask our question?"]);
  await tryAll("a run of ours", guarded, (key) => send(key, continued(begun, {}, { user_intent: "x" })));
  const colleague = (await admin.createKey({ actor: "colleague" })).key;
  const another = await bound.play(["ask our question?"]);
  const { outcome } = await send(colleague, continued(another, {}, { user_intent: "x" }));
  assert.equal(outcome, "not_found", "another actor of the tenant");
});

test("SEC-MATRIX the WebSocket of OpenHarness opens for those who may ask", async () => {
  for (const [visitor, code] of [
    ["no key", "unauthenticated"],
    ["no scope", "permission_denied"],
  ] as const) {
    const key = keys[visitor];
    const path = `${openHarnessPath}/ws`;
    const { body } = await refusedUpgrade(admin.as(key ?? ""), path, { withKey: key !== null });
    assert.equal(body.response.error.code, code, visitor);
  }
  const begun = await new Shell(server, keys["bound key"] ?? "").play(["ask our question?"]);
  for (const visitor of ["another tenant", "another workspace", "bound key"] as const) {
    await using socket = await openSocket(admin.as(keys[visitor] ?? ""), `${openHarnessPath}/ws`);
    const sent = continued(begun, {}, { user_intent: "x" });
    socket.send(sent);
    const answer = await socket.until(
      (frame) => frame.request_id === sent.request_id && frame.response !== undefined,
    );
    const expected = visitor === "bound key" ? undefined : "continuation_invalid";
    assert.equal(answer.response.error?.code, expected, visitor);
  }
});
