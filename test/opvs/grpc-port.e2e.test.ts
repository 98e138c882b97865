/** The gRPC port itself: what connections, clients and operators may do to it. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, createClient } from "@connectrpc/connect";
import { createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import {
  Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../proto/generated/grpc/health/v1/health_pb.js";
import {
  A2AService,
  SendMessageRequestSchema,
  type StreamResponse,
  TaskState,
} from "../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { defineAgent } from "../../src/runtime/agents/agent.ts";
import { Client, isFinal, until } from "../support/client.ts";
import {
  callOptions,
  type GrpcServer,
  grpcClient,
  readUntilRefused,
  refusalOf,
  script,
  startGrpcServer,
} from "../support/grpc.ts";
import { adminKey } from "../support/server.ts";

const app = "https://app.example.com";
const bodyBytesMax = 256 * 1024;

const pieces = 60;
const pieceChars = 100_000;

/** Opened once all who read it have subscribed. */
const floodgate = Promise.withResolvers<void>();

/** Waits for its readers and then writes far more than anybody's window. */
const flood = defineAgent({
  name: "flood",
  version: "1.0.0",
  description: "Makes a large artifact in pieces.",
  skills: [],
  async run(ctx) {
    await ctx.step("wait", () => floodgate.promise);
    const artifact = await ctx.streamArtifact({ name: "flood.txt", mimeType: "text/plain" });
    for (let n = 0; n < pieces; n++) await artifact.write("x".repeat(pieceChars));
    await artifact.close();
  },
});

let running: GrpcServer;
let harn: Client;

before(async () => {
  running = await startGrpcServer({
    bodyBytesMax,
    heartbeatMs: 300,
    agents: [flood],
    corsOrigins: [app],
    authFailuresMax: 5,
    trustedProxies: ["127.0.0.1", "10.0.0.0/8"],
    builtInAgents: "on",
  });
  harn = new Client(running);
});
after(() => running[Symbol.asyncDispose]());

function envelope(message: Uint8Array, isCompressed = false): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(isCompressed ? 1 : 0, 0);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

interface RawAnswer {
  headers: IncomingHttpHeaders;
  trailers: IncomingHttpHeaders;
}

/** A call of which every byte is ours, by a client that enforces nothing. */
async function rawCall(
  method: string,
  body: Buffer,
  headers: Record<string, string> = {},
): Promise<RawAnswer> {
  const session = connectHttp2(running.grpcUrl);
  try {
    const stream = session.request({
      ":method": "POST",
      ":path": `/lf.a2a.v1.A2AService/${method}`,
      "content-type": "application/grpc",
      te: "trailers",
      authorization: `Bearer ${adminKey}`,
      "a2a-version": "1.0",
      ...headers,
    });
    let trailers: IncomingHttpHeaders = {};
    stream.on("trailers", (given) => {
      trailers = given;
    });
    stream.end(body);
    const [answered] = await once(stream, "response");
    stream.resume();
    await once(stream, "close");
    return { headers: answered, trailers };
  } finally {
    session.destroy();
  }
}

function requestBytes(text: string): Uint8Array {
  return toBinary(SendMessageRequestSchema, create(SendMessageRequestSchema, script(text)));
}

async function idOf(stream: AsyncIterator<StreamResponse>): Promise<string> {
  const { value } = await stream.next();
  assert.ok(value?.payload.case === "task");
  return value.payload.value.id;
}

describe("Health", () => {
  test("GRP-9 health without credentials reports known services serving and others unknown", async () => {
    // Given a server that is ready, when its health is checked without credentials, then the whole and every service are
    // serving, and others are not known.
    const client = createClient(Health, createGrpcTransport({ baseUrl: running.grpcUrl }));
    const names = [
      "",
      "lf.a2a.v1.A2AService",
      "lf.a2a.v1.OPVSService",
      "a2a.v1.A2AService",
      "grpc.health.v1.Health",
    ];
    for (const service of names) {
      assert.equal((await client.check({ service })).status, Status.SERVING, service);
    }
    assert.equal((await refusalOf(() => client.check({ service: "none" }))).code, Code.NotFound);
    for await (const { status } of client.watch({ service: "none" })) {
      assert.equal(status, Status.SERVICE_UNKNOWN);
      break;
    }
  });

  test("GRP-9 a stopping server tells health watchers not serving and that it goes away", async () => {
    // Given somebody who watches, when the server is stopped, then it is told that nothing is served any more and that
    // the server goes away.
    await using own = await startGrpcServer();
    const client = createClient(Health, createGrpcTransport({ baseUrl: own.grpcUrl }));
    const watching = client.watch({})[Symbol.asyncIterator]();
    assert.equal((await watching.next()).value?.status, Status.SERVING);
    const stopping = own.server.stop(0);
    assert.equal((await watching.next()).value?.status, Status.NOT_SERVING);
    assert.equal((await refusalOf(() => watching.next())).code, Code.Unavailable);
    await stopping;
  });
});

describe("Calls that end early", () => {
  test("GRP-10 the server ends an overdue call with DEADLINE_EXCEEDED and the task goes on", async () => {
    // Given a deadline, when the answer takes longer, then the server itself ends the call with DEADLINE_EXCEEDED, and
    // the task goes on.
    const { contextId, taskId } = await openTask("sleep 2500\nreturn late");
    const { trailers } = await rawCall("SubscribeToTask", subscription(taskId), { "grpc-timeout": "200m" });
    assert.equal(trailers["grpc-status"], String(Code.DeadlineExceeded));
    const blocked = await rawCall("SendMessage", envelope(requestBytes("sleep 2500\nreturn late")), {
      "grpc-timeout": "200m",
    });
    assert.equal(blocked.trailers["grpc-status"], String(Code.DeadlineExceeded));
    assert.equal((await harn.untilTask(taskId, isFinal)).status, "COMPLETED");
    assert.notEqual(contextId, "");
  });

  test("GRP-10 a call with a deadline beyond the timer range is answered", async () => {
    // Given a deadline further away than timers can count, when a call is made, then it is answered.
    for (const far of ["99999999H", "99999999M", "99999999S"]) {
      const { trailers } = await rawCall("ListTasks", envelope(new Uint8Array()), { "grpc-timeout": far });
      assert.equal(trailers["grpc-status"], "0", far);
    }
    const { trailers } = await rawCall("ListTasks", envelope(new Uint8Array()), { "grpc-timeout": "soon" });
    assert.equal(trailers["grpc-status"], String(Code.InvalidArgument));
  });

  test("GRP-11 one client hanging up leaves the other stream and the task running", async () => {
    // Given two streams of a task, when one client hangs up, then the other stream and the task go on.
    const client = grpcClient(running.grpcUrl);
    const { taskId } = await openTask("sleep 2000\nstream 5\nreturn done");
    const hanging = new AbortController();
    const options = { ...callOptions(), signal: hanging.signal };
    const left = client.subscribeToTask({ id: taskId }, options)[Symbol.asyncIterator]();
    const stays = client.subscribeToTask({ id: taskId }, callOptions())[Symbol.asyncIterator]();
    await idOf(left);
    await idOf(stays);
    hanging.abort();
    assert.equal((await refusalOf(() => left.next())).code, Code.Canceled);
    let last: StreamResponse | undefined;
    for (let next = await stays.next(); next.done !== true; next = await stays.next()) last = next.value;
    assert.ok(last?.payload.case === "statusUpdate");
    assert.equal(last.payload.value.status?.state, TaskState.COMPLETED);
  });

  test("GRP-12 a stop ends streams and calls with UNAVAILABLE and the task survives a restart", async () => {
    // Given open streams and a call that waits, when the server stops, then all of them end with UNAVAILABLE, soon, and
    // the task is there after a restart.
    await using own = await startGrpcServer();
    const client = grpcClient(own.grpcUrl);
    const stream = client.sendStreamingMessage(script("sleep 60000"), callOptions())[Symbol.asyncIterator]();
    await idOf(stream);
    const rest = refusalOf(async () => {
      while ((await stream.next()).done !== true);
    });
    const waiting = refusalOf(() => client.sendMessage(script("sleep 60000"), callOptions()));
    await until(
      async () => (await client.listTasks({}, callOptions())).tasks.length,
      (count) => count === 2,
    );
    const began = performance.now();
    await own.server.stop(0);
    assert.deepEqual([(await rest).code, (await waiting).code], [Code.Unavailable, Code.Unavailable]);
    assert.ok(performance.now() - began < 5000);
    assert.equal(
      (await refusalOf(() => grpcClient(own.grpcUrl).listTasks({}, callOptions()))).code,
      Code.Unavailable,
    );
  });

  test("GRP-13 revoking a key ends its idle stream with UNAUTHENTICATED", async () => {
    // Given a stream, when its key is revoked, then it ends with UNAUTHENTICATED, though nothing happens to the task.
    const { key, id } = await harn.createKey();
    const client = grpcClient(running.grpcUrl);
    const stream = client.sendStreamingMessage(script("sleep 60000"), callOptions({}, key));
    const rest = readUntilRefused(stream);
    await until(
      async () => (await harn.listAll("/v1/tasks")).filter(({ status }) => !isFinal({ status })).length,
      (open) => open > 0,
    );
    assert.equal((await harn.call(`/v1/api-keys/${id}`, { method: "DELETE" })).status < 300, true);
    const { events, refusal } = await rest;
    assert.ok(events.length > 0);
    assert.equal(refusal.code, Code.Unauthenticated);
  });
});

/** A task that is running, without a stream. */
async function openTask(text: string, tenant = "@rehearsal"): Promise<{ taskId: string; contextId: string }> {
  const { payload } = await grpcClient(running.grpcUrl).sendMessage(
    { ...script(text), tenant, configuration: { returnImmediately: true } },
    callOptions(),
  );
  assert.ok(payload.case === "task");
  return { taskId: payload.value.id, contextId: payload.value.contextId };
}

function subscription(taskId: string): Buffer {
  // SubscribeToTaskRequest: the id is its second field.
  const id = Buffer.from(taskId);
  return envelope(Buffer.concat([Buffer.from([0x12, id.length]), id]));
}

describe("Limits", () => {
  const status = async (body: Buffer, headers: Record<string, string> = {}) =>
    Number((await rawCall("SendMessage", body, headers)).trailers["grpc-status"]);

  test("GRP-14 a message too large, packed or unpacked, returns RESOURCE_EXHAUSTED", async () => {
    // Given messages that are too large, before or after they are unpacked, when they are sent, then they are refused
    // with RESOURCE_EXHAUSTED.
    const large = requestBytes("x".repeat(bodyBytesMax));
    assert.equal(await status(envelope(large)), Code.ResourceExhausted);
    const bomb = gzipSync(requestBytes("x".repeat(100 * bodyBytesMax)));
    assert.ok(bomb.length < bodyBytesMax);
    assert.equal(await status(envelope(bomb, true), { "grpc-encoding": "gzip" }), Code.ResourceExhausted);
    const packed = gzipSync(requestBytes(`return ${"x".repeat(bodyBytesMax / 2)}`));
    assert.equal(await status(envelope(packed, true), { "grpc-encoding": "gzip" }), 0);
  });

  for (const httpVersion of ["1.1", "2"] as const) {
    test(`GRP-14 a gRPC-Web message near the limit over HTTP/${httpVersion} comes back whole`, async () => {
      // Given a message near the limit over HTTP/${httpVersion}, when it is sent by gRPC-Web, then it comes back whole.
      const transport = createGrpcWebTransport({ baseUrl: running.grpcUrl, httpVersion });
      const text = "x".repeat(bodyBytesMax - 1000);
      const client = createClient(A2AService, transport);
      const { payload } = await client.sendMessage({ ...script(text), tenant: "@echo" }, callOptions());
      assert.ok(payload.case === "task");
      const [part] = payload.value.artifacts[0]?.parts ?? [];
      assert.deepEqual(part?.content, { case: "text", value: text });
    });
  }

  // The status is the one that gRPC gives to what cannot be decoded.
  test("GRP-15 bytes that are no message return INTERNAL and change nothing", async () => {
    // Given bytes that are no message, when they are sent, then they are refused with INTERNAL and change nothing.
    const { length } = await harn.listAll("/v1/tasks");
    const nested = (levels: number): Buffer => {
      // A Struct in a Struct in a Struct: each field is a map entry with a value that is a Struct.
      let inner = Buffer.alloc(0);
      for (let level = 0; level < levels; level++) {
        const value = Buffer.concat([Buffer.from([0x2a]), varint(inner.length), inner]);
        const entry = Buffer.concat([Buffer.from([0x0a, 1, 0x61, 0x12]), varint(value.length), value]);
        inner = Buffer.concat([Buffer.from([0x0a]), varint(entry.length), entry]);
      }
      return Buffer.concat([Buffer.from([0x22]), varint(inner.length), inner]);
    };
    const valid = Buffer.from(requestBytes("return x"));
    const notANumber = Buffer.from([
      0x22, 16, 0x0a, 14, 0x0a, 1, 0x61, 0x12, 9, 0x11, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f,
    ]);
    const broken: Record<string, Buffer> = {
      "half a message": valid.subarray(0, valid.length - 3),
      "letters that are no UTF-8": Buffer.concat([Buffer.from([0x0a, 2, 0xff, 0xfe])]),
      "what is nested a thousand times": Buffer.concat([valid, nested(1000)]),
    };
    for (const [what, bytes] of Object.entries(broken)) {
      assert.equal(await status(envelope(bytes)), Code.Internal, what);
    }
    // These can be read, but JSON cannot say them.
    const key = Buffer.from("__proto__");
    const proto = Buffer.concat([Buffer.from([0x22, 15, 0x0a, 13, 0x0a, 9]), key, Buffer.from([0x12, 0])]);
    for (const unsayable of [notANumber, proto]) {
      assert.equal(await status(envelope(Buffer.concat([valid, unsayable]))), Code.InvalidArgument);
    }
    assert.equal((await harn.listAll("/v1/tasks")).length, length);
  });

  test("GRP-16 the server buffers nothing for clients that do not read their streams", async () => {
    // Given clients that do not read their streams, when their tasks make far more than a window, then the server keeps
    // none of it for them.
    const session = connectHttp2(running.grpcUrl, { settings: { initialWindowSize: 1000 } });
    await once(session, "connect");
    const bytesBefore = bytesInUse();
    const readers = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const { taskId } = await openTask("", "@flood");
        const stream = session.request({
          ":method": "POST",
          ":path": "/lf.a2a.v1.A2AService/SubscribeToTask",
          "content-type": "application/grpc",
          te: "trailers",
          authorization: `Bearer ${adminKey}`,
          "a2a-version": "1.0",
        });
        stream.end(subscription(taskId));
        await once(stream, "response");
        return { stream, taskId };
      }),
    );
    floodgate.resolve();
    for (const { taskId } of readers) await harn.untilTask(taskId, isFinal);
    // What is just passing through goes away by itself; what is kept for them would stay.
    await until(
      async () => bytesInUse() - bytesBefore,
      (bytes) => bytes < pieces * pieceChars,
    );
    // They were not forgotten: who reads in the end gets everything.
    const [{ stream } = assert.fail()] = readers;
    let bytes = 0;
    for await (const chunk of stream) bytes += chunk.length;
    assert.ok(bytes > pieces * pieceChars, String(bytes));
    // The others break off. What was left of their calls would keep this process from ending.
    session.destroy();
  });
});

/** Of buffers, without what nobody needs any more. */
function bytesInUse(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  return process.memoryUsage().arrayBuffers;
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  do {
    bytes.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
    rest >>>= 7;
  } while (rest > 0);
  return Buffer.from(bytes);
}

describe("Connections", () => {
  async function send(...pieces: (string | Buffer)[]): Promise<string> {
    const { hostname, port } = new URL(running.grpcUrl);
    const socket = connect(Number(port), hostname).setNoDelay(true);
    await once(socket, "connect");
    const answer: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => answer.push(chunk));
    socket.on("error", () => undefined);
    for (const piece of pieces) {
      await new Promise((resolve) => socket.write(piece, resolve));
      await new Promise((resolve) => setImmediate(resolve));
    }
    socket.end();
    await once(socket, "close");
    return Buffer.concat(answer).toString("latin1");
  }

  test("GRP-17 connections with no or a broken protocol are refused and the server lives", async () => {
    // Given connections that speak no protocol, or badly, when they come, then they are turned away and the server
    // lives.
    const path = "POST /lf.a2a.v1.A2AService/SendMessage";
    const type = "Content-Type: application/grpc-web+proto\r\nContent-Length: 0\r\n";
    assert.match(await send(`${path} HTTP/1.0\r\n${type}\r\n`), /^HTTP\/1\.1 400/);
    assert.match(
      await send(`${path} HTTP/1.1\r\nHost: 127.0.0.1:99999\r\n${type}Connection: close\r\n\r\n`),
      /^HTTP\/1\.1 400/,
    );
    assert.match(
      await send("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
      /^HTTP\/1\.1 404/,
    );
    assert.match(await send("HELLO\r\n\r\n"), /^HTTP\/1\.1 400/);
    await send("P");
    await send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Buffer.alloc(100, 0xff));
    await send(Buffer.alloc(1000, 0x16));
    assert.equal(
      (await rawCall("ListTasks", envelope(new Uint8Array()), { ":authority": "localhost:99999" })).headers[
        ":status"
      ],
      400,
    );
    await grpcClient(running.grpcUrl).listTasks({}, callOptions());
  });

  test("GRP-17 a client sending its first bytes one by one is understood, HTTP/2 or HTTP/1.1", async () => {
    // Given a client whose first letters come one by one, when it speaks HTTP/2 or HTTP/1.1, then each is understood.
    const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    const answer = await send(...[...preface].map((byte) => Buffer.from([byte])), settings);
    assert.equal(answer.charCodeAt(3), 4, "a frame of settings");
    const request = "POST /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert.match(await send(...request.split("")), /^HTTP\/1\.1 404/);
  });

  test("GRP-18 an unknown method returns UNIMPLEMENTED", async () => {
    // Given methods that are not there, when they are called, then the status is UNIMPLEMENTED.
    for (const path of ["/lf.a2a.v1.A2AService/Nothing", "/nothing.v1.Service/SendMessage", "/"]) {
      const { headers } = await rawCall("", envelope(new Uint8Array()), { ":path": path });
      assert.equal(headers["grpc-status"], String(Code.Unimplemented), path);
    }
  });

  test("GRP-19 only allowed origins may use gRPC-Web from a browser", async () => {
    // Given origins that may use the server, when a browser asks for gRPC-Web, then those are let in and no others.
    const ask = async (method: string, origin: string) => {
      const url = `${running.grpcUrl}/lf.a2a.v1.A2AService/ListTasks`;
      const headers = { origin, "content-type": "application/grpc-web+proto" };
      return (await fetch(url, { method, headers })).headers;
    };
    const preflight = await ask("OPTIONS", app);
    assert.equal(preflight.get("access-control-allow-origin"), app);
    assert.match(preflight.get("access-control-allow-headers") ?? "", /authorization.*a2a-version/i);
    const answer = await ask("POST", app);
    assert.equal(answer.get("access-control-allow-origin"), app);
    assert.match(answer.get("access-control-expose-headers") ?? "", /grpc-status/i);
    for (const method of ["OPTIONS", "POST"]) {
      assert.equal((await ask(method, "https://evil.example.com")).get("access-control-allow-origin"), null);
    }
  });

  test("GRP-20 repeated wrong credentials throttle one address, not others behind its proxy", async () => {
    // Given wrong credentials again and again, when an address has failed too often, then it must wait, and others
    // behind the same proxy need not.
    const client = grpcClient(running.grpcUrl);
    const failing = async (from: string) => {
      const { code, metadata } = await refusalOf(() =>
        client.listTasks({}, callOptions({ "x-forwarded-for": from }, `wrong-${Math.random()}`)),
      );
      return { code, wait: metadata.get("retry-after") };
    };
    for (let n = 0; n < 5; n++)
      assert.equal((await failing("203.0.113.5, 10.1.2.3")).code, Code.Unauthenticated);
    const refused = await failing("198.51.100.1, 203.0.113.5, 10.1.2.3");
    assert.equal(refused.code, Code.ResourceExhausted);
    assert.match(refused.wait ?? "", /^\d+$/);
    assert.equal((await failing("203.0.113.6")).code, Code.Unauthenticated);
    await client.listTasks({}, callOptions({ "x-forwarded-for": "203.0.113.5" }));
  });
});
