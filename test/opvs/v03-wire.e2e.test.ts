/** 0.3 as it is on the wire: which version a call is in, how streams end, and what holds for every version. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { durableCursorUri } from "../../src/kernel/core/extension-uris.ts";
import { Client, type Json } from "../support/client.ts";
import { startProcess, startServer, type TestServer, temporaryDirectory } from "../support/server.ts";
import {
  type Answered,
  type Asked,
  ask,
  current,
  frames,
  kinded,
  listen,
  rehearsal,
  rpc,
  startedTask,
  wrapped,
} from "./v03.ts";

let server: TestServer;
let lenient: TestServer;
before(async () => {
  [server, lenient] = await Promise.all([
    startServer(),
    startServer({ env: { BRIDLE_OPVS_LENIENT_VERSION: "true" } }),
  ]);
});
after(() => Promise.all([server[Symbol.asyncDispose](), lenient[Symbol.asyncDispose]()]));

interface VersionCase {
  given: string;
  /** Without a version. */
  asked: Asked;
  version?: string;
  in?: "lenient";
  expected: "0.3" | "1.0" | { status?: number; code: number };
}

const v03Send = () => rpc("message/send", kinded("hi"));
const send = () => rpc("SendMessage", current("hi"));
const v03Rest = (): Asked => ({ path: "/opvs/rest/v1/message:send", body: wrapped("hi") });
const rest = (): Asked => ({ path: "/opvs/rest/message:send", body: current("hi") });

const versionCases: VersionCase[] = [
  { given: "a method of 0.3 and no version", asked: v03Send(), expected: "0.3" },
  { given: "an empty version", asked: v03Send(), version: "", expected: "0.3" },
  { given: "version 0.3", asked: v03Send(), version: "0.3", expected: "0.3" },
  { given: "a patch of 0.3", asked: v03Send(), version: "0.3.12", expected: "0.3" },
  { given: "a method of 0.3 in version 1.0", asked: v03Send(), version: "1.0", expected: { code: -32601 } },
  { given: "a method of 1.0 and no version", asked: send(), expected: { code: -32009 } },
  { given: "a method of 1.0 in version 0.3", asked: send(), version: "0.3", expected: { code: -32009 } },
  { given: "a patch of 1.0", asked: send(), version: "1.0.4", expected: "1.0" },
  { given: "a version that nobody knows", asked: v03Send(), version: "0.2", expected: { code: -32009 } },
  { given: "a method that is in no version", asked: rpc("tasks/list", {}), expected: { code: -32601 } },
  { given: "a method by a name of JavaScript", asked: rpc("constructor", {}), expected: { code: -32601 } },
  { given: "a path of 0.3 and no version", asked: v03Rest(), expected: "0.3" },
  { given: "a path of 0.3 in version 0.3", asked: v03Rest(), version: "0.3.0", expected: "0.3" },
  {
    given: "a path of 0.3 in 1.0",
    asked: v03Rest(),
    version: "1.0",
    expected: { status: 404, code: 404 },
  },
  {
    given: "a path that is in no version",
    asked: { path: "/opvs/rest/v1/nothing", method: "GET" },
    expected: { status: 404, code: -32601 },
  },
  { given: "a path of 1.0 and no version", asked: rest(), expected: { status: 400, code: 400 } },
  { given: "a path of 1.0 in version 1.0", asked: rest(), version: "1.0", expected: "1.0" },
  {
    given: "the path of a list that 0.3 does not have",
    asked: { path: "/opvs/rest/v1/tasks", method: "GET" },
    expected: { status: 400, code: -32004 },
  },
  { given: "leniency and a method of 1.0", asked: send(), in: "lenient", expected: "1.0" },
  { given: "leniency and a path of 1.0", asked: rest(), in: "lenient", expected: "1.0" },
  { given: "leniency and a method of 0.3", asked: v03Send(), in: "lenient", expected: "0.3" },
  { given: "leniency and a path of 0.3", asked: v03Rest(), in: "lenient", expected: "0.3" },
  {
    given: "leniency and a method of 1.0 in version 0.3",
    asked: send(),
    version: "0.3",
    in: "lenient",
    expected: { code: -32009 },
  },
];

/** In which version an answer was written. */
function versionOf({ text, body }: Answered): string {
  const said: Json = body.result ?? body;
  if (said.kind === "task") return text.includes("TASK_STATE") ? "both" : "0.3";
  // Only the artifacts and the history tell the protobuf form from that of 1.0.
  const [message] = said.task.history;
  return Array.isArray(message.content) ? "0.3" : "1.0";
}

describe("the version of a call", () => {
  for (const { given, asked, version, in: where, expected } of versionCases) {
    test(`VCP-5 given ${given}, when it is asked, then it is ${JSON.stringify(expected)}`, async () => {
      const { url } = where === undefined ? server : lenient;
      const versions: Record<string, string>[] =
        version === undefined ? [{}] : [{ "A2A-Version": version }, { "OPVS-Version": version }];
      for (const headers of versions) {
        const answer = await ask(url, { ...asked, headers });
        if (typeof expected === "string") assert.equal(versionOf(answer), expected, answer.text);
        else {
          const error = answer.body.error ?? answer.body;
          assert.deepEqual([answer.status, error.code], [expected.status ?? 200, expected.code], answer.text);
        }
      }
    });
  }

  test("VCP-5 given a version in the query, when it is asked, then it counts as one in a header", async () => {
    const refused = await ask(server.url, { ...v03Send(), path: "/opvs/rpc?a2a-version=1.0" });
    assert.equal(refused.body.error.code, -32601);
    assert.equal(versionOf(await ask(server.url, { ...send(), path: "/a2a/rpc?A2A-Version=1.0" })), "1.0");
  });

  test("VCP-5 a task started by 0.3 reads as a 1.0 task in 1.0, and the other way round", async () => {
    // Given a task that 0.3 started, when 1.0 reads it, then it is one of 1.0, and the other way round.
    const mine = await ask(server.url, v03Send());
    const asNew = rpc("GetTask", { id: mine.body.result.id }, { headers: { "A2A-Version": "1.0" } });
    const { result } = (await ask(server.url, asNew)).body;
    assert.equal(result.status.state, "TASK_STATE_COMPLETED");
    assert.equal(JSON.stringify(result).includes('"kind"'), false);
    const theirs = await ask(server.url, { ...send(), headers: { "A2A-Version": "1.0" } });
    const asOld = await ask(server.url, rpc("tasks/get", { id: theirs.body.result.task.id }));
    assert.equal(asOld.body.result.status.state, "completed");
    assert.equal(asOld.text.includes("TASK_STATE"), false);
  });

  test("VCP-5 the server refuses to start if the lenient version setting is no boolean", async () => {
    // Given a setting that is neither yes nor no, when the server starts, then it says so and ends.
    const start = startProcess({ flags: ["--opvs-lenient-version", "perhaps"] });
    await assert.rejects(start, /must be true or false/);
  });
});

describe("calls of 0.3 over JSON-RPC", () => {
  test("VCP-2 invalid parameters return an error object that names the field", async () => {
    // Given parameters that are wrong, when they are sent, then the field is named in an object.
    const broken = { message: { ...kinded("hi").message, parts: [{ kind: "file", file: {} }] } };
    const { body } = await ask(server.url, rpc("message/send", broken));
    assert.equal(body.error.code, -32602);
    assert.equal(body.error.data.fieldViolations[0].field, "message.parts[0].file");
  });

  test("VCP-2 rejects positional params in the error form of 0.3", async () => {
    // Given params by position, when they are sent, then they are refused in the form of 0.3.
    const { body } = await ask(server.url, rpc("tasks/get", ["task_x"]));
    assert.deepEqual([body.id, body.error.code], [7, -32602]);
    assert.equal(body.error.data.fieldViolations[0].field, "params");
  });

  test("VCP-2 history length 0 means none over JSON-RPC and no limit over REST", async () => {
    // Given lengths of the history, when a task is read, then 0 is none here and no limit over REST.
    const { body } = await ask(server.url, v03Send());
    const { id } = body.result;
    const read = async (historyLength: number) =>
      (await ask(server.url, rpc("tasks/get", { id, historyLength }))).body;
    assert.equal((await read(0)).result.history, undefined);
    assert.equal((await read(1)).result.history.length, 1);
    assert.equal((await read(-1)).error.code, -32602);
    const path = `/opvs/rest/v1/tasks/${id}`;
    const rested = async (query: string) =>
      (await ask(server.url, { path: path + query, method: "GET" })).body;
    assert.ok((await rested("?historyLength=0")).history.length > 1);
    assert.equal((await rested("?history_length=1")).history.length, 1);
    assert.equal((await rested("?historyLength=-1")).code, -32602);
    assert.equal((await rested("?historyLength=many")).code, -32602);
  });

  test("VCP-2 reading a webhook without an id returns the only one and rejects several", async () => {
    // Given no id of a webhook, when it is read, then the only one is meant, and several are a question.
    const taskId = await startedTask(server.url);
    const read = async () =>
      (await ask(server.url, rpc("tasks/pushNotificationConfig/get", { id: taskId }))).body;
    const set = (id: string) => {
      const pushNotificationConfig = { id, url: "https://hook.example/" };
      return ask(server.url, rpc("tasks/pushNotificationConfig/set", { taskId, pushNotificationConfig }));
    };
    assert.equal((await read()).error.code, -32001);
    await set("one");
    assert.equal((await read()).result.pushNotificationConfig.id, "one");
    await set("two");
    assert.equal((await read()).error.code, -32602);
    const listed = await ask(server.url, rpc("tasks/pushNotificationConfig/list", { id: taskId }));
    assert.equal(listed.body.result.length, 2);
    const params = { id: taskId, pushNotificationConfigId: "one" };
    const deleted = await ask(server.url, rpc("tasks/pushNotificationConfig/delete", params));
    assert.equal(deleted.body.result, null);
  });

  test("VCP-4 a configuration without blocking returns at once", async () => {
    // Given a configuration without blocking, when it is sent, then the answer comes at once.
    const params = { ...kinded("sleep 600000"), configuration: { acceptedOutputModes: [] } };
    const { body } = await ask(server.url, rpc("message/send", params, rehearsal));
    assert.ok(["submitted", "working"].includes(body.result.status.state));
  });

  test("VCP-5 an extension requested by the 0.3 header is confirmed in the same spelling", async () => {
    // Given an extension by the header of 0.3, when it is active, then it is told in the same spelling.
    const headers = { "X-A2A-Extensions": `urn:not:known, ${durableCursorUri}` };
    const answer = await ask(server.url, { ...v03Send(), headers });
    assert.equal(answer.headers.get("x-a2a-extensions"), durableCursorUri);
    assert.equal(answer.headers.get("a2a-extensions"), null);
  });
});

describe("hostile calls of 0.3", () => {
  const names = [
    "id",
    "taskId",
    "message",
    "configuration",
    "metadata",
    "pushNotificationConfig",
    "kind",
    "__proto__",
  ];
  const members = [
    "messageId",
    "role",
    "parts",
    "content",
    "kind",
    "text",
    "file",
    "data",
    "url",
    "authentication",
    "blocking",
  ];
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<Json>(null, 0, -1, 1e300, "", "user", "text", "task_x", true, [], {}),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...members), tie("value"), { maxKeys: 4 }),
    ),
  }));
  const params = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 4 });
  const methods = ["message/send", "message/stream", "tasks/get", "tasks/cancel", "tasks/resubscribe"].concat(
    ["set", "get", "list", "delete"].map((verb) => `tasks/pushNotificationConfig/${verb}`),
  );
  const paths = [
    "message:send",
    "message:stream",
    "tasks/task_x:cancel",
    "tasks/task_x/pushNotificationConfigs",
  ];

  test("VCP-2 rejects arbitrary parameters and never returns a server error", async () => {
    // Given any parameters at all, when they are sent, then they are refused and never a fault of ours.
    const calls: fc.Arbitrary<Asked> = fc.oneof(
      fc.tuple(fc.constantFrom(...methods), params).map(([method, given]) => rpc(method, given)),
      fc
        .tuple(fc.constantFrom(...paths), params)
        .map(([path, body]) => ({ path: `/opvs/rest/v1/${path}`, body })),
    );
    await fc.assert(
      fc.asyncProperty(calls, async (asked) => {
        const { text } = await ask(server.url, asked);
        const [answer] = text.startsWith("{") ? [JSON.parse(text)] : frames(text).map(({ data }) => data);
        const { code } = answer.error ?? answer;
        assert.ok(typeof code === "number" && code !== -32603 && code < 0, text);
      }),
      { numRuns: 200 },
    );
  });
});

describe("streams of 0.3", () => {
  test("VCP-6 given a stream, when the task ends, then the last event alone is final", async () => {
    const { type, text } = await ask(
      server.url,
      rpc("message/stream", kinded("say one\nsay two"), rehearsal),
    );
    assert.equal(type, "text/event-stream");
    const told = frames(text).map(({ data }) => data);
    assert.ok(told.every(({ jsonrpc, id }) => jsonrpc === "2.0" && id === 7));
    assert.equal(told[0].result.kind, "task");
    const updates = told.slice(1).map(({ result }) => result);
    assert.deepEqual(
      updates.filter(({ final }) => final).map(({ kind, status }) => [kind, status.state]),
      [["status-update", "completed"]],
    );
    assert.equal(updates.at(-1).final, true);
    assert.equal(text.includes("TASK_STATE"), false);
  });

  test("VCP-6 following an unknown task returns the error as a stream event", async () => {
    // Given a task that is not there, when it is followed, then the refusal is an event of a stream.
    const { status, type, text } = await ask(server.url, rpc("tasks/resubscribe", { id: "task_nowhere" }));
    assert.deepEqual([status, type], [200, "text/event-stream"]);
    const [only, ...others] = frames(text);
    assert.deepEqual(others, []);
    assert.equal(only?.event, "error");
    assert.deepEqual([only?.data.id, only?.data.error.code], [7, -32001]);
    assert.equal(Array.isArray(only?.data.error.data), false);
  });

  test("VCP-6 a rejected message to be streamed returns an ordinary response", async () => {
    // Given a message that is refused, when it is streamed, then the refusal is an ordinary answer.
    const { type, body } = await ask(server.url, rpc("message/stream", { message: {} }));
    assert.equal(type, "application/json");
    assert.equal(body.error.code, -32602);
  });

  test("VCP-6 following or canceling over REST treats a null or missing body as empty", async () => {
    // Given a body that is null or none, when a task is followed or canceled over REST, then it is as good as empty.
    const id = await startedTask(server.url);
    const path = (verb: string) => `/opvs/rest/v1/tasks/${id}:${verb}`;
    const canceled = await ask(server.url, { path: path("cancel"), raw: "null" });
    assert.deepEqual([canceled.status, canceled.body.status.state], [200, "TASK_STATE_CANCELLED"]);
    for (const asked of [{ raw: "null" }, { method: "GET" }, {}]) {
      const { text } = await ask(server.url, { path: path("subscribe"), ...asked });
      assert.deepEqual(
        frames(text).map(({ data }) => data.task.status.state),
        ["TASK_STATE_CANCELLED"],
      );
    }
  });

  test("VCP-6 after a crash a followed task streams on to its end", async () => {
    // Given a server that was killed, when its task is followed again, then the stream goes on to its end.
    await using directory = await temporaryDirectory();
    const first = await startProcess({ data: directory.path });
    const { body } = await ask(
      first.url,
      rpc("message/send", kinded("ask Still there?\nsay after the crash"), rehearsal),
    );
    const { id } = body.result;
    await first.kill();
    await using second = await startServer({ data: directory.path });
    let text = "";
    for await (const piece of listen(second.url, rpc("tasks/resubscribe", { id }))) {
      // It has begun to follow; now there is something to be told.
      if (text === "") await ask(second.url, rpc("message/send", kinded("yes", { taskId: id }), rehearsal));
      text += piece;
    }
    const told = frames(text).map(({ data }) => data.result);
    assert.equal(told[0].kind, "task");
    assert.deepEqual([told.at(-1).status.state, told.at(-1).final], ["completed", true]);
    assert.ok(text.includes("after the crash"));
  });
});

describe("what holds for 0.3 as well", () => {
  test("VCP-8 a task of another tenant or workspace is not found", async () => {
    // Given a task of another tenant or workspace, when it is asked for, then it is not there.
    const client = new Client(server);
    const id = await startedTask(server.url);
    const workspace = await client.post("/v1/workspaces", { name: "elsewhere", root: "." });
    const keys = [
      await client.createKey({ tenant_id: "tenant_other" }),
      await client.createKey({ workspace_ids: [workspace.body.id] }),
    ];
    for (const { key } of keys) {
      for (const method of ["tasks/get", "tasks/cancel", "tasks/pushNotificationConfig/list"]) {
        const { body } = await ask(server.url, rpc(method, { id }, { key }));
        assert.equal(body.error.code, -32001, method);
      }
      const { status, body } = await ask(server.url, {
        path: `/opvs/rest/v1/tasks/${id}`,
        method: "GET",
        key,
      });
      assert.deepEqual([status, body.code], [404, -32001]);
    }
  });

  test("VCP-8 a read-only key cannot send, and nothing is done", async () => {
    // Given a key that may only read, when it sends, then it is refused and nothing is done.
    const client = new Client(server);
    const { key } = await client.createKey({ scopes: ["tasks:read"] });
    const before = (await client.listAll("/v1/tasks")).length;
    const answer = await ask(server.url, { ...v03Send(), key });
    assert.deepEqual([answer.status, answer.body.error.code], [403, -32000]);
    const rested = await ask(server.url, { ...v03Rest(), key });
    assert.deepEqual([rested.status, rested.body.code], [403, -32000]);
    assert.equal((await client.listAll("/v1/tasks")).length, before);
  });

  test("VCP-8 rejects a body that is not JSON or not declared as JSON in the 0.3 form", async () => {
    // Given a body that is no JSON, or says that it is none, when it is sent, then it is refused in words of 0.3.
    const broken = await ask(server.url, { ...v03Rest(), raw: "{" });
    assert.deepEqual([broken.status, broken.body.code], [400, -32700]);
    const typed = await ask(server.url, { ...v03Rest(), headers: { "content-type": "text/plain" } });
    assert.deepEqual([typed.status, typed.body.code], [415, -32005]);
  });

  test("VCP-8 given the same message twice, when both are answered, then there is one task", async () => {
    const asked = v03Send();
    const [first, second] = [await ask(server.url, asked), await ask(server.url, asked)];
    assert.equal(first.body.result.id, second.body.result.id);
  });
});
