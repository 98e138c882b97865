/** How runs behave: across crashes, waits, versions and cancellation, in numbers, and with each other. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { defineAgent, startServer as startInProcess } from "../src/index.ts";
import { isThorough } from "./runner/seed.ts";
import { showingAgents } from "./support/agents-server.ts";
import { type Answer, Client, errorOf, isFinal, type Json, until } from "./support/client.ts";
import {
  adminKey,
  startProcess,
  startServer,
  type TestProcess,
  type TestServer,
  temporaryDirectory,
} from "./support/server.ts";

const script = fileURLToPath(new URL("./support/agents-server.ts", import.meta.url));

interface StageOptions {
  flags?: string[];
  /** Of the agents: see `agents-server.ts`. */
  variables?: Record<string, string>;
}

/** A server of the agents in `agents-server.ts` that can be started again on the same data. */
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

  static async open({ flags = [], variables = {} }: StageOptions = {}): Promise<Stage> {
    const stage = new Stage(await temporaryDirectory(), (data, given) =>
      startServer({ data, flags, config: { agents: showingAgents(given) } }),
    );
    await stage.start(variables);
    return stage;
  }

  /** In a process of its own, which a restart kills. */
  static async openProcess({ variables = {} }: StageOptions = {}): Promise<Stage<TestProcess>> {
    const stage = new Stage(await temporaryDirectory(), (data, env) => startProcess({ script, data, env }));
    await stage.start(variables);
    return stage;
  }

  get client(): Client {
    assert.ok(this.#client !== null, "the server runs");
    return this.#client;
  }

  get server(): Server {
    assert.ok(this.#server !== null, "the server runs");
    return this.#server;
  }

  async start(variables: Record<string, string> = {}): Promise<void> {
    this.#server = await this.#start(join(this.#directory.path, "data"), {
      AGENT_NOTES: this.#file("notes"),
      AGENT_GATE: this.#file("gate"),
      ...variables,
    });
    this.#client = new Client(this.#server);
  }

  async end(): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
  }

  async restart(variables: Record<string, string> = {}): Promise<void> {
    await this.end();
    await this.start(variables);
  }

  /** What the agents have really done, in order. */
  async notes(): Promise<string[]> {
    const file = this.#file("notes");
    return existsSync(file) ? (await readFile(file, "utf8")).trimEnd().split("\n") : [];
  }

  async untilNoted(line: string): Promise<void> {
    await until(
      () => this.notes(),
      (notes) => notes.includes(line),
    );
  }

  async openGate(): Promise<void> {
    await writeFile(this.#file("gate"), "");
  }

  async newSession(): Promise<string> {
    return (await this.client.createSession()).id;
  }

  /** Submits a task for one of the agents, in a session of its own unless told otherwise. */
  async submit(agent: string, input: object = {}, sessionId?: string): Promise<Json> {
    const { status, body } = await this.client.post("/v1/tasks", {
      session_id: sessionId ?? (await this.newSession()),
      persona_id: `persona_${agent}`,
      input,
    });
    assert.equal(status, 202, JSON.stringify(body));
    return body;
  }

  async rehearse(...lines: string[]): Promise<Json> {
    return await this.client.rehearse(await this.newSession(), ...lines);
  }

  /** The task, once it waits for a person, a time or another task. */
  async waiting(task: Json): Promise<Json> {
    const found = await this.client.untilTask(task.id, (seen) => isFinal(seen) || seen.waiting_for !== null);
    assert.ok(!isFinal(found), JSON.stringify(found));
    return found;
  }

  async ended(task: Json): Promise<Json> {
    return await this.client.untilTask(task.id, isFinal);
  }

  async completed(task: Json): Promise<Json> {
    const found = await this.ended(task);
    assert.equal(found.status, "COMPLETED", JSON.stringify(found.failure));
    return found;
  }

  async failed(task: Json): Promise<Json> {
    const found = await this.ended(task);
    assert.equal(found.status, "FAILED");
    return found.failure;
  }

  async answer(task: Json, text: string): Promise<void> {
    const { status, body } = await this.client.answer(task.id, text);
    assert.equal(status, 201, JSON.stringify(body));
  }

  async respond(task: Json, approved: boolean): Promise<Answer> {
    const { permission_request_id: id } = task.waiting_for;
    return await this.client.post(`/v1/permission-requests/${id}/respond`, { approved, reason: "because" });
  }

  /** What a completed task returned. */
  async resultOf(task: Json): Promise<Json> {
    const { outcome_id } = await this.completed(task);
    const { body } = await this.client.get(`/v1/outcomes/${outcome_id}`);
    const [part] = body.messages[0]?.parts ?? [];
    return part?.type === "json" ? part.value : part?.text;
  }

  async eventsOf(task: Json): Promise<Json[]> {
    return await this.client.listAll(`/v1/tasks/${task.id}/events`);
  }

  /** The last event of the task itself. */
  async lastOf(task: Json): Promise<Json> {
    return (await this.eventsOf(task)).findLast(({ event }) => event.startsWith("task."));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
    await this.#directory[Symbol.asyncDispose]();
  }

  #file(name: string): string {
    return join(this.#directory.path, name);
  }
}

function count(notes: readonly string[], line: string): number {
  return notes.filter((note) => note === line).length;
}

/** The texts of a session's messages from the agent. */
async function saidIn(client: Client, sessionId: string): Promise<string[]> {
  const messages = await client.listAll(`/v1/sessions/${sessionId}/messages`);
  return messages.filter(({ role }) => role === "agent").map(({ parts }) => parts[0].text);
}

describe("recovery", () => {
  test("RUN-1 CRA-1 a crash keeps the recorded values of a waiting run and repeats no step", async () => {
    // Given a run with recorded values that waits, when the server is killed and started again, then the values are the
    // same and no step ran twice.
    await using stage = await Stage.openProcess();
    const task = await stage.submit("recorder");
    await stage.waiting(task);
    const [said] = await saidIn(stage.client, task.session_id);
    await stage.restart();
    await stage.answer(task, "yes");
    const { answer, second, ...recorded } = await stage.resultOf(task);

    assert.deepEqual(recorded, JSON.parse(said ?? "null"));
    assert.equal(recorded.failed, "no_luck: This went wrong.");
    assert.equal(recorded.first.large.length, 25_000);
    assert.notEqual(recorded.uuids[0], recorded.uuids[1]);
    assert.equal(answer, "yes");
    assert.equal(typeof second, "number");
    assert.deepEqual(await stage.notes(), ["failing", "first", "second"]);
    assert.equal((await saidIn(stage.client, task.session_id)).filter((text) => text === said).length, 1);
    assert.equal((await stage.client.listAll(`/v1/artifacts?task_id=${task.id}`)).length, 1);
  });

  test("RUN-1 CRA-1 after a crash only the interrupted branch repeats its step", async () => {
    // Given parallel branches of which one is in a step, when the server is killed, then only that step runs again and
    // the others keep their results.
    await using stage = await Stage.openProcess();
    const task = await stage.submit("parallel");
    const recordedSteps = async () =>
      (await stage.eventsOf(task))
        .filter(({ event }) => event === "span.completed")
        .map(({ payload }) => payload);
    const before = await until(recordedSteps, (steps) => steps.length === 4);
    await stage.untilNoted("b1");
    await stage.end();
    await stage.openGate();
    await stage.start();
    const result = await stage.resultOf(task);

    const notes = await stage.notes();
    assert.deepEqual(
      ["a1", "a2", "c1", "c2", "b1", "b2"].map((name) => count(notes, name)),
      [1, 1, 1, 1, 2, 1],
    );
    const outputOf = (name: string) => before.find((payload) => payload.name === name).result.output;
    assert.deepEqual(
      [result[0], result[2]],
      [
        [outputOf("a1"), outputOf("a2")],
        [outputOf("c1"), outputOf("c2")],
      ],
    );
  });

  test("RUN-1 RUN-7 a run that caught an expiry or denial and asked again replays and completes", async () => {
    // Given an agent that catches an expired question or a denial and asks again, when the second answer comes, then it
    // goes the same way again and completes.
    await using stage = await Stage.open();
    const denied = await stage.submit("persistent", { kind: "approve" });
    assert.equal((await stage.respond(await stage.waiting(denied), false)).status, 200);
    const expired = await stage.submit("persistent", { kind: "ask", ms: 50 });
    for (const task of [denied, expired]) {
      await stage.client.untilTask(task.id, (seen) => seen.waiting_for?.description === "And now?");
      await stage.answer(task, "here");
      assert.equal(await stage.resultOf(task), "here");
    }
  });

  test("RUN-1 a replayed race of two recorded steps has the same winner", async () => {
    // Given an agent that goes on with the first of two steps, when both are recorded and it runs again, then the same
    // one is first.
    await using stage = await Stage.open();
    const task = await stage.submit("racer", { kind: "steps" });
    await stage.waiting(task);
    await stage.openGate();
    await until(
      async () => (await stage.eventsOf(task)).filter(({ event }) => event === "span.completed").length,
      (steps) => steps === 2,
    );
    await stage.restart();
    await stage.answer(task, "on");
    assert.equal(await stage.resultOf(task), "fast");
  });

  test("RUN-1 a replayed race keeps the answer first after the timer has elapsed too", async () => {
    // Given an agent that goes on with an answer before a timer, when the timer has also elapsed and it runs again, then
    // the answer is still first.
    await using stage = await Stage.open();
    const task = await stage.submit("racer", { kind: "ask", ms: 1500 });
    await stage.waiting(task);
    await stage.answer(task, "me");
    await until(
      () => stage.eventsOf(task),
      (events) => events.some(({ event, payload }) => event === "span.completed" && payload.kind === "sleep"),
    );
    await stage.restart();
    await stage.answer(task, "on");
    assert.equal(await stage.resultOf(task), "answer me");
  });

  test("RUN-2 changed code under one version fails with nondeterministic_run naming both steps", async () => {
    // Given runs recorded by other code of the same version, when they are run again, then each fails with
    // nondeterministic_run, names both steps, and runs nothing more.
    await using stage = await Stage.open();
    const changes = {
      "renames a step": ["step:fetch:1", "step:download:1"],
      "renames and catches": ["step:fetch:1", "step:download:1"],
      "adds a step": ["step:fetch:1", "step:prepare:1"],
      "ends at once": ["step:fetch:1", "the end"],
      "says something else": ["Fetched.", "Got it."],
      "asks something else": ["Go on?", "Continue?"],
    };
    const tasks = new Map<string, Json>();
    for (const change of Object.keys(changes)) tasks.set(change, await stage.submit("changing", { change }));
    const unchanged = await stage.submit("changing", { change: "nothing" });
    for (const task of [...tasks.values(), unchanged]) await stage.waiting(task);
    const before = await stage.notes();
    assert.equal(count(before, "fetch"), 7);
    await stage.restart({ AGENT_CODE: "changed" });

    for (const [change, [recorded = "", attempted = ""]] of Object.entries(changes)) {
      const task = tasks.get(change);
      await stage.answer(task, "yes");
      const failure = await stage.failed(task);
      assert.equal(failure.code, "nondeterministic_run", `${change}: ${failure.message}`);
      assert.ok(failure.details.recorded.includes(recorded), failure.details.recorded);
      assert.ok(failure.details.attempted.includes(attempted), failure.details.attempted);
      assert.ok(failure.message.includes(failure.details.recorded), failure.message);
      assert.ok(failure.message.includes(failure.details.attempted), failure.message);
    }
    await stage.answer(unchanged, "yes");
    assert.equal(await stage.resultOf(unchanged), "done");
    assert.deepEqual(await stage.notes(), before);
  });

  test("RUN-3 a task started by version 1 continues on it while new tasks get version 2", async () => {
    // Given a task started by version 1, when version 2 is loaded beside it, then the task goes on with 1 and new tasks
    // get 2.
    await using stage = await Stage.open({ variables: { AGENT_VERSIONS: "1.0.0" } });
    const old = await stage.submit("versioned");
    assert.equal((await stage.waiting(old)).assigned_agent_id, "versioned@1.0.0");
    await stage.restart({ AGENT_VERSIONS: "1.0.0,2.0.0" });
    const young = await stage.submit("versioned");
    await stage.waiting(young);
    for (const task of [old, young]) await stage.answer(task, "yes");

    assert.equal(await stage.resultOf(old), "done by 1.0.0");
    assert.equal(await stage.resultOf(young), "done by 2.0.0");
    assert.equal((await stage.ended(young)).assigned_agent_id, "versioned@2.0.0");
  });

  test("RUN-3 an answered task whose version is missing waits, is logged and resumes with it", async () => {
    // Given a task whose version is not loaded, when it is answered, then it waits, a log line says so, and it goes on
    // once the version is back.
    await using stage = await Stage.open({ variables: { AGENT_VERSIONS: "1.0.0" } });
    const task = await stage.submit("versioned");
    await stage.waiting(task);
    await stage.restart({ AGENT_VERSIONS: "2.0.0" });
    await stage.answer(task, "yes");
    await until(
      async () => stage.server.output(),
      (output) => output.includes("versioned@1.0.0"),
    );
    const other = await stage.submit("versioned");
    await stage.waiting(other);
    await stage.answer(other, "yes");
    assert.equal(await stage.resultOf(other), "done by 2.0.0");
    assert.equal((await stage.client.get(`/v1/tasks/${task.id}`)).body.status, "WORKING");

    await stage.restart({ AGENT_VERSIONS: "1.0.0,2.0.0" });
    assert.equal(await stage.resultOf(task), "done by 1.0.0");
  });

  for (const beside of ["a sleep", "a child"]) {
    test(`RUN-3 CRA-1 a run beside ${beside} answered without its version resumes once it is loaded`, async () => {
      // Given a run that waits for a person beside ${beside}, when it is answered while its version is not loaded, then
      // the next server that has it goes on at once.
      await using stage = await Stage.openProcess({ variables: { AGENT_VERSIONS: "1.0.0" } });
      const task = await stage.submit("versioned", { beside });
      await until(
        () => stage.eventsOf(task),
        (events) => events.some(({ payload }) => payload.parked !== undefined),
      );
      await stage.restart({ AGENT_VERSIONS: "2.0.0" });
      await stage.answer(task, "yes");
      await stage.restart({ AGENT_VERSIONS: "1.0.0,2.0.0" });
      assert.equal(await stage.resultOf(task), "done by 1.0.0");
    });
  }
});

const parkedCount = isThorough ? 2000 : 500;
const parkedBytes = 400_000;
/** Of what the runs would hold if they stayed in memory. */
const parkedGrowthMbMax = ((parkedCount * parkedBytes) / 1e6) * 0.7;

describe("waiting runs", () => {
  test("RUN-4 the server does not hold waiting runs in memory, and answered ones complete", async () => {
    // Given many runs that hold 400 KB each, when all wait for an answer, then the server does not hold them, and those
    // that are answered complete.
    await using stage = await Stage.openProcess();
    const sessionId = await stage.newSession();
    const submit = () => stage.submit("holder", { bytes: parkedBytes }, sessionId);
    for (const task of await inParallel(50, submit)) await stage.waiting(task);
    const before = await residentMb(stage.server);
    const tasks = await inParallel(parkedCount, submit);
    for (const task of tasks) await stage.waiting(task);
    const after = await residentMb(stage.server);
    assert.ok(after - before < parkedGrowthMbMax, `grew from ${before} MB to ${after} MB`);

    const answered = tasks.filter((_, n) => n % 40 === 0);
    for (const task of answered) await stage.answer(task, "yes");
    for (const task of answered) assert.equal(await stage.resultOf(task), `yes ${parkedBytes}`);
  });

  for (const [beside, sleepMs] of Object.entries({
    "for an answer": 0,
    "for an answer beside a short sleep": 100,
  })) {
    test(`RUN-4 runs that wait ${beside} are garbage collected and complete once answered`, async () => {
      // Given runs that wait ${beside}, when memory is collected, then nothing holds what their functions hold, and the
      // answered runs complete.
      await assertCollected(sleepMs);
    });
  }

  test("RUN-7 a waiting task says what it waits for and until when", async () => {
    // Given tasks that wait for a person, an approval, a time and a child, when they are read, then each says in words
    // what it waits for and until when.
    await using stage = await Stage.open();
    const inDays = (task: Json) => (Date.parse(task.waiting_for.until) - Date.now()) / 86_400_000;
    const asking = await stage.rehearse("ask Which colour?");
    assert.equal(asking.status, "INPUT_REQUIRED");
    assert.equal(asking.waiting_for.description, "Which colour?");
    assert.ok(inDays(asking) > 6.9 && inDays(asking) < 7.1, "a deadline although nobody set one");

    const requesting = await stage.rehearse("approve Delete everything");
    assert.equal(requesting.status, "AUTH_REQUIRED");
    assert.equal(requesting.waiting_for.description, "Delete everything");
    assert.ok(inDays(requesting) > 6.9);

    const sleeping = await stage.waiting(
      await stage.client.submit(await stage.newSession(), `sleep ${30 * 86_400_000}`, {
        persona_id: "persona_rehearsal",
      }),
    );
    assert.equal(sleeping.status, "WORKING");
    assert.match(sleeping.waiting_for.description, /^sleeps until \d{4}-/);
    assert.ok(inDays(sleeping) > 29.9, "longer than a timer can run");

    const directing = await stage.waiting(await stage.submit("director", { scripts: ["ask Which colour?"] }));
    const [child] = await childrenOf(stage.client, directing);
    assert.equal(directing.status, "WORKING");
    assert.ok(directing.waiting_for.description.includes(child.id), directing.waiting_for.description);

    await stage.answer(asking, "blue");
    assert.equal((await stage.completed(asking)).waiting_for, null);
  });

  test("RUN-7 an unanswered deadline fails with deadline_exceeded and rejects late answers", async () => {
    // Given questions and requests with deadlines, when nobody answers in time, then the tasks fail with
    // deadline_exceeded, and late answers are refused.
    await using stage = await Stage.open();
    const inputs = ["ask", "approve"].flatMap((kind) => [50, 1200].map((ms) => ({ kind, ms })));
    const tasks = await Promise.all(inputs.map((input) => stage.submit("hurried", input)));
    const requesting = await stage.waiting(tasks[3]);
    for (const task of tasks) {
      const failure = await stage.failed(task);
      assert.equal(failure.code, "deadline_exceeded");
      assert.match(failure.message, /Anybody\?|Launch it/);
      assert.equal((await stage.ended(task)).waiting_for, null);
    }
    const late = await stage.client.answer(tasks[1].id, "here");
    assert.equal(errorOf(late, late.status).code, "invalid_state_transition");
    assert.equal(errorOf(await stage.respond(requesting, true), 409).code, "conflict");
  });

  test("RUN-7 a deadline that passes while no server runs fails the task at the next start", async () => {
    // Given a question whose deadline passes while no server runs, when one starts, then the task fails with
    // deadline_exceeded.
    await using stage = await Stage.openProcess();
    const { waiting_for, ...task } = await stage.waiting(
      await stage.submit("hurried", { kind: "ask", ms: 1100 }),
    );
    await stage.end();
    await until(
      async () => Date.now(),
      (now) => now > Date.parse(waiting_for.until),
    );
    await stage.start();
    assert.equal((await stage.failed(task)).code, "deadline_exceeded");
  });

  test("RUN-7 a valid answer in time completes the task despite its deadline", async () => {
    // Given a question with a schema and a deadline, when a fitting answer comes in time, then the deadline does no
    // harm.
    await using stage = await Stage.open();
    const task = await stage.submit("hurried", { kind: "ask", ms: 60_000 });
    await stage.waiting(task);
    await stage.answer(task, "here");
    assert.equal(await stage.resultOf(task), "here");
  });

  test("RUN-7 a sleeping run wakes at its time and not before, despite a crash", async () => {
    // Given a run that sleeps for longer than a second, when the server is killed and started again, then it wakes at
    // its time, not before.
    await using stage = await Stage.openProcess();
    const asleep = await stage.waiting(
      await stage.client.submit(await stage.newSession(), "sleep 1500\nreturn awake", {
        persona_id: "persona_rehearsal",
      }),
    );
    await stage.restart();
    const awake = await stage.completed(asleep);
    assert.ok(Date.parse(awake.completed_at) >= Date.parse(asleep.waiting_for.until), JSON.stringify(awake));
    const slept = Date.parse(asleep.waiting_for.until) - Date.parse(asleep.started_at);
    assert.ok(slept >= 1490, `slept ${slept} ms`);
  });
});

const keeperCount = 50;

/** Runs of an agent whose function holds an object while it waits; nothing may hold the object after a while. */
async function assertCollected(sleepMs: number): Promise<void> {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const held: WeakRef<object>[] = [];
  const keeper = defineAgent({
    name: "keeper",
    version: "1.0.0",
    async run(ctx) {
      const precious = { taskId: ctx.taskId, bytes: new Uint8Array(1000) };
      held.push(new WeakRef(precious));
      if (sleepMs > 0) void ctx.sleep(sleepMs);
      const answer = await ctx.ask("Still there?");
      return `${answer} ${precious.taskId}`;
    },
  });
  await using directory = await temporaryDirectory();
  const server = await startInProcess({
    port: 0,
    dataDirectory: directory.path,
    apiKey: adminKey,
    agents: [keeper],
  });
  try {
    const client = new Client(server);
    const { id: sessionId } = await client.createSession();
    const tasks = await inParallel(keeperCount, () =>
      client.submit(sessionId, "x", { persona_id: "persona_keeper" }),
    );
    for (const task of tasks) await client.untilTask(task.id, ({ status }) => status === "INPUT_REQUIRED");
    assert.equal(held.length, keeperCount);
    await until(
      async () => {
        collect();
        return held.filter((ref) => ref.deref() !== undefined).length;
      },
      (left) => left === 0,
    );
    for (const task of tasks) await client.answer(task.id, "yes");
    for (const task of tasks) {
      assert.equal((await client.untilTask(task.id, isFinal)).status, "COMPLETED");
    }
    assert.equal(held.length, 2 * keeperCount, "each ran to the question, and again to the end");
  } finally {
    await server.stop(1000);
  }
}

describe("many runs", () => {
  test("RUN-5 with room for two runs at most two of twenty tasks are in a step, and two are", async () => {
    // Given room for two runs, when twenty tasks work, then never more than two are inside a step, and two are.
    await using stage = await Stage.open({ flags: ["--concurrency", "2"] });
    const tasks = await inParallel(20, async () => stage.submit("busy", { text: "x" }));
    await until(
      () => stage.notes(),
      (notes) => notes.length === 2,
    );
    await stage.openGate();
    for (const task of tasks) await stage.completed(task);
    let inside = 0;
    const levels = (await stage.notes()).map((line) => {
      inside += line.startsWith("enter") ? 1 : -1;
      return inside;
    });
    assert.equal(levels.length, 40);
    assert.equal(Math.max(...levels), 2);
  });

  test("RUN-5 a session's task runs next despite 50 queued tasks of another session", async () => {
    // Given a session with 50 queued tasks, when another session submits one, then that one runs next and does not wait
    // for the 50.
    await using stage = await Stage.open({ flags: ["--concurrency", "2"] });
    const crowded = await stage.newSession();
    const crowd = await inParallel(50, () => stage.submit("busy", { text: "crowd" }, crowded));
    await until(
      () => stage.notes(),
      (notes) => notes.length === 2,
    );
    const single = await stage.submit("busy", { text: "single" });
    await stage.openGate();
    for (const task of [...crowd, single]) await stage.completed(task);

    const entered = (await stage.notes()).filter((line) => line.startsWith("enter"));
    assert.equal(entered.length, 51);
    assert.ok(entered.indexOf("enter single") <= 4, `it was number ${entered.indexOf("enter single") + 1}`);
  });

  test("RUN-6 canceling a parent cancels and aborts all descendants and records nothing after", async () => {
    // Given a running parent with a child and a grandchild, when the parent is canceled, then all are canceled, their
    // steps hear it through the signal, and nothing of them is recorded after.
    await using stage = await Stage.open();
    const parent = await stage.submit("patient", { level: 2 });
    await until(
      () => stage.notes(),
      (notes) => notes.length === 3,
    );
    const [child] = await childrenOf(stage.client, parent);
    const [grandchild] = await childrenOf(stage.client, child);
    const family = [parent, child, grandchild];
    const { status, body } = await stage.client.post(`/v1/tasks/${parent.id}/cancel`, { reason: "enough" });
    assert.deepEqual([status, body.status], [200, "CANCELED"]);

    for (const { id } of family) {
      await stage.untilNoted(`aborted ${id} true`);
      assert.equal((await stage.client.get(`/v1/tasks/${id}`)).body.status, "CANCELED");
    }
    for (const task of family) assert.equal((await stage.lastOf(task)).event, "task.canceled");
    assert.ok(!(await stage.notes()).some((line) => line.startsWith("went on")));
    // Somebody else still finds room, and a restart finds nothing to do for the canceled.
    await stage.restart();
    await stage.completed(await stage.rehearse("return fine"));
    for (const task of family) assert.equal((await stage.lastOf(task)).event, "task.canceled");
    assert.equal((await stage.notes()).filter((line) => line.startsWith("working")).length, 3);
  });

  test("RUN-6 the signal does not abort when a run only leaves memory to wait", async () => {
    // Given an agent that listens to its signal, when its run only leaves memory to wait, then the signal does not
    // abort.
    await using stage = await Stage.open();
    const task = await stage.submit("listener");
    await stage.waiting(task);
    await stage.answer(task, "yes");
    assert.equal(await stage.resultOf(task), "yes");
    assert.deepEqual(await stage.notes(), []);
  });

  test("RUN-6 canceling a task that waits for a person also cancels its waiting child", async () => {
    // Given a task that waits for a person and has a waiting child, when it is canceled, then both are.
    await using stage = await Stage.open();
    const directing = await stage.waiting(await stage.submit("director", { scripts: ["ask Which colour?"] }));
    const [child] = await childrenOf(stage.client, directing);
    await stage.waiting(child);
    await stage.client.post(`/v1/tasks/${directing.id}/cancel`);
    for (const task of [directing, child]) assert.equal((await stage.ended(task)).status, "CANCELED");
  });
});

describe("results", () => {
  test("TSK-10 a result that JSON cannot express fails the task with an outcome", async () => {
    // Given an agent whose result cannot be written as JSON, when it returns, then the task fails and has an outcome.
    await using stage = await Stage.open();
    const task = await stage.ended(await stage.submit("circular"));
    assert.equal(task.status, "FAILED");
    assert.equal((await stage.client.get(`/v1/outcomes/${task.outcome_id}`)).body.status, "FAILED");
  });
});

describe("children", () => {
  test("RUN-8 a parent gets the results of children that complete, fail or reject", async () => {
    // Given children that complete, fail and reject, when the parent waits for them, then it gets the result of each, in
    // the same session.
    await using stage = await Stage.open();
    const scripts = ["say hello\nreturn fine", "fail badly", "reject not mine", "checkpoint x"];
    const parent = await stage.submit("director", { scripts });
    const results = await stage.resultOf(parent);
    const children = (await childrenOf(stage.client, parent)).toReversed();

    assert.deepEqual(
      results.map((result: Json) => [result.status, result.output]),
      [
        ["SUCCEEDED", "fine"],
        ["FAILED", null],
        ["FAILED", null],
        ["SUCCEEDED", null],
      ],
    );
    assert.match(results[1].summary, /badly/);
    assert.deepEqual(
      results.map((result: Json) => result.task_id),
      children.map((child) => child.id),
    );
    for (const child of children) {
      assert.deepEqual([child.session_id, child.parent_task_id], [parent.session_id, parent.id]);
    }
  });

  test("RUN-8 CRA-1 a parent gets its child's result despite crashes around the answer", async () => {
    // Given a child that asks a question, when the server is killed before and after the answer, then the parent gets
    // the child's result.
    await using stage = await Stage.openProcess();
    const scripts = ["ask Which colour?\nreturn one", "approve It\nreturn two", "return three"];
    const parent = await stage.waiting(await stage.submit("director", { scripts }));
    const [third, second, first] = await childrenOf(stage.client, parent);
    await stage.completed(third);
    await stage.waiting(first);
    const requesting = await stage.waiting(second);
    await stage.restart();
    await stage.answer(first, "blue");
    await stage.restart();
    await stage.completed(first);
    assert.ok(!isFinal((await stage.client.get(`/v1/tasks/${parent.id}`)).body));
    assert.equal((await stage.respond(requesting, true)).status, 200);

    const results = await stage.resultOf(parent);
    assert.deepEqual(
      results.map((result: Json) => result.output),
      ["one", "two", "three"],
    );
    assert.equal((await childrenOf(stage.client, parent)).length, 3);
  });

  test("RUN-8 spawning a child with an unknown persona fails the parent with that reason", async () => {
    // Given a parent that names a persona which does not exist, when it spawns a child, then the parent fails and says
    // so.
    await using stage = await Stage.open();
    const parent = await stage.submit("director", { scripts: ["return x"], persona: "persona_unknown" });
    const failure = await stage.failed(parent);
    assert.match(failure.message, /persona_unknown/);
    assert.deepEqual(await childrenOf(stage.client, parent), []);
  });

  test("RUN-8 a parent is told that its child was canceled and goes on", async () => {
    // Given a child that is canceled by itself, when its parent waits for it, then the parent is told and goes on.
    await using stage = await Stage.open();
    const parent = await stage.waiting(await stage.submit("director", { scripts: ["ask Which colour?"] }));
    const [child] = await childrenOf(stage.client, parent);
    await stage.waiting(child);
    await stage.client.post(`/v1/tasks/${child.id}/cancel`, { reason: "no longer needed" });
    const [result] = await stage.resultOf(parent);
    assert.equal(result.status, "CANCELED");
    assert.match(result.summary, /no longer needed/);
  });
});

describe("the rehearsal agent", () => {
  test("RUN-9 given a script of every instruction, when it is played, then each does what it says", async () => {
    await using stage = await Stage.open();
    const { client } = stage;
    const asking = await stage.rehearse(
      "say hello there",
      "",
      "  step roll  ",
      "sleep 10",
      "artifact notes.txt some text",
      "stream 3",
      "checkpoint here",
      "ask Which colour?",
      "approve Paint it",
      "return all done",
      "fail never reached",
    );
    assert.equal(asking.status, "INPUT_REQUIRED");
    await stage.answer(asking, "blue");
    const requesting = await client.untilTask(asking.id, ({ status }) => status === "AUTH_REQUIRED");
    await stage.respond(requesting, true);
    await stage.completed(asking);

    const said = await saidIn(client, asking.session_id);
    assert.match(said[1] ?? "", /^Step roll gave 0\.\d+/);
    assert.deepEqual(said.toSpliced(1, 1), [
      "hello there",
      "You said: blue",
      "Approved: Paint it",
      "all done",
    ]);
    const artifacts = (await client.listAll(`/v1/artifacts?task_id=${asking.id}`)).toReversed();
    const contents = await Promise.all(
      artifacts.map(async ({ id }) => (await client.get(`/v1/artifacts/${id}/content`)).body),
    );
    assert.deepEqual(contents, ["some text", "chunk 1 of 3\nchunk 2 of 3\nchunk 3 of 3\n"]);
    const spans = (await stage.eventsOf(asking)).filter(({ event }) => event === "span.completed");
    assert.deepEqual(
      spans.map(({ payload }) => payload.kind),
      ["step", "sleep", "checkpoint"],
    );
  });

  test("RUN-9 scripts bring a task into every state of the table in turn", async () => {
    // Given scripts that end in every way, when they are played, then the task is in every state of the table in turn.
    await using stage = await Stage.open();
    const { client } = stage;
    const denied = await stage.rehearse("approve It");
    assert.equal(denied.status, "AUTH_REQUIRED");
    await stage.respond(denied, false);
    assert.deepEqual(
      await Promise.all(
        [denied, await stage.rehearse("fail badly"), await stage.rehearse("reject not mine")].map(
          async (task) => {
            const { code, message } = await stage.failed(task);
            return `${code}: ${message}`;
          },
        ),
      ),
      [
        'approval_denied: Approval of "It" was denied: because',
        "rehearsed_failure: badly",
        "rejected: not mine",
      ],
    );
    const asking = await stage.rehearse("ask Which colour?");
    await client.post(`/v1/tasks/${asking.id}/cancel`);
    const submitted = await client.submit(await stage.newSession(), "return", {
      persona_id: "persona_rehearsal",
    });
    const returned = await stage.completed(submitted);
    const statuses = [denied, asking, returned].map(async (task) =>
      (await stage.eventsOf(task))
        .filter(({ event }) => event === "task.status_changed")
        .flatMap(({ payload }) => [payload.from, payload.to]),
    );
    assert.deepEqual(
      new Set((await Promise.all(statuses)).flat()),
      new Set(["SUBMITTED", "WORKING", "INPUT_REQUIRED", "AUTH_REQUIRED", "COMPLETED", "FAILED", "CANCELED"]),
    );
  });

  test("RUN-9 a script with a mistake fails the task naming the line before any line runs", async () => {
    // Given scripts with a mistake, when they are played, then the task fails naming the line, and no line before it
    // ran.
    await using stage = await Stage.open();
    const mistakes = {
      "dance wildly": "unknown_instruction",
      constructor: "unknown_instruction",
      Say: "unknown_instruction",
      say: "bad_instruction",
      ask: "bad_instruction",
      sleep: "bad_instruction",
      "sleep -1": "bad_instruction",
      "sleep 1.5": "bad_instruction",
      "sleep soon": "bad_instruction",
      "sleep Infinity": "bad_instruction",
      "sleep 2592000001": "bad_instruction",
      "stream 10001": "bad_instruction",
      "stream 1 2": "bad_instruction",
    };
    const sessionId = await stage.newSession();
    for (const [line, code] of Object.entries(mistakes)) {
      const task = await stage.client.rehearse(sessionId, "say one", "", line, "say two");
      assert.equal(task.status, "FAILED", line);
      assert.equal(task.failure.code, code, line);
      assert.match(task.failure.message, /^Line 3: /);
    }
    const unknown = await stage.client.rehearse(sessionId, "dance wildly");
    assert.match(unknown.failure.message, /"dance".*say, ask, approve/);
    assert.deepEqual(await saidIn(stage.client, sessionId), []);
  });
});

async function childrenOf(client: Client, parent: Json): Promise<Json[]> {
  const tasks = await client.listAll(`/v1/tasks?session_id=${parent.session_id}`);
  return tasks.filter((task) => task.parent_task_id === parent.id);
}

const clientsAtOnce = 16;

/** Makes so many, some at a time. */
async function inParallel<T>(total: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  let left = total;
  const work = async () => {
    while (left-- > 0) made.push(await make());
  };
  await Promise.all(Array.from({ length: clientsAtOnce }, work));
  return made;
}

async function residentMb({ process: child }: TestProcess): Promise<number> {
  const status = await readFile(`/proc/${child.pid}/status`, "utf8");
  return Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024);
}
