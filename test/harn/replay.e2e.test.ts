/** Replays: a run that has ended, run again from its log, as it was or with other values in some places. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { hashOf } from "../../src/receipts/canonical.ts";
import { canonicalJson } from "../../src/web/canonical-json.ts";
import { isThorough } from "../runner/seed.ts";
import { type Answer, Client, errorOf, isFinal, type Json, until } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import { replayedAgents } from "../support/replay-agents-server.ts";
import {
  startProcess,
  startServer,
  type TestProcess,
  type TestServer,
  temporaryDirectory,
} from "../support/server.ts";
import { type Frame, openStream, take } from "../support/sse.ts";

const manySteps = isThorough ? 10_000 : 3000;

const script = fileURLToPath(new URL("../support/replay-agents-server.ts", import.meta.url));
const realSecret = "real-vault-value-4711";

type Op = Record<string, unknown>;
type Overrides = Record<string, Json>;

/** A server of the agents in `replay-agents-server.ts`, and what tests do with it. */
class Stage<Server extends TestServer = TestServer> implements AsyncDisposable {
  readonly #directory: { path: string } & AsyncDisposable;
  readonly #start: (data: string, variables: Record<string, string>) => Promise<Server>;
  #server: Server | null = null;
  #client: Client | null = null;

  private constructor(
    directory: { path: string } & AsyncDisposable,
    start: (data: string, variables: Record<string, string>) => Promise<Server>,
  ) {
    this.#directory = directory;
    this.#start = start;
  }

  static async open({ flags = [], copyOf }: { flags?: string[]; copyOf?: string } = {}): Promise<Stage> {
    const stage = new Stage(await temporaryDirectory(), (data, variables) =>
      startServer({ data, flags, config: { agents: replayedAgents(variables) } }),
    );
    if (copyOf !== undefined) await cp(copyOf, stage.data, { recursive: true });
    await stage.start();
    return stage;
  }

  /** In a process of its own, which a restart kills. */
  static async openProcess(env: Record<string, string> = {}): Promise<Stage<TestProcess>> {
    const stage = new Stage(await temporaryDirectory(), (data, variables) =>
      startProcess({ script, data, env: { ...variables, ...env } }),
    );
    await stage.start();
    return stage;
  }

  get data(): string {
    return join(this.#directory.path, "data");
  }

  get server(): Server {
    assert.ok(this.#server !== null, "the server runs");
    return this.#server;
  }

  get client(): Client {
    assert.ok(this.#client !== null, "the server runs");
    return this.#client;
  }

  async start(): Promise<void> {
    this.#server = await this.#start(this.data, {
      AGENT_NOTES: this.#file("notes"),
      AGENT_GATE: this.#file("gate-"),
      AGENT_SECRET: realSecret,
    });
    this.#client = new Client(this.#server);
  }

  async restart(): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await this.start();
  }

  #file(name: string): string {
    return join(this.#directory.path, name);
  }

  /** What the agents have really done, in order. */
  async notes(): Promise<string[]> {
    const file = this.#file("notes");
    return existsSync(file) ? (await readFile(file, "utf8")).trimEnd().split("\n") : [];
  }

  async noted(line: string): Promise<number> {
    return (await this.notes()).filter((note) => note === line).length;
  }

  async untilNoted(line: string): Promise<void> {
    await until(
      () => this.noted(line),
      (count) => count > 0,
    );
  }

  async openGate(name: string): Promise<void> {
    await writeFile(this.#file(`gate-${name}`), "");
  }

  /** Submits a script in a session of its own unless told otherwise. */
  async submit(ops: Op[], sessionId?: string): Promise<Json> {
    const session_id = sessionId ?? (await this.client.createSession()).id;
    const input = { role: "user", parts: [{ type: "json", value: { ops }, visibility: "public" }] };
    const persona_id = "persona_scripted";
    const { status, body } = await this.client.post("/v1/tasks", { session_id, persona_id, input });
    assert.equal(status, 202, JSON.stringify(body));
    return body;
  }

  async ended(task: Json): Promise<Json> {
    return await this.client.untilTask(task.id, isFinal);
  }

  async waiting(task: Json): Promise<Json> {
    const found = await this.client.untilTask(task.id, (seen) => isFinal(seen) || seen.waiting_for !== null);
    assert.ok(!isFinal(found), JSON.stringify(found));
    return found;
  }

  /** Plays a script to its end; what it asks is answered from the list, `true` and `false` are decisions. */
  async play(ops: Op[], answers: Json[] = [], sessionId?: string): Promise<Json> {
    let task = await this.submit(ops, sessionId);
    for (const answer of answers) {
      const { waiting_for, id } = await this.client.untilTask(
        task.id,
        (seen) => isFinal(seen) || ["input", "approval"].includes(seen.waiting_for?.kind),
      );
      assert.ok(waiting_for !== null, "there are more answers than questions");
      const answered =
        typeof answer === "boolean"
          ? await this.client.post(`/v1/permission-requests/${waiting_for.permission_request_id}/respond`, {
              approved: answer,
              note: "because",
            })
          : await this.client.post(`/v1/tasks/${id}/messages`, {
              kind: "input",
              message: {
                role: "user",
                parts: [
                  typeof answer === "string"
                    ? { type: "text", text: answer, visibility: "public" }
                    : { type: "json", value: answer, visibility: "public" },
                ],
              },
            });
      assert.ok(answered.status < 300, JSON.stringify(answered.body));
      await this.client.untilTask(
        task.id,
        (seen) => JSON.stringify(seen.waiting_for) !== JSON.stringify(waiting_for),
      );
    }
    task = await this.ended(task);
    return task;
  }

  async request(taskId: string, body?: object, headers?: Record<string, string>): Promise<Answer> {
    const path = `/v1/tasks/${taskId}/replay`;
    if (body !== undefined) return await this.client.post(path, body, headers);
    return await this.client.call(path, { method: "POST", ...(headers === undefined ? {} : { headers }) });
  }

  /** The replay, once it has ended. */
  async replay({ id }: Json, body?: object): Promise<Json> {
    const answer = await this.request(id, body);
    assert.equal(answer.status, 202, JSON.stringify(answer.body));
    return await this.ended(answer.body);
  }

  async override(source: Json, override: Overrides, more: object = {}): Promise<Json> {
    return await this.replay(source, { mode: "with_overrides", override, ...more });
  }

  async events({ id }: Json): Promise<Json[]> {
    return await this.client.listAll(`/v1/tasks/${id}/events`);
  }

  async receipt({ receipt_id }: Json): Promise<Json> {
    const { status, body } = await this.client.get(`/v1/receipts/${receipt_id}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }

  /** What the agent returned. */
  async result(task: Json): Promise<Json> {
    assert.equal(task.status, "COMPLETED", JSON.stringify(task.failure));
    const { body } = await this.client.get(`/v1/outcomes/${task.outcome_id}`);
    const [part] = body.messages[0].parts;
    return part.type === "json" ? part.value : part.text;
  }

  async taskCount(): Promise<number> {
    return (await this.client.listAll("/v1/tasks")).length;
  }

  /**
   * The replay has told every event of the source that is not of its own life, in order and unchanged, and has done
   * nothing else.
   */
  async assertFaithful(source: Json, replay: Json, after = ""): Promise<void> {
    const originals = (await this.events(source)).filter((event) => isTold(event) && event.id > after);
    const told = await this.events(replay);
    const copies = told.filter((event) => event.replayed);
    const inOrder = copies.toSorted((a, b) => (originalOf(a) < originalOf(b) ? -1 : 1));
    assert.deepEqual(
      inOrder.map(originalOf),
      originals.map((event) => event.id),
      "each is told, once",
    );
    assert.deepEqual(inOrder.map(tellingOf), originals.map(tellingOf), "as it was");
    assert.deepEqual(
      copies.map(originalOf),
      originals.map((event) => event.id),
      "in the order of the source",
    );
    assert.deepEqual(
      told.filter((event) => !event.replayed && event.replay !== null),
      [],
      "nothing came out differently",
    );
    assert.deepEqual(
      told
        .map(({ event }) => event)
        .filter((event) => event.startsWith("replay."))
        .join(),
      "replay.started,replay.completed",
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
    await this.#directory[Symbol.asyncDispose]();
  }
}

/** The life of a task, which a replay has for itself; and that an approval was used, which a replay never does. */
const lifecycle = new Set([
  "vendor.bridle.approval.used",
  "task.submitted",
  "task.started",
  "task.status_changed",
  "task.completed",
  "task.failed",
  "task.canceled",
  "user.cancel_requested",
  "receipt.issued",
  "replay.started",
  "replay.completed",
  "replay.failed",
]);
const isTold = ({ event, payload }: Json) => !lifecycle.has(event) && payload.parked === undefined;
const originalOf = ({ replay }: Json): string => replay.original_event_id;
const tellingOf = ({ event, payload }: Json) => ({ event, payload });

/** A receipt's canonical form without what an implementation may add to it. */
function canonical({ signatures: _, ...receipt }: Json): string {
  return canonicalJson(receipt);
}

let stage: Stage;
let client: Client;

const schema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
const child = { ops: [{ do: "step", name: "in the child", as: "done" }] };

/** Everything that can be given another value, each seen under a name of its own. */
const rich: Op[] = [
  { do: "llm", name: "main", as: "first", gives: { text: "one" } },
  { do: "llm", name: "main", as: "second", gives: { text: "two" } },
  { do: "mcp", name: "files:read", as: "file" },
  { do: "host", name: "env:cwd", as: "directory" },
  { do: "step", name: "plain", as: "plain" },
  { do: "now", as: "now" },
  { do: "now", label: "lunch", as: "lunch" },
  { do: "random", as: "random" },
  { do: "uuid", as: "uuid" },
  { do: "ask", question: "Who?", as: "name" },
  { do: "ask", question: "How many?", schema, as: "number" },
  { do: "approve", action: "Launch", as: "launch", catch: true },
  { do: "spawn", input: child, as: "child" },
  { do: "checkpoint", name: "half" },
  { do: "say", text: "I saw {first} and {name}." },
];
const richAnswers = ["Ada", { n: 1 }, true];
let richSource: Json;
let richSeen: Json;
before(async () => {
  // Not for kills: what all these tests have it do costs less where no test runner watches every promise.
  stage = await Stage.openProcess();
  client = stage.client;
  richSource = await stage.play(rich, richAnswers);
  richSeen = await stage.result(richSource);
});
after(() => stage[Symbol.asyncDispose]());

const llm = (value: Json, more: object = {}) => ({ kind: "llm_provider_response", value, ...more });

describe("The replay as a task", () => {
  test("RPL-1 a replay without a body answers 202 with a new task under its source", async () => {
    // Given a task that has ended, when it is replayed without a body, then a new task is answered with 202, under its
    // source, in the same session and workspace.
    const { status, body } = await stage.request(richSource.id);
    assert.equal(status, 202);
    assert.equal(body.object, "task");
    assert.notEqual(body.id, richSource.id);
    assert.equal(body.status, "SUBMITTED");
    const expected: Json = {
      parent_task_id: richSource.id,
      session_id: richSource.session_id,
      workspace_id: richSource.workspace_id,
      persona_id: richSource.persona_id,
      branch_id: richSource.branch_id,
      outcome_id: null,
      receipt_id: null,
      failure: null,
      completed_at: null,
    };
    for (const [name, value] of Object.entries(expected)) assert.deepEqual(body[name], value, name);
    assert.deepEqual(body.input, richSource.input);
    const ended = await stage.ended(body);
    assert.equal(ended.status, "COMPLETED", JSON.stringify(ended.failure));
    assert.deepEqual(
      (await client.get(`/v1/tasks/${richSource.id}`)).body,
      richSource,
      "the source is as it was",
    );
  });

  test("RPL-1 a replay has the events of a task and marks where the replay starts and ends", async () => {
    // Given a replay, when its events are read, then its life is a task's life, and says where the replay starts and
    // ends.
    const source = await stage.play([{ do: "step", name: "s" }]);
    const replay = await stage.replay(source);
    const events = await stage.events(replay);
    assert.deepEqual(
      events.map(({ event, replayed }) => `${event}${replayed ? " again" : ""}`),
      [
        "task.submitted",
        "task.status_changed",
        "task.started",
        "replay.started",
        "user.message again",
        "span.completed again",
        "agent.message again",
        "replay.completed",
        "task.status_changed",
        "task.completed",
        "receipt.issued",
      ],
    );
    const ofTask = events.filter(({ resource }) => resource.id === replay.id);
    assert.deepEqual(
      ofTask.map(({ sequence }) => sequence),
      ofTask.map((_, index) => index + 1),
    );
    const moves = events
      .filter(({ event }) => event === "task.status_changed")
      .map(({ payload }) => payload.to);
    assert.deepEqual(moves, ["WORKING", "COMPLETED"]);
    const [started] = events.filter(({ event }) => event === "replay.started");
    assert.deepEqual(started.payload, { source_task_id: source.id, mode: "exact", override_keys: [] });
    const [completed] = events.filter(({ event }) => event === "replay.completed");
    assert.deepEqual(completed.payload, {
      source_task_id: source.id,
      replayed_events: 3,
      substituted_steps: 0,
    });
  });

  test("RPL-1 Prefer: wait returns the ended replay even if its source began with a question", async () => {
    // Given a source that asked at its beginning, when its replay is awaited with Prefer: wait, then the answer is the
    // ended replay.
    const source = await stage.play(
      [
        { do: "ask", question: "Ready?" },
        { do: "many", name: "afterwards", times: 2000 },
      ],
      ["yes"],
    );
    const { status, body } = await stage.request(source.id, {}, { prefer: "wait=30" });
    assert.equal(status, 202);
    assert.equal(body.status, "COMPLETED");
  });

  test("RPL-1 a replay in a closed session completes, and the session stays closed", async () => {
    // Given a closed session, when a task of it is replayed, then the replay completes and the session stays closed.
    const source = await stage.play([
      { do: "step", name: "s" },
      { do: "say", text: "before" },
    ]);
    assert.equal((await client.post(`/v1/sessions/${source.session_id}/close`)).status, 200);
    const replay = await stage.replay(source);
    assert.equal(replay.status, "COMPLETED", JSON.stringify(replay.failure));
    await stage.assertFaithful(source, replay);
    assert.equal((await client.get(`/v1/sessions/${source.session_id}`)).body.state, "CLOSED");
  });

  test("RPL-1 a replay of a spawned task does not notify its parent", async () => {
    // Given a task that another one had spawned, when it is replayed, then its parent hears nothing of it.
    const [spawned] = (await client.listAll(`/v1/tasks?session_id=${richSource.session_id}`)).filter(
      (task) =>
        task.parent_task_id === richSource.id &&
        task.input.ops !== undefined &&
        task.persona_id === "persona_scripted" &&
        task.input.ops[0].name === "in the child",
    );
    const eventsBefore = await stage.events(richSource);
    const replay = await stage.replay(spawned);
    assert.equal(replay.parent_task_id, spawned.id);
    assert.equal(replay.status, "COMPLETED");
    assert.deepEqual(await stage.events(richSource), eventsBefore);
  });
});

describe("Exact replays", () => {
  /** Replays the script's run and proves that nothing was called and nothing came out differently. */
  async function exactly(ops: Op[], answers: Json[] = []): Promise<{ source: Json; replay: Json }> {
    const source = await stage.play(ops, answers);
    const notes = await stage.notes();
    const tasks = await stage.taskCount();
    const permissions = (await client.listAll("/v1/permission-requests")).length;
    const replay = await stage.replay(source);
    assert.deepEqual(await stage.notes(), notes, "no step was called");
    assert.equal(await stage.taskCount(), tasks + 1, "no task was spawned");
    assert.equal((await client.listAll("/v1/permission-requests")).length, permissions, "nobody was asked");
    assert.equal(replay.status, source.status, JSON.stringify(replay.failure));
    assert.deepEqual(replay.failure, source.failure);
    await stage.assertFaithful(source, replay);
    if (source.status === "COMPLETED") {
      assert.deepEqual(await stage.result(replay), await stage.result(source));
    }
    const statuses = (await stage.events(replay))
      .filter(({ event }) => event === "task.status_changed")
      .map(({ payload }) => payload.to);
    assert.deepEqual(statuses, ["WORKING", source.status], "it never waited");
    return { source, replay };
  }

  const scripts: Record<string, [ops: Op[], answers?: Json[]]> = {
    "steps of every kind": [
      (["llm", "mcp", "host", "step"] as const).map((kind) => ({ do: kind, name: `a ${kind}`, as: kind })),
    ],
    "steps that failed, caught": [
      [
        { do: "step", name: "fails", code: "no_luck", catch: true, as: "failed" },
        { do: "mcp", name: "breaks", code: null, catch: true, as: "broken" },
        { do: "say", text: "{failed} {broken}" },
      ],
    ],
    "time, randomness and ids": [
      [
        { do: "now", as: "a" },
        { do: "now", label: "b", as: "b" },
        { do: "random", as: "c" },
        { do: "random", label: "d", as: "d" },
        { do: "uuid", as: "e" },
        { do: "say", text: "{a} {b} {c} {d} {e}" },
      ],
    ],
    "questions that were answered": [
      [
        { do: "ask", question: "Who?", as: "who" },
        { do: "ask", question: "How many?", schema, as: "many" },
        { do: "say", text: "{who} {many}" },
      ],
      ["Ada", { n: 3 }],
    ],
    "an approval": [[{ do: "approve", action: "Launch", as: "it" }], [true]],
    "a denial, caught": [[{ do: "approve", action: "Launch", as: "it", catch: true }], [false]],
    "a denial that failed it": [[{ do: "approve", action: "Launch" }], [false]],
    "a child's result": [
      [
        { do: "spawn", input: child, as: "done" },
        { do: "spawn", input: { ops: [{ do: "fail", code: "c", message: "m" }] }, as: "failed" },
        { do: "spawn", persona: "persona_unknown", input: {}, as: "refused", catch: true },
      ],
    ],
    "children side by side": [
      [
        {
          do: "all",
          branches: [
            [{ do: "spawn", input: child, as: "a" }],
            [
              { do: "spawn", input: child, as: "b" },
              { do: "say", text: "{b}" },
            ],
          ],
        },
      ],
    ],
    "artifacts, whole and in chunks": [
      [
        { do: "step", name: "content", as: "content" },
        { do: "artifact", name: "a.txt", content: "text {content}", as: "a" },
        { do: "artifact", name: "a.json", content: { json: true }, as: "b" },
        { do: "bytes", name: "a.bin", content: "00ff10", as: "c" },
        { do: "stream", name: "s.txt", chunks: ["one ", "two ", "{content}"], as: "d" },
        { do: "stream", name: "empty.txt", chunks: [], as: "e" },
        { do: "say", text: "{a} {b} {c} {d} {e}" },
      ],
    ],
    "checkpoints and progress": [
      [
        { do: "progress", message: "starting", percent: 0 },
        { do: "checkpoint", name: "here" },
        { do: "progress", message: "half", percent: 50 },
        { do: "checkpoint", name: "here" },
        { do: "step", name: "end", as: "end" },
      ],
    ],
    "steps side by side": [
      [
        {
          do: "all",
          branches: [
            [
              { do: "step", name: "a", ms: 30, as: "a" },
              { do: "llm", name: "a2", as: "a2" },
              { do: "say", text: "a {a2}" },
            ],
            [
              { do: "step", name: "b", ms: 15, as: "b" },
              { do: "say", text: "b" },
              { do: "now", as: "b2" },
            ],
            [
              { do: "step", name: "c", as: "c" },
              { do: "artifact", name: "c", content: "{c}" },
              { do: "random", as: "c2" },
            ],
            [
              { do: "sleep", ms: 20 },
              { do: "say", text: "d" },
            ],
          ],
        },
      ],
    ],
    "a race": [
      [
        {
          do: "race",
          as: "winner",
          branches: [
            [{ do: "step", name: "slow", ms: 60 }],
            [{ do: "step", name: "fast", ms: 5 }],
            [{ do: "sleep", ms: 40 }],
          ],
        },
        { do: "say", text: "{winner} won" },
        { do: "sleep", ms: 100 },
        { do: "step", name: "afterwards", as: "end" },
      ],
    ],
    "a race that a question lost": [
      [
        {
          do: "race",
          as: "winner",
          branches: [[{ do: "ask", question: "Quick?" }], [{ do: "sleep", ms: 20 }]],
        },
        { do: "say", text: "{winner} won" },
      ],
    ],
    "a race that a sleep lost": [
      [
        {
          do: "race",
          as: "winner",
          branches: [[{ do: "sleep", ms: 600_000 }], [{ do: "step", name: "fast" }]],
        },
        { do: "step", name: "afterwards", as: "end" },
      ],
    ],
    "a race that a step lost": [
      [
        {
          do: "race",
          as: "winner",
          branches: [[{ do: "step", name: "endless", gate: "never" }], [{ do: "sleep", ms: 5 }]],
        },
        { do: "many", name: "afterwards", times: 300, as: "end" },
      ],
    ],
    "questions that nobody answered in time": [
      [
        { do: "ask", question: "Quick?", schema: { type: "string" }, expiresInMs: 30, catch: true, as: "a" },
        { do: "approve", action: "Launch", expiresInMs: 30, catch: true, as: "b" },
        { do: "say", text: "{a} {b}" },
      ],
    ],
    "many steps in branches side by side": [
      [
        {
          do: "all",
          branches: ["a", "b", "c"].map((name) => [
            { do: "many", name, times: 300, as: name },
            { do: "say", text: `${name} {${name}}` },
          ]),
        },
      ],
    ],
    "large values": [
      [
        { do: "step", name: "large", size: 300_000, as: "large" },
        { do: "llm", name: "large", size: 5000, as: "other" },
        { do: "say", text: "{large}" },
        { do: "artifact", name: "large", content: "{large}", as: "artifact" },
        { do: "stream", name: "large", chunks: ["{large}", "{other}"] },
      ],
    ],
    "nothing at all": [[{ do: "return", value: "done" }]],
    "its own names": [
      [
        { do: "whoami", as: "me" },
        { do: "say", text: "{me}" },
      ],
    ],
  };
  for (const [what, [ops, answers]] of Object.entries(scripts)) {
    test(`RPL-2 a replay of a run with ${what} gives the same result from the log alone`, async () => {
      // Given a run with ${what}, when it is replayed, then it comes to the same from the log alone.
      const { source } = await exactly(ops, answers);
      assert.ok(["COMPLETED", "FAILED"].includes(source.status));
    });
  }

  test("RPL-2 a replay of a run that slept does not sleep", async () => {
    // Long enough to leave memory meanwhile.
    const { source, replay } = await exactly([
      { do: "sleep", ms: 3000 },
      { do: "step", name: "awake", as: "awake" },
    ]);
    const parkings = async (task: Json) =>
      (await stage.events(task)).filter(
        ({ payload, replay }: Json) => "parked" in payload && !replay?.is_copy,
      );
    assert.equal((await parkings(source)).length, 1);
    assert.equal((await parkings(replay)).length, 0);
  });

  test("RPL-2 a replay of a failed task fails in the same way and reports success as a replay", async () => {
    // Given a task that failed, when it is replayed, then the replay fails in the same way and says that it went well.
    const { source, replay } = await exactly([
      { do: "step", name: "before", as: "before" },
      { do: "say", text: "{before}" },
      { do: "fail", code: "no_luck", message: "It was {before}." },
    ]);
    assert.equal(replay.status, "FAILED");
    assert.equal(replay.failure.code, "no_luck");
    const receipt = await stage.receipt(replay);
    assert.equal(receipt.lifecycle.final_state, "FAILED");
    assert.deepEqual(receipt.lifecycle.failure, source.failure);
  });

  test("RPL-2 a replay's receipt names the source's artifacts, whose content is unchanged", async () => {
    // Given a run that left artifacts, when it is replayed, then its receipt names the same artifacts and their content
    // is still theirs.
    const source = await stage.play([
      { do: "artifact", name: "a.txt", content: "text" },
      { do: "stream", name: "s.txt", chunks: ["one", "two"] },
    ]);
    const before = await client.listAll(`/v1/artifacts?session_id=${source.session_id}`);
    assert.equal(before.length, 2);
    const replay = await stage.replay(source);
    const { final_artifacts } = await stage.receipt(replay);
    assert.equal(final_artifacts.length, 2);
    assert.deepEqual(final_artifacts, (await stage.receipt(source)).final_artifacts);
    assert.deepEqual(await client.listAll(`/v1/artifacts?session_id=${source.session_id}`), before);
  });

  test("RPL-2 a replay in mode with_overrides without overrides is as strict as exact", async () => {
    // Given a mode with_overrides and no overrides, when a run is replayed, then it is as strict as exact.
    const replay = await stage.override(richSource, {});
    assert.equal(replay.status, "COMPLETED", JSON.stringify(replay.failure));
    await stage.assertFaithful(richSource, replay);
  });

  for (const about of ["saying", "making", "stepping", "failing", "returning"]) {
    test(`RPL-2 a replay with random ${about} fails as nondeterministic_run showing the difference`, async () => {
      // Given an agent that leaves ${about} to chance, when its run is replayed, then it fails with nondeterministic_run
      // and shows what was recorded beside what was attempted.
      const session = await client.createSession();
      const submitted = await client.post("/v1/tasks", {
        session_id: session.id,
        persona_id: "persona_fickle",
        input: { about },
      });
      const source = await stage.ended(submitted.body);
      const replay = await stage.replay(source);
      assert.equal(replay.status, "FAILED");
      assert.equal(replay.failure.code, "nondeterministic_run");
      const { recorded, attempted } = replay.failure.details;
      assert.notEqual(recorded, attempted);
      const events = await stage.events(replay);
      const [failed] = events.filter(({ event }) => event === "replay.failed");
      assert.deepEqual(failed.payload, { source_task_id: source.id, failure: replay.failure });
      assert.equal(events.at(-2).event, "task.failed");
      if (about !== "making") assert.match(`${recorded} ${attempted}`, /whim 0\.\d+.* .*whim 0\.\d+/);
    });
  }
});

describe("Overrides", () => {
  const instant = "2001-02-03T04:05:06.000Z";
  const outcome = { task_id: "elsewhere", status: "FAILED", summary: "No.", output: null };
  /** For every form of key: what is given under it, and what the agent sees differently then. */
  const forms: Record<string, [kind: string, value: Json, seen: Json]> = {
    "llm:main:1": ["llm_provider_response", { text: "other" }, { first: { text: "other" } }],
    "llm:main": ["llm_provider_response", "x", { first: "x", second: "x" }],
    "mcp:files:read:1": ["mcp_tool_return", ["x"], { file: ["x"] }],
    "mcp:files:read": ["tool_result", null, { file: null }],
    "host:env:cwd:1": ["host_fact", "/elsewhere", { directory: "/elsewhere" }],
    "host:env:cwd": ["tool_result", false, { directory: false }],
    "step:plain:1": ["tool_result", 42, { plain: 42 }],
    "time:now:1": ["time", instant, { now: instant }],
    "time:lunch": ["time", Date.parse(instant), { lunch: instant }],
    "random:random:1": ["host_fact", 0.25, { random: 0.25 }],
    "random:uuid": ["host_fact", "not random", { uuid: "not random" }],
    "ask:1": ["event_payload", "Grace", { name: "Grace" }],
    "ask:2": ["event_payload", { n: 7 }, { number: { n: 7 } }],
    "approve:1": [
      "event_payload",
      { approved: false, reason: "too late" },
      { launch: 'approval_denied: Approval of "Launch" was denied: too late' },
    ],
    approve: ["event_payload", { approved: true }, {}],
    "spawn:1": ["event_payload", outcome, { child: outcome }],
    "checkpoint:half:1": ["checkpoint_value", { any: 1 }, {}],
  };
  for (const [key, [kind, value, seen]] of Object.entries(forms)) {
    test(`RPL-3 an override of ${key} reaches the agent and changes nothing else`, async () => {
      // Given an override of ${key}, when the run is replayed, then the agent sees it and everything else is as it was.
      const notes = await stage.notes();
      const replay = await stage.override(richSource, { [key]: { kind, value } });
      assert.deepEqual(await stage.result(replay), { ...richSeen, ...seen });
      assert.deepEqual(await stage.notes(), notes);
      const { deltas, replay_input } = await stage.receipt(replay);
      assert.deepEqual([...new Set(deltas.map((delta: Json) => delta.override_key))], [key]);
      assert.equal(replay_input.determinism, "byte_deterministic");
      const marked = (await stage.events(replay)).filter((event) => event.replay?.override_key === key);
      assert.ok(marked.length > 0);
      assert.deepEqual(
        marked.map((event) => event.replay.receipt_delta_id),
        deltas.map((delta: Json) => delta.delta_id),
      );
    });
  }

  test("RPL-3 overrides of many kinds at once all reach the agent", async () => {
    // Given overrides of many kinds at once, when the run is replayed, then all of them are seen.
    const all = Object.entries(forms).filter(([key]) => key.endsWith(":1") || key.endsWith(":2"));
    const overrides = Object.fromEntries(all.map(([key, [kind, value]]) => [key, { kind, value }]));
    const replay = await stage.override(richSource, overrides);
    const seen = Object.assign({}, ...all.map(([, [, , each]]) => each));
    assert.deepEqual(await stage.result(replay), { ...richSeen, ...seen });
    assert.equal((await stage.receipt(replay)).deltas.length, all.length);
  });

  test("RPL-3 an override by artifact gives the agent the artifact's JSON or text", async () => {
    // Given a value in an artifact, when an override names it, then the agent sees the artifact's JSON, or its text.
    const { json, plain } = await stage.result(
      await stage.play([
        { do: "artifact", name: "a.json", content: { from: "an artifact" }, as: "json" },
        { do: "artifact", name: "a.txt", content: "plain text", as: "plain" },
      ]),
    );
    const replay = await stage.override(richSource, {
      "llm:main:1": {
        kind: "llm_provider_response",
        artifact_id: json,
        sha256: hashOf({ from: "an artifact" }),
      },
      "mcp:files:read:1": { kind: "mcp_tool_return", artifact_id: plain },
    });
    const seen = await stage.result(replay);
    assert.deepEqual(seen.first, { from: "an artifact" });
    assert.equal(seen.file, "plain text");
    const { deltas, replay_input } = await stage.receipt(replay);
    assert.deepEqual(
      deltas.map((delta: Json) => delta.artifact_id),
      [json, plain],
    );
    assert.ok(
      replay_input.materials.some((material: Json) => material.uri === `/v1/artifacts/${json}/content`),
    );
  });

  test("RPL-3 overridden lifecycle times appear in the receipt and its deltas", async () => {
    // Given times of the source's life, when they are overridden, then the receipt has them, and deltas say so.
    const [created, started, completed] = [
      "2026-04-25T19:16:10Z",
      "2026-04-25T19:16:14Z",
      "2026-04-25T19:17:33Z",
    ];
    const replay = await stage.override(richSource, {
      "time:created_at": { kind: "time", value: created, reason: "pin replay clock" },
      "time:started_at": { kind: "time", value: started, sha256: hashOf(started) },
      "time:completed_at": { kind: "time", value: Date.parse(completed) },
    });
    assert.deepEqual(await stage.result(replay), richSeen);
    const { lifecycle, deltas } = await stage.receipt(replay);
    assert.deepEqual(
      [lifecycle.created_at, lifecycle.started_at, lifecycle.completed_at],
      // A text is kept as it was given.
      [created, started, new Date(completed ?? "").toISOString()],
    );
    assert.deepEqual(deltas[1], {
      delta_id: "delta_time_created_at",
      operation: "replace",
      path: "/lifecycle/created_at",
      override_key: "time:created_at",
      before_sha256: hashOf(richSource.created_at),
      after_sha256: hashOf(created),
      reason: "pin replay clock",
    });
    assert.equal(deltas.length, 3);
  });

  test("RPL-3 an override of time:started_at accepts the source's start event, as in the protocol", async () => {
    // Given the event in which the source started, when time:started_at is overridden and names it, then it is accepted,
    // as in the protocol's own example.
    const [started] = (await stage.events(richSource)).filter(({ event }) => event === "task.started");
    const replay = await stage.override(richSource, {
      "time:started_at": {
        kind: "time",
        event_id: started.id,
        target: "started_at",
        value: "2026-04-25T19:16:14Z",
      },
    });
    assert.equal(replay.status, "COMPLETED");
  });

  test("RPL-3 an override of a failed step gives the agent the value and no failure", async () => {
    // Given a step that failed, when it is overridden, then the agent sees the value and no failure.
    const source = await stage.play([{ do: "mcp", name: "fails", code: "no_luck", as: "it" }]);
    assert.equal(source.status, "FAILED");
    const replay = await stage.override(source, {
      "mcp:fails:1": { kind: "mcp_tool_return", value: "luck" },
    });
    assert.deepEqual(await stage.result(replay), { it: "luck" });
  });

  test("RPL-3 an override of one parallel step leaves the others unchanged", async () => {
    // Given one of several parallel steps, when it is overridden, then the others are as they were.
    const branch = (name: string, ms: number) => [
      { do: "llm", name, ms, as: name },
      { do: "step", name: `${name} after`, as: `${name}2` },
      { do: "say", text: `${name} saw {${name}}` },
    ];
    const source = await stage.play([
      { do: "all", branches: [branch("a", 20), branch("b", 10), branch("c", 1)] },
    ]);
    const seen = await stage.result(source);
    const replay = await stage.override(source, { "llm:b:1": llm("other") });
    assert.deepEqual(await stage.result(replay), { ...seen, b: "other" });
    const own = (await stage.events(replay)).filter((event) => event.replay !== null && !event.replayed);
    assert.deepEqual(
      own.map(
        ({ event, payload }) => `${event} ${JSON.stringify(payload.message.parts[0].text ?? "result")}`,
      ),
      ['agent.message "b saw other"', 'agent.message "result"'],
    );
  });

  test("RPL-3 a replay whose override skips recorded steps runs its own way to the end", async () => {
    // Given an override that makes the code leave out recorded steps, when the run is replayed, then it goes its own way
    // to its end.
    const source = await stage.play(
      [
        { do: "llm", name: "route", gives: "long", as: "route" },
        {
          do: "when",
          of: "route",
          is: "long",
          yes: [
            { do: "step", name: "one", as: "one" },
            { do: "ask", question: "Go on?", as: "answer" },
            { do: "spawn", input: child, as: "child" },
            { do: "sleep", ms: 5 },
            { do: "say", text: "the long way" },
          ],
          no: [{ do: "say", text: "the short way" }],
        },
        { do: "step", name: "last", as: "last" },
      ],
      ["yes"],
    );
    const seen = await stage.result(source);
    const replay = await stage.override(source, { "llm:route:1": llm("short") });
    assert.deepEqual(await stage.result(replay), { route: "short", last: seen.last });
    const told = (await stage.events(replay)).filter(({ event }) => event === "agent.message");
    assert.equal(told[0].payload.message.parts[0].text, "the short way");
    assert.equal(told[0].replayed, false);
  });

  test("RPL-3 given a large value, when it is given inline, then the agent sees all of it", async () => {
    const source = await stage.play([
      { do: "step", name: "large", size: 200_000, as: "large" },
      { do: "say", text: "{large}" },
    ]);
    const value = "y".repeat(500_000);
    const replay = await stage.override(source, { "step:large:1": { kind: "tool_result", value } });
    assert.equal((await stage.result(replay)).large, value);
    const [delta] = (await stage.receipt(replay)).deltas;
    assert.equal(delta.after_sha256, hashOf(value));
  });

  test("RPL-3 an override equal to a large recorded value has the same hash before and after", async () => {
    // Given a recorded large value, when the same value is given as override, then before and after have the same hash.
    const value = { text: "x".repeat(10_000), a: 1 };
    const source = await stage.play([{ do: "llm", name: "large", gives: value, as: "it" }]);
    const replay = await stage.override(source, { "llm:large:1": llm(value) });
    const [delta] = (await stage.receipt(replay)).deltas;
    assert.equal(delta.before_sha256, delta.after_sha256);
  });

  test("RPL-3 an override that answers an open question lets the replay reach the log's end", async () => {
    // Given a question that was never answered, when an answer is given, then the replay goes on with it to the end of
    // the log.
    const asked = await stage.waiting(
      await stage.submit([
        { do: "ask", question: "Who?", as: "who" },
        { do: "say", text: "{who}" },
      ]),
    );
    await client.post(`/v1/tasks/${asked.id}/cancel`);
    const replay = await stage.override(asked, { "ask:1": { kind: "event_payload", value: "Grace" } });
    assert.deepEqual(await stage.result(replay), { who: "Grace" });
    const [delta] = (await stage.receipt(replay)).deltas;
    assert.equal(delta.operation, "add");
    assert.equal(delta.before_sha256, null);
  });

  test("RPL-3 an override with the result of an unfinished child lets the replay go on", async () => {
    // Given a child that had not ended when its parent was canceled, when its result is given, then the replay goes on
    // with it.
    const task = await stage.waiting(
      await stage.submit([
        { do: "spawn", input: { ops: [{ do: "ask", question: "Stay?" }] }, as: "child" },
        { do: "say", text: "{child}" },
      ]),
    );
    await client.post(`/v1/tasks/${task.id}/cancel`);
    const replay = await stage.override(task, { "spawn:1": { kind: "event_payload", value: outcome } });
    assert.deepEqual(await stage.result(replay), { child: outcome });
  });
});

describe("Deltas and secrets", () => {
  /** A server that writes down all it can, and where no other test gives secrets. */
  let own: Stage<TestProcess>;
  before(async () => {
    own = await Stage.openProcess({ BRIDLE_LOG_LEVEL: "trace" });
  });
  after(() => own[Symbol.asyncDispose]());

  test("RPL-4 each override is a delta with key, path, hashes and reason", async () => {
    // Given overrides with reasons, when the replay has ended, then each substitution is a delta with key, path, hashes
    // and reason.
    const replay = await stage.override(richSource, {
      "ask:1": { kind: "event_payload", value: "Grace", reason: "another person" },
      "llm:main": llm({ text: "other" }, { reason: "what if" }),
      "time:now:1": { kind: "time", value: 0 },
    });
    const { deltas } = await stage.receipt(replay);
    const [ask] = deltas.splice(0, 1);
    assert.deepEqual(deltas, [
      {
        delta_id: "delta_llm_main_1",
        operation: "replace",
        path: "/replay_input/materials/llm:main:1",
        override_key: "llm:main",
        before_sha256: hashOf(richSeen.first),
        after_sha256: hashOf({ text: "other" }),
        reason: "what if",
      },
      {
        delta_id: "delta_llm_main_2",
        operation: "replace",
        path: "/replay_input/materials/llm:main:2",
        override_key: "llm:main",
        before_sha256: hashOf(richSeen.second),
        after_sha256: hashOf({ text: "other" }),
        reason: "what if",
      },
      {
        delta_id: "delta_time_now_1",
        operation: "replace",
        path: "/replay_input/materials/time:now:1",
        override_key: "time:now:1",
        before_sha256: hashOf(Date.parse(richSeen.now)),
        after_sha256: hashOf(0),
      },
    ]);
    assert.equal(ask.override_key, "ask:1");
    assert.equal(ask.reason, "another person");
    assert.equal(ask.after_sha256, hashOf("Grace"));
    assert.match(ask.before_sha256, /^sha256:/);
    assert.notEqual(ask.before_sha256, ask.after_sha256);
    const [started] = (await stage.events(replay)).filter(({ event }) => event === "replay.started");
    assert.deepEqual(started.payload.override_keys.sort(), ["ask:1", "llm:main", "time:now:1"]);
  });

  test("RPL-4 overrides of steps whose names differ in one character have different delta ids", async () => {
    // Given steps whose names differ in a sign only, when both are overridden, then their deltas have different ids.
    const source = await stage.play([
      { do: "step", name: "read-file", as: "a" },
      { do: "step", name: "read_file", as: "b" },
    ]);
    const replay = await stage.override(source, {
      "step:read-file:1": { kind: "tool_result", value: 1 },
      "step:read_file:1": { kind: "tool_result", value: 2 },
    });
    const ids = (await stage.receipt(replay)).deltas.map((delta: Json) => delta.delta_id);
    assert.equal(ids.length, 2);
    assert.equal(new Set(ids).size, 2, ids.join());
  });

  /** Every file of a data directory that holds one of the texts. */
  async function filesWith(data: string, texts: string[]): Promise<string[]> {
    const found: string[] = [];
    for (const entry of await readdir(data, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const bytes = await readFile(join(entry.parentPath, entry.name));
      for (const text of texts) if (bytes.includes(text)) found.push(`${entry.name}: ${text}`);
    }
    return found;
  }

  const sha256 = (value: string) => createHash("sha256").update(value).digest("hex");

  /** The agent tells the secret to everybody it can. */
  const blabbing: Op[] = [
    { do: "secret", name: "token", as: "token" },
    { do: "say", text: "It is {token}." },
    { do: "artifact", name: "a.txt", content: "artifact {token}" },
    { do: "stream", name: "s.txt", chunks: ["stream {token}"] },
    { do: "llm", name: "main", gives: "answer", as: "answer" },
    { do: "return", value: "Returned {token}." },
  ];
  const given = "given-secret-value-0815";
  const shapes: Record<string, Json> = { text: given, "an object": { user: "ada", credential: given } };
  for (const [shape, value] of Object.entries(shapes)) {
    test(`RPL-4 neither a secret override as ${shape} nor its hash leaks if the agent says it`, async () => {
      // Given a secret as ${shape} that the agent says aloud, when a run is replayed with it, then neither it nor its
      // hash is anywhere.
      const source = await own.play(blabbing);
      assert.equal(source.status, "COMPLETED", JSON.stringify(source.failure));
      const asked = await own.noted("secret:token");
      assert.ok(asked > 0, "the vault was asked");
      const replay = await own.override(source, {
        "secret:token": { kind: "secret_value", value, visibility: "receipt_only", reason: "rotated" },
        "llm:main:1": llm("another answer"),
      });
      assert.equal(replay.status, "COMPLETED", JSON.stringify(replay.failure));
      assert.equal(await own.noted("secret:token"), asked, "the vault was not asked again");
      const receipt = await own.receipt(replay);
      const [delta] = receipt.deltas.filter((each: Json) => each.override_key.startsWith("secret:"));
      assert.equal(delta.path, "/replay_input/materials/secret:token:1");
      assert.equal(delta.before_sha256, null);
      assert.equal(delta.after_sha256, null);
      assert.equal(receipt.replay_input.determinism, "best_effort");
      const shown = JSON.stringify([
        replay,
        receipt,
        await own.client.listAll("/v1/events"),
        await own.client.listAll("/v1/artifacts"),
        (await own.client.get(`/v1/outcomes/${replay.outcome_id}`)).body,
      ]);
      const traces = [given, sha256(given), hashOf(value).slice("sha256:".length), realSecret];
      for (const trace of traces) {
        assert.ok(!shown.includes(trace), `${trace} is answered`);
        assert.ok(!own.server.output().includes(trace), `${trace} is in the server's output`);
      }
      assert.deepEqual(await filesWith(own.data, traces), []);
    });
  }

  test("RPL-4 the event of a step with a secret override names the override and its delta", async () => {
    // Given a secret as override, when the replay has ended, then the event of its step names the override and its
    // delta.
    const source = await stage.play(blabbing);
    const replay = await stage.override(source, { "secret:token:1": { kind: "secret_value", value: given } });
    assert.equal(replay.status, "COMPLETED", JSON.stringify(replay.failure));
    const [span] = (await stage.events(replay)).filter(({ payload }) => payload.step === "secret:token:1");
    const [delta] = (await stage.receipt(replay)).deltas;
    assert.equal(span.replay.override_key, "secret:token:1");
    assert.equal(span.replay.receipt_delta_id, delta.delta_id);
  });

  test("RPL-4 a secret repeated by another override is not stored on disk", async () => {
    // Given a secret that another override repeats, when the replay has ended, then it is on no disk.
    const source = await own.play(blabbing);
    const replay = await own.override(source, {
      "secret:token:1": { kind: "secret_value", value: given },
      "llm:main:1": llm(`I was told ${given}.`),
    });
    assert.ok(isFinal(replay));
    assert.deepEqual(await filesWith(own.data, [given]), []);
  });

  test("RPL-4 an exact replay of a run with a secret fails naming it and asks no vault", async () => {
    // Given a run that used a secret, when it is replayed exactly, then it fails, names the secret, and asks no vault.
    const source = await stage.play(blabbing);
    const calls = await stage.noted("secret:token");
    const replay = await stage.replay(source);
    assert.equal(replay.status, "FAILED");
    assert.equal(replay.failure.code, "replay_dependency_unavailable");
    assert.deepEqual(replay.failure.details.dependency, { kind: "secret", key: "secret:token:1" });
    assert.equal(await stage.noted("secret:token"), calls);
  });
});

describe("Checkpoints", () => {
  const ops: Op[] = [
    { do: "step", name: "one", as: "one" },
    { do: "say", text: "one {one}" },
    { do: "artifact", name: "one.txt", content: "one {one}", as: "artifact" },
    { do: "checkpoint", name: "half" },
    { do: "step", name: "two", as: "two" },
    { do: "say", text: "two {two}" },
    { do: "ask", question: "Go on?", as: "answer" },
    { do: "llm", name: "three", as: "three" },
    { do: "checkpoint", name: "half" },
    { do: "approve", action: "End", as: "end", catch: true },
    { do: "step", name: "four", as: "four" },
    { do: "say", text: "{answer} {three} {four}" },
  ];
  let source: Json;
  let seen: Json;
  let events: Json[];
  before(async () => {
    source = await stage.play(ops, ["yes", true]);
    seen = await stage.result(source);
    events = await stage.events(source);
  });

  const find = (event: string, step?: string): Json => {
    const found = events.find(
      (each) => each.event === event && (step === undefined || each.payload.step === step),
    );
    assert.ok(found !== undefined, `${event} ${step}`);
    return found;
  };

  const boundaries: Record<string, [request: () => object, boundary: () => Json]> = {
    "the name of a checkpoint": [
      () => ({ checkpoint_id: "half" }),
      () => find("span.completed", "checkpoint:half:1"),
    ],
    "the key of a checkpoint": [
      () => ({ checkpoint_id: "checkpoint:half:2" }),
      () => find("span.completed", "checkpoint:half:2"),
    ],
    "the event of a checkpoint": [
      () => ({ checkpoint_event_id: find("span.completed", "checkpoint:half:2").id }),
      () => find("span.completed", "checkpoint:half:2"),
    ],
    "the key of a question": [() => ({ checkpoint_id: "ask:1" }), () => find("task.input_required")],
    "the event of a question": [
      () => ({ checkpoint_event_id: find("task.input_required").id }),
      () => find("task.input_required"),
    ],
    "the key of an approval": [() => ({ checkpoint_id: "approve:1" }), () => find("task.auth_required")],
    "the event of an approval": [
      () => ({ checkpoint_event_id: find("task.auth_required").id }),
      () => find("task.auth_required"),
    ],
  };
  for (const [what, [request, boundary]] of Object.entries(boundaries)) {
    test(`RPL-5 a replay from ${what} restores what came before and emits only what came after`, async () => {
      // Given ${what}, when a run is replayed from there, then what came before is restored and only what came after is
      // told again.
      const notes = await stage.notes();
      const replay = await stage.replay(source, { mode: "from_checkpoint", ...request() });
      assert.deepEqual(await stage.result(replay), seen);
      await stage.assertFaithful(source, replay, boundary().id);
      assert.deepEqual(await stage.notes(), notes);
      const receipt = await stage.receipt(replay);
      assert.equal(receipt.metadata.replay_mode, "from_checkpoint");
      assert.deepEqual(receipt.final_artifacts, (await stage.receipt(source)).final_artifacts);
      for (const event of await stage.events(replay)) {
        if (event.replay !== null) assert.equal(event.replay.mode, "from_checkpoint");
      }
    });
  }

  test("RPL-5 a replay from a checkpoint in one branch emits what ended later in the other branch", async () => {
    // Given a checkpoint in one of two branches, when a run is replayed from there, then what ended later in the other
    // branch is told again.
    const parallel = await stage.play([
      {
        do: "all",
        branches: [
          [
            { do: "step", name: "a", as: "a" },
            { do: "checkpoint", name: "in a" },
            { do: "step", name: "a2", ms: 30, as: "a2" },
          ],
          [
            { do: "step", name: "b", ms: 15, as: "b" },
            { do: "say", text: "{b}" },
          ],
        ],
      },
    ]);
    const [boundary] = (await stage.events(parallel)).filter(
      ({ payload }) => payload.step === "checkpoint:in a:1",
    );
    const replay = await stage.replay(parallel, { mode: "from_checkpoint", checkpoint_id: "in a" });
    assert.deepEqual(await stage.result(replay), await stage.result(parallel));
    await stage.assertFaithful(parallel, replay, boundary.id);
  });

  test("RPL-5 an override after the checkpoint changes only what follows it", async () => {
    // Given an override after the checkpoint, when a run is replayed from there, then only what follows it is different.
    const replay = await stage.replay(source, {
      mode: "from_checkpoint",
      checkpoint_id: "half",
      override: { "llm:three:1": llm("other") },
    });
    assert.deepEqual(await stage.result(replay), { ...seen, three: "other" });
    assert.equal((await stage.receipt(replay)).deltas.length, 1);
  });

  test("RPL-5 a replay from a question continues with another answer to it", async () => {
    // Given another answer to the question that is the checkpoint, when a run is replayed from there, then the agent
    // goes on with it.
    const replay = await stage.replay(source, {
      mode: "from_checkpoint",
      checkpoint_id: "ask:1",
      override: { "ask:1": { kind: "event_payload", value: "no" } },
    });
    assert.deepEqual(await stage.result(replay), { ...seen, answer: "no" });
  });
});

describe("What the log cannot supply", () => {
  const branching: Op[] = [
    { do: "llm", name: "route", gives: "known", as: "route" },
    {
      do: "when",
      of: "route",
      is: "known",
      yes: [{ do: "step", name: "known", as: "known" }],
      no: [
        { do: "llm", name: "unknown", as: "one" },
        { do: "mcp", name: "unknown:tool", as: "two" },
        { do: "say", text: "{one} {two}" },
      ],
    },
    { do: "step", name: "common", as: "common" },
  ];

  test("RPL-6 a replay that reaches an unrecorded step fails naming it and calls nothing", async () => {
    // Given an override that leads to steps which were never recorded, when a run is replayed, then it fails at the
    // first, names it, and calls nothing.
    const source = await stage.play(branching);
    const notes = await stage.notes();
    const replay = await stage.override(source, { "llm:route:1": llm("unknown") });
    assert.equal(replay.status, "FAILED");
    assert.equal(replay.failure.code, "replay_dependency_unavailable");
    assert.deepEqual(replay.failure.details, {
      source_task_id: source.id,
      dependency: { kind: "llm", key: "llm:unknown:1" },
    });
    assert.deepEqual(await stage.notes(), notes);
    const events = await stage.events(replay);
    assert.ok(events.some(({ event }) => event === "replay.failed"));
    const receipt = await stage.receipt(replay);
    assert.equal(receipt.lifecycle.final_state, "FAILED");
    assert.equal(receipt.deltas.length, 1);
  });

  test("RPL-6 a replay fails at a missing step whose kind is not allowed live, after one live call", async () => {
    // Given that only one kind may be live, when a step of another kind is missing, then the replay fails there after
    // calling the first once.
    const source = await stage.play(branching);
    const [llmBefore, mcpBefore] = [await stage.noted("llm:unknown"), await stage.noted("mcp:unknown:tool")];
    const replay = await stage.override(
      source,
      { "llm:route:1": llm("unknown") },
      { metadata: { allow_live: ["llm"] } },
    );
    assert.deepEqual(replay.failure?.details?.dependency, { kind: "mcp", key: "mcp:unknown:tool:1" });
    assert.equal(await stage.noted("llm:unknown"), llmBefore + 1);
    assert.equal(await stage.noted("mcp:unknown:tool"), mcpBefore);
  });

  test("RPL-6 overriding a denial does not call the live steps behind it, and the replay says why", async () => {
    // Given a denial that is overridden, when the steps behind it may be live, then they are not called all the same,
    // and the replay says why.
    const source = await stage.play(
      [
        { do: "approve", action: "Launch", as: "launch" },
        { do: "step", name: "launch" },
      ],
      [false],
    );
    const before = await stage.notes();
    const override = { "approve:1": { kind: "event_payload", value: { approved: true } } };
    const replay = await stage.override(source, override, { metadata: { allow_live: ["step"] } });
    assert.equal(replay.status, "FAILED");
    assert.match(replay.failure.message, /needs an approval/);
    assert.deepEqual(await stage.notes(), before);
  });

  test("RPL-16 a replay runs the agent version it names, and its receipt says which", async () => {
    // Given two versions of an agent, when a replay names the other one, then that one runs, under the rules of every
    // replay, and the receipt says which it was.
    const source = await stage.play([{ do: "llm", name: "main", as: "main" }]);
    const asked = await stage.noted("llm:more");
    const agentOf = async (replay: Json) => [
      replay.assigned_agent_id,
      (await stage.receipt(replay)).metadata.agent,
    ];
    const exact = await stage.replay(source, {});
    assert.deepEqual(await agentOf(exact), ["scripted@1.0.0", "scripted@1.0.0"]);

    const metadata = { agent_version: "0.9.0" };
    const strict = await stage.override(source, {}, { metadata });
    assert.equal(strict.failure?.code, "nondeterministic_run");
    assert.match(strict.failure.message, /llm:more:1/);
    assert.equal(await stage.noted("llm:more"), asked);

    const live = await stage.override(source, {}, { metadata: { ...metadata, allow_live: ["llm"] } });
    assert.deepEqual(await agentOf(live), ["scripted@0.9.0", "scripted@0.9.0"]);
    const { seen, more } = await stage.result(live);
    assert.deepEqual(seen, await stage.result(source), "what the log has comes from the log");
    assert.equal(typeof more.nonce, "number");
    assert.equal(await stage.noted("llm:more"), asked + 1);
  });

  test("RPL-16 a replay with a version that is not loaded is rejected naming it, creating nothing", async () => {
    // Given a version that is not loaded, when a replay names it, then it is refused with what is missing and nothing is
    // created.
    const tasks = await stage.taskCount();
    const request = { mode: "with_overrides", metadata: { agent_version: "7.0.0" } };
    const { details } = errorOf(await stage.request(richSource.id, request), 422);
    assert.deepEqual(details.dependency, { kind: "agent", key: "scripted@7.0.0" });
    assert.equal(await stage.taskCount(), tasks);
  });

  test("RPL-6 missing steps allowed live are called once each, with own events and in the receipt", async () => {
    // Given that their kinds may be live, when steps are missing, then they are called once each, their events are the
    // replay's own, and the receipt says so.
    const source = await stage.play(
      branching.map((op) => (op.name === "route" ? { ...op, do: "step" } : op)),
    );
    const before = await stage.notes();
    const replay = await stage.override(
      source,
      { "step:route:1": { kind: "tool_result", value: "unknown" } },
      { metadata: { allow_live: ["mcp", "llm"] } },
    );
    const seen = await stage.result(replay);
    assert.deepEqual((await stage.notes()).slice(before.length), ["llm:unknown", "mcp:unknown:tool"]);
    assert.equal(typeof seen.one.nonce, "number");
    const receipt = await stage.receipt(replay);
    assert.deepEqual(receipt.metadata.allow_live.sort(), ["llm", "mcp"]);
    assert.equal(receipt.replay_input.determinism, "best_effort");
    assert.deepEqual(
      receipt.side_effects.tool_calls.map((call: Json) => call.call_id),
      ["mcp:unknown:tool:1"],
    );
    const own = (await stage.events(replay)).filter((event) => event.replay !== null && !event.replayed);
    assert.deepEqual(
      own.map(({ event }) => event),
      ["span.completed", "span.completed", "agent.message", "agent.message"],
    );
    for (const event of own) {
      assert.equal(event.replay.source_task_id, source.id);
      assert.equal(event.replay.replay_task_id, replay.id);
    }
    const { valid, reason } = (await client.post(`/v1/receipts/${replay.receipt_id}/verify`)).body;
    assert.ok(valid, reason);
  });

  test("RPL-6 a replay with live secrets asks the vault once more", async () => {
    // Given that secrets may be live, when a run that used one is replayed, then the vault is asked once more.
    const source = await stage.play([
      { do: "secret", name: "live", as: "token" },
      { do: "return", value: "done" },
    ]);
    const replay = await stage.replay(source, {
      mode: "with_overrides",
      metadata: { allow_live: ["secret"] },
    });
    assert.equal(replay.status, "COMPLETED", JSON.stringify(replay.failure));
    assert.equal(await stage.noted("secret:live"), 2);
    assert.equal((await stage.receipt(replay)).replay_input.determinism, "best_effort");
  });

  const unfinished: Record<string, [kind: string, key: string, op: Op]> = {
    "a person": ["ask", "ask:1", { do: "ask", question: "Who?" }],
    "a decision": ["approve", "approve:1", { do: "approve", action: "Launch" }],
    "a time": ["sleep", "sleep:1", { do: "sleep", ms: 600_000 }],
    "a child": ["spawn", "spawn:1", { do: "spawn", input: { ops: [{ do: "ask", question: "Stay?" }] } }],
  };
  for (const [what, [kind, key, op]] of Object.entries(unfinished)) {
    test(`RPL-6 a replay of a task canceled while waiting for ${what} fails naming the step`, async () => {
      // Given a task that was canceled while it waited for ${what}, when it is replayed, then the replay fails and names
      // the step.
      const task = await stage.waiting(await stage.submit([{ do: "step", name: "before" }, op]));
      await client.post(`/v1/tasks/${task.id}/cancel`);
      const notes = await stage.notes();
      const tasks = await stage.taskCount();
      const replay = await stage.replay(task);
      assert.equal(replay.status, "FAILED");
      assert.equal(replay.failure.code, "replay_dependency_unavailable");
      assert.deepEqual(replay.failure.details.dependency, { kind, key });
      assert.deepEqual(await stage.notes(), notes);
      assert.equal(await stage.taskCount(), tasks + 1);
      const copies = (await stage.events(replay)).filter((event) => event.replayed);
      assert.ok(copies.some(({ payload }) => payload.step === "step:before:1"));
    });
  }

  test("RPL-6 a replay of a task canceled within a step fails naming the step without calling it", async () => {
    // Given a task that was canceled in the middle of a step, when it is replayed, then the replay fails, names the step
    // and does not call it.
    const task = await stage.submit([{ do: "step", name: "interrupted", gate: "never" }]);
    await stage.untilNoted("step:interrupted");
    await client.post(`/v1/tasks/${task.id}/cancel`);
    const replay = await stage.replay(task);
    assert.equal(replay.status, "FAILED");
    assert.deepEqual(replay.failure.details.dependency, { kind: "step", key: "step:interrupted:1" });
    assert.equal(await stage.noted("step:interrupted"), 1);
  });

  test("RPL-6 a replay of a task canceled before its start fails naming the first step", async () => {
    // Given a task that was canceled before it started, when it is replayed, then the replay fails and names the first
    // step.
    await using own = await Stage.open({ flags: ["--concurrency", "1"] });
    const busy = await own.submit([{ do: "step", name: "busy", gate: "busy" }]);
    await own.untilNoted("step:busy");
    const task = await own.submit([{ do: "step", name: "first" }]);
    const canceled = (await own.client.post(`/v1/tasks/${task.id}/cancel`)).body;
    assert.equal(canceled.started_at, null);
    await own.openGate("busy");
    await own.ended(busy);
    const replay = await own.replay(task);
    assert.equal(replay.status, "FAILED");
    assert.deepEqual(replay.failure.details.dependency, { kind: "step", key: "step:first:1" });
    assert.equal(await own.noted("step:first"), 0);
    const { valid, reason } = (await own.client.post(`/v1/receipts/${replay.receipt_id}/verify`)).body;
    assert.ok(valid, reason);
  });
});

describe("Replayed events", () => {
  test("RPL-7 REST and SSE mark each copied event of a replay and name its original", async () => {
    // Given a replay, when its events are read by REST and by SSE, then both mark each copy and name its original.
    const { status, body } = await stage.request(richSource.id, {
      mode: "with_overrides",
      override: { "llm:main:2": llm("other") },
    });
    assert.equal(status, 202);
    await using stream = await openStream(client, `/v1/tasks/${body.id}/stream`);
    const frames = await take(stream.frames, () => false);
    const events = await stage.events(body);
    assert.deepEqual(
      frames.map(({ data }) => data),
      events,
    );
    const originals = new Map((await stage.events(richSource)).map((event) => [event.id, event]));
    const copies = events.filter((event) => event.replayed);
    assert.ok(copies.length > rich.length);
    for (const { id, event, replay } of copies) {
      const original = originals.get(replay.original_event_id);
      assert.equal(original?.event, event);
      assert.notEqual(id, original.id);
      const { override_key, receipt_delta_id, ...mark } = replay;
      assert.deepEqual(mark, {
        source_task_id: richSource.id,
        replay_task_id: body.id,
        original_event_id: original.id,
        replay_cursor: id,
        mode: "with_overrides",
      });
      const isOverridden = original.payload.step === "llm:main:2";
      assert.equal(override_key, isOverridden ? "llm:main:2" : undefined);
      assert.equal(receipt_delta_id, isOverridden ? "delta_llm_main_2" : undefined);
    }
    for (const event of originals.values()) {
      assert.equal(event.replayed, false);
      assert.equal(event.replay, null);
    }
  });

  test("RPL-7 a reader that resumes from a replay_cursor gets exactly what came after", async () => {
    // Given a replay_cursor, when a reader goes on from it, then it gets exactly what came after.
    const replay = await stage.replay(richSource);
    const events = await stage.events(replay);
    const copies = events.filter((event) => event.replayed);
    const { replay_cursor: cursor } = copies[Math.floor(copies.length / 2)].replay;
    const rest = events.filter((event) => event.id > cursor);
    assert.ok(rest.length > 1 && rest.length < events.length - 1);
    const path = `/v1/tasks/${replay.id}`;
    assert.deepEqual(await client.listAll(`${path}/events?after_event_id=${cursor}`), rest);
    const read = async (query: string, headers: Record<string, string>) => {
      await using stream = await openStream(client, `${path}/stream${query}`, headers);
      return (await take(stream.frames, () => false)).map(({ data }) => data);
    };
    assert.deepEqual(await read(`?after_event_id=${cursor}`, {}), rest);
    assert.deepEqual(await read("", { "last-event-id": cursor }), rest);
  });

  test("RPL-7 overridden values are hidden like recorded ones without events:read_internal", async () => {
    // Given a caller without events:read_internal, when a replay's events are read, then overridden values are hidden as
    // recorded ones are.
    const replay = await stage.override(richSource, { "llm:main:1": llm({ text: "not for everybody" }) });
    const reader = await client.withScopes("events:read", "tasks:read");
    const spans = (await reader.listAll(`/v1/tasks/${replay.id}/events`)).filter(
      ({ event }) => event === "span.completed",
    );
    assert.ok(spans.length > 5);
    for (const { payload } of spans) assert.equal(payload.result.output.redacted, true, payload.step);
  });
});

describe("Receipts", () => {
  const overrides: Overrides = {
    "llm:main:1": llm({ text: "other" }, { reason: "what if" }),
    "ask:1": { kind: "event_payload", value: "Grace" },
  };

  /** The canonical receipts of the same replay, run that many times. */
  async function receiptsOf(
    request: object,
    times: number,
    on = stage,
    source = richSource,
  ): Promise<string[]> {
    const receipts: string[] = [];
    for (let n = 0; n < times; n++)
      receipts.push(canonical(await on.receipt(await on.replay(source, request))));
    return receipts;
  }

  const requests: Record<string, object> = {
    "an exact replay": {},
    "a replay with overrides": { mode: "with_overrides", override: overrides },
    "a replay from a checkpoint": { mode: "from_checkpoint", checkpoint_id: "half" },
    "a replay that fails": {
      mode: "with_overrides",
      override: { "ask:2": { kind: "event_payload", value: { n: 99 } } },
    },
  };
  for (const [what, request] of Object.entries(requests)) {
    test(`RPL-8 three runs of ${what} have byte-identical canonical receipts`, async () => {
      // Given ${what}, when it is run three times, then the canonical receipts are the same to the byte.
      const receipts = await receiptsOf(request, 3);
      assert.equal(new Set(receipts).size, 1);
    });
  }

  test("RPL-8 the same overrides in another order give byte-identical receipts", async () => {
    // Given the same overrides in another order, when both are replayed, then the receipts are the same to the byte.
    const reversed = Object.fromEntries(Object.entries(overrides).reverse());
    const [one] = await receiptsOf({ mode: "with_overrides", override: overrides }, 1);
    const [other] = await receiptsOf({ mode: "with_overrides", override: reversed }, 1);
    assert.equal(one, other);
  });

  const variations: Record<string, Overrides[]> = {
    values: [{ "llm:main:1": llm({ text: "variation a" }) }, { "llm:main:1": llm({ text: "variation b" }) }],
    reasons: [
      { "llm:main:2": llm("x", { reason: "one reason" }) },
      { "llm:main:2": llm("x", { reason: "another" }) },
    ],
    keys: [
      { "mcp:files:read": { kind: "tool_result", value: 5 } },
      { "mcp:files:read:1": { kind: "tool_result", value: 5 } },
    ],
  };
  for (const [what, [one = {}, other = {}]] of Object.entries(variations)) {
    test(`RPL-8 replays that differ in override ${what} have different but repeatable receipts`, async () => {
      // Given two replays that differ in their overrides' ${what}, when each is run twice in turns, then each has a
      // receipt of its own, the same both times.
      const turns: string[] = [];
      for (const override of [one, other, one, other]) {
        turns.push(...(await receiptsOf({ mode: "with_overrides", override }, 1)));
      }
      assert.notEqual(turns[0], turns[1]);
      assert.equal(turns[0], turns[2]);
      assert.equal(turns[1], turns[3]);
    });
  }

  test("RPL-8 two servers with the same log issue byte-identical replay receipts", async () => {
    // Given the same log on two servers, when each replays it, one of them after another replay, then the receipts are
    // the same to the byte.
    await using first = await Stage.open();
    const ops = rich.filter((op) => op.do !== "spawn");
    const source = await first.play(ops, richAnswers);
    await first.server.stop();
    await using second = await Stage.open({ copyOf: first.data });
    await first.start();
    const request = { mode: "with_overrides", override: overrides };
    const reworded = { ...overrides, "llm:main:1": llm({ text: "other" }, { reason: "another reason" }) };
    await second.replay(source, { mode: "with_overrides", override: reworded });
    const [here] = await receiptsOf(request, 1, first, source);
    const [there] = await receiptsOf(request, 1, second, source);
    assert.equal(here, there);
  });

  test("RPL-8 two replays that change an artifact name the same one with the new content", async () => {
    // Given an override that makes another artifact, when it is run twice, then both receipts name the same artifact,
    // which holds the other content.
    const source = await stage.play([
      { do: "llm", name: "main", gives: "recorded", as: "text" },
      { do: "artifact", name: "a.txt", content: "whole {text}", as: "whole" },
      { do: "stream", name: "s.txt", chunks: ["part ", "{text}"], as: "streamed" },
      { do: "say", text: "{whole} {streamed}" },
    ]);
    const recorded = await stage.result(source);
    const one = await stage.override(source, { "llm:main:1": llm("other") });
    const other = await stage.override(source, { "llm:main:1": llm("other") });
    assert.equal(canonical(await stage.receipt(one)), canonical(await stage.receipt(other)));
    assert.deepEqual(await stage.result(one), await stage.result(other));
    assert.notEqual((await stage.result(one)).whole, recorded.whole);
    const content = async (id: string) => (await client.get(`/v1/artifacts/${id}/content`)).body;
    const named = (await stage.receipt(one)).final_artifacts.map((artifact: Json) => artifact.artifact_id);
    assert.deepEqual(await Promise.all(named.map(content)), ["whole other", "part other"]);
    assert.equal(await content(recorded.whole), "whole recorded");
    assert.equal(await content(recorded.streamed), "part recorded");
  });

  test("RPL-8 an agent gets the id of the streamed artifact with the overridden content", async () => {
    // Given an override that changes a streamed artifact, when the agent names the artifact, then the name is of the one
    // with the other content.
    const source = await stage.play([
      { do: "llm", name: "main", gives: "recorded", as: "text" },
      { do: "stream", name: "s.txt", chunks: ["part ", "{text}"], as: "streamed" },
    ]);
    const replay = await stage.override(source, { "llm:main:1": llm("other") });
    const { streamed } = await stage.result(replay);
    assert.equal((await client.get(`/v1/artifacts/${streamed}/content`)).body, "part other");
  });

  test("RPL-12 a replay's receipt is a replay segment, links to its source's receipt and verifies", async () => {
    // Given a replay, when its receipt is read, then it is of a replay segment, hangs on its source's receipt, and
    // verifies.
    const sourceReceipt = await stage.receipt(richSource);
    for (const request of Object.values(requests)) {
      const replay = await stage.replay(richSource, request);
      const receipt = await stage.receipt(replay);
      assert.equal(receipt.subject.object, "replay_segment");
      assert.equal(receipt.metadata.source_task_id, richSource.id);
      assert.equal(receipt.chain.previous_receipt_hash, sourceReceipt.chain.receipt_hash);
      assert.equal(receipt.issued_at, sourceReceipt.issued_at);
      const { status, body } = await client.post(`/v1/receipts/${replay.receipt_id}/verify`);
      assert.equal(status, 200);
      assert.equal(body.valid, true, JSON.stringify(body));
    }
  });

  test("RPL-12 the receipt list of each of two equal replays has the one its task names", async () => {
    // Given two equal replays, when the receipts of each are listed, then each has the one that its task names.
    for (let n = 0; n < 2; n++) {
      const replay = await stage.override(richSource, {
        "host:env:cwd": { kind: "host_fact", value: "equal" },
      });
      const receipts = await client.listAll(`/v1/tasks/${replay.id}/receipts`);
      assert.deepEqual(
        receipts.map(({ receipt_id }) => receipt_id),
        [replay.receipt_id],
        `replay ${n + 1}`,
      );
    }
  });
});

describe("Session replays", () => {
  async function history(): Promise<{ sessionId: string; events: Json[] }> {
    const source = await stage.play([
      { do: "step", name: "s", as: "s" },
      { do: "say", text: "{s}" },
    ]);
    await client.settled(await stage.replay(source));
    const events = await client.listAll(`/v1/sessions/${source.session_id}/events`);
    return { sessionId: source.session_id, events };
  }

  async function streamed(
    sessionId: string,
    query = "",
    headers: Record<string, string> = {},
  ): Promise<Frame[]> {
    const response = await fetch(`${client.url}/v1/sessions/${sessionId}/replay${query}`, {
      method: "POST",
      headers: client.headers({ accept: "text/event-stream", ...headers }),
    });
    assert.equal(response.status, 200);
    assert.match(response.headers.get("content-type") ?? "", /^text\/event-stream/);
    return (await response.text())
      .split("\n\n")
      .filter((block) => /^(retry: \d+\n)?id: /.test(block))
      .map((block) => {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1] ?? "";
        return { id: field("id"), event: field("event"), data: JSON.parse(field("data")) };
      });
  }

  test("RPL-9 a session replay repeats events marked, with their ids, and session.replayed last", async () => {
    // Given a session with history, when it is replayed, then its events come again under their own ids, marked, and
    // session.replayed is the last.
    const { sessionId, events } = await history();
    const frames = await streamed(sessionId);
    const last = frames.pop();
    assert.equal(last?.event, "session.replayed");
    assert.equal(last.data.replayed, false);
    assert.equal(last.data.payload.through_event_id, events.at(-1).id);
    assert.deepEqual(
      frames.map(({ id, event }) => ({ id, event })),
      events.map(({ id, event }) => ({ id, event })),
    );
    for (const [index, { data }] of frames.entries()) {
      const { replayed, replay, ...event } = data;
      const { replayed: _, replay: __, ...original } = events[index];
      assert.deepEqual(event, original);
      assert.equal(replayed, true);
      assert.equal(replay.original_event_id, original.id);
      assert.equal(replay.replay_cursor, original.id);
    }
  });

  test("RPL-9 a session replay from a cursor repeats only what came after", async () => {
    // Given a cursor, when a session is replayed from it, then only what came after is told.
    const { sessionId, events } = await history();
    const cursor = events[3].id;
    const rest = events.slice(4).map(({ id }) => id);
    for (const [query, headers] of [
      [`?after_event_id=${cursor}`, {}],
      ["", { "last-event-id": cursor }],
    ] as const) {
      const frames = await streamed(sessionId, query, headers);
      const ids = frames.map(({ id }) => id).filter((id) => id !== null && id <= events.at(-1).id);
      assert.deepEqual(ids, rest);
      assert.equal(frames.at(-1)?.event, "session.replayed");
    }
  });

  test("RPL-9 a session replay with Accept: application/json returns a page of history", async () => {
    // Given Accept: application/json, when a session is replayed, then a page of its history is answered.
    const { sessionId, events } = await history();
    const accept = { accept: "application/json" };
    const { status, body } = await client.post(`/v1/sessions/${sessionId}/replay?limit=5`, {}, accept);
    assert.equal(status, 200);
    assert.equal(body.object, "list");
    assert.deepEqual(
      body.data.map(({ id }: Json) => id),
      events.slice(0, 5).map(({ id }) => id),
    );
    assert.ok(
      body.data.every((event: Json) => event.replayed && event.replay.original_event_id === event.id),
    );
    assert.equal(body.page.has_more, true);
    const next = `/v1/sessions/${sessionId}/replay?limit=5&cursor=${body.page.next_cursor}`;
    const rest = (await client.post(next, {}, accept)).body;
    assert.equal(rest.data[0].id, events[5].id);
  });

  test("RPL-9 a replay of an unknown or foreign session or without the scope is rejected", async () => {
    // Given an unknown session, a foreign one, or no scope, when it is replayed, then it is refused.
    const { sessionId } = await history();
    errorOf(await client.post("/v1/sessions/session_unknown/replay"), 404);
    const stranger = client.as((await client.createKey({ tenant_id: "tenant_other" })).key);
    errorOf(await stranger.post(`/v1/sessions/${sessionId}/replay`), 404);
    const writer = await client.withScopes("sessions:write", "tasks:write");
    errorOf(await writer.post(`/v1/sessions/${sessionId}/replay`), 403);
  });
});

describe("Requests that are refused", () => {
  const value = "x";
  const unknownHash = `sha256:${"0".repeat(64)}`;
  const overriding = (key: string, override: object, more: object = {}) => ({
    mode: "with_overrides",
    override: { [key]: override },
    ...more,
  });
  type Refused = [status: number, param: string | null, body: object, details?: string];
  const refused: Record<string, Refused> = {
    "an unknown mode": [400, "mode", { mode: "approximately" }],
    "an unknown override key": [
      400,
      "override.llm:other:1",
      overriding("llm:other:1", llm(value)),
      "known_keys",
    ],
    "a key that is no key": [400, "override.main", overriding("main", llm(value)), "known_keys"],
    "a key that means something to the language": [
      400,
      null,
      { mode: "with_overrides", override: JSON.parse('{"__proto__": {"kind": "time", "value": 0}}') },
    ],
    "a key of something that cannot be overridden": [
      400,
      "override.say:1",
      overriding("say:1", { kind: "event_payload", value }),
      "known_keys",
    ],
    "a kind that does not fit the key": [
      400,
      "override.llm:main:1.kind",
      overriding("llm:main:1", { kind: "time", value: 0 }),
    ],
    "an unknown kind": [400, "override.llm:main:1.kind", overriding("llm:main:1", { kind: "guess", value })],
    "a hash that does not match": [
      400,
      "override.llm:main:1.sha256",
      overriding("llm:main:1", llm(value, { sha256: unknownHash })),
      "found",
    ],
    "a hash that is none": [
      400,
      "override.llm:main:1.sha256",
      overriding("llm:main:1", llm(value, { sha256: "abc" })),
    ],
    "a value and an artifact": [
      400,
      "override.llm:main:1",
      overriding("llm:main:1", llm(value, { artifact_id: "artifact_x" })),
    ],
    "neither a value nor an artifact": [
      400,
      "override.llm:main:1",
      overriding("llm:main:1", { kind: "llm_provider_response" }),
    ],
    "an artifact that does not exist": [
      404,
      null,
      overriding("llm:main:1", { kind: "llm_provider_response", artifact_id: "artifact_x" }),
    ],
    "overrides with exact": [400, "override", { mode: "exact", override: { "llm:main:1": llm(value) } }],
    "live steps with exact": [400, "override", { mode: "exact", metadata: { allow_live: ["llm"] } }],
    "live steps of an unknown kind": [
      400,
      "metadata.allow_live",
      { mode: "with_overrides", metadata: { allow_live: ["llm", "weather"] } },
    ],
    "another version of the agent with exact": [
      400,
      "metadata.agent_version",
      { metadata: { agent_version: "0.9.0" } },
    ],
    "no checkpoint": [400, "checkpoint_id", { mode: "from_checkpoint" }],
    "an unknown checkpoint": [
      400,
      "checkpoint_id",
      { mode: "from_checkpoint", checkpoint_id: "nowhere" },
      "known_checkpoints",
    ],
    "an unknown checkpoint event": [
      400,
      "checkpoint_event_id",
      { mode: "from_checkpoint", checkpoint_event_id: "event_x" },
      "known_checkpoints",
    ],
    "an override before the checkpoint": [
      400,
      "override.llm:main:1",
      { mode: "from_checkpoint", checkpoint_id: "half", override: { "llm:main:1": llm(value) } },
    ],
    "a time that is none": [
      400,
      "override.time:now:1.value",
      overriding("time:now:1", { kind: "time", value: "yesterday" }),
    ],
    "a time that only a lenient parser reads": [
      400,
      "override.time:now:1.value",
      overriding("time:now:1", { kind: "time", value: "about noon 3" }),
    ],
    "a time that is an object": [
      400,
      "override.time:now:1.value",
      overriding("time:now:1", { kind: "time", value: {} }),
    ],
    "an answer that does not fit what was asked": [
      400,
      "override.ask:2.value",
      overriding("ask:2", { kind: "event_payload", value: { n: "seven" } }),
    ],
    "an answer to all questions that fits one": [
      400,
      "override.ask.value",
      overriding("ask", { kind: "event_payload", value: "Grace" }),
    ],
    "a decision that is none": [
      400,
      "override.approve:1.value",
      overriding("approve:1", { kind: "event_payload", value: "yes" }),
    ],
    "a body that is no object": [400, null, []],
  };
  for (const [what, [status, param, body, details]] of Object.entries(refused)) {
    test(`RPL-10 a replay with ${what} is rejected with ${status} and creates nothing`, async () => {
      // Given ${what}, when a replay is asked for, then it is refused with ${status} and nothing is created.
      const tasks = await stage.taskCount();
      const error = errorOf(await stage.request(richSource.id, body), status);
      assert.equal(error.param ?? null, param);
      assert.equal(error.code, status === 404 ? "resource_not_found" : "invalid_request");
      if (details !== undefined) assert.ok(details in error.details, JSON.stringify(error.details));
      assert.equal(await stage.taskCount(), tasks);
    });
  }

  for (const value of [8.64e15, -1e14]) {
    test(`RPL-10 a replay with the unrepresentable end time ${value} is rejected and creates nothing`, async () => {
      // Given the time ${value}, which no receipt can say, when a replay is asked for with it as the time of the ending,
      // then it is refused and nothing is created.
      const tasks = await stage.taskCount();
      const request = overriding("time:completed_at", { kind: "time", value });
      const error = errorOf(await stage.request(richSource.id, request), 400);
      assert.equal(error.param, "override.time:completed_at.value");
      assert.equal(await stage.taskCount(), tasks);
    });
  }

  test("RPL-10 RPL-4 the error about a secret's wrong hash does not disclose its hash", async () => {
    // Given a secret with a hash that does not match, when it is refused, then the error does not tell its hash.
    const source = await stage.play([{ do: "secret", name: "token" }]);
    const secret = { kind: "secret_value", value: "given-secret-value", sha256: unknownHash };
    const answer = await stage.request(source.id, overriding("secret:token", secret));
    assert.equal(errorOf(answer, 400).param, "override.secret:token.sha256");
    assert.ok(!JSON.stringify(answer.body).includes(hashOf("given-secret-value")));
  });

  test("RPL-10 the error about an unknown override key lists all known keys", async () => {
    // Given an unknown override key, when the error is read, then it lists every key that is known.
    const { details } = errorOf(await stage.request(richSource.id, overriding("llm:no:1", llm(value))), 400);
    assert.deepEqual(
      details.known_keys,
      "llm:main:1 llm:main:2 mcp:files:read:1 host:env:cwd:1 step:plain:1 time:now:1 time:lunch:1 random:random:1 random:uuid:1 ask:1 ask:2 approve:1 spawn:1 checkpoint:half:1 time:created_at time:started_at time:completed_at".split(
        " ",
      ),
    );
  });

  test("RPL-10 the error about an unknown checkpoint lists all known checkpoints", async () => {
    // Given an unknown checkpoint, when the error is read, then it lists every checkpoint that is known.
    const request = { mode: "from_checkpoint", checkpoint_id: "nowhere" };
    const { details } = errorOf(await stage.request(richSource.id, request), 400);
    assert.deepEqual(details.known_checkpoints, ["ask:1", "ask:2", "approve:1", "checkpoint:half:1"]);
  });

  test("RPL-10 an override that names an event is accepted only for that event's step", async () => {
    // Given an event, when an override names it, then it is accepted for its own step and refused for another.
    const spans = (await stage.events(richSource)).filter(({ event }) => event === "span.completed");
    const eventOf = (step: string) => spans.find(({ payload }) => payload.step === step).id;
    const naming = (event_id: string) => overriding("llm:main:1", llm(value, { event_id }));
    assert.equal((await stage.request(richSource.id, naming(eventOf("llm:main:1")))).status, 202);
    const tasks = await stage.taskCount();
    const error = errorOf(await stage.request(richSource.id, naming(eventOf("llm:main:2"))), 400);
    assert.equal(error.param, "override.llm:main:1.event_id");
    assert.equal(await stage.taskCount(), tasks);
  });

  test("RPL-10 a replay of a running or waiting task is a conflict until it ends", async () => {
    // Given a task that runs or waits, when its replay is asked for, then it is a conflict until it has ended.
    const running = await stage.submit([{ do: "step", name: "held", gate: "held" }]);
    await stage.untilNoted("step:held");
    const waiting = await stage.waiting(await stage.submit([{ do: "ask", question: "Who?" }]));
    for (const { id } of [running, waiting]) {
      const tasks = await stage.taskCount();
      const error = errorOf(await stage.request(id), 409);
      assert.equal(error.code, "conflict");
      assert.ok(["WORKING", "INPUT_REQUIRED"].includes(error.details.status));
      assert.equal(await stage.taskCount(), tasks);
    }
    await stage.openGate("held");
    await client.answer(waiting.id, "Ada");
    for (const task of [running, waiting]) {
      await stage.ended(task);
      assert.equal((await stage.replay(task)).status, "COMPLETED");
    }
  });

  test("RPL-17 a replay of a replay gives the same values again, and those of its request", async () => {
    // Given a replay with an override, when it is replayed, then the override holds; one of the request comes on top.
    const replay = await stage.override(richSource, { "ask:1": { kind: "event_payload", value: "Grace" } });
    const again = await stage.replay(replay);
    assert.equal(again.parent_task_id, replay.id);
    assert.deepEqual(await stage.result(again), await stage.result(replay));
    assert.equal(again.receipt_id, replay.receipt_id);
    const more = await stage.override(replay, { "llm:main:1": llm({ text: "other" }) });
    const seen = await stage.result(more);
    assert.deepEqual([seen.name, seen.first], ["Grace", { text: "other" }]);
  });

  test("RPL-17 a replay with live steps cannot be replayed; the conflict names its source", async () => {
    const live = await stage.replay(richSource, {
      mode: "with_overrides",
      metadata: { allow_live: ["random"] },
    });
    const error = errorOf(await stage.request(live.id), 409);
    assert.equal(error.details.source_task_id, richSource.id);
  });

  test("RPL-10 a replay with a foreign task or artifact or without tasks:write is rejected", async () => {
    // Given an unknown task, a foreign task or artifact, or a key without tasks:write, when a replay is asked for, then
    // it is refused and nothing is created.
    errorOf(await stage.request("task_unknown"), 404);
    const stranger = client.as((await client.createKey({ tenant_id: "tenant_other" })).key);
    errorOf(await stranger.post(`/v1/tasks/${richSource.id}/replay`), 404);
    const reader = await client.withScopes("tasks:read", "events:read", "sessions:write");
    const tasks = await stage.taskCount();
    const error = errorOf(await reader.post(`/v1/tasks/${richSource.id}/replay`), 403);
    assert.equal(error.code, "permission_denied");
    assert.equal(await stage.taskCount(), tasks);
    errorOf(await client.call(`/v1/tasks/${richSource.id}/replay`, { method: "POST", key: null }), 401);
  });
});

describe("Crashes", () => {
  /** Killed and started again by each of these tests. */
  let own: Stage<TestProcess>;
  before(async () => {
    own = await Stage.openProcess();
  });
  after(() => own[Symbol.asyncDispose]());

  test("RPL-11 RPL-2 a replay of a source that survived a kill gives the same result", async () => {
    // Given a source that was itself killed and went on, when it is replayed, then it comes to the same.
    const task = await own.submit([
      {
        do: "all",
        branches: [
          [{ do: "step", name: "a", as: "a" }],
          [
            { do: "now", as: "b" },
            { do: "say", text: "b" },
          ],
        ],
      },
      { do: "step", name: "held", gate: "held", as: "held" },
      { do: "artifact", name: "a.txt", content: "{a} {held}" },
    ]);
    await own.untilNoted("step:held");
    await own.restart();
    await own.openGate("held");
    const source = await own.ended(task);
    assert.equal(source.status, "COMPLETED");
    const replay = await own.replay(source);
    assert.deepEqual(await own.result(replay), await own.result(source));
    await own.assertFaithful(source, replay);
  });

  const branch = (name: string) => [
    { do: "many", name, times: 400, as: name },
    { do: "say", text: `${name} {${name}}` },
    { do: "artifact", name, content: `{${name}}` },
    { do: "many", name: `${name} more`, times: 200, as: `${name}2` },
  ];
  const long: Record<string, Op[]> = {
    "a long run": ["a", "b", "c"].flatMap(branch),
    "a long run of parallel branches": [{ do: "all", branches: ["a", "b", "c"].map(branch) }],
  };
  for (const [what, ops] of Object.entries(long)) {
    test(`RPL-11 a replay of ${what} survives repeated kills without doubled or lost events`, async () => {
      // Given a replay of ${what}, when the server is killed again and again in the middle, then the replay goes on and
      // its events are neither doubled nor lost.
      const source = await own.play([{ do: "ask", question: "Ready?", as: "ready" }, ...ops], ["yes"]);
      assert.equal(source.status, "COMPLETED", JSON.stringify(source.failure));
      const { body: replay } = await own.request(source.id);
      for (const count of [1, 300, 1200]) {
        await using stream = await openStream(own.client, `/v1/tasks/${replay.id}/stream`);
        let seen = 0;
        await take(stream.frames, () => ++seen >= count);
        await own.restart();
      }
      const ended = await own.ended(replay);
      assert.equal(ended.status, "COMPLETED", JSON.stringify(ended.failure));
      await own.assertFaithful(source, ended);
      assert.deepEqual(await own.result(ended), await own.result(source));
      const unharmed = await own.replay(source);
      assert.equal(canonical(await own.receipt(unharmed)), canonical(await own.receipt(ended)));
    });
  }

  test("RPL-11 a replay with changed output ends after a kill as it does without one", async () => {
    // Given a replay that makes and says something else, when the server is killed afterwards, then it goes on as an
    // unharmed one does.
    const source = await own.play([
      { do: "llm", name: "main", gives: "recorded", as: "text" },
      { do: "say", text: "{text}" },
      { do: "artifact", name: "a.txt", content: "whole {text}", as: "whole" },
      { do: "stream", name: "s.txt", chunks: ["part {text}"], as: "streamed" },
      { do: "many", name: "long", times: 2000, as: "long" },
      { do: "say", text: "{whole} {streamed}" },
    ]);
    const request = { mode: "with_overrides", override: { "llm:main:1": llm("other") } };
    const { body: replay } = await own.request(source.id, request);
    {
      await using stream = await openStream(own.client, `/v1/tasks/${replay.id}/stream`);
      await take(stream.frames, ({ data }) => data.payload.step === "step:long:200");
    }
    await own.restart();
    const ended = await own.ended(replay);
    const unharmed = await own.replay(source, request);
    assert.deepEqual(await own.result(ended), await own.result(unharmed));
    assert.deepEqual(
      (await own.events(ended)).map(({ event, replay }) => [event, replay?.original_event_id]),
      (await own.events(unharmed))
        .map(({ event, replay }) => [event, replay?.original_event_id])
        .concat([["receipt.issued", undefined]]),
    );
    assert.equal(canonical(await own.receipt(ended)), canonical(await own.receipt(unharmed)));
  });

  test("RPL-11 RPL-6 a recorded live step is not called again after a kill, and its result is kept", async () => {
    // Given a replay with live steps, when the server is killed after the first was recorded, then that one is not
    // called again and the agent sees what it gave.
    const source = await own.play([
      { do: "step", name: "route", gives: "known", as: "route" },
      {
        do: "when",
        of: "route",
        is: "known",
        yes: [],
        no: [
          { do: "step", name: "first", as: "first" },
          { do: "say", text: "{first}" },
          { do: "step", name: "second", gate: "second", as: "second" },
        ],
      },
    ]);
    const { body: replay } = await own.request(source.id, {
      mode: "with_overrides",
      override: { "step:route:1": { kind: "tool_result", value: "other" } },
      metadata: { allow_live: ["step"] },
    });
    await own.untilNoted("step:second");
    await own.restart();
    await own.openGate("second");
    const seen = await own.result(await own.ended(replay));
    assert.equal(await own.noted("step:first"), 1);
    const spans = (await own.events(replay)).filter(({ payload }) => payload.step === "step:first:1");
    assert.deepEqual(
      spans.map(({ payload }) => payload.result.output),
      [seen.first],
    );
  });

  test("RPL-11 a replay with a secret override fails naming the secret after a server kill", async () => {
    // Given a replay that was given a secret, when the server is killed before it ended, then it fails afterwards and
    // names the secret.
    const source = await own.play([
      { do: "secret", name: "token", as: "token" },
      { do: "step", name: "route", gives: "known", as: "route" },
      { do: "when", of: "route", is: "known", yes: [], no: [{ do: "step", name: "alive", gate: "never" }] },
      { do: "return", value: "done" },
    ]);
    const { body: replay } = await own.request(source.id, {
      mode: "with_overrides",
      override: {
        "secret:token": { kind: "secret_value", value: "given-secret-value" },
        "step:route:1": { kind: "tool_result", value: "other" },
      },
      metadata: { allow_live: ["step"] },
    });
    await own.untilNoted("step:alive");
    await own.restart();
    const ended = await own.ended(replay);
    assert.equal(ended.failure?.code, "replay_dependency_unavailable");
    assert.deepEqual(ended.failure.details.dependency, { kind: "secret", key: "secret:token:1" });
  });

  test("RPL-11 refolding the log after all these kills gives the stored state", async () => {
    // Given all that these kills have left, when the log is folded again, then it comes to what is stored.
    await own.server.kill();
    await assertRebuildable(own.data);
  });
});

describe("The conversation", () => {
  test("RPL-13 replays with equal or other output leave the session's messages unchanged", async () => {
    // Given replays that say the same and something else, when the session's messages are read, then they are as before.
    const source = await stage.play(
      [
        { do: "llm", name: "main", gives: "recorded", as: "text" },
        { do: "say", text: "I say {text}." },
        { do: "ask", question: "Agreed?", as: "answer" },
        { do: "return", value: "{text} {answer}" },
      ],
      ["yes"],
    );
    const path = `/v1/sessions/${source.session_id}/messages`;
    const before = await client.listAll(path);
    assert.equal(before.length, 4);
    await stage.replay(source);
    const other = await stage.override(source, { "llm:main:1": llm("nonsense") });
    assert.equal(await stage.result(other), "nonsense yes");
    assert.deepEqual(await client.listAll(path), before);

    const later = await stage.play([{ do: "return", value: "later" }], [], source.session_id);
    const texts = await client.listAll(path);
    assert.deepEqual(texts.slice(0, before.length), before);
    assert.deepEqual([...new Set(texts.slice(before.length).map(({ task_id }) => task_id))], [later.id]);

    const fork = await client.post(`/v1/sessions/${source.session_id}/fork`);
    assert.equal(fork.status, 201, JSON.stringify(fork.body));
    const forked = await client.listAll(`/v1/sessions/${fork.body.id}/messages`);
    assert.deepEqual(
      forked.map(({ parts }) => parts),
      texts.map(({ parts }) => parts),
    );
    const truncated = await client.post(`/v1/sessions/${source.session_id}/truncate`, { keep_first: 1 });
    assert.equal(truncated.status, 200, JSON.stringify(truncated.body));
    assert.equal(
      truncated.body.removed_turn_count,
      2,
      "the answer and the later task; no replayed turn counts",
    );
    assert.deepEqual(await client.listAll(path), before.slice(0, 2));
  });
});

describe("Sent twice", () => {
  const body = { mode: "with_overrides", override: { "llm:main:1": llm("idempotent") } };

  test("RPL-14 a replay request repeated with the same key returns the same task", async () => {
    // Given a key, when a replay is asked for again with it, then the same task is answered.
    const headers = { "idempotency-key": "replay-1" };
    const first = await stage.request(richSource.id, body, headers);
    const tasks = await stage.taskCount();
    const second = await stage.request(richSource.id, body, headers);
    assert.equal(second.status, 202);
    assert.equal(second.body.id, first.body.id);
    assert.equal(second.headers.get("idempotent-replayed"), "true");
    assert.equal(await stage.taskCount(), tasks);
    const without = await stage.request(richSource.id, body);
    assert.notEqual(without.body.id, first.body.id);
  });

  test("RPL-14 concurrent replay requests with the same key all return one task", async () => {
    // Given a key, when duplicates come at the same time, then all are answered with one task.
    const tasks = await stage.taskCount();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => stage.request(richSource.id, body, { "idempotency-key": "replay-2" })),
    );
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [202]);
    assert.equal(new Set(answers.map((answer) => answer.body.id)).size, 1);
    assert.equal(await stage.taskCount(), tasks + 1);
  });

  test("RPL-14 given a key, when another replay is asked for with it, then it is a conflict", async () => {
    const headers = { "idempotency-key": "replay-3" };
    assert.equal((await stage.request(richSource.id, body, headers)).status, 202);
    const tasks = await stage.taskCount();
    errorOf(await stage.request(richSource.id, {}, headers), 409);
    assert.equal(await stage.taskCount(), tasks);
  });
});

describe("Many and long", () => {
  test("RPL-8 RPL-2 fifty concurrent replays are faithful, and equal ones have equal receipts", async () => {
    // Given one source, when fifty replays of it run at once, then each is faithful and equal ones have equal receipts.
    const requests = Array.from({ length: 50 }, (_, n) =>
      n % 2 === 0 ? {} : { mode: "with_overrides", override: { "llm:main:1": llm(`at once ${n % 10}`) } },
    );
    const notes = await stage.notes();
    const replays = await Promise.all(requests.map((request) => stage.replay(richSource, request)));
    const receipts = new Map<string, Set<string>>();
    for (const [n, replay] of replays.entries()) {
      assert.equal(replay.status, "COMPLETED", JSON.stringify(replay.failure));
      const request = JSON.stringify(requests[n]);
      const known = receipts.get(request) ?? new Set();
      receipts.set(request, known.add(canonical(await stage.receipt(replay))));
      if (n % 2 === 0) await stage.assertFaithful(richSource, replay);
    }
    assert.equal(receipts.size, 6);
    for (const [request, equal] of receipts) assert.equal(equal.size, 1, request);
    assert.deepEqual(await stage.notes(), notes);
  });

  test("RPL-1 canceling a replay within a live step ends it for good", async () => {
    // Given a replay with a live step under way, when it is canceled, then it ends there for good.
    const source = await stage.play([
      { do: "step", name: "route", gives: "known", as: "route" },
      {
        do: "when",
        of: "route",
        is: "known",
        yes: [{ do: "step", name: "recorded" }],
        no: [
          { do: "step", name: "canceled", gate: "canceled" },
          { do: "say", text: "too late" },
        ],
      },
    ]);
    const { body: replay } = await stage.request(source.id, {
      mode: "with_overrides",
      override: { "step:route:1": { kind: "tool_result", value: "other" } },
      metadata: { allow_live: ["step"] },
    });
    await stage.untilNoted("step:canceled");
    const canceled = await client.post(`/v1/tasks/${replay.id}/cancel`, { reason: "enough" });
    assert.equal(canceled.status, 200);
    assert.equal(canceled.body.status, "CANCELED");
    await stage.openGate("canceled");
    const receipt = await stage.receipt(canceled.body);
    assert.equal(receipt.lifecycle.final_state, "CANCELED");
    // A later replay has ended: whatever the canceled one still had to do, it had the time to.
    await stage.replay(source);
    const events = await stage.events(replay);
    assert.equal(events.at(-2).event, "task.canceled");
    assert.deepEqual((await client.get(`/v1/tasks/${replay.id}`)).body, canceled.body);
    assert.equal((await client.post(`/v1/receipts/${receipt.receipt_id}/verify`)).body.valid, true);
  });

  test("RPL-15 replays of a run of thousands of steps take seconds each and memory stays flat", async (context) => {
    // Given a run of thousands of steps, when it is replayed several times, then each takes seconds and memory stays
    // flat.
    await using own = await Stage.openProcess();
    const source = await own.play([{ do: "many", name: "s", times: manySteps, as: "last" }]);
    assert.equal(source.status, "COMPLETED");
    const rssMb = async () => {
      const status = await readFile(`/proc/${own.server.process.pid}/status`, "utf8");
      return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
    };
    const replayOnce = async () => {
      const replay = await own.replay(source);
      assert.equal(replay.status, "COMPLETED", JSON.stringify(replay.failure));
      const tookMs = Date.parse(replay.completed_at) - Date.parse(replay.created_at);
      context.diagnostic(`${manySteps} steps: ${tookMs} ms, ${Math.round(await rssMb())} MB`);
      assert.ok(tookMs < 20_000, `${tookMs} ms`);
      return replay;
    };
    await replayOnce();
    const before = await rssMb();
    let last: Json;
    for (let n = 0; n < 3; n++) last = await replayOnce();
    const grown = (await rssMb()) - before;
    assert.ok(grown < 100, `${grown} MB more`);
    await own.assertFaithful(source, last);
  });

  test("RPL-15 a replay that overrides thousands of steps of one name gives each the value", async () => {
    // Given a run of thousands of steps of one name, when all are overridden at once, then the replay completes and
    // each was given the value.
    const source = await stage.play([{ do: "many", name: "bulk", times: manySteps, as: "last" }]);
    const replay = await stage.override(source, { "step:bulk": { kind: "tool_result", value: 7 } });
    assert.deepEqual(await stage.result(replay), { last: 7 });
    const [completed] = (await stage.events(replay)).filter(({ event }) => event === "replay.completed");
    assert.equal(completed.payload.substituted_steps, manySteps);
    const { deltas, redactions } = await stage.receipt(replay);
    const unlisted = redactions.filter(({ field }: Json) => field === "/deltas");
    assert.ok(
      deltas.length === manySteps || unlisted.length === 1,
      `${deltas.length} deltas, and no word of the rest`,
    );
  });
});
