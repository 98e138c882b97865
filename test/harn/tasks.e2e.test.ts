/** Tasks: every state, every move between states, and everything a person can do to them. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Answer, Client, errorOf, isFinal, type Json, userMessage } from "../support/client.ts";
import { config } from "../support/more-agents-server.ts";
import { startProcess, startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

let server: TestServer;
let client: Client;

before(async () => {
  server = await startServer({ config });
  client = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

/** The protocol's table. */
const transitions: Record<string, string[]> = {
  SUBMITTED: ["WORKING", "CANCELED", "FAILED"],
  WORKING: ["INPUT_REQUIRED", "AUTH_REQUIRED", "COMPLETED", "FAILED", "CANCELED"],
  INPUT_REQUIRED: ["WORKING", "FAILED", "CANCELED"],
  AUTH_REQUIRED: ["WORKING", "FAILED", "CANCELED"],
};

const read = async (id: string): Promise<Json> => (await client.get(`/v1/tasks/${id}`)).body;
const cancel = (id: string, body: object = {}) => client.post(`/v1/tasks/${id}/cancel`, body);
const eventsOf = (id: string) => client.listAll(`/v1/tasks/${id}/events`);
const endingOf = async (id: string) =>
  (await eventsOf(id)).findLast(({ event }) => event.startsWith("task."));

/** A task of a session of its own that plays the script and has ended or waits. */
async function play(...lines: string[]): Promise<Json> {
  return await client.rehearse((await client.createSession()).id, ...lines);
}

/** A task that is in the middle of a long sleep. */
async function sleeping(): Promise<Json> {
  const { id } = await client.createSession({ persona_id: "persona_rehearsal" });
  const task = await client.submit(id, "sleep 600000\nsay too late");
  return await client.untilTask(task.id, ({ waiting_for }) => waiting_for !== null);
}

/** For every state, a task in it. */
const inState: Record<string, () => Promise<Json>> = {
  WORKING: sleeping,
  INPUT_REQUIRED: () => play("ask who are you?"),
  AUTH_REQUIRED: () => play("approve ship"),
  COMPLETED: () => play("return done"),
  FAILED: () => play("fail on purpose"),
  CANCELED: async () => (await cancel((await play("ask who are you?")).id)).body,
};

async function taskIn(state: string): Promise<Json> {
  const make = inState[state];
  assert.ok(make, `no way into ${state}`);
  return await make();
}

function sendMessage(taskId: string, kind: string, parts: object[]): Promise<Answer> {
  return client.post(`/v1/tasks/${taskId}/messages`, { kind, message: { role: "user", parts } });
}

const text = (value: string) => ({ type: "text", text: value, visibility: "public" });
const json = (value: unknown) => ({ type: "json", value, visibility: "public" });

describe("Submitting", () => {
  test("TSK-1 submitting a task returns 202 and SUBMITTED", async () => {
    // Given a session, when a task is submitted, then it is answered with 202 and SUBMITTED.
    const session = await client.createSession();
    const { status, body } = await client.post("/v1/tasks", {
      session_id: session.id,
      input: userMessage("hello"),
    });
    assert.equal(status, 202);
    assert.equal(body.object, "task");
    assert.equal(body.status, "SUBMITTED");
    assert.equal((await client.untilTask(body.id, isFinal)).status, "COMPLETED");
  });

  test("TSK-1 given a session, when a task is submitted under its path, then it belongs to it", async () => {
    const { id } = await client.createSession();
    const { status, body } = await client.post(`/v1/sessions/${id}/tasks`, { input: userMessage("hello") });
    assert.equal(status, 202);
    assert.equal(body.session_id, id);
  });

  test("TSK-1 an accepted task survives a killed server and runs to its end after the restart", async () => {
    // Given a task that was just accepted, when the server is killed and started again, then the task is there and goes
    // on to its end.
    await using data = await temporaryDirectory();
    let accepted: Json;
    {
      await using first = await startProcess({ data: data.path });
      const before = new Client(first);
      accepted = await before.submit((await before.createSession()).id, "hello");
      await first.kill();
    }
    await using second = await startServer({ data: data.path });
    const task = await new Client(second).untilTask(accepted.id, isFinal);
    assert.equal(task.status, "COMPLETED");
    assert.deepEqual(task.input, accepted.input);
  });

  test("TSK-1 given Prefer: wait, when a task is submitted, then the answer is the ended task", async () => {
    const { id } = await client.createSession();
    const body = { session_id: id, input: userMessage("hello") };
    const answer = await client.post("/v1/tasks", body, { prefer: "wait=30" });
    assert.equal(answer.status, 202);
    assert.equal(answer.body.status, "COMPLETED");
    assert.equal(answer.headers.get("preference-applied"), "wait=30");
    assert.deepEqual(await read(answer.body.id), answer.body);
  });

  test("TSK-1 a task that outlasts Prefer: wait is returned in its current state", async () => {
    // Given a task that outlasts Prefer: wait, when it is submitted, then the answer is the task as it is by then.
    const { id } = await client.createSession({ persona_id: "persona_rehearsal" });
    const body = { session_id: id, input: userMessage("sleep 600000") };
    const answer = await client.post("/v1/tasks", body, { prefer: "respond-async, wait=1" });
    assert.equal(answer.status, 202);
    assert.equal(answer.body.status, "WORKING");
  });

  test("TSK-2 a submitted task returns its session, workspace, status, input and creator", async () => {
    // Given a submitted task, when it is read, then it names its session, workspace, status, input and creator.
    const session = await client.createSession();
    const alice = client.as((await client.createKey({ actor: "alice" })).key);
    const { id } = await alice.submit(session.id, "hello", { metadata: { a: 1 } });
    const task = await client.untilTask(id, isFinal);
    assert.equal(task.session_id, session.id);
    assert.equal(task.workspace_id, session.workspace_id);
    assert.equal(task.status, "COMPLETED");
    assert.deepEqual(task.input.parts, [text("hello")]);
    assert.equal(task.input.role, "user");
    assert.equal(task.created_by, "alice");
    assert.equal(task.persona_id, "persona_default");
    assert.equal(task.branch_id, session.branch_id);
    assert.equal(task.assigned_agent_id, "echo@1.0.0");
    assert.deepEqual(task.metadata, { a: 1 });
  });

  test("TSK-2 given a structured input, when the task is read, then its input is that object", async () => {
    const { id } = await client.createSession();
    const input = { order: 7, lines: [{ sku: "a" }], role: "user", text: "" };
    const task = await client.submit(id, "", { input });
    assert.deepEqual(task.input, input);
    await client.untilTask(task.id, isFinal);
    const [answer] = await client.listAll(`/v1/sessions/${id}/messages`);
    assert.deepEqual(answer.parts, [json(input)]);
  });

  const refused: Record<string, [status: number, param: string | null, change: object]> = {
    "no session": [400, "session_id", { session_id: undefined }],
    "an unknown session": [404, null, { session_id: "unknown" }],
    "an unknown persona": [404, null, { persona_id: "unknown" }],
    "an unknown branch": [404, null, { branch_id: "unknown" }],
    "an unknown parent": [404, null, { parent_task_id: "unknown" }],
    "another workspace than the session's": [400, "workspace_id", { workspace_id: "workspace_other" }],
  };
  for (const [what, [status, param, change]] of Object.entries(refused)) {
    test(`TSK-2 submitting a task with ${what} returns ${status} and creates no task`, async () => {
      // Given ${what}, when a task is submitted, then it is refused with ${status} and there is no task.
      const { id } = await client.createSession();
      const answer = await client.post("/v1/tasks", {
        session_id: id,
        input: userMessage("hello"),
        ...change,
      });
      assert.equal(errorOf(answer, status).param, param);
      assert.deepEqual(await client.listAll(`/v1/sessions/${id}/tasks`), []);
      assert.deepEqual(await client.texts(id), []);
    });
  }

  test("TSK-2 different sessions in path and body are rejected", async () => {
    // Given a session in the path and another in the body, when a task is submitted, then it is refused.
    const [one, other] = [await client.createSession(), await client.createSession()];
    const body = { session_id: other.id, input: userMessage("hello") };
    assert.equal(errorOf(await client.post(`/v1/sessions/${one.id}/tasks`, body), 400).param, "session_id");
  });
});

describe("Moving between states", () => {
  const stories: Record<string, () => Promise<Json>> = {
    completes: () => play("say hello", "return done"),
    fails: () => play("fail on purpose"),
    "is rejected": () => play("reject not my job"),
    "cannot read its script": () => play("dance"),
    "is canceled while it sleeps": async () => (await cancel((await sleeping()).id)).body,
    "is canceled while it asks": () => taskIn("CANCELED"),
    "asks, hears and completes": async () => {
      const { id } = await play("ask one?", "ask two?");
      await client.answer(id, "1");
      await client.untilTask(id, ({ waiting_for }) => waiting_for?.description === "two?");
      await client.answer(id, "2");
      return await client.untilTask(id, isFinal);
    },
    "is approved": () => decided({ approved: true }),
    "is denied": () => decided({ approved: false }),
  };

  async function decided(body: object): Promise<Json> {
    const { id, waiting_for } = await play("approve ship");
    await client.post(`/v1/permission-requests/${waiting_for.permission_request_id}/respond`, body);
    return await client.untilTask(id, isFinal);
  }

  for (const [what, story] of Object.entries(stories)) {
    test(`TSK-3 each transition of a task that ${what} is allowed and follows the last`, async () => {
      // Given a task that ${what}, when its moves are read, then each starts where the last ended and is in the table.
      const { id, status } = await story();
      let at = "SUBMITTED";
      const moves = (await eventsOf(id)).filter(({ event }) => event === "task.status_changed");
      assert.ok(moves.length > 0);
      for (const { payload } of moves) {
        assert.equal(payload.from, at);
        assert.ok(transitions[at]?.includes(payload.to), `${at} to ${payload.to}`);
        at = payload.to;
      }
      assert.equal(at, status);
    });

    test(`TSK-4 each transition of a task that ${what} is committed with its event`, async () => {
      // Given a task that ${what}, when its events are read, then beside each move stands the event that names it, from
      // the same commit.
      const { id } = await story();
      const log = await client.listAll("/v1/events");
      const names: Record<string, string[]> = {
        WORKING: ["task.started", "user.input_submitted", "user.tool_confirmation"],
        INPUT_REQUIRED: ["task.input_required"],
        AUTH_REQUIRED: ["task.auth_required"],
        COMPLETED: ["task.completed"],
        FAILED: ["task.failed"],
        CANCELED: ["task.canceled"],
      };
      const moves = log.flatMap((event, n) =>
        event.event === "task.status_changed" && event.resource.id === id ? [n] : [],
      );
      assert.ok(moves.length > 0);
      for (const n of moves) {
        const { payload, created_at } = log[n];
        const named = [log[n - 1], log[n + 1]].filter(
          (event) => event?.resource.id === id && names[payload.to]?.includes(event.event),
        );
        assert.equal(named.length, 1, `${payload.from} to ${payload.to}`);
        assert.equal(named[0].created_at, created_at);
      }
    });
  }

  for (const state of ["COMPLETED", "FAILED", "CANCELED"]) {
    test(`TSK-5 a ${state} task ignores cancel and messages and records nothing`, async () => {
      // Given a ${state} task, when everything is tried on it, then it stays as it is and nothing is recorded.
      const task = await taskIn(state);
      assert.equal(task.status, state);
      const events = await eventsOf(task.id);
      await cancel(task.id);
      await client.answer(task.id, "hello");
      await sendMessage(task.id, "tool_confirmation", [json({ approved: true })]);
      await sendMessage(task.id, "interrupt", [text("stop")]);
      assert.deepEqual(await read(task.id), task);
      assert.deepEqual(await eventsOf(task.id), events);
    });
  }

  test("TSK-6 a task canceled while asleep stays canceled and silent past its wake time", async () => {
    // Given a sleeping task that is canceled, when its time to wake has passed, then it is still canceled and has said
    // nothing.
    const { id } = await client.createSession({ persona_id: "persona_rehearsal" });
    const task = await client.submit(id, "sleep 1000\nreturn too late");
    const { status, body } = await cancel(task.id);
    assert.equal(status, 200);
    assert.equal(body.status, "CANCELED");
    assert.equal((await play("sleep 1300")).status, "COMPLETED");
    assert.deepEqual(await read(task.id), body);
    assert.equal((await endingOf(task.id)).event, "task.canceled");
    assert.deepEqual(await client.texts(id), ["sleep 1000\nreturn too late"]);
  });

  test("TSK-6 when end and cancel race, the first recorded one stands", async () => {
    // Given tasks that end and are canceled at the same time, when all is over, then each kept what was recorded first.
    const { id } = await client.createSession({ persona_id: "persona_rehearsal" });
    const tasks = await Promise.all(
      Array.from({ length: 20 }, (_, n) => client.submit(id, `sleep ${n}\nsay x`)),
    );
    const answers = await Promise.all(tasks.map((task) => cancel(task.id)));
    for (const [n, { status }] of answers.entries()) {
      const task = await client.untilTask(tasks[n].id, isFinal);
      assert.equal(task.status, status === 200 ? "CANCELED" : "COMPLETED");
      const endings = (await eventsOf(task.id)).filter(({ event }) =>
        /^task\.(completed|failed|canceled)$/.test(event),
      );
      assert.equal(endings.length, 1);
    }
  });

  for (const state of ["WORKING", "INPUT_REQUIRED", "AUTH_REQUIRED"]) {
    test(`TSK-7 given a ${state} task, when it is canceled, then it is CANCELED with the reason`, async () => {
      const task = await taskIn(state);
      assert.equal(task.status, state);
      const { status, body } = await cancel(task.id, { reason: "changed my mind" });
      assert.equal(status, 200);
      assert.equal(body.status, "CANCELED");
      assert.equal(body.waiting_for, null);
      const canceled = await endingOf(task.id);
      assert.equal(canceled.event, "task.canceled");
      assert.equal(canceled.payload.reason, "changed my mind");
    });
  }

  test("TSK-7 given a task, when it is canceled without a body, then it is canceled", async () => {
    const { id } = await play("ask who are you?");
    const { status, body } = await client.call(`/v1/tasks/${id}/cancel`, { method: "POST" });
    assert.equal(status, 200);
    assert.equal(body.status, "CANCELED");
  });

  for (const state of ["COMPLETED", "FAILED"]) {
    test(`TSK-7 given a ${state} task, when it is canceled, then it is a conflict that says so`, async () => {
      const { id } = await taskIn(state);
      const error = errorOf(await cancel(id), 409);
      assert.equal(error.code, "conflict");
      assert.deepEqual(error.details, { task_id: id, status: state });
    });
  }

  test("TSK-7 given a canceled task, when it is canceled again, then the answer is the same task", async () => {
    const { id } = await play("ask who are you?");
    const first = await cancel(id, { reason: "one" });
    const second = await cancel(id, { reason: "two" });
    assert.equal(second.status, 200);
    assert.deepEqual(second.body, first.body);
  });

  const endings: Record<string, [at: string, not: string]> = {
    COMPLETED: ["completed_at", "canceled_at"],
    FAILED: ["completed_at", "canceled_at"],
    CANCELED: ["canceled_at", "completed_at"],
  };
  for (const [state, [at, not]] of Object.entries(endings)) {
    test(`TSK-9 a ${state} task has its end time in ${at} and null in ${not}`, async () => {
      // Given a ${state} task, when it is read, then ${at} is when it ended and ${not} is null.
      const task = await taskIn(state);
      assert.equal(task[at], (await endingOf(task.id)).created_at);
      assert.equal(task[not], null);
      assert.ok(task.started_at >= task.created_at && task[at] >= task.started_at);
    });
  }

  for (const state of ["WORKING", "INPUT_REQUIRED", "AUTH_REQUIRED"]) {
    test(`TSK-9 TSK-10 a ${state} task has no end time and no outcome`, async () => {
      // Given a ${state} task, when it is read, then it has neither an end nor an outcome.
      const task = await taskIn(state);
      const { status, completed_at, canceled_at, outcome_id, failure } = task;
      assert.deepEqual(
        { status, completed_at, canceled_at, outcome_id, failure },
        { status: state, completed_at: null, canceled_at: null, outcome_id: null, failure: null },
      );
      assert.deepEqual(await client.listAll(`/v1/outcomes?task_id=${task.id}`), []);
    });
  }

  for (const [state, status] of Object.entries({
    COMPLETED: "SUCCEEDED",
    FAILED: "FAILED",
    CANCELED: "CANCELED",
  })) {
    test(`TSK-10 a ${state} task has exactly one outcome, with status ${status}`, async () => {
      // Given a ${state} task, when outcomes are listed, then it has exactly one and it is ${status}.
      const task = await taskIn(state);
      const outcomes = await client.listAll(`/v1/outcomes?task_id=${task.id}`);
      assert.equal(outcomes.length, 1);
      const [outcome] = outcomes;
      assert.equal(outcome.id, task.outcome_id);
      assert.equal(outcome.task_id, task.id);
      assert.equal(outcome.status, status);
      assert.notEqual(outcome.summary, "");
      assert.deepEqual(outcome.failure, task.failure);
      assert.deepEqual((await client.get(`/v1/outcomes/${task.outcome_id}`)).body, outcome);
    });
  }

  test("TSK-10 a text that a task returns is its outcome's summary and message", async () => {
    // Given a task that returns a text, when its outcome is read, then the text is its summary and its message.
    const { outcome_id } = await play("say working", "return the result");
    const { body } = await client.get(`/v1/outcomes/${outcome_id}`);
    assert.equal(body.summary, "the result");
    assert.deepEqual(
      body.messages.map(({ parts }: Json) => parts),
      [[text("the result")]],
    );
  });

  const failures: Record<string, [line: string, code: string, message: RegExp]> = {
    fails: ["fail the disk is full", "rehearsed_failure", /^the disk is full$/],
    "rejects its task": ["reject not my job", "rejected", /^not my job$/],
    "is given an unknown instruction": ["say hi\ndance", "unknown_instruction", /Line 2.*"dance"/],
  };
  for (const [what, [script, code, message]] of Object.entries(failures)) {
    test(`TSK-10 given an agent that ${what}, when the task is read, then it and its outcome say why`, async () => {
      const task = await play(...script.split("\n"));
      assert.equal(task.status, "FAILED");
      assert.equal(task.failure.code, code);
      assert.match(task.failure.message, message);
      assert.deepEqual((await client.get(`/v1/outcomes/${task.outcome_id}`)).body.failure, task.failure);
    });
  }
});

describe("Questions", () => {
  test("TSK-8 a task that asks is INPUT_REQUIRED with what it waits for and until when", async () => {
    // Given a task that asks, when it is read, then it is INPUT_REQUIRED and says what it waits for and until when.
    const { status, waiting_for } = await play("ask who are you?");
    assert.equal(status, "INPUT_REQUIRED");
    const { until, ...rest } = waiting_for;
    assert.deepEqual(rest, {
      kind: "input",
      description: "who are you?",
      permission_request_id: null,
      schema: null,
    });
    assert.ok(Date.parse(until) > Date.now());
  });

  test("TSK-8 an answer becomes a message of the task and reaches the agent", async () => {
    // Given a task that asks, when it is answered, then the answer is a message of the task and the agent hears it.
    const { id, session_id } = await play("ask who are you?");
    const { status, body } = await client.answer(id, "Ada");
    assert.equal(status, 201);
    assert.deepEqual([body.object, body.task_id, body.role], ["message", id, "user"]);
    const task = await client.untilTask(id, isFinal);
    assert.equal(task.status, "COMPLETED");
    assert.deepEqual(await client.texts(session_id), ["ask who are you?", "Ada", "You said: Ada"]);
    const answered = (await eventsOf(id)).find(({ event }) => event === "user.input_submitted");
    assert.equal(answered.payload.message_id, body.id);
  });

  test("TSK-8 of two simultaneous answers one is accepted, the other is a conflict", async () => {
    // Given a task that asks, when two answers arrive at once, then one is taken and the other is a conflict.
    const { id, session_id } = await play("ask who are you?");
    const answers = await Promise.all([client.answer(id, "Ada"), client.answer(id, "Bob")]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409]);
    await client.untilTask(id, isFinal);
    const taken = answers[0]?.status === 201 ? "Ada" : "Bob";
    assert.deepEqual(await client.texts(session_id), ["ask who are you?", taken, `You said: ${taken}`]);
  });

  for (const state of ["COMPLETED", "FAILED", "CANCELED"]) {
    for (const kind of ["input", "interrupt", "tool_confirmation"]) {
      test(`TSK-8 a message of kind ${kind} to a ${state} task is an invalid state transition`, async () => {
        // Given a ${state} task, when a message of kind ${kind} is sent to it, then it is an invalid state transition.
        const { id } = await taskIn(state);
        const error = errorOf(await sendMessage(id, kind, [json({ approved: true })]), 400);
        assert.equal(error.code, "invalid_state_transition");
        assert.deepEqual(error.details, { task_id: id, status: state });
      });
    }
  }

  const misfits: [state: string, kind: string][] = [
    ["WORKING", "input"],
    ["WORKING", "tool_confirmation"],
    ["AUTH_REQUIRED", "input"],
    ["INPUT_REQUIRED", "tool_confirmation"],
  ];
  for (const [state, kind] of misfits) {
    test(`TSK-8 a message of kind ${kind} to a ${state} task is a conflict and records nothing`, async () => {
      // Given a ${state} task, when a message of kind ${kind} is sent to it, then it is a conflict and nothing is
      // recorded.
      const { id } = await taskIn(state);
      const events = await eventsOf(id);
      assert.equal(errorOf(await sendMessage(id, kind, [json({ approved: true })]), 409).code, "conflict");
      assert.equal((await read(id)).status, state);
      assert.deepEqual(await eventsOf(id), events);
    });
  }

  for (const state of ["WORKING", "INPUT_REQUIRED", "AUTH_REQUIRED"]) {
    test(`TSK-8 an interrupt to a ${state} task enters the transcript, the task stays ${state}`, async () => {
      // Given a ${state} task, when an interrupt is sent to it, then it is in the transcript and the task stays
      // ${state}.
      const { id, session_id } = await taskIn(state);
      const { status, body } = await sendMessage(id, "interrupt", [text("hurry")]);
      assert.equal(status, 201);
      assert.equal(body.task_id, id);
      assert.equal((await read(id)).status, state);
      assert.equal((await client.texts(session_id)).at(-1), "hurry");
    });
  }

  for (const kind of ["answer", "", null, undefined]) {
    test(`TSK-8 a message of kind ${JSON.stringify(kind)} is rejected and the task still waits`, async () => {
      // Given the kind ${JSON.stringify(kind)}, when a message is sent to a waiting task, then it is refused and the
      // task still waits.
      const { id } = await play("ask who are you?");
      const message = userMessage("Ada");
      const error = errorOf(await client.post(`/v1/tasks/${id}/messages`, { kind, message }), 400);
      assert.equal(error.code, "invalid_request");
      assert.equal(error.param, "kind");
      assert.equal((await read(id)).status, "INPUT_REQUIRED");
    });
  }

  async function askForCount(): Promise<Json> {
    const { id } = await client.createSession({ persona_id: "persona_counter" });
    const task = await client.submit(id, "go");
    return await client.untilTask(task.id, ({ status }) => status === "INPUT_REQUIRED");
  }

  test("TSK-8 a task that asks for JSON shows the schema of the answer", async () => {
    // Given a task that asks for JSON, when it is read, then it shows the schema of the answer.
    const { waiting_for } = await askForCount();
    assert.equal(waiting_for.schema.type, "object");
    assert.deepEqual(waiting_for.schema.required, ["count"]);
  });

  for (const [what, part] of Object.entries({
    "a json part": json({ count: 3 }),
    "text that is JSON": text('{"count":3}'),
  })) {
    test(`TSK-8 a question for JSON accepts ${what} and gives the agent the value`, async () => {
      // Given a task that asks for JSON, when it is answered with ${what}, then the agent gets the value.
      const { id, session_id } = await askForCount();
      assert.equal((await sendMessage(id, "input", [part])).status, 201);
      assert.equal((await client.untilTask(id, isFinal)).status, "COMPLETED");
      const [last] = (await client.listAll(`/v1/sessions/${session_id}/messages`)).slice(-1);
      assert.deepEqual(last.parts, [json({ count: 3 })]);
    });
  }

  const badAnswers = {
    "a value out of range": json({ count: 11 }),
    "a missing field": json({}),
    "a value of another type": json("three"),
    "text that is not JSON": text("three"),
  };
  for (const [what, part] of Object.entries(badAnswers)) {
    test(`TSK-8 a question for JSON rejects ${what} and the task still waits`, async () => {
      // Given a task that asks for JSON, when it is answered with ${what}, then the answer is refused and the task still
      // waits.
      const { id } = await askForCount();
      const events = await eventsOf(id);
      const error = errorOf(await sendMessage(id, "input", [part]), 400);
      assert.equal(error.code, "invalid_request");
      assert.match(error.param, /^message\.parts/);
      assert.equal((await read(id)).status, "INPUT_REQUIRED");
      assert.deepEqual(await eventsOf(id), events);
    });
  }
});

describe("Permission", () => {
  async function asking(): Promise<{ task: Json; respond: (body: object) => Promise<Answer> }> {
    const task = await play("approve ship it");
    const path = `/v1/permission-requests/${task.waiting_for.permission_request_id}/respond`;
    return { task, respond: (body) => client.post(path, body) };
  }

  test("TSK-11 a task that asks for permission is AUTH_REQUIRED and names a pending request", async () => {
    // Given a task that asks for permission, when it is read, then it is AUTH_REQUIRED and names a pending request.
    const { task } = await asking();
    assert.equal(task.status, "AUTH_REQUIRED");
    assert.equal(task.waiting_for.kind, "approval");
    const [request] = await client.listAll(`/v1/tasks/${task.id}/permission-requests`);
    assert.equal(request.id, task.waiting_for.permission_request_id);
    assert.equal(request.object, "permission_request");
    assert.equal(request.status, "pending");
    assert.equal(request.action, "ship it");
    assert.equal(request.response, null);
    assert.deepEqual([request.task_id, request.session_id], [task.id, task.session_id]);
  });

  const yes = [
    { approved: true },
    { decision: "approved" },
    { outcome: "approved" },
    { outcome: "approve" },
    { outcome: "selected" },
  ];
  for (const body of yes) {
    test(`TSK-11 the answer ${JSON.stringify(body)} approves the request and the task continues`, async () => {
      // Given a pending request, when it is answered ${JSON.stringify(body)}, then the task goes on and is told yes.
      const { task, respond } = await asking();
      const { status, body: request } = await respond(body);
      assert.equal(status, 200);
      assert.equal(request.status, "approved");
      assert.equal(request.response.approved, true);
      assert.equal((await client.untilTask(task.id, isFinal)).status, "COMPLETED");
      assert.equal((await client.texts(task.session_id)).at(-1), "Approved: ship it");
    });
  }

  const no = [
    { approved: false },
    { decision: "denied" },
    { outcome: "denied" },
    { outcome: "deny" },
    { outcome: "rejected" },
  ];
  for (const body of no) {
    test(`TSK-11 the answer ${JSON.stringify(body)} denies the request and the task continues`, async () => {
      // Given a pending request, when it is answered ${JSON.stringify(body)}, then the task goes on and is told no.
      const { task, respond } = await asking();
      const { status, body: request } = await respond({ ...body, reason: "too risky" });
      assert.equal(status, 200);
      assert.equal(request.status, "denied");
      assert.equal(request.response.reason, "too risky");
      const { status: end, failure } = await client.untilTask(task.id, isFinal);
      assert.equal(end, "FAILED");
      assert.equal(failure.code, "approval_denied");
      assert.match(failure.message, /too risky/);
    });
  }

  test("TSK-11 a decided request returns who decided and the note", async () => {
    // Given a decision with a note, when the request is read, then it says who decided and why.
    const { task, respond } = await asking();
    await respond({ decision: "approved", note: "looks good", reviewer: "Ada" });
    const [request] = await client.listAll(`/v1/tasks/${task.id}/permission-requests`);
    const { approved, reason, reviewer, decided_by } = request.response;
    assert.deepEqual(
      { approved, reason, reviewer, decided_by },
      { approved: true, reason: "looks good", reviewer: "Ada", decided_by: "admin" },
    );
  });

  test("TSK-11 repeating the same decision returns the same answer and records nothing", async () => {
    // Given an answered request, when the same decision is sent again, then the answer is the same and nothing is
    // recorded.
    const { task, respond } = await asking();
    const first = await respond({ approved: true });
    await client.untilTask(task.id, isFinal);
    const events = await eventsOf(task.id);
    const second = await respond({ approved: true, reason: "again" });
    assert.equal(second.status, 200);
    assert.deepEqual(second.body, first.body);
    assert.deepEqual(await eventsOf(task.id), events);
  });

  test("TSK-11 the opposite decision on an answered request is a conflict, the first stands", async () => {
    // Given an answered request, when the other decision is sent, then it is a conflict and the first one stands.
    const { task, respond } = await asking();
    await respond({ approved: true });
    assert.equal(errorOf(await respond({ approved: false }), 409).code, "conflict");
    assert.equal((await client.untilTask(task.id, isFinal)).status, "COMPLETED");
  });

  test("TSK-11 of two simultaneous opposite decisions one is accepted, the other is a conflict", async () => {
    // Given a pending request, when both decisions arrive at once, then one is taken and the other is a conflict.
    const { task, respond } = await asking();
    const answers = await Promise.all([respond({ approved: true }), respond({ approved: false })]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
    const { status } = await client.untilTask(task.id, isFinal);
    assert.equal(status, answers[0]?.status === 200 ? "COMPLETED" : "FAILED");
  });

  const unclear = {
    "no decision": [{}, "approved"],
    "an unknown decision": [{ decision: "maybe" }, "decision"],
    "an unknown outcome": [{ outcome: "maybe" }, "outcome"],
    "a decision that is not a boolean": [{ approved: "yes" }, "approved"],
  } as const;
  for (const [what, [body, param]] of Object.entries(unclear)) {
    test(`TSK-11 an answer with ${what} is rejected and the task still waits`, async () => {
      // Given ${what}, when a request is answered with it, then it is refused and the task still waits.
      const { task, respond } = await asking();
      const error = errorOf(await respond(body), 400);
      assert.equal(error.code, "invalid_request");
      assert.equal(error.param, param);
      assert.equal((await read(task.id)).status, "AUTH_REQUIRED");
    });
  }

  test("TSK-11 an answer with contradictory fields is rejected and the task still waits", async () => {
    // Given fields that contradict each other, when a request is answered with them, then it is refused and the task
    // still waits.
    const { task, respond } = await asking();
    errorOf(await respond({ approved: true, decision: "denied" }), 400);
    assert.equal((await read(task.id)).status, "AUTH_REQUIRED");
  });

  for (const approved of [true, false]) {
    test(`TSK-11 a tool confirmation with approved ${approved} answers the pending request`, async () => {
      // Given a pending request, when a tool confirmation with approved ${approved} is sent to the task, then it is
      // answered by that.
      const { task } = await asking();
      const { status, body } = await sendMessage(task.id, "tool_confirmation", [json({ approved })]);
      assert.equal(status, 201);
      assert.equal(body.object, "message");
      const { status: end } = await client.untilTask(task.id, isFinal);
      assert.equal(end, approved ? "COMPLETED" : "FAILED");
      const [request] = await client.listAll(`/v1/tasks/${task.id}/permission-requests`);
      assert.equal(request.status, approved ? "approved" : "denied");
    });
  }

  for (const [what, part] of Object.entries({
    "text only": text("yes"),
    "no boolean": json({ approved: "yes" }),
    "an array": json([true]),
  })) {
    test(`TSK-11 a tool confirmation with ${what} is rejected and the task still waits`, async () => {
      // Given a tool confirmation with ${what}, when it is sent, then it is refused and the task still waits.
      const { task } = await asking();
      const error = errorOf(await sendMessage(task.id, "tool_confirmation", [part]), 400);
      assert.equal(error.param, "message.parts");
      assert.equal((await read(task.id)).status, "AUTH_REQUIRED");
    });
  }

  test("TSK-11 answering the permission request of a canceled task is a conflict", async () => {
    // Given a canceled task, when its permission request is answered, then it is a conflict.
    const { task, respond } = await asking();
    await cancel(task.id);
    assert.equal(errorOf(await respond({ approved: true }), 409).code, "conflict");
    assert.equal((await read(task.id)).status, "CANCELED");
  });

  test("TSK-11 a task with two permission requests continues after each answer", async () => {
    // Given two requests of one task, when each is answered, then the task goes through both.
    const task = await play("approve one", "approve two");
    for (const action of ["one", "two"]) {
      const { waiting_for } = await client.untilTask(
        task.id,
        (now) => now.waiting_for?.description === action,
      );
      await client.post(`/v1/permission-requests/${waiting_for.permission_request_id}/respond`, {
        approved: true,
      });
    }
    assert.equal((await client.untilTask(task.id, isFinal)).status, "COMPLETED");
    assert.deepEqual((await client.texts(task.session_id)).slice(1), ["Approved: one", "Approved: two"]);
  });
});
