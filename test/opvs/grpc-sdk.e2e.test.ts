/** The official client over gRPC, in version 1.0 and in version 0.3. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  AgentCard,
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetExtendedAgentCardRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTasksRequest,
  SendMessageRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
  TaskPushNotificationConfig,
  TaskState,
} from "@a2a-js/sdk";
import { Client as SdkClient } from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";
import { create, toBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { credentials, Client as GrpcClient, Metadata, type ServiceError } from "@grpc/grpc-js";
import * as v03 from "../../proto/generated/a2a/v1/a2a_pb.js";
import { GetTaskRequestSchema } from "../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { Client, type Json } from "../support/client.ts";
import { type GrpcServer, startGrpcServer } from "../support/grpc.ts";
import { adminKey } from "../support/server.ts";

let running: GrpcServer;
let harn: Client;

before(async () => {
  running = await startGrpcServer({ allowPrivateAddresses: true });
  harn = new Client(running);
});
after(() => running[Symbol.asyncDispose]());

/** The agent that plays scripts, by the name that goes beside a message, since those of 0.3 have no place for it. */
const options = { serviceParameters: { Authorization: `Bearer ${adminKey}`, "A2A-Agent": "rehearsal" } };

async function sdkClient(protocolVersion: string): Promise<SdkClient> {
  const { host: url } = new URL(running.grpcUrl);
  const card = AgentCard.fromJSON({
    name: "rehearsal",
    supportedInterfaces: [{ url, protocolBinding: "GRPC", protocolVersion }],
    capabilities: { streaming: true, pushNotifications: true },
  });
  const factory = new GrpcTransportFactory({ legacyCompat: { enabled: true } });
  return new SdkClient(await factory.create(url, card), card);
}

function message(text: string, more: object = {}): SendMessageRequest {
  const messageId = crypto.randomUUID();
  return SendMessageRequest.fromJSON({
    message: { messageId, role: "ROLE_USER", parts: [{ text }], ...more },
  });
}

async function allJson(stream: AsyncIterable<StreamResponse>): Promise<Json[]> {
  const events: Json[] = [];
  for await (const event of stream) events.push(StreamResponse.toJSON(event));
  return events;
}

async function sendTask(client: SdkClient, text: string, more: object = {}): Promise<Json> {
  const result = await client.sendMessage(message(text, more), options);
  assert.ok("status" in result, JSON.stringify(result));
  return Task.toJSON(result);
}

describe("The official client", () => {
  for (const version of ["1.0", "0.3"]) {
    test(`GRP-7 official client ${version} sends, answers, gets, cancels, follows as in JSON-RPC`, async () => {
      // Given the official client in version ${version}, when it sends, answers, gets, cancels and follows, then each
      // gives what it does over JSON-RPC.
      const client = await sdkClient(version);
      const done = await sendTask(client, "artifact a.txt hello\nreturn done");
      assert.equal(done.status.state, "TASK_STATE_COMPLETED");
      assert.deepEqual(
        done.artifacts.map(({ parts }: Json) => parts[0].text ?? parts[0].url),
        (
          await harn.call("/opvs/rpc", {
            body: { jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: done.id } },
            headers: { "a2a-version": "1.0" },
          })
        ).body.result.artifacts.map(({ parts }: Json) => parts[0].text ?? parts[0].url),
      );
      const got = await client.getTask(GetTaskRequest.fromJSON({ id: done.id }), options);
      assert.deepEqual([got.id, got.contextId], [done.id, done.contextId]);

      const asking = await sendTask(client, "ask which one?");
      assert.equal(asking.status.state, "TASK_STATE_INPUT_REQUIRED");
      assert.equal(asking.status.message.parts[0].text, "which one?");
      const answered = await sendTask(client, "the blue one", { taskId: asking.id });
      assert.deepEqual([answered.id, answered.status.state], [asking.id, "TASK_STATE_COMPLETED"]);

      const waiting = await sendTask(client, "ask another?");
      const following = client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id: waiting.id }), options);
      const { value: first } = await following.next();
      assert.equal(first?.payload?.$case, "task");
      const canceled = await client.cancelTask(CancelTaskRequest.fromJSON({ id: waiting.id }), options);
      assert.equal(canceled.status?.state, TaskState.TASK_STATE_CANCELED);
      const rest = await allJson(following);
      assert.deepEqual(rest.at(-1).statusUpdate.status.state, "TASK_STATE_CANCELED");
    });

    test(`GRP-7 official client ${version} streams the events of a task in order`, async () => {
      // Given the official client in version ${version}, when it streams a task, then the events are those of the task,
      // in order.
      const client = await sdkClient(version);
      const events = await allJson(client.sendMessageStream(message("stream 20\nreturn done"), options));
      assert.ok(events[0].task !== undefined);
      const texts = events.flatMap(({ artifactUpdate }) => artifactUpdate?.artifact.parts[0].text ?? []);
      assert.deepEqual(
        texts.filter((text) => text.startsWith("chunk")).join(""),
        Array.from({ length: 20 }, (_, n) => `chunk ${n + 1} of 20\n`).join(""),
      );
      assert.equal(events.at(-1).statusUpdate.status.state, "TASK_STATE_COMPLETED");
    });

    test(`GRP-7 official client ${version} gets protocol errors for what is missing or forbidden`, async () => {
      // Given the official client in version ${version}, when it asks for what is not there or not allowed, then it gets
      // the errors of the protocol.
      const client = await sdkClient(version);
      await assert.rejects(client.getTask(GetTaskRequest.fromJSON({ id: "task_none" }), options), {
        name: "TaskNotFoundError",
      });
      const { id } = await sendTask(client, "return x");
      await assert.rejects(client.cancelTask(CancelTaskRequest.fromJSON({ id }), options), {
        name: "TaskNotCancelableError",
      });
      await assert.rejects(client.sendMessage(message("more", { taskId: id }), options), {
        name: "UnsupportedOperationError",
      });
    });
  }

  for (const version of ["1.0", "0.3"]) {
    test(`GRP-7 official client ${version} sets, gets, lists and deletes webhooks of a task`, async () => {
      // Given the official client in version ${version}, when it sets, gets, lists and deletes webhooks of a task, then
      // each does what it says.
      const client = await sdkClient(version);
      const { id: taskId } = await sendTask(client, "return x");
      const url = "http://127.0.0.1:9/hook";
      const wanted = {
        id: "hook-1",
        taskId,
        url,
        token: "t",
        authentication: { scheme: "Bearer", credentials: "c" },
      };
      const made = await client.createTaskPushNotificationConfig(
        TaskPushNotificationConfig.fromJSON(wanted),
        options,
      );
      assert.deepEqual([made.id, made.taskId, made.url], ["hook-1", taskId, url]);
      const which = { taskId, id: "hook-1" };
      const got = await client.getTaskPushNotificationConfig(
        GetTaskPushNotificationConfigRequest.fromJSON(which),
        options,
      );
      assert.deepEqual([got.url, got.authentication?.scheme], [url, "Bearer"]);
      const list = ListTaskPushNotificationConfigsRequest.fromJSON({ taskId });
      const listed = async () => (await client.listTaskPushNotificationConfig(list, options)).configs;
      assert.deepEqual(
        (await listed()).map((config) => config.id),
        ["hook-1"],
      );
      const deletion = DeleteTaskPushNotificationConfigRequest.fromJSON(which);
      await client.deleteTaskPushNotificationConfig(deletion, options);
      assert.deepEqual(await listed(), []);
    });

    test(`GRP-7 official client ${version} gets an extended card that names the gRPC address`, async () => {
      // Given the official client in version ${version}, when it asks for the card that known callers get, then it names
      // the address of gRPC.
      const client = await sdkClient(version);
      const asked = GetExtendedAgentCardRequest.fromJSON({});
      const card = await client.transport.getExtendedAgentCard(asked, {
        serviceParameters: { Authorization: `Bearer ${adminKey}`, "A2A-Version": version },
      });
      assert.equal(card.name, "echo");
      const { host } = new URL(running.grpcUrl);
      const urls = card.supportedInterfaces.map(({ url, protocolBinding }) => `${protocolBinding} ${url}`);
      assert.ok(urls.includes(`GRPC ${host}`), urls.join());
    });
  }

  test("GRP-7 official client 1.0 lists tasks page by page", async () => {
    // Given the official client in version 1.0, when it lists tasks, then it gets them page by page.
    const client = await sdkClient("1.0");
    const { contextId } = await sendTask(client, "return one");
    await sendTask(client, "return two", { contextId });
    const page = await client.listTasks(ListTasksRequest.fromJSON({ contextId, pageSize: 1 }), options);
    assert.deepEqual([page.tasks.length, page.totalSize, page.nextPageToken === ""], [1, 2, false]);
  });
});

describe("Version 0.3", () => {
  const headers = { authorization: `Bearer ${adminKey}`, "a2a-agent": "rehearsal" };
  const legacy = () => createClient(v03.A2AService, createGrpcTransport({ baseUrl: running.grpcUrl }));
  const request = (text: string, configuration?: object) => ({
    request: {
      messageId: crypto.randomUUID(),
      role: v03.Role.USER,
      content: [{ part: { case: "text" as const, value: text } }],
    },
    ...(configuration === undefined ? {} : { configuration }),
  });

  test("GRP-8 a 0.3 client following an ended task hears its end and the stream closes", async () => {
    // Given a task that has ended, when a client of 0.3 follows it, then it is told how it ended and the stream closes.
    const { payload } = await legacy().sendMessage(request("return x"), { headers });
    assert.ok(payload.case === "task");
    const events = [];
    for await (const event of legacy().taskSubscription({ name: `tasks/${payload.value.id}` }, { headers })) {
      events.push(event);
    }
    assert.equal(events.length, 1);
    const [event] = events;
    assert.ok(event?.payload.case === "task");
    assert.equal(event.payload.value.status?.state, v03.TaskState.COMPLETED);
  });

  test("GRP-8 a 0.3 client waits by default, and with a configuration only if it says so", async () => {
    // Given a client of 0.3, when it says nothing about waiting, then it waits, and with a configuration only if that
    // says so.
    const state = async (configuration?: object) => {
      const { payload } = await legacy().sendMessage(request("sleep 300\nreturn x", configuration), {
        headers,
      });
      return payload.case === "task" ? payload.value.status?.state : undefined;
    };
    assert.equal(await state(), v03.TaskState.COMPLETED);
    assert.equal(await state({ blocking: true, historyLength: 0 }), v03.TaskState.COMPLETED);
    assert.notEqual(await state({ acceptedOutputModes: ["text/plain"] }), v03.TaskState.COMPLETED);
  });

  test("GRP-8 a 0.3 stream of a canceled task ends with a final event in 0.3 spelling", async () => {
    // Given a stream of 0.3, when its task is canceled, then the last event is final and spells the state as 0.3 does.
    const stream = legacy().sendStreamingMessage(request("sleep 60000"), { headers });
    const events: v03.StreamResponse[] = [];
    for await (const event of stream) {
      events.push(event);
      const [first] = events;
      const name = first?.payload.case === "task" ? `tasks/${first.payload.value.id}` : "";
      if (events.length === 1) await legacy().cancelTask({ name }, { headers });
    }
    const finals = events.map(({ payload }) => payload.case === "statusUpdate" && payload.value.final);
    assert.deepEqual(finals.filter(Boolean), [true]);
    const last = events.at(-1)?.payload;
    assert.ok(last?.case === "statusUpdate" && last.value.final);
    assert.equal(last.value.status?.state, v03.TaskState.CANCELLED);
  });

  test("GRP-8 a 0.3 client's invalid task names are rejected by their field", async () => {
    // Given names that are not those of tasks, when a client of 0.3 uses them, then they are refused by their field.
    for (const name of ["", "task_1", "tasks/", "tasks/a/b", "tasks/task_1/pushNotificationConfigs/x"]) {
      await assert.rejects(legacy().getTask({ name }, { headers }), /\[invalid_argument\].*name/, name);
    }
    const asked = legacy().getTask({ name: "tasks/x" }, { headers: { ...headers, "a2a-version": "1.0" } });
    await assert.rejects(asked, /\[unimplemented\].*0\.3/);
  });
});

test("OPVS-161 grpc-js reads the text of an error as it was written", async () => {
  // Given a refusal with a colon, a percent sign and letters beyond ASCII, when grpc-js reads it, then nothing of it is
  // still encoded.
  const client = new GrpcClient(new URL(running.grpcUrl).host, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${adminKey}`);
  metadata.set("a2a-version", "1.0");
  const request = Buffer.from(
    toBinary(GetTaskRequestSchema, create(GetTaskRequestSchema, { id: "tösk: 5%; a/b" })),
  );
  const bytes = (value: Buffer) => value;
  const error = await new Promise<ServiceError | null>((resolve) => {
    client.makeUnaryRequest("/lf.a2a.v1.A2AService/GetTask", bytes, bytes, request, metadata, resolve);
  });
  client.close();
  assert.equal(error?.details, "Task not found: tösk: 5%; a/b");
});
