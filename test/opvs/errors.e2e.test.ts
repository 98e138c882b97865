/** How refusals are said: each error of the protocol provoked on every binding, and nothing done before all is checked. */

import assert from "node:assert/strict";
import type { Json } from "../support/client.ts";
import { everyBinding, message, type Wire, type WireFailure } from "./wire.ts";

/** As the protocol's table has them: one row an error, one column a binding. */
const errors = {
  TASK_NOT_FOUND: { status: "NOT_FOUND", "JSON-RPC": -32001, "HTTP+JSON": 404, gRPC: 5 },
  TASK_NOT_CANCELABLE: { status: "FAILED_PRECONDITION", "JSON-RPC": -32002, "HTTP+JSON": 409, gRPC: 9 },
  PUSH_NOTIFICATION_NOT_SUPPORTED: {
    ...{ status: "UNIMPLEMENTED", "JSON-RPC": -32003, "HTTP+JSON": 400, gRPC: 12 },
  },
  UNSUPPORTED_OPERATION: { status: "UNIMPLEMENTED", "JSON-RPC": -32004, "HTTP+JSON": 400, gRPC: 12 },
  CONTENT_TYPE_NOT_SUPPORTED: { status: "INVALID_ARGUMENT", "JSON-RPC": -32005, "HTTP+JSON": 415, gRPC: 3 },
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: {
    ...{ status: "FAILED_PRECONDITION", "JSON-RPC": -32007, "HTTP+JSON": 400, gRPC: 9 },
  },
  EXTENSION_SUPPORT_REQUIRED: {
    ...{ status: "FAILED_PRECONDITION", "JSON-RPC": -32008, "HTTP+JSON": 400, gRPC: 9 },
  },
  VERSION_NOT_SUPPORTED: { status: "UNIMPLEMENTED", "JSON-RPC": -32009, "HTTP+JSON": 400, gRPC: 12 },
} as const;

type Reason = keyof typeof errors;

const requiredExtension = "urn:test:required:1";
const errorInfo = "type.googleapis.com/google.rpc.ErrorInfo";
const badRequest = "type.googleapis.com/google.rpc.BadRequest";

async function refusal(
  wire: Wire,
  operation: string,
  request: Json,
  options: Parameters<Wire["call"]>[2] = {},
): Promise<WireFailure> {
  const { error } = await wire.call(operation, request, options);
  assert(error !== undefined, `${operation} was not refused`);
  return error;
}

async function streamRefusal(
  wire: Wire,
  operation: string,
  request: Json,
  options: Parameters<Wire["stream"]>[2] = {},
): Promise<WireFailure> {
  await using stream = await wire.stream(operation, request, options);
  assert(stream.error !== null, `${operation} was not refused`);
  return stream.error;
}

function assertSaid(wire: Wire, error: WireFailure, reason: Reason): void {
  assert.equal(error.reason, reason);
  assert.equal(error.code, errors[reason][wire.name]);
  assert.equal(error.status, errors[reason].status);
  assert.notEqual(error.message, "");
  const infos = error.details.filter((detail) => detail["@type"] === errorInfo);
  assert.deepEqual(
    infos.map(({ domain }) => domain),
    ["a2a-protocol.org"],
  );
  for (const value of Object.values(infos[0].metadata)) assert.equal(typeof value, "string");
}

async function completed(wire: Wire): Promise<Json> {
  const { result } = await wire.call("SendMessage", { message: message("done") });
  assert.equal(result.task.status.state, "TASK_STATE_COMPLETED");
  return result.task;
}

const provoked: Record<Reason, (wire: Wire) => Promise<WireFailure>> = {
  TASK_NOT_FOUND: (wire) => refusal(wire, "GetTask", { id: "task_unknown" }),
  TASK_NOT_CANCELABLE: async (wire) => refusal(wire, "CancelTask", { id: (await completed(wire)).id }),
  PUSH_NOTIFICATION_NOT_SUPPORTED: (wire) =>
    refusal(
      wire,
      "SendMessage",
      {
        message: message("tell me"),
        configuration: { taskPushNotificationConfig: { url: "https://example.com/hook" } },
      },
      { agent: "plain" },
    ),
  UNSUPPORTED_OPERATION: (wire) =>
    streamRefusal(wire, "SendStreamingMessage", { message: message("x") }, { agent: "plain" }),
  CONTENT_TYPE_NOT_SUPPORTED: (wire) =>
    refusal(wire, "SendMessage", {
      message: message("", { parts: [{ raw: "AA==", mediaType: "image/png" }] }),
    }),
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: (wire) =>
    refusal(wire, "GetExtendedAgentCard", {}, { agent: "reserved" }),
  EXTENSION_SUPPORT_REQUIRED: (wire) =>
    refusal(wire, "SendMessage", { message: message("x") }, { agent: "strict" }),
  VERSION_NOT_SUPPORTED: (wire) => refusal(wire, "ListTasks", {}, { headers: { "a2a-version": "9.9" } }),
};

everyBinding("errors", (onEveryBinding) => {
  onEveryBinding(
    "OPVS-77 OPVS-78 OPVS-79 OPVS-81 OPVS-83 OPVS-102 each error in its own code",
    async (wire) => {
      // Given each error of the protocol, when it is provoked, then every binding says it with its own code, the same
      // status, reason and domain.
      for (const [reason, provoke] of Object.entries(provoked)) {
        assertSaid(wire, await provoke(wire), reason as Reason);
      }
    },
  );

  onEveryBinding("OPVS-82 every detail of an error names its type", async (wire) => {
    // Given errors of every kind, when their details are read, then each says of which type it is.
    const said = [
      await provoked.TASK_NOT_FOUND(wire),
      await provoked.EXTENSION_SUPPORT_REQUIRED(wire),
      await refusal(wire, "SendMessage", {}),
      await refusal(wire, "ListTasks", { pageSize: 0 }),
    ];
    const types = said.map(({ details }) => details.map((detail) => detail["@type"]));
    assert.deepEqual(types, [[errorInfo], [errorInfo], [badRequest], [badRequest]]);
  });

  onEveryBinding("OPVS-5 a message to an ended task is not supported and changes nothing", async (wire) => {
    // Given a task that has ended, when a message is sent to it or streamed, then the operation is not supported and
    // the task is as it was.
    const task = await completed(wire);
    const more = { message: message("more", { taskId: task.id }) };
    assertSaid(wire, await refusal(wire, "SendMessage", more), "UNSUPPORTED_OPERATION");
    assertSaid(wire, await streamRefusal(wire, "SendStreamingMessage", more), "UNSUPPORTED_OPERATION");
    assert.deepEqual((await wire.call("GetTask", { id: task.id })).result, task);
  });

  onEveryBinding("OPVS-6 a message with a part of a refused type is not taken at all", async (wire) => {
    // Given parts of types that an agent does not take, when they are sent, then none of the message is taken.
    const contextId = crypto.randomUUID();
    const unwanted: Json[] = [
      { raw: "AA==" },
      { raw: "AA==", mediaType: "image/png" },
      { text: "<b>", mediaType: "text/html; charset=utf-8" },
      { data: {} },
      { url: "https://example.com/a.pdf", mediaType: "application/pdf" },
      { raw: "AA==", mediaType: "TEXT/HTML" },
    ];
    for (const part of unwanted) {
      const request = { message: message("", { contextId, parts: [{ text: "fine" }, part] }) };
      const error = await refusal(wire, "SendMessage", request, { agent: "plain" });
      assertSaid(wire, error, "CONTENT_TYPE_NOT_SUPPORTED");
    }
    const { result } = await wire.call("ListTasks", { contextId });
    assert.equal(result.totalSize, 0);
    const wanted = { message: message("", { contextId, parts: [{ text: "a", mediaType: "Text/Plain" }] }) };
    assert.equal((await wire.call("SendMessage", wanted, { agent: "plain" })).error, undefined);
  });

  onEveryBinding(
    "OPVS-45 OPVS-75 a missing required extension is named, the right one is taken",
    async (wire) => {
      // Given an agent that requires an extension, when a message names none, another or an older version of it, then
      // what is missing is named; with the right one it is taken.
      for (const given of [undefined, "urn:other:1", "urn:test:required:0", "urn:test:required"]) {
        const options = { agent: "strict", headers: { "a2a-extensions": given } };
        const request = { message: message("x") };
        for (const error of [
          await refusal(wire, "SendMessage", request, options),
          await streamRefusal(wire, "SendStreamingMessage", request, options),
        ]) {
          assertSaid(wire, error, "EXTENSION_SUPPORT_REQUIRED");
          assert.equal(error.details[0].metadata.extensions, requiredExtension);
        }
      }
      const headers = { "a2a-extensions": `urn:other:1, ${requiredExtension}` };
      const { result } = await wire.call(
        "SendMessage",
        { message: message("x") },
        { agent: "strict", headers },
      );
      assert.equal(result.task.status.state, "TASK_STATE_COMPLETED");
    },
  );

  onEveryBinding("OPVS-46 an address for push is refused by an agent without push", async (wire) => {
    // Given an agent without push notifications, when a message brings an address for them, then it is refused and no
    // task is made.
    const contextId = crypto.randomUUID();
    const request = {
      message: message("tell me", { contextId }),
      configuration: { taskPushNotificationConfig: { url: "https://example.com/hook" } },
    };
    assertSaid(
      wire,
      await refusal(wire, "SendMessage", request, { agent: "plain" }),
      "PUSH_NOTIFICATION_NOT_SUPPORTED",
    );
    assert.equal((await wire.call("ListTasks", { contextId })).result.totalSize, 0);
  });

  onEveryBinding("OPVS-46 at the front door the card of the task's agent counts for push", async (wire) => {
    // Given a task of an agent without push notifications, when they are asked for at the front door, then it is that
    // agent's card that counts.
    const { result } = await wire.call("SendMessage", { message: message("x") }, { agent: "plain" });
    const request = { taskId: result.task.id, url: "https://example.com/hook" };
    assertSaid(
      wire,
      await refusal(wire, "CreateTaskPushNotificationConfig", request, {}),
      "PUSH_NOTIFICATION_NOT_SUPPORTED",
    );
    assert.equal((await wire.call("GetTask", { id: result.task.id })).result.id, result.task.id);
  });

  onEveryBinding("OPVS-84 all mistakes of a request are named and nothing is done", async (wire) => {
    // Given requests with several mistakes, when they are sent, then all are named and nothing is done.
    const contextId = crypto.randomUUID();
    const mistakes: [operation: string, request: Json, fields: string[]][] = [
      ["SendMessage", {}, ["message"]],
      ["SendMessage", { message: { contextId } }, ["message.messageId", "message.role", "message.parts"]],
      [
        "SendMessage",
        {
          message: {
            contextId,
            messageId: "m",
            role: "ROLE_USER",
            parts: [{ text: "a" }, { filename: "b" }],
          },
        },
        ["message.parts[1]"],
      ],
      [
        "SendMessage",
        { message: message("a", { contextId, role: "ROLE_AGENT" }), configuration: { historyLength: -1 } },
        ["message.role", "configuration.historyLength"],
      ],
      [
        "SendMessage",
        { message: message("a", { contextId, messageId: "m".repeat(201) }) },
        ["message.messageId"],
      ],
      [
        "SendMessage",
        {
          message: message("a", { contextId }),
          configuration: { taskPushNotificationConfig: { id: "c" } },
        },
        ["configuration.taskPushNotificationConfig.url"],
      ],
      ["ListTasks", { pageSize: 0 }, ["pageSize"]],
      ["ListTasks", { pageSize: 101 }, ["pageSize"]],
      ["ListTasks", { historyLength: -1 }, ["historyLength"]],
      ["ListTasks", { pageToken: "garbage" }, ["pageToken"]],
      ["GetTask", { id: "x", historyLength: -1 }, ["historyLength"]],
    ];
    for (const [operation, request, fields] of mistakes) {
      const { status, details } = await refusal(wire, operation, request);
      assert.equal(status, "INVALID_ARGUMENT", operation);
      const named = details.flatMap(({ fieldViolations = [] }) =>
        fieldViolations.map(({ field, description }: Json) => {
          assert.notEqual(description, "");
          return field;
        }),
      );
      assert.deepEqual(named, fields, `${operation} ${JSON.stringify(request)}`);
    }
    assert.equal((await wire.call("ListTasks", { contextId })).result.totalSize, 0);
  });
});
