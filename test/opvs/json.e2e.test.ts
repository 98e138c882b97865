/** The JSON of both JSON bindings: what goes out is exactly what the definition says, what comes in may be any form of it. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type DescMessage, fromJson, type JsonValue } from "@bufbuild/protobuf";
import {
  SendMessageResponseSchema,
  StreamResponseSchema,
  TaskSchema,
} from "../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { notedStamp, protoStamp } from "../../proto/stamp.ts";
import { requireValid } from "../../src/surfaces/opvs/validate.ts";
import type { Json } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { JsonRpcWire, message, opvsConfig, RestWire, type Wire } from "./wire.ts";

const rehearsal = { agent: "rehearsal" };

let server: TestServer;
before(async () => {
  server = await startServer({ config: opvsConfig });
});
after(() => server[Symbol.asyncDispose]());

const bindings: Record<string, () => Wire> = {
  "JSON-RPC": () => new JsonRpcWire(server.url),
  "HTTP+JSON": () => new RestWire(server.url),
};

type Output = [schema: DescMessage, json: JsonValue];

/** Answers and events of every kind that a task can be in. */
async function outputs(wire: Wire): Promise<Output[]> {
  const found: Output[] = [];
  const scripts = [
    "say hi\nartifact a.txt text\nstream 3\nreturn done",
    "fail badly",
    "reject this",
    "ask Which?",
  ];
  for (const script of scripts) {
    await using stream = await wire.stream("SendStreamingMessage", { message: message(script) }, rehearsal);
    const events = await stream.rest();
    found.push(...events.map((event): Output => [StreamResponseSchema, event]));
    const { result } = await wire.call("GetTask", { id: events[0].task.id });
    found.push([TaskSchema, result]);
  }
  const sent = await wire.call("SendMessage", { message: message("x") }, { agent: "messenger" });
  found.push([SendMessageResponseSchema, sent.result]);
  const asked = await wire.call("SendMessage", { message: message("approve it") }, rehearsal);
  found.push([SendMessageResponseSchema, asked.result]);
  found.push([TaskSchema, (await wire.call("CancelTask", { id: asked.result.task.id })).result]);
  const listed = await wire.call("ListTasks", { includeArtifacts: true, historyLength: 10 });
  found.push(...listed.result.tasks.map((task: JsonValue): Output => [TaskSchema, task]));
  const none = await wire.call("ListTasks", { contextId: "nobody's" });
  assert.deepEqual(none.result, { tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 });
  return found;
}

/** Every member with its name, except inside of what clients and agents put there freely. */
function* members(json: Json): Generator<[name: string, value: Json]> {
  if (typeof json !== "object" || json === null) return;
  for (const [name, value] of Object.entries(json)) {
    if (!Array.isArray(json)) yield [name, value];
    if (name !== "metadata" && name !== "data") yield* members(value);
  }
}

async function refusedField(wire: Wire, operation: string, request: Json): Promise<string | null> {
  const { error } = await wire.call(operation, request);
  if (error === undefined) return null;
  assert.equal(error.status, "INVALID_ARGUMENT", JSON.stringify(error));
  return error.details[0].fieldViolations[0].field;
}

for (const [binding, open] of Object.entries(bindings)) {
  describe(`JSON over ${binding}`, () => {
    test(`OPVS-89, OPVS-90, OPVS-91, OPVS-93, OPVS-98 ${binding} output matches the definition`, async () => {
      // Given tasks in every state, when they are answered and streamed over ${binding}, then names, enums, times and
      // required members are as the definition has them.
      const all = await outputs(open());
      const states = new Set<string>();
      for (const [schema, json] of all) {
        // Refuses members that are not in the definition.
        requireValid(schema, fromJson(schema, json));
        for (const [name, value] of members(json)) {
          assert.match(name, /^[a-z][a-zA-Z]*$/);
          if (name !== "data") assert.notEqual(value, null, name);
          if (name === "state") states.add(value);
          if (name === "role") assert.match(value, /^ROLE_(?:USER|AGENT)$/);
          if (name === "timestamp") assert.match(value, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        }
      }
      assert.deepEqual([...states].sort(), [
        "TASK_STATE_AUTH_REQUIRED",
        "TASK_STATE_CANCELED",
        "TASK_STATE_COMPLETED",
        "TASK_STATE_FAILED",
        "TASK_STATE_INPUT_REQUIRED",
        "TASK_STATE_REJECTED",
        "TASK_STATE_SUBMITTED",
        "TASK_STATE_WORKING",
      ]);
    });

    test(`OPVS-92 ${binding} reads every ISO 8601 form of a time as the same time`, async () => {
      // Given a time in every form that ISO 8601 has for it, when tasks since then are listed over ${binding}, then it
      // is the same time.
      const wire = open();
      const { result } = await wire.call("SendMessage", {
        message: message("x", { contextId: crypto.randomUUID() }),
      });
      const { contextId, status } = result.task;
      const at = new Date(status.timestamp);
      const since = async (statusTimestampAfter: string) =>
        (await wire.call("ListTasks", { contextId, statusTimestampAfter })).result.totalSize;
      const shifted = new Date(at.getTime() + 2 * 3_600_000).toISOString().replace("Z", "+02:00");
      const second = new Date(Math.floor(at.getTime() / 1000) * 1000).toISOString().replace(".000Z", "Z");
      const same = [
        status.timestamp,
        status.timestamp.replace("Z", "000Z"),
        status.timestamp.replace("Z", "000000Z"),
        shifted,
        second,
      ];
      for (const time of same) assert.equal(await since(time), 1, time);
      const later = [new Date(at.getTime() + 1).toISOString(), status.timestamp.replace("Z", "000001Z")];
      for (const time of later) assert.equal(await since(time), 0, time);
      for (const time of [
        "yesterday",
        "2026-01-01",
        "2026-13-01T00:00:00Z",
        "2026-01-01T00:00:00",
        "1794812037",
      ]) {
        assert.equal(
          await refusedField(wire, "ListTasks", { statusTimestampAfter: time }),
          "statusTimestampAfter",
          time,
        );
      }
    });

    test(`OPVS-94 ${binding} rejects empty, null or missing required lists and texts by name`, async () => {
      // Given required lists and texts that are empty, null or missing, when they are sent over ${binding}, then they
      // are refused by name.
      const wire = open();
      const wrong: [change: Json, field: string][] = [
        [{ parts: [] }, "message.parts"],
        [{ parts: null }, "message.parts"],
        [{ parts: undefined }, "message.parts"],
        [{ messageId: "" }, "message.messageId"],
        [{ role: "ROLE_UNSPECIFIED" }, "message.role"],
        [{ role: 77 }, "message.role"],
      ];
      for (const [change, field] of wrong) {
        assert.equal(await refusedField(wire, "SendMessage", { message: message("x", change) }), field);
      }
    });

    test(`OPVS-95, OPVS-147 ${binding} rejects parts with no, two or malformed contents`, async () => {
      // Given parts with no content, with two, or with one of the wrong form, when they are sent over ${binding}, then
      // they are refused and leave nothing.
      const wire = open();
      const contextId = crypto.randomUUID();
      const parts: Json[] = [
        {},
        { filename: "a" },
        { mediaType: "text/plain" },
        { text: null },
        { text: "a", url: "https://example.com" },
        { text: "a", data: null },
        { raw: "AA==", text: "" },
        { text: 5 },
        { text: { a: 1 } },
        { raw: "%%%" },
        { url: [] },
        null,
        7,
        "text",
        [],
      ];
      for (const part of parts) {
        const request = { message: message("", { contextId, parts: [{ text: "fine" }, part] }) };
        assert.notEqual(await refusedField(wire, "SendMessage", request), null, JSON.stringify(part));
      }
      assert.equal((await wire.call("ListTasks", { contextId })).result.totalSize, 0);
    });

    test(`OPVS-98 ${binding} accepts every allowed spelling and ignores unknown fields`, async () => {
      // Given a message in every spelling that the definition allows, when it is sent over ${binding}, then it is one
      // message, and what nobody knows is ignored.
      const wire = open();
      const parts = [
        { text: "" },
        { data: null },
        { data: { b: [1, null, "ä"] }, metadata: { k: true } },
        { text: "named", filename: "n.txt", media_type: "text/plain" },
      ];
      const { result } = await wire.call("SendMessage", {
        message: {
          message_id: "m-1",
          role: 1,
          parts,
          reference_task_ids: ["task_x"],
          extensions: ["urn:x"],
          metadata: { "urn:x": { deep: [1] } },
          unknown: { ignored: true },
        },
        configuration: { history_length: "5", return_immediately: false, push: null },
        another: 1,
      });
      const [said] = result.task.history;
      const { contextId: _c, taskId: _t, ...kept } = said;
      assert.deepEqual(kept, {
        messageId: "m-1",
        role: "ROLE_USER",
        parts: [...parts.slice(0, 3), { text: "named", filename: "n.txt", mediaType: "text/plain" }],
        metadata: { "urn:x": { deep: [1] } },
        extensions: ["urn:x"],
        referenceTaskIds: ["task_x"],
      });
    });

    test(`OPVS-147 ${binding} returns content unchanged if its media type would break a URL`, async () => {
      // Given content with a media type that would break an address, when it comes back over ${binding}, then it is the
      // same content.
      const wire = open();
      const parts = [
        { raw: "aGk=", mediaType: 'text/plain; name="a,b;base64,c"' },
        { raw: "aGk=", mediaType: "text/plain;x=,;base64,AAAA" },
        { raw: "__8", mediaType: "text/markdown" },
      ];
      const { result } = await wire.call("SendMessage", { message: message("", { parts }) });
      assert.deepEqual(result.task.history[0].parts, [...parts.slice(0, 2), { ...parts[2], raw: "//8=" }]);
    });

    test(`OPVS-99 ${binding} returns text in every script unchanged as UTF-8`, async () => {
      // Given text in every script, when it is sent over ${binding}, then the same comes back in UTF-8.
      const wire = open();
      const text = "ASCII, ä, €, 漢字, 🎉, \u0000, \u2028, \ufeff";
      const { result, headers } = await wire.call("SendMessage", { message: message(text) });
      assert.deepEqual(result.task.artifacts[0].parts, [{ text }]);
      assert.match(headers.get("content-type") ?? "", /^application\/json(?:; charset=utf-8)?$/);
    });
  });
}

test("OPVS-99 types generated from the definition equal those in use", () => {
  // Given the definition and what was generated from it, when either is changed alone, then it is noticed.
  const stamp = protoStamp();
  assert.ok(Object.keys(stamp).some((file) => file.endsWith(".proto")));
  assert.ok(Object.keys(stamp).some((file) => file.endsWith(".js") || file.endsWith(".ts")));
  assert.deepEqual(stamp, notedStamp(), "run npm run proto");
});
