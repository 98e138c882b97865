/** Clients of 0.3: every operation with the official client, and what it does not show on the wire. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  GetTaskRequest,
  Message,
  SendMessageRequest,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
} from "@a2a-js/sdk";
import type { RequestOptions, Transport } from "@a2a-js/sdk/client";
import { LegacyJsonRpcTransport, LegacyRestTransport } from "@a2a-js/sdk/compat/v0_3/client";
import type { Json } from "../support/client.ts";
import { adminKey, startServer, type TestServer } from "../support/server.ts";
import { JsonRpcWire, opvsConfig } from "./wire.ts";

const options: RequestOptions = { serviceParameters: { Authorization: `Bearer ${adminKey}` } };

let server: TestServer;
before(async () => {
  server = await startServer({ config: opvsConfig });
});
after(() => server[Symbol.asyncDispose]());

/** At the front door, or at an agent's own. */
type Connect = (agent?: string) => Transport;

function base(agent?: string): string {
  return `${server.url}/opvs${agent === undefined ? "" : `/agents/${agent}`}`;
}

const clients = {
  "JSON-RPC": (agent) => new LegacyJsonRpcTransport({ endpoint: `${base(agent)}/rpc` }),
  REST: (agent) => new LegacyRestTransport({ endpoint: `${base(agent)}/rest` }),
} satisfies Record<string, Connect>;

function sending(text: string, more: Json = {}): SendMessageRequest {
  const { configuration, ...message } = more;
  return SendMessageRequest.fromJSON({
    message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }], ...message },
    configuration,
  });
}

async function sent(client: Transport, request: SendMessageRequest): Promise<Json> {
  const answer = await client.sendMessage(request, options);
  return "messageId" in answer ? Message.toJSON(answer) : Task.toJSON(answer);
}

/** A task that goes on until it is told to stop. */
async function started(client: Transport): Promise<string> {
  const task = await sent(client, sending("sleep 600000", { configuration: { returnImmediately: true } }));
  return task.id;
}

async function all(events: AsyncIterable<StreamResponse>): Promise<Json[]> {
  const told: Json[] = [];
  for await (const event of events) told.push(StreamResponse.toJSON(event));
  return told;
}

function reading(id: string, historyLength?: number) {
  return GetTaskRequest.fromJSON({ id, historyLength });
}

async function refusal(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => assert.fail("It was not refused."),
    (reason: Error) => reason,
  );
  // A client that reads streams has the error in another one.
  const named = error.cause instanceof Error ? error.cause : error;
  return named.name.replace(/^JsonRpc/, "");
}

for (const [name, connect] of Object.entries<Connect>(clients)) {
  describe(`the official client of 0.3 over ${name}`, () => {
    test("VCP-4 sending a message without options returns the ended task", async () => {
      // Given a message, when it is sent without further words, then the answer is the ended task.
      const task = await sent(connect("echo"), sending("hello"));
      assert.equal(task.status.state, "TASK_STATE_COMPLETED");
      assert.deepEqual(task.artifacts[0].parts, [{ text: "hello" }]);
    });

    test("VCP-4 an agent that answers with a message returns that message", async () => {
      // Given an agent that answers with a message, when it is sent one, then that is the answer.
      const answer = await sent(connect("messenger"), sending("hello"));
      assert.equal(answer.role, "ROLE_AGENT");
      assert.deepEqual(answer.parts, [{ text: "You said hello" }]);
      const events = await all(connect("messenger").sendMessageStream(sending("again"), options));
      assert.deepEqual(
        events.map(({ message }) => message.parts),
        [[{ text: "You said again" }]],
      );
    });

    test("VCP-4 parts of every kind come back unchanged in the history", async () => {
      // Given parts of every kind, when they are sent, then the history has them as they were.
      const parts = [
        { text: "look" },
        { raw: "aGVsbG8=", mediaType: "text/plain" },
        { url: "https://files.example/a.md", mediaType: "text/markdown" },
        { data: { answer: 42, deep: [{ x: null }] } },
      ];
      const { id } = await sent(
        connect("rehearsal"),
        sending("", { parts: [{ text: "say hi" }, ...parts.slice(1)] }),
      );
      const { history } = Task.toJSON(await connect().getTask(reading(id), options)) as Json;
      assert.deepEqual(history[0].parts, [{ text: "say hi" }, ...parts.slice(1)]);
    });

    test("VCP-4 given a question, when it is answered in the same task, then the task goes on", async () => {
      const client = connect("rehearsal");
      const asked = await sent(client, sending("ask Which way?"));
      assert.equal(asked.status.state, "TASK_STATE_INPUT_REQUIRED");
      assert.deepEqual(asked.status.message.parts, [{ text: "Which way?" }]);
      const { id: taskId, contextId } = asked;
      const ended = await sent(client, sending("left", { taskId, contextId }));
      assert.equal(ended.id, taskId);
      assert.equal(ended.status.state, "TASK_STATE_COMPLETED");
    });

    test("VCP-4 canceling a running task twice succeeds, canceling an ended one fails", async () => {
      // Given a task that runs, when it is canceled twice, then it is canceled; one that has ended is not.
      const client = connect("rehearsal");
      const id = await started(client);
      for (const _ of [1, 2]) {
        const task = Task.toJSON(await client.cancelTask({ tenant: "", id, metadata: {} }, options)) as Json;
        assert.equal(task.status.state, "TASK_STATE_CANCELED");
      }
      const { id: ended } = await sent(client, sending("say done"));
      const refused = client.cancelTask({ tenant: "", id: ended, metadata: {} }, options);
      assert.equal(await refusal(refused), "TaskNotCancelableError");
    });

    test("VCP-4, VCP-6 a streamed message yields the task first and its end last", async () => {
      // Given a message, when it is streamed, then the task comes first and its end last.
      const events = await all(connect("rehearsal").sendMessageStream(sending("say one\nstream 2"), options));
      assert.equal(events[0].task.status.state, "TASK_STATE_SUBMITTED");
      assert.equal(events.at(-1).statusUpdate.status.state, "TASK_STATE_COMPLETED");
      const chunks = events.flatMap(({ artifactUpdate }) => artifactUpdate?.artifact.parts ?? []);
      assert.ok(chunks.some(({ text }: Json) => text === "chunk 1 of 2\n"));
    });

    test("VCP-4, VCP-6 resubscribing to a running task streams until its end", async () => {
      // Given a task that runs, when it is followed again, then it is told until its end.
      const client = connect("rehearsal");
      const id = await started(client);
      const events = client.resubscribeTask({ tenant: "", id }, options);
      const first = await events.next();
      assert.ok(!first.done && first.value.payload?.$case === "task");
      await client.cancelTask({ tenant: "", id, metadata: {} }, options);
      const rest = await all(events);
      assert.equal(rest.at(-1).statusUpdate.status.state, "TASK_STATE_CANCELED");
    });

    test("VCP-6 given a task that has ended, when it is followed, then its end is all that is told", async () => {
      const client = connect("rehearsal");
      const { id } = await sent(client, sending("say done"));
      const events = await all(client.resubscribeTask({ tenant: "", id }, options));
      assert.deepEqual(
        events.map(({ task }) => [task.id, task.status.state]),
        [[id, "TASK_STATE_COMPLETED"]],
      );
    });

    test("VCP-4 webhooks can be set, read, listed and deleted with the right values", async () => {
      // Given webhooks, when they are set, read, listed and deleted, then each shows what it is.
      const client = connect("rehearsal");
      const taskId = await started(client);
      const config = (id: string) =>
        TaskPushNotificationConfig.fromJSON({
          taskId,
          id,
          url: "https://hook.example/a",
          token: "t0ken-of-mine",
          authentication: { scheme: "Bearer", credentials: "secret-of-mine" },
        });
      const made = await client.createTaskPushNotificationConfig(config("first"), options);
      assert.deepEqual([made.id, made.taskId, made.url], ["first", taskId, "https://hook.example/a"]);
      assert.equal(made.authentication?.scheme, "Bearer");
      await client.createTaskPushNotificationConfig(config("second"), options);
      const one = { tenant: "", taskId, id: "first" };
      assert.equal((await client.getTaskPushNotificationConfig(one, options)).url, made.url);
      const whole = { tenant: "", taskId, pageSize: 0, pageToken: "" };
      const ids = async () =>
        (await client.listTaskPushNotificationConfig(whole, options)).configs.map(({ id }) => id).sort();
      assert.deepEqual(await ids(), ["first", "second"]);
      for (const _ of [1, 2]) await client.deleteTaskPushNotificationConfig(one, options);
      assert.deepEqual(await ids(), ["second"]);
      assert.equal(await refusal(client.getTaskPushNotificationConfig(one, options)), "TaskNotFoundError");
    });

    test("VCP-4 the extended card points to the 0.3 interfaces", async () => {
      // Given an agent with more to tell, when its card is asked for, then it leads back to where 0.3 is spoken.
      const card = await connect("echo").getExtendedAgentCard({ tenant: "" }, options);
      assert.equal(card.name, "echo");
      assert.equal(card.capabilities?.extendedAgentCard, true);
      const urls = card.supportedInterfaces.map(({ url }) => url);
      assert.deepEqual(urls.sort(), [`${base("echo")}/rest`, `${base("echo")}/rpc`]);
    });

    test("VCP-4 a missing resource or unsupported operation returns its named error", async () => {
      // Given what is not there or not offered, when it is asked for, then the error has its name.
      const plain = connect("plain");
      const nowhere = { tenant: "", id: "task_nowhere" };
      const config = TaskPushNotificationConfig.fromJSON({ taskId: nowhere.id, url: "https://hook.example" });
      const refusals: [expected: string, call: () => Promise<unknown>][] = [
        ["TaskNotFoundError", () => plain.getTask(nowhere, options)],
        ["TaskNotFoundError", () => plain.cancelTask({ ...nowhere, metadata: {} }, options)],
        ["TaskNotFoundError", () => sent(plain, sending("hi", { taskId: nowhere.id }))],
        ["TaskNotFoundError", () => all(connect("echo").resubscribeTask(nowhere, options))],
        ["UnsupportedOperationError", () => all(plain.resubscribeTask(nowhere, options))],
        ["UnsupportedOperationError", () => all(plain.sendMessageStream(sending("hi"), options))],
        ["UnsupportedOperationError", () => plain.getExtendedAgentCard({ tenant: "" }, options)],
        [
          "ExtendedAgentCardNotConfiguredError",
          () => connect("reserved").getExtendedAgentCard({ tenant: "" }, options),
        ],
        ["PushNotificationNotSupportedError", () => plain.createTaskPushNotificationConfig(config, options)],
        ["ExtensionSupportRequiredError", () => sent(connect("strict"), sending("hi"))],
        ["ContentTypeNotSupportedError", () => sent(plain, sending("", { parts: [{ data: {} }] }))],
      ];
      for (const [expected, call] of refusals) assert.equal(await refusal(call()), expected);
    });

    test("VCP-8 given no credentials or wrong ones, when anything is asked, then it is refused", async () => {
      for (const headers of [{}, { Authorization: "Bearer wrong" }]) {
        const refused = connect("echo").getTask(reading("task_x"), { serviceParameters: headers });
        await assert.rejects(refused, /API key/);
      }
    });
  });
}

test("VCP-1 every version and binding shows a full task the same", async () => {
  // Given a task with all that a task can have, when every version and binding shows it, then it is the same.
  const script = "say one\nstream 3\nartifact note.md # Title\nask Which way?";
  const { id } = await sent(clients["JSON-RPC"]("rehearsal"), sending(script));
  const { result } = await new JsonRpcWire(server.url).call("GetTask", { id });
  assert.equal(result.artifacts.length, 2);
  // 0.3 has no words for the name and the type of a text.
  for (const { parts } of result.artifacts) {
    for (const part of parts) for (const name of ["filename", "mediaType"]) delete part[name];
  }
  const expected = Task.toJSON(Task.fromJSON(result));
  for (const connect of Object.values<Connect>(clients)) {
    assert.deepEqual(Task.toJSON(await connect().getTask(reading(id), options)), expected);
  }
});
