/** Between 1.0 and the two forms of 0.3: nothing is lost that 0.3 has words for. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { StreamResponse as SdkStreamResponse } from "@a2a-js/sdk";
import { legacyPushNotificationToV1StreamResponse } from "@a2a-js/sdk/compat/v0_3";
import { type DescMessage, fromJson, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import fc from "fast-check";
import { MessageSchema as V03MessageSchema } from "../../../../proto/generated/a2a/v1/a2a_pb.js";
import {
  type ArtifactJson,
  type MessageJson,
  MessageSchema,
  type PartJson,
  SendMessageRequestSchema,
  type StreamResponseJson,
  StreamResponseSchema,
  type TaskJson,
  type TaskStateJson,
  TaskStateSchema,
  type TaskStatusJson,
} from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { Redactor } from "../../../policy/redact/redact.ts";
import { InvalidParams, OpvsError, toWireError } from "../errors.ts";
import { normal, readConfigBody, readSendBody } from "./bodies.ts";
import { showError } from "./errors.ts";
import { eventTo03, messageTo1, messageTo03 } from "./protobuf.ts";
import { readMessage, readSendMessage } from "./requests.ts";
import { showEvent, showMessage } from "./results.ts";

const word = fc.string({ minLength: 1, maxLength: 12, unit: "grapheme" });
/** Numbers as JSON has them: no -0, which no text of it keeps. */
const json = fc.jsonValue({ maxDepth: 2 }).map((value): JsonValue => JSON.parse(JSON.stringify(value)));
const metadata = fc.dictionary(word, json, { minKeys: 1, maxKeys: 3, noNullPrototype: true });
const file = { filename: word, mediaType: word, metadata };
const base64 = fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString("base64"));

const part: fc.Arbitrary<PartJson> = fc.oneof(
  fc.record({ text: fc.string(), metadata }, { requiredKeys: ["text"] }),
  fc.record({ data: json, metadata }, { requiredKeys: ["data"] }),
  fc.record({ raw: base64, ...file }, { requiredKeys: ["raw"] }),
  fc.record({ url: fc.webUrl(), ...file }, { requiredKeys: ["url"] }),
);
const parts = fc.array(part, { minLength: 1, maxLength: 3 });
const uris = fc.array(fc.webUrl(), { minLength: 1, maxLength: 2 });
const message: fc.Arbitrary<MessageJson> = fc.record(
  {
    messageId: word,
    role: fc.constantFrom("ROLE_USER", "ROLE_AGENT"),
    parts,
    contextId: word,
    taskId: word,
    metadata,
    extensions: uris,
    referenceTaskIds: fc.array(word, { minLength: 1, maxLength: 2 }),
  },
  { requiredKeys: ["messageId", "role", "parts"] },
);
const states = TaskStateSchema.values.flatMap(({ name, number }) =>
  number === 0 ? [] : [name as TaskStateJson],
);
const status: fc.Arbitrary<TaskStatusJson> = fc.record(
  { state: fc.constantFrom(...states), message, timestamp: fc.constant("2026-01-05T08:00:00.123Z") },
  { requiredKeys: ["state"] },
);
const artifact: fc.Arbitrary<ArtifactJson> = fc.record(
  { artifactId: word, parts, name: word, description: word, metadata, extensions: uris },
  { requiredKeys: ["artifactId", "parts"] },
);
const task: fc.Arbitrary<TaskJson> = fc.record(
  {
    id: word,
    contextId: word,
    status,
    metadata,
    artifacts: fc.array(artifact, { minLength: 1, maxLength: 2 }),
    history: fc.array(message, { minLength: 1, maxLength: 2 }),
  },
  { requiredKeys: ["id", "contextId", "status"] },
);
const ids = { taskId: word, contextId: word };
const event: fc.Arbitrary<StreamResponseJson> = fc.oneof(
  fc.record({ task }),
  fc.record({ message }),
  fc.record({
    statusUpdate: fc.record(
      { ...ids, status, metadata },
      { requiredKeys: ["taskId", "contextId", "status"] },
    ),
  }),
  fc.record({
    artifactUpdate: fc.record(
      { ...ids, artifact, append: fc.constant(true), lastChunk: fc.constant(true), metadata },
      { requiredKeys: ["taskId", "contextId", "artifact"] },
    ),
  }),
);

function copy(value: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(value));
}

/** The same thing in the one way that the schema writes it. */
function canonical(schema: DescMessage, value: unknown): JsonValue {
  return toJson(schema, fromJson(schema, JSON.parse(JSON.stringify(value)), { ignoreUnknownFields: true }));
}

describe("the mapping to 0.3", () => {
  test("VCP-1 the official library reads the 0.3 form of any 1.0 object as the same", () => {
    // Given anything of 1.0, when the official library reads what 0.3 is told, then it is the same.
    fc.assert(
      fc.property(event, (given) => {
        const shown = JSON.parse(JSON.stringify(showEvent(given)));
        const read = SdkStreamResponse.toJSON(legacyPushNotificationToV1StreamResponse(shown));
        assert.deepEqual(canonical(StreamResponseSchema, read), canonical(StreamResponseSchema, given));
      }),
    );
  });

  test("VCP-1 given a message, when it has gone to JSON-RPC's form and back, then it is the same", () => {
    fc.assert(
      fc.property(message, (given) => {
        const back = readMessage(copy(showMessage(given)));
        assert.deepEqual(canonical(MessageSchema, back), canonical(MessageSchema, given));
      }),
    );
  });

  test("VCP-1 a message survives the round trip through REST's form, except its references", () => {
    // Given a message, when it has gone to REST's form and back, then all but its references is the same.
    fc.assert(
      fc.property(message, ({ referenceTaskIds: _, ...given }) => {
        const back = messageTo1(normal(V03MessageSchema, copy(messageTo03(given))));
        assert.deepEqual(canonical(MessageSchema, back), canonical(MessageSchema, given));
      }),
    );
  });

  test("VCP-1 every state has its own 0.3 word, and only terminal ones are final", () => {
    // Given every state, when it is shown, then each has a word of its own and the last ones are final.
    const shown = states.map((state) =>
      showEvent({ statusUpdate: { taskId: "t", contextId: "c", status: { state } } }),
    );
    assert.deepEqual(
      shown.map(
        ({ status: { state } = { state: "" }, final }: JsonObject & { status?: { state: string } }) => [
          state,
          final,
        ],
      ),
      [
        ["submitted", false],
        ["working", false],
        ["completed", true],
        ["failed", true],
        ["canceled", true],
        ["input-required", false],
        ["rejected", true],
        ["auth-required", false],
      ],
    );
    const canceled = eventTo03({ task: { id: "t", status: { state: "TASK_STATE_CANCELED" } } });
    assert.deepEqual(canceled, { task: { id: "t", status: { state: "TASK_STATE_CANCELLED" } } });
  });

  test("VCP-1 a minimal object has no empty lists or objects in 0.3", () => {
    // Given nothing beyond what is needed, when it is shown, then no empty list or object is there.
    const bare = { id: "t", contextId: "c", status: { state: "TASK_STATE_WORKING" as const } };
    assert.deepEqual(showEvent({ task: { ...bare, artifacts: [], history: [], metadata: {} } }), {
      kind: "task",
      id: "t",
      contextId: "c",
      status: { state: "working" },
    });
  });
});

interface Reading {
  given: string;
  read(): JsonObject;
  expected: JsonObject;
}

const hello = { kind: "message", messageId: "m1", role: "user", parts: [{ kind: "text", text: "hi" }] };
const readHello = { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hi" }] };
const helloMessage = { messageId: "m1", role: "ROLE_USER", content: [{ text: "hi" }] };
const webhook = { url: "https://hook.example/", authentication: { schemes: ["Bearer", "Basic"] } };
const readHook = { url: "https://hook.example/", authentication: { scheme: "Bearer" } };

const readings: Reading[] = [
  {
    given: "no configuration",
    read: () => readSendMessage({ message: hello }),
    expected: { message: readHello },
  },
  {
    given: "a configuration without blocking",
    read: () => readSendMessage({ message: hello, configuration: {} }),
    expected: { message: readHello, configuration: { returnImmediately: true } },
  },
  {
    given: "one that waits, with a webhook and a history of 0",
    read: () =>
      readSendMessage({
        message: hello,
        configuration: { blocking: true, historyLength: 0, pushNotificationConfig: webhook },
      }),
    expected: {
      message: readHello,
      configuration: { returnImmediately: false, historyLength: 0, taskPushNotificationConfig: readHook },
    },
  },
  {
    given: "no kinds at all, and members that are null",
    read: () =>
      readSendMessage({
        message: { messageId: "m1", role: "user", parts: [{ text: "hi" }], contextId: null },
        configuration: null,
      }),
    expected: { message: readHello },
  },
  {
    given: "names of 1.0 among those of 0.3",
    read: () => readSendMessage({ message: hello, configuration: { returnImmediately: false } }),
    expected: { message: readHello, configuration: { returnImmediately: true } },
  },
  {
    given: "the protobuf form in snake_case, with the old name of the message",
    read: () =>
      readSendBody({
        request: {
          message_id: "m1",
          role: "ROLE_USER",
          content: [{ file: { file_with_uri: "u", mime_type: "t" } }],
        },
        configuration: {
          history_length: 0,
          push_notification: webhook,
          accepted_output_modes: ["text/plain"],
        },
      }),
    expected: {
      message: { messageId: "m1", role: "ROLE_USER", parts: [{ url: "u", mediaType: "t" }] },
      configuration: {
        acceptedOutputModes: ["text/plain"],
        returnImmediately: true,
        taskPushNotificationConfig: readHook,
      },
    },
  },
  {
    given: "the protobuf form with a history that is asked for",
    read: () =>
      readSendBody({
        message: helloMessage,
        configuration: { blocking: true, historyLength: 2 },
      }),
    expected: { message: readHello, configuration: { returnImmediately: false, historyLength: 2 } },
  },
  ...[
    { name: "tasks/t1", pushNotificationConfig: { ...webhook, id: "c1" } },
    { config: { pushNotificationConfig: { ...webhook, id: "c1" } } },
    { parent: "tasks/t1", configId: "c1", config: { pushNotificationConfig: webhook } },
    { parent: "tasks/t1", config_id: "c1", config: { push_notification_config: webhook } },
    { configId: "c1", config: webhook },
  ].map((body) => ({
    given: `a config as ${JSON.stringify(Object.keys(body))}`,
    read: () => readConfigBody("t1", body),
    expected: { ...readHook, id: "c1", taskId: "t1" },
  })),
];

const withPart = (broken: JsonObject) => () => readSendMessage({ message: { ...hello, parts: [broken] } });
const withContent = (broken: JsonObject) => () =>
  readSendBody({ message: { ...helloMessage, content: [broken] } });
const withWebhook = (broken: JsonObject) => () =>
  readSendMessage({ message: hello, configuration: { pushNotificationConfig: broken } });

const refusals: [field: string, read: () => JsonObject][] = [
  ["message", () => readSendMessage({ message: "hi" })],
  ["message.kind", () => readSendMessage({ message: { ...hello, kind: "task" } })],
  ["message.role", () => readSendMessage({ message: { ...hello, role: "ROLE_USER" } })],
  ["message.role", () => readSendMessage({ message: { ...hello, role: "constructor" } })],
  ["message.parts", () => readSendMessage({ message: { ...hello, parts: { text: "hi" } } })],
  ["message.parts[0].kind", withPart({ kind: "image" })],
  ["message.parts[0].kind", withPart({})],
  ["message.parts[0].text", withPart({ kind: "text" })],
  ["message.parts[0].file", withPart({ kind: "file", file: {} })],
  ["message.parts[0].file", withPart({ kind: "file", file: { bytes: "", uri: "https://x.example" } })],
  ["message.parts[0].file", withPart({ kind: "file", file: null })],
  ["part", withContent({ text: "a", data: { data: {} } })],
  ["params", withContent({ data: 1 })],
  ["configuration", () => readSendMessage({ message: hello, configuration: [] })],
  ["configuration.blocking", () => readSendMessage({ message: hello, configuration: { blocking: "no" } })],
  [
    "configuration.pushNotificationConfig.authentication.schemes",
    withWebhook({ authentication: { schemes: "x" } }),
  ],
  ["pushNotificationConfig", () => readConfigBody("t1", {})],
];

describe("requests of 0.3", () => {
  for (const { given, read, expected } of readings) {
    test(`VCP-2 given ${given}, when it is read, then 1.0 is told what is meant`, () => {
      assert.deepEqual(read(), expected);
    });
  }

  for (const [index, [field, read]] of refusals.entries()) {
    test(`VCP-2 given bad input no. ${index + 1}, when it is read, then ${field} is named`, () => {
      assert.throws(read, (error) => error instanceof InvalidParams && error.violations[0]?.field === field);
    });
  }

  test("VCP-2 any JSON is either read as a request that fits the schema or rejected", () => {
    // Given any JSON at all, when it is read, then it is a request for the schema or refused.
    const noise = fc.dictionary(
      fc.constantFrom("message", "configuration", "metadata", "request"),
      fc.jsonValue(),
      {
        noNullPrototype: true,
      },
    );
    fc.assert(
      fc.property(noise, (given) => {
        const body: JsonObject = JSON.parse(JSON.stringify(given));
        for (const read of [() => readSendMessage(body), () => readSendBody(body)]) {
          try {
            assert.deepEqual(
              Object.keys(read()).filter((name) => !(name in SendMessageRequestSchema.field)),
              [],
            );
          } catch (error) {
            assert.ok(error instanceof InvalidParams, String(error));
          }
        }
      }),
    );
  });
});

describe("errors of 0.3", () => {
  const redactor = new Redactor([]);

  test("VCP-3 the data of a protocol error is an object without types", () => {
    // Given an error of the protocol, when it is shown, then its data is an object without types.
    const error = new OpvsError("TASK_NOT_FOUND", "No such task.", { taskId: "t1" });
    const { data, ...others } = showError(toWireError(error, redactor));
    assert.deepEqual(others, { code: -32001, message: "No such task." });
    assert.equal(data?.taskId, "t1");
    assert.equal(JSON.stringify(data).includes("@type"), false);
  });

  test("VCP-3 given wrong parameters, when they are refused, then the fields are in the data", () => {
    const error = new InvalidParams([{ field: "message.parts", description: "must be a list" }]);
    assert.deepEqual(showError(toWireError(error, redactor)), {
      code: -32602,
      message: "Invalid parameters: message.parts must be a list.",
      data: { fieldViolations: [{ field: "message.parts", description: "must be a list" }] },
    });
  });

  test("VCP-3 given a fault of ours, when it is shown, then it says nothing of it", () => {
    assert.deepEqual(showError(toWireError(new Error("the disk at /data"), redactor)), {
      code: -32603,
      message: "Internal error",
    });
  });
});
