/** Agents as tools, used by the official client in both kinds of revisions, against a real server. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Client, isFinal, type Json, until } from "../support/client.ts";
import { tokenFor } from "../support/oauth.ts";
import {
  startProcess,
  startServer,
  type TestProcess,
  type TestServer,
  temporaryDirectory,
} from "../support/server.ts";
import { connect, type Era, eras, rawCall, taskOf, textOf } from "./client.ts";

const agents = fileURLToPath(new URL("../support/fixture-agents/tools.ts", import.meta.url));
const patience = { timeout: 60_000 };

let server: TestServer;
let harn: Client;
before(async () => {
  server = await startServer({ flags: ["--agents", agents, "--cors-origin", "https://app.example.com"] });
  harn = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

function inBothEras(name: string, run: (era: Era) => Promise<void>): void {
  for (const era of eras) test(`${name} (${era})`, () => run(era));
}

/** The task of an agent that was submitted last. */
async function lastTask(matches: (task: Json) => boolean = () => true): Promise<Json> {
  const newest = async () => (await harn.get("/v1/tasks?limit=20")).body.data.find(matches);
  return await until(newest, (task) => task !== undefined);
}

describe("Tools", () => {
  inBothEras("MCS-1 there is a tool for each agent, with its schemas, and those for tasks", async (era) => {
    // Given a key, when tools are listed, then there is one for each agent, with its schemas, and those for tasks.
    await using mcp = await connect(server, era);
    const { tools } = await mcp.client.listTools();
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    assert.deepEqual([...byName.keys()].sort(), [
      "adder",
      "answer_task",
      "assistant",
      "cancel_task",
      "echo",
      "gate",
      "get_task",
      "listener",
      "planner",
      "rehearsal",
      "signal_task",
      "tour",
    ]);
    assert.deepEqual(Object.keys(byName.get("echo")?.inputSchema.properties ?? {}), ["text", "session_id"]);
    assert.deepEqual(byName.get("adder")?.inputSchema.required, ["a", "b"]);
    assert.deepEqual(byName.get("adder")?.outputSchema?.required, ["sum"]);
    assert.equal(byName.get("adder")?.description, "Adds two numbers.");
  });

  inBothEras("MCS-2 a completed call gives its text and names task, session and receipt", async (era) => {
    // Given a call, when its task completes, then the text comes back with the names of task, session and receipt, and
    // the session can be gone on with.
    await using mcp = await connect(server, era);
    const first = await mcp.call("echo", { text: "hello" });
    assert.equal(textOf(first), "hello");
    assert.equal(first.isError ?? false, false);
    const { task_id, session_id, receipt_id, status } = taskOf(first);
    assert.equal(status, "COMPLETED");
    assert.equal((await harn.post(`/v1/receipts/${receipt_id}/verify`)).body.valid, true);
    const second = await mcp.call("echo", { text: "again", session_id });
    assert.equal(taskOf(second).session_id, session_id);
    assert.notEqual(taskOf(second).task_id, task_id);
    assert.deepEqual(await harn.texts(session_id), ["hello", "hello", "again", "again"]);
  });

  inBothEras("MCS-3 a skill takes arguments by its schema and gives a structured result", async (era) => {
    // Given a skill with schemas, when it is called, then arguments are its input and its result is structured; wrong
    // arguments are said.
    await using mcp = await connect(server, era);
    const right = await mcp.call("adder", { a: 2, b: 3 });
    assert.deepEqual(right.structuredContent, { sum: 5 });
    assert.deepEqual(JSON.parse(textOf(right)), { sum: 5 });
    const wrong = await mcp.call("adder", { a: 2, b: "three" });
    assert.equal(wrong.isError, true);
    assert.match(textOf(wrong), /adder\/add/);
    await assert.rejects(mcp.call("nobody"), /no tool "nobody"/);
  });

  inBothEras("MCS-4 the result of a failed task is an error with its sentence", async (era) => {
    // Given a task that fails, when it is called, then the result is an error with the sentence of the failure.
    await using mcp = await connect(server, era);
    const failed = await mcp.call("rehearsal", { text: "fail The disk is full." });
    assert.equal(failed.isError, true);
    assert.equal(textOf(failed), "The disk is full.");
    assert.equal(taskOf(failed).status, "FAILED");
  });
});

describe("Questions", () => {
  inBothEras("MCS-5 a question reaches the person as a form and the answer the task", async (era) => {
    // Given a client with forms, when the task asks, then the person gets the question's form, and the answer goes to
    // the task.
    const shown: Json[] = [];
    await using mcp = await connect(server, era, {
      elicit(params) {
        shown.push(params);
        return { action: "accept", content: { region: "eu", count: 3 } };
      },
    });
    const planned = await mcp.call("planner", { text: "go" });
    assert.equal(textOf(planned), "3 in eu");
    assert.equal(shown.length, 1);
    assert.match(shown[0].message, /Where, and how many\?/);
    assert.deepEqual(shown[0].requestedSchema.properties.region, { type: "string", enum: ["eu", "us"] });
    assert.equal(shown[0].requestedSchema.properties.count.type, "integer");
    assert.deepEqual(shown[0].requestedSchema.required, ["region", "count"]);
  });

  inBothEras("MCS-5 each of two answers goes to its question", async (era) => {
    // Given a question for a text, when the person answers two of them, then each answer goes to its question.
    const answers = ["eu", "three"];
    await using mcp = await connect(server, era, {
      elicit: () => ({ action: "accept", content: { answer: answers.shift() ?? "" } }),
    });
    const result = await mcp.call("rehearsal", { text: "ask Which region?\nask How many?" });
    assert.equal(textOf(result), "You said: eu\n\nYou said: three");
  });

  inBothEras("MCS-5 an answer that does not fit is asked for again or left open", async (era) => {
    // Given an answer that does not fit, when it is sent, then it is asked for again, or said what is wrong and left
    // open.
    const shown: string[] = [];
    await using mcp = await connect(server, era, {
      elicit({ message }) {
        shown.push(message);
        return { action: "accept", content: { region: "eu", count: shown.length - 1 } };
      },
    });
    const result = await mcp.call("planner", { text: "go" });
    if (era === "2026-07-28") {
      assert.equal(textOf(result), "1 in eu");
      assert.match(shown[1] ?? "", /does not fit/);
    } else {
      assert.match(textOf(result), /does not fit[\s\S]*answer_task/);
      assert.equal(shown.length, 1);
    }
  });

  inBothEras("MCS-6 when a person declines the result says what is open", async (era) => {
    // Given a person who declines, when the task asks, then the result says what is open, and the task waits on.
    await using mcp = await connect(server, era, { elicit: () => ({ action: "decline" }) });
    const open = await mcp.call("rehearsal", { text: "ask Which region?" });
    assert.match(textOf(open), /did not answer/);
    assert.match(textOf(open), /Which region\?/);
    assert.equal((await harn.get(`/v1/tasks/${taskOf(open).task_id}`)).body.status, "INPUT_REQUIRED");
  });

  inBothEras("MCS-6 without forms the result says what it waits for, answer_task answers", async (era) => {
    // Given a client without forms, when the task asks, then the result says what it waits for, and answer_task answers
    // it.
    await using mcp = await connect(server, era);
    const open = await mcp.call("planner", { text: "go" });
    const { task_id, status } = taskOf(open);
    assert.equal(status, "INPUT_REQUIRED");
    assert.match(textOf(open), /Where, and how many\?[\s\S]*answer_task/);
    assert.ok(textOf(open).includes(task_id));
    const wrong = await mcp.call("answer_task", { task_id, answer: { region: "mars", count: 1 } });
    assert.equal(wrong.isError, true);
    const right = await mcp.call("answer_task", { task_id, answer: { region: "us", count: 2 } });
    assert.equal(textOf(right), "2 in us");
  });

  inBothEras("MCS-7 a model that tries to approve is told that a person has to", async (era) => {
    // Given a task that needs an approval, when the model tries to give it, then it is told that a person has to, and
    // where.
    await using mcp = await connect(server, era, {
      elicit: () => ({ action: "accept", content: { answer: "yes" } }),
    });
    const open = await mcp.call("rehearsal", { text: "approve deploy" });
    const { task_id } = taskOf(open);
    const task = (await harn.get(`/v1/tasks/${task_id}`)).body;
    const requestId = task.waiting_for.permission_request_id;
    assert.match(textOf(open), /A person has to decide/);
    assert.ok(textOf(open).includes(`/v1/permission-requests/${requestId}/respond`));
    const tried = await mcp.call("answer_task", { task_id, answer: { approved: true } });
    assert.match(textOf(tried), /cannot be given with a tool/);
    assert.equal((await harn.get(`/v1/tasks/${task_id}`)).body.status, "AUTH_REQUIRED");
    await harn.post(`/v1/permission-requests/${requestId}/respond`, { approved: true });
    assert.equal(textOf(await mcp.call("get_task", { task_id, wait_seconds: 30 })), "Approved: deploy");
  });
});

describe("Waiting", () => {
  inBothEras(
    "MCS-8 given a progress token, when the task says something, then it is told before the result",
    async (era) => {
      await using mcp = await connect(server, era);
      const told: Json[] = [];
      const options = { ...patience, onprogress: (progress: Json) => told.push(progress) };
      await mcp.call("rehearsal", { text: "progress packing\nsay half way\nreturn done" }, {}, options);
      assert.deepEqual(
        told.map(({ message }) => message),
        ["packing", "half way", "done"],
      );
      assert.deepEqual(
        told.map(({ progress }) => progress),
        [1, 2, 3],
      );
    },
  );

  inBothEras("MCS-9 a call whose wait is over says so, get_task has the result later", async (era) => {
    // Given a task that takes long, when the wait is over, then the result says so, and get_task has the result later.
    await using mcp = await connect(server, era);
    const early = await mcp.call(
      "rehearsal",
      { text: "ask Ready?\nreturn late" },
      { "bridle/wait-seconds": 0 },
    );
    const { task_id } = taskOf(early);
    await harn.untilTask(task_id, ({ status }) => status === "INPUT_REQUIRED");
    assert.match(textOf(await mcp.call("get_task", { task_id })), /Ready\?/);
    await harn.answer(task_id, "yes");
    assert.equal(textOf(await mcp.call("get_task", { task_id, wait_seconds: 30 })), "late");
  });

  inBothEras(
    "MCS-10 given an idempotency key, when a call is made again, then it is the same task",
    async (era) => {
      await using mcp = await connect(server, era);
      const meta = { "bridle/idempotency-key": `once-${era}` };
      const first = await mcp.call("echo", { text: "once" }, meta);
      const again = await mcp.call("echo", { text: "once" }, meta);
      assert.equal(taskOf(again).task_id, taskOf(first).task_id);
      const other = await mcp.call("echo", { text: "twice" }, meta);
      assert.equal(other.isError, true);
    },
  );
});

describe("Cancellation", () => {
  inBothEras(
    "MCS-11 given a call under way, when the client cancels it, then its task is canceled",
    async (era) => {
      await using mcp = await connect(server, era);
      const abort = new AbortController();
      const text = `progress begun\nsleep 3600000\nreturn ${era}`;
      const options = { ...patience, signal: abort.signal, onprogress: () => abort.abort() };
      await assert.rejects(mcp.call("rehearsal", { text }, {}, options));
      const task = await lastTask(({ input }) => input.parts?.[0].text === text);
      await harn.untilTask(task.id, ({ status }) => status === "CANCELED");
    },
  );

  inBothEras("MCS-12 a task goes on when the connection of a lasting call drops", async (era) => {
    // Given a call before 2026-07-28, or one with an idempotency key, when its connection drops, then the task goes on.
    const drop = async (revision: Era, text: string, meta: object): Promise<Json> => {
      const wire = new AbortController();
      const params = { name: "rehearsal", arguments: { text: `sleep 3600000\nsay ${text}` } };
      const call = rawCall(server, harn.key, revision, params, meta, wire.signal);
      const dropped = assert.rejects(call.then((response) => response.text()));
      const task = await lastTask(({ input }) => input.parts?.[0].text === params.arguments.text);
      wire.abort();
      await dropped;
      return task;
    };
    const meta = era === "2026-07-28" ? { "bridle/idempotency-key": "dropped" } : {};
    const kept = await drop(era, `kept ${era}`, meta);
    // One that is lost after it, and is canceled, shows that the server has noticed.
    const lost = await drop("2026-07-28", `lost ${era}`, {});
    await harn.untilTask(lost.id, ({ status }) => status === "CANCELED");
    assert.equal((await harn.get(`/v1/tasks/${kept.id}`)).body.status, "WORKING");
    await harn.post(`/v1/tasks/${kept.id}/cancel`);
  });

  inBothEras(
    "MCS-13 given a task, when cancel_task is called, then it is canceled, and get_task says so",
    async (era) => {
      await using mcp = await connect(server, era);
      const { task_id } = taskOf(await mcp.call("rehearsal", { text: "ask Why?" }));
      assert.equal(textOf(await mcp.call("cancel_task", { task_id })), `Task ${task_id} is canceled.`);
      const gone = await mcp.call("get_task", { task_id });
      assert.equal(gone.isError, true);
      assert.equal(taskOf(gone).status, "CANCELED");
    },
  );

  inBothEras("MCS-20 signal_task reaches the code that waits, once for an idempotency key", async (era) => {
    await using mcp = await connect(server, era);
    const { task_id } = taskOf(await mcp.call("listener", { text: "paid" }, { "bridle/wait-seconds": 0 }));
    const signal = (name: string, payload?: unknown, key?: string) =>
      mcp.call(
        "signal_task",
        { task_id, name, payload },
        key === undefined ? {} : { "bridle/idempotency-key": key },
      );
    const sent = await signal("other", 1, `signal ${era}`);
    assert.equal(textOf(sent), `Task ${task_id} was sent the signal other.`);
    await signal("other", 1, `signal ${era}`);
    const wrong = await signal("no such name");
    assert.deepEqual([wrong.isError, /A signal's name is a letter/.test(textOf(wrong))], [true, true]);
    await signal("paid", { by: "ann" });
    const ended = await mcp.call("get_task", { task_id, wait_seconds: 20 });
    assert.deepEqual(JSON.parse(textOf(ended)), { by: "ann" });
    const received = (await harn.listAll(`/v1/tasks/${task_id}/events`)).filter(
      ({ event }: Json) => event === "vendor.bridle.signal.received",
    );
    assert.equal(received.length, 2);
  });
});

describe("Who may", () => {
  test("MCS-14 a missing or wrong key answers 401 and says where tokens come from", async () => {
    // Given no key, or a wrong one, when anything is sent, then it is 401 and says where tokens come from.
    for (const key of [null, "wrong"]) {
      const { status, headers, body } = await harn.call("/mcp", {
        key,
        body: { jsonrpc: "2.0", id: 1, method: "ping" },
      });
      assert.equal(status, 401);
      assert.equal(body.jsonrpc, "2.0");
      const challenge = headers.get("www-authenticate") ?? "";
      assert.match(challenge, /^Bearer realm="bridle", resource_metadata="/);
      assert.equal(challenge.includes('error="invalid_token"'), key !== null);
      const metadata = new URL(/resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? "");
      const found = (await harn.call(metadata.pathname, { key: null })).body;
      assert.equal(found.resource, `${server.url}/mcp`);
      assert.deepEqual(found.authorization_servers, [server.url]);
    }
    await assert.rejects(connect(server, "2025-11-25", { key: "wrong" }));
  });

  inBothEras(
    "MCS-14 given an access token, when it is presented, then it is as good as its key",
    async (era) => {
      const key = await harn.createKey({ scopes: ["tasks:write", "tasks:read", "messages:read"] });
      await using mcp = await connect(server, era, { key: await tokenFor(harn, key) });
      assert.equal(textOf(await mcp.call("echo", { text: "by token" })), "by token");
    },
  );

  test("MCS-15 a page of another origin is refused despite a key, unless it is allowed", async () => {
    // Given a page of another origin, when it sends with a key, then it is refused, unless the origin is allowed.
    const body = { jsonrpc: "2.0", id: 1, method: "ping" };
    const from = (origin: string) =>
      harn.post("/mcp", body, { origin, accept: "application/json, text/event-stream" });
    assert.equal((await from("https://evil.example.com")).status, 403);
    assert.equal((await from("null")).status, 403);
    assert.equal((await from("https://app.example.com")).status, 200);
    assert.equal((await from(server.url)).status, 200);
  });

  inBothEras("MCS-16 a key for another workspace sees no task, without scopes no tools", async (era) => {
    // Given a key for another workspace, when it asks for a task, then it sees nothing of it; without scopes there are
    // no tools.
    await using mcp = await connect(server, era);
    const { task_id, session_id } = taskOf(await mcp.call("rehearsal", { text: "ask Who?" }));
    const workspace = (await harn.post("/v1/workspaces", { name: "other", root: "." })).body;
    const { key } = await harn.createKey({
      scopes: ["tasks:read", "tasks:write", "messages:read", "messages:write"],
      workspace_ids: [workspace.id],
    });
    await using other = await connect(server, era, { key });
    assert.equal(textOf(await other.call("echo", { text: "mine" })), "mine");
    for (const [tool, args] of [
      ["get_task", { task_id }],
      ["answer_task", { task_id, answer: "me" }],
      ["cancel_task", { task_id }],
      ["signal_task", { task_id, name: "paid" }],
      ["echo", { text: "in", session_id }],
    ] as const) {
      const refused = await other.call(tool, args);
      assert.equal(refused.isError, true, tool);
      assert.match(textOf(refused), /(Task|Session) not found: \S+/, tool);
    }
    await using reader = await connect(server, era, {
      key: (await harn.createKey({ scopes: ["tasks:read"] })).key,
    });
    const { tools } = await reader.client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      ["get_task"],
    );
    await assert.rejects(reader.call("echo", { text: "no" }), /no tool "echo"/);
  });

  test("MCS-17 what is no message is rejected with a JSON-RPC error", async () => {
    // Given what is no message, when it is sent, then it is refused in the words of JSON-RPC.
    const notJson = await harn.call("/mcp", { raw: "{" });
    assert.equal(notJson.status, 400);
    assert.equal(notJson.body.error.code, -32700);
    const large = await harn.call("/mcp", { raw: `"${"x".repeat(5 * 1024 * 1024)}"` });
    assert.equal(large.status, 413);
    assert.equal(
      (await harn.call("/mcp", { method: "GET", headers: { accept: "text/event-stream" } })).status,
      405,
    );
    const text = await harn.call("/mcp", { raw: "{}", headers: { "content-type": "text/plain" } });
    assert.equal(text.status, 415);
  });

  test("MCS-19 revoking a key cuts off its running calls but not their tasks", async () => {
    // Given calls under way, when their key is revoked, then they are cut off, and their tasks go on.
    await using own = await startServer({ config: { heartbeatMs: 50 } });
    const admin = new Client(own);
    const { id, key } = await admin.createKey();
    const signal = new AbortController().signal;
    const params = { name: "rehearsal", arguments: { text: "sleep 3600000" } };
    const calls = eras.map((era) => rawCall(own, key, era, params, {}, signal));
    const cut = Promise.all(calls.map((call) => assert.rejects(call.then((response) => response.text()))));
    const tasks = async () => (await admin.get("/v1/tasks")).body.data;
    await until(tasks, (data) => data.length === 2);
    await admin.call(`/v1/api-keys/${id}`, { method: "DELETE" });
    await cut;
    assert.deepEqual(
      (await tasks()).map(({ status }: Json) => status),
      ["WORKING", "WORKING"],
    );
  });
});

describe("Durability", () => {
  /** Ended and started again by each of these tests. */
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let own: TestProcess;
  const start = async () => {
    own = await startProcess({ data: directory.path });
  };
  before(async () => {
    directory = await temporaryDirectory();
    await start();
  });
  after(async () => {
    await own[Symbol.asyncDispose]();
    await directory[Symbol.asyncDispose]();
  });

  test("MCS-18 a task survives a kill during its call and get_task returns its result", async () => {
    // Given a call under way, when the server is killed and started again, then the task goes on and get_task has its
    // result.
    const mcp = await connect(own, "2025-11-25");
    const meta = { "bridle/idempotency-key": "survives" };
    const args = { text: "progress begun\nsleep 3000\nreturn survived" };
    const begun = Promise.withResolvers<void>();
    const options = { ...patience, onprogress: () => begun.resolve() };
    const call = mcp.call("rehearsal", args, meta, options);
    call.catch(() => {});
    await begun.promise;
    await own.kill();
    await mcp.client.close();
    await start();
    await using again = await connect(own, "2026-07-28");
    const { data: tasks } = (await new Client(own).get("/v1/tasks")).body;
    assert.equal(tasks.length, 1);
    const result = await again.call("get_task", { task_id: tasks[0].id, wait_seconds: 50 });
    assert.equal(textOf(result), "survived");
    // Who does not know the task's name finds it by the key.
    assert.equal(taskOf(await again.call("rehearsal", args, meta)).task_id, tasks[0].id);
    assert.ok(isFinal((await new Client(own).get(`/v1/tasks/${tasks[0].id}`)).body));
  });

  inBothEras("MCS-18 a client is told that its task goes on when the server stops", async (era) => {
    // Given a call under way, when the server is stopped, then the client is told that the task goes on.
    await using mcp = await connect(own, era);
    const begun = Promise.withResolvers<void>();
    const options = { ...patience, onprogress: () => begun.resolve() };
    const call = mcp.call("rehearsal", { text: "progress begun\nsleep 3600000" }, {}, options);
    await begun.promise;
    const [result] = await Promise.all([call, own.stop()]);
    assert.equal(result.isError, true);
    assert.match(textOf(result), /goes on when it is back/);
    await start();
    const task = (await new Client(own).get(`/v1/tasks/${taskOf(result).task_id}`)).body;
    assert.equal(task.status, "WORKING");
  });
});
