/** The official client of A2A, driving every operation: nothing here knows how it speaks. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { AgentCard, Message, Role, type StreamResponse, type Task, TaskState } from "@a2a-js/sdk";
import {
  type Client,
  ClientFactory,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "@a2a-js/sdk/client";
import {
  ContentTypeNotSupportedError,
  ExtensionSupportRequiredError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from "@a2a-js/sdk/errors";
import type { Json } from "../support/client.ts";
import { adminKey, startServer, type TestServer } from "../support/server.ts";
import { opvsConfig } from "./wire.ts";

let server: TestServer;
before(async () => {
  server = await startServer({ config: opvsConfig });
});
after(() => server[Symbol.asyncDispose]());

const addresses = { JSONRPC: "rpc", "HTTP+JSON": "rest" } as const;
type Binding = keyof typeof addresses;

async function clientOf(binding: Binding, agent: string, key = adminKey): Promise<Client> {
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("authorization", `Bearer ${key}`);
    return fetch(input, { ...init, headers });
  };
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
  });
  const card = AgentCard.fromJSON({
    name: agent,
    description: "Under test",
    version: "1",
    supportedInterfaces: [
      {
        url: `${server.url}/a2a/agents/${agent}/${addresses[binding]}`,
        protocolBinding: binding,
        protocolVersion: "1.0",
      },
    ],
    capabilities: { streaming: agent !== "plain", pushNotifications: true, extendedAgentCard: true },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [],
  });
  return await factory.createFromAgentCard(card);
}

function request(text: string, more: Json = {}, configuration?: Json): Parameters<Client["sendMessage"]>[0] {
  const message = Message.fromJSON({
    messageId: crypto.randomUUID(),
    role: "ROLE_USER",
    parts: [{ text }],
    ...more,
  });
  return { tenant: "", message, configuration, metadata: undefined };
}

async function sent(client: Client, text: string, more: Json = {}): Promise<Task> {
  const result = await client.sendMessage(request(text, more));
  assert("status" in result);
  return result;
}

async function all(stream: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const events: StreamResponse[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

function stateIn({ payload }: StreamResponse): TaskState | undefined {
  return payload?.$case === "statusUpdate" ? payload.value.status?.state : undefined;
}

for (const binding of ["JSONRPC", "HTTP+JSON"] as const) {
  describe(`the official client over ${binding}`, () => {
    test(`OPVS-100, OPVS-101 the official client over ${binding} gets task, artifact and history`, async () => {
      // Given the official client over ${binding}, when it sends a message, then it has the task with its artifact and
      // history.
      const client = await clientOf(binding, "rehearsal");
      const task = await sent(client, "say hello\nartifact a.txt text\nreturn done");
      assert.equal(task.status?.state, TaskState.TASK_STATE_COMPLETED);
      assert.deepEqual(
        task.artifacts.map(({ parts }) => parts[0]?.content),
        [
          { $case: "text", value: "text" },
          { $case: "text", value: "done" },
        ],
      );
      assert.deepEqual(task.history.map(({ role }) => role).slice(0, 2), [Role.ROLE_USER, Role.ROLE_AGENT]);
      const got = await client.getTask({ tenant: "", id: task.id });
      assert.deepEqual(got, task);
      const short = await client.getTask({ tenant: "", id: task.id, historyLength: 1 });
      assert.equal(short.history.length, 1);
    });

    test(`OPVS-101 the official client over ${binding} answers a question in the same context`, async () => {
      // Given the official client over ${binding}, when it is asked something and answers, then the task goes on in the
      // same context.
      const client = await clientOf(binding, "rehearsal");
      const asked = await sent(client, "ask Which?");
      assert.equal(asked.status?.state, TaskState.TASK_STATE_INPUT_REQUIRED);
      assert.deepEqual(asked.status?.message?.parts[0]?.content, { $case: "text", value: "Which?" });
      const done = await sent(client, "this one", { taskId: asked.id, contextId: asked.contextId });
      assert.equal(done.id, asked.id);
      assert.equal(done.status?.state, TaskState.TASK_STATE_COMPLETED);
      const { tasks, totalSize } = await client.listTasks({
        ...{ tenant: "", contextId: asked.contextId, status: TaskState.TASK_STATE_COMPLETED, pageToken: "" },
        statusTimestampAfter: undefined,
        includeArtifacts: true,
        pageSize: 1,
      });
      assert.deepEqual([tasks.map(({ id }) => id), totalSize], [[asked.id], 1]);
    });

    test(`OPVS-101, OPVS-107 the official client over ${binding} streams the task and every update`, async () => {
      // Given the official client over ${binding}, when it streams, then it has the task first and every update until
      // the end.
      const client = await clientOf(binding, "rehearsal");
      const events = await all(client.sendMessageStream(request("say hello\nstream 2\nreturn done")));
      assert.equal(events[0]?.payload?.$case, "task");
      assert.equal(stateIn(events.at(-1) ?? { payload: undefined }), TaskState.TASK_STATE_COMPLETED);
      assert(events.some(({ payload }) => payload?.$case === "artifactUpdate" && payload.value.append));
    });

    test(`OPVS-101 the official client over ${binding} follows a waiting task and sees its cancel`, async () => {
      // Given the official client over ${binding}, when it follows a task that waits and cancels it, then it hears of
      // that.
      const client = await clientOf(binding, "rehearsal");
      const task = await sent(client, "ask Which?");
      const stream = client.resubscribeTask({ tenant: "", id: task.id });
      const first = await stream.next();
      assert.equal(first.value?.payload?.$case, "task");
      const canceled = await client.cancelTask({ tenant: "", id: task.id, metadata: { reason: "enough" } });
      assert.equal(canceled.status?.state, TaskState.TASK_STATE_CANCELED);
      assert.deepEqual((await all(stream)).map(stateIn), [TaskState.TASK_STATE_CANCELED]);
    });

    test(`OPVS-101 the official client over ${binding} gets a message answer, also as a stream`, async () => {
      // Given the official client over ${binding}, when an agent answers with a message, then it has a message, also as
      // a stream.
      const client = await clientOf(binding, "messenger");
      const answer = await client.sendMessage(request("hello"));
      assert("parts" in answer);
      assert.deepEqual(answer.parts[0]?.content, { $case: "text", value: "You said hello" });
      const events = await all(client.sendMessageStream(request("hello again")));
      assert.deepEqual(
        events.map(({ payload }) => payload?.$case),
        ["message"],
      );
    });

    test(`OPVS-100 the official client over ${binding} manages webhooks and reads the extended card`, async () => {
      // Given the official client over ${binding}, when it sets, reads, lists and deletes a webhook and reads the
      // extended card, then each is there as it should be.
      const client = await clientOf(binding, "rehearsal");
      const { id: taskId } = await sent(client, "ask Which?");
      const url = "http://127.0.0.1:9/hook";
      const named = { tenant: "", taskId, id: "hook" };
      await client.createTaskPushNotificationConfig({ ...named, url, token: "t", authentication: undefined });
      assert.equal((await client.getTaskPushNotificationConfig(named)).url, url);
      const list = async () =>
        (await client.listTaskPushNotificationConfig({ tenant: "", taskId, pageSize: 0, pageToken: "" }))
          .configs;
      assert.deepEqual(
        (await list()).map(({ id }) => id),
        ["hook"],
      );
      await client.deleteTaskPushNotificationConfig(named);
      assert.deepEqual(await list(), []);
      assert.equal((await client.getAgentCard()).name, "rehearsal");
    });

    test(`OPVS-78, OPVS-102 the official client over ${binding} recognizes each error by its kind`, async () => {
      // Given the official client over ${binding}, when it is refused, then it knows each error by its kind.
      const client = await clientOf(binding, "rehearsal");
      const done = await sent(client, "return done");
      await assert.rejects(client.getTask({ tenant: "", id: "unknown" }), TaskNotFoundError);
      await assert.rejects(
        client.cancelTask({ tenant: "", id: done.id, metadata: undefined }),
        TaskNotCancelableError,
      );
      await assert.rejects(sent(client, "more", { taskId: done.id }), UnsupportedOperationError);
      await assert.rejects(
        all(client.resubscribeTask({ tenant: "", id: done.id })),
        UnsupportedOperationError,
      );
      const plain = await clientOf(binding, "plain");
      await assert.rejects(sent(plain, "", { parts: [{ data: { a: 1 } }] }), ContentTypeNotSupportedError);
      const strict = await clientOf(binding, "strict");
      await assert.rejects(sent(strict, "x"), ExtensionSupportRequiredError);
      const extended = { serviceParameters: { "A2A-Extensions": "urn:test:required:1" } };
      assert("status" in (await strict.sendMessage(request("x"), extended)));
      const stranger = await clientOf(binding, "rehearsal", "wrong");
      await assert.rejects(stranger.getTask({ tenant: "", id: done.id }));
    });
  });
}
