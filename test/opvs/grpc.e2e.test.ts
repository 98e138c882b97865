/** The operations over gRPC: the same as on the other bindings, by every name and for every client. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Code, createClient } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema } from "../../proto/generated/google/rpc/error_details_pb.js";
import {
  A2AService,
  ListTasksResponseSchema,
  OPVSService,
  type StreamResponse,
  TaskSchema,
  TaskState,
} from "../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { Client, type Json } from "../support/client.ts";
import {
  callOptions,
  type GrpcServer,
  grpcClient,
  readUntilRefused,
  refusalOf,
  script,
  startGrpcServer,
  transports,
} from "../support/grpc.ts";
import { adminKey } from "../support/server.ts";
import { shown } from "./grpc-wire.ts";

let running: GrpcServer;
let harn: Client;

before(async () => {
  running = await startGrpcServer();
  harn = new Client(running);
});
after(() => running[Symbol.asyncDispose]());

/** The same over JSON-RPC. */
async function overJsonRpc(method: string, params: object): Promise<Json> {
  const body = { jsonrpc: "2.0", id: 1, method, params };
  const answer = await harn.call("/opvs/rpc", { body, headers: { "a2a-version": "1.0" } });
  return answer.body;
}

function textOf(event: StreamResponse): string {
  const { payload } = event;
  const content = payload.case === "artifactUpdate" ? payload.value.artifact?.parts[0]?.content : undefined;
  return content?.case === "text" ? content.value : "";
}

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

describe("The operations", () => {
  const services = { A2AService, OPVSService };
  for (const [transportName, transport] of Object.entries(transports)) {
    for (const [serviceName, service] of Object.entries(services)) {
      test(`GRP-1, OPVS-109 ${serviceName} by ${transportName} returns what JSON-RPC returns`, async () => {
        // Given ${serviceName} by ${transportName}, when its operations are called, then they give what JSON-RPC gives.
        const client = createClient(service, transport(running.grpcUrl));
        const options = callOptions();
        const { payload } = await client.sendMessage(script("say hello\nreturn done"), options);
        assert.ok(payload.case === "task");
        const { id, contextId, status } = payload.value;
        assert.equal(status?.state, TaskState.COMPLETED);
        const { result: sent } = await overJsonRpc("GetTask", { id });
        assert.deepEqual(shown(TaskSchema, payload.value), sent);
        assert.deepEqual(shown(TaskSchema, await client.getTask({ id }, options)), sent);

        const listed = await client.listTasks({ contextId }, options);
        assert.equal(listed.tasks.length, 1);
        assert.deepEqual(
          shown(ListTasksResponseSchema, listed).tasks,
          (await overJsonRpc("ListTasks", { contextId })).result.tasks,
        );

        const waiting = await client.sendMessage(script("ask which one?"), options);
        assert.ok(waiting.payload.case === "task");
        const { id: open } = waiting.payload.value;
        assert.equal(waiting.payload.value.status?.state, TaskState.INPUT_REQUIRED);
        const following = client.subscribeToTask({ id: open }, options)[Symbol.asyncIterator]();
        assert.equal((await following.next()).value?.payload.case, "task");
        assert.equal((await client.cancelTask({ id: open }, options)).status?.state, TaskState.CANCELED);
        const { value: last } = await following.next();
        assert.ok(last?.payload.case === "statusUpdate");
        assert.equal(last.payload.value.status?.state, TaskState.CANCELED);
        assert.equal((await following.next()).done, true);
      });
    }

    test(`GRP-2 ${transportName} streams the task first, artifact chunks in order, the end last`, async () => {
      // Given a task that makes an artifact in pieces, when it is streamed by ${transportName}, then the task comes
      // first, every piece in its order, and the end last.
      const client = createClient(A2AService, transport(running.grpcUrl));
      const events = await all(client.sendStreamingMessage(script("stream 60"), callOptions()));
      assert.equal(events[0]?.payload.case, "task");
      const texts = events.map(textOf).filter((text) => text.startsWith("chunk"));
      assert.deepEqual(
        texts.join(""),
        Array.from({ length: 60 }, (_, n) => `chunk ${n + 1} of 60\n`).join(""),
      );
      const last = events.at(-1)?.payload;
      assert.ok(last?.case === "statusUpdate");
      assert.equal(last.value.status?.state, TaskState.COMPLETED);
    });
  }

  test("GRP-1 a message with every kind of part sent by gRPC reads the same by JSON-RPC", async () => {
    // Given a client's message of everything that a part can be, when it is sent by gRPC, then JSON-RPC tells the same
    // of it.
    const client = grpcClient(running.grpcUrl);
    const parts: Json[] = [
      { content: { case: "text", value: "return ok" } },
      {
        content: { case: "raw", value: new Uint8Array([0, 255, 1]) },
        mediaType: "text/markdown",
        filename: "a.png",
      },
      { content: { case: "url", value: "https://example.com/b.json" }, mediaType: "application/json" },
      {
        content: { case: "data", value: { kind: { case: "numberValue", value: 4.5 } } },
        metadata: { a: [1, null] },
      },
    ];
    const { message } = script("");
    const { payload } = await client.sendMessage(
      { tenant: "@echo", message: { ...message, parts, metadata: { deep: { er: true } } } },
      callOptions(),
    );
    assert.ok(payload.case === "task");
    const { result } = await overJsonRpc("GetTask", { id: payload.value.id });
    assert.deepEqual(shown(TaskSchema, payload.value), result);
    assert.deepEqual(
      result.history[0].parts.map(({ text, raw, url, data }: Json) => text ?? raw ?? url ?? data),
      ["return ok", "AP8B", "https://example.com/b.json", 4.5],
    );
  });
});

describe("Refusals", () => {
  test("GRP-3, OPVS-80 an unknown task returns NOT_FOUND with the reason in its details", async () => {
    // Given a task that is not there, when it is asked for, then the status is NOT_FOUND and its details say why.
    const client = grpcClient(running.grpcUrl);
    const refusal = await refusalOf(() => client.getTask({ id: "task_none" }, callOptions()));
    assert.equal(refusal.code, Code.NotFound);
    const [info] = refusal.findDetails(ErrorInfoSchema);
    assert.deepEqual([info?.reason, info?.domain], ["TASK_NOT_FOUND", "a2a-protocol.org"]);
    const raw = Buffer.from(refusal.metadata.get("grpc-status-details-bin") ?? "", "base64").toString(
      "latin1",
    );
    assert.ok(raw.includes("type.googleapis.com/google.rpc.ErrorInfo"), raw);
    const { error } = await overJsonRpc("GetTask", { id: "task_none" });
    assert.deepEqual([refusal.rawMessage, info?.reason], [error.message, error.data[0].reason]);
  });

  test("GRP-3 missing required fields return INVALID_ARGUMENT naming every field", async () => {
    // Given requests that lack what is needed, when they are sent, then the status is INVALID_ARGUMENT and every field
    // is named.
    const client = grpcClient(running.grpcUrl);
    const refusal = await refusalOf(() =>
      client.sendMessage({ message: { messageId: "m", parts: [{}] } }, callOptions()),
    );
    assert.equal(refusal.code, Code.InvalidArgument);
    const fields = refusal.findDetails(BadRequestSchema).flatMap(({ fieldViolations }) => fieldViolations);
    assert.deepEqual(fields.map(({ field }) => field).sort(), ["message.parts[0]", "message.role"]);
  });

  test("GRP-3 canceling or following an ended task returns the protocol's error reasons", async () => {
    // Given a task that has ended, when it is canceled or followed, then the reasons are those of the protocol.
    const client = grpcClient(running.grpcUrl);
    const { payload } = await client.sendMessage(script("return x"), callOptions());
    const id = payload.case === "task" ? payload.value.id : "";
    const canceling = await refusalOf(() => client.cancelTask({ id }, callOptions()));
    assert.equal(canceling.code, Code.FailedPrecondition);
    assert.equal(canceling.findDetails(ErrorInfoSchema)[0]?.reason, "TASK_NOT_CANCELABLE");
    const { events, refusal } = await readUntilRefused(client.subscribeToTask({ id }, callOptions()));
    assert.deepEqual(events, []);
    assert.equal(refusal.code, Code.Unimplemented);
    assert.equal(refusal.findDetails(ErrorInfoSchema)[0]?.reason, "UNSUPPORTED_OPERATION");
  });

  test("GRP-4 rejects missing, wrong or insufficient credentials and says what to do", async () => {
    // Given credentials that are missing, wrong or for too little, when a call is made, then it is refused before or
    // after its message is read, with what to do.
    const client = grpcClient(running.grpcUrl);
    const none = await refusalOf(() => client.listTasks({}, { headers: { "a2a-version": "1.0" } }));
    const wrong = await refusalOf(() => client.listTasks({}, callOptions({}, "wrong-key")));
    for (const refusal of [none, wrong]) {
      assert.equal(refusal.code, Code.Unauthenticated);
      assert.equal(refusal.metadata.get("www-authenticate"), 'Bearer realm="bridle"');
    }
    const { key } = await harn.createKey({ scopes: ["tasks:read"] });
    await client.listTasks({}, callOptions({}, key));
    const lacking = await refusalOf(() => client.sendMessage(script("return x"), callOptions({}, key)));
    assert.equal(lacking.code, Code.PermissionDenied);
    const foreign = await refusalOf(() => client.listTasks({ tenant: "tenant_other" }, callOptions()));
    assert.equal(foreign.code, Code.PermissionDenied);
  });
});

describe("Service parameters", () => {
  const cursor = "urn:bridle:durable-cursor:1";

  test("GRP-5, OPVS-74 reads metadata parameters in both spellings and answers in headers", async () => {
    // Given parameters as metadata in either spelling, when a call is made, then they hold, and what came of them is in
    // the headers of the answer.
    const client = grpcClient(running.grpcUrl);
    for (const spelling of ["a2a", "opvs"]) {
      let header = new Headers();
      const traceId = "0af7651916cd43dd8448eb211c80319c";
      await client.sendMessage(script("return x"), {
        headers: {
          authorization: `Bearer ${adminKey}`,
          [`${spelling}-version`]: "1.0",
          [`${spelling}-extensions`]: `${cursor}, urn:unknown`,
          traceparent: `00-${traceId}-b7ad6b7169203331-01`,
        },
        onHeader: (given) => {
          header = given;
        },
      });
      assert.equal(header.get("a2a-extensions"), cursor);
      assert.equal(header.get("opvs-extensions"), cursor);
      assert.match(header.get("traceparent") ?? "", new RegExp(`^00-${traceId}-(?!b7ad6b7169203331)`));
      assert.match(header.get("x-request-id") ?? "", /^req_/);
    }
  });

  test("GRP-5 a cut stream resumes after the last event id and misses no event", async () => {
    // Given a stream that was cut, when it is taken up with the event it came to, then it goes on with the next one and
    // has them all.
    const client = grpcClient(running.grpcUrl);
    const options = callOptions({ "a2a-extensions": cursor });
    const whole: StreamResponse[] = [];
    for await (const event of client.sendStreamingMessage(script("stream 30"), options)) whole.push(event);
    const [first, ...updates] = whole;
    const id = first?.payload.case === "task" ? first.payload.value.id : "";
    const cut = updates[9];
    assert.ok(cut?.payload.case === "artifactUpdate");
    const { [cursor]: said }: Json = cut.payload.value.metadata;
    const since = typeof said === "string" ? said : said.eventId;
    const rest = await all(
      client.subscribeToTask({ id }, callOptions({ "a2a-extensions": cursor, "a2a-since": since })),
    );
    assert.equal(rest[0]?.payload.case, "task");
    assert.deepEqual(rest.slice(1), updates.slice(10));
  });

  test("GRP-6 rejects unsupported or conflicting versions, naming the supported ones", async () => {
    // Given versions that a service does not speak, or that disagree, when it is called, then the refusal names what it
    // speaks.
    const client = grpcClient(running.grpcUrl);
    const authorization = `Bearer ${adminKey}`;
    for (const version of [{}, { "a2a-version": "0.3" }, { "a2a-version": "2.0" }]) {
      const refusal = await refusalOf(() => client.listTasks({}, { headers: { authorization, ...version } }));
      assert.equal(refusal.code, Code.Unimplemented, JSON.stringify(version));
      const [info] = refusal.findDetails(ErrorInfoSchema);
      assert.equal(info?.reason, "VERSION_NOT_SUPPORTED");
      assert.match(info?.metadata.supportedVersions ?? "", /1\.0/);
    }
    await client.listTasks({}, callOptions({ "a2a-version": "1.0.7" }));
    const both = callOptions({ "opvs-version": "0.3" });
    assert.equal((await refusalOf(() => client.listTasks({}, both))).code, Code.InvalidArgument);
  });
});
