/** Directives: what a shell is told to show and to do, what comes back, and what people decide on the way. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Json, userMessage } from "../support/client.ts";
import { config } from "../support/openharness-server.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { openSession } from "../support/socket.ts";
import {
  continued,
  directiveOf,
  directivesOf,
  errorOf,
  everything,
  message,
  outcome,
  ownOf,
  runOf,
  Shell,
  textsOf,
  typesOf,
} from "./wire.ts";

let server: TestServer;
let shell: Shell;

before(async () => {
  server = await startServer({ config });
  shell = new Shell(server);
});
after(() => server[Symbol.asyncDispose]());

const able = { capabilities: everything };

/** Has an agent give directives to a shell that reports. */
function direct(directives: object[], more: object = {}, by = shell): Promise<Json> {
  return by.say({ directives, ...more }, { task_hint: { sop_id: "director" } }, able);
}

/** What the agent was given for each directive, as it returns it. */
const givenTo = (answered: Json): Json[] => directivesOf(answered).at(-1).payload.data;

const press = { action_type: "simulate_action", payload: { macro: "cmd+c", target: "cell_B2" } };

async function stepsOf(taskId: string): Promise<Json[]> {
  const events = await shell.client.listAll(`/v1/tasks/${taskId}/events`);
  return events
    .filter(({ event }) => event.startsWith("span."))
    .map(({ event, payload }) => ({ event, ...payload }));
}

async function personaWith(body: object): Promise<string> {
  const answer = await shell.client.post("/v1/personas", {
    name: `Persona ${Math.random()}`,
    version: "1",
    entry_workflow: "director",
    description: "For a test.",
    autonomy_tier: "act_auto",
    receipt_policy: "required",
    ...body,
  });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body.id;
}

describe("§10 what is shown", () => {
  test("OPH-27 what an agent says and makes is reported in the order of emission", async () => {
    // Given an agent that says and makes things, when it is told, then it is in the order of emission.
    const answered = await shell.play([
      "say one",
      "artifact notes.txt some words",
      "say two",
      "stream 2",
      "return three",
    ]);
    assert.deepEqual(textsOf(answered), ["one", "notes.txt", "two", "stream-2.txt", "three"]);
    for (const { payload } of directivesOf(answered)) assert.equal(payload.message, payload.text);
    const [reference] = directivesOf(answered)[1].payload.attachments;
    const { body } = await shell.client.get(`/v1/artifacts/${reference.ref_id}`);
    assert.deepEqual(
      [reference.filename, reference.mime_type, reference.size_bytes],
      [body.name, body.mime_type, "some words".length],
    );
    const ids = directivesOf(answered).map((directive) => ownOf(directive).directive_id);
    assert.equal(new Set(ids).size, 5);
  });

  test("OPH-27, OPH-24 the shell gets an overlong output once and in order over responses", async () => {
    // Given an agent that says more than a response holds, when the shell comes back for the rest, then it hears
    // everything once, in order.
    const said = Array.from({ length: 1200 }, (_, n) => `line ${n}`);
    const begun = await shell.play([...said.map((line) => `say ${line}`), "return done"]);
    const heard = [...textsOf(begun)];
    let last = begun;
    while (last.response.continuation !== undefined) {
      last = await shell.resume(last);
      assert.ok(directivesOf(last).length <= 502);
      heard.push(...textsOf(last));
    }
    assert.deepEqual(heard, [...said, "done"]);
  });

  test("OPH-27, OPH-28 display-only directives arrive unchanged and do not block the run", async () => {
    // Given directives that are only shown, when they are given, then the run does not wait, and they are as the agent
    // says.
    const card = {
      action_type: "render_ui",
      priority: "high",
      execution: "parallel",
      risk_tier: "safe",
      deadline_ms: 5000,
      payload: { component: "DataChart", data: [1, 2] },
      extensions: { "com.example": { theme: "dark" } },
    };
    const answered = await direct([card, { action_type: "noop" }, { ...press, expects_outcome: false }]);
    const [shown, , pressed] = directivesOf(answered);
    const { extensions, ...rest } = shown;
    assert.deepEqual({ ...rest, extensions: { "com.example": extensions["com.example"] } }, card);
    assert.equal(ownOf(pressed).expects_outcome, undefined);
    assert.deepEqual(
      givenTo(answered).map(({ status }) => status),
      ["shown", "shown", "shown"],
    );
  });

  test("OPH-34 each directive of a non-core type has a fallback_message", async () => {
    // Given types that are not core, when they are given, then each has a fallback_message.
    const answered = await direct([
      { action_type: "com.example.dashboard", expects_outcome: false },
      { action_type: "com.example.own", expects_outcome: false, payload: { fallback_message: "own words" } },
      { action_type: "com.example.said", expects_outcome: false, payload: { message: "in words" } },
      { action_type: "simulate_action", expects_outcome: false },
    ]);
    const fallbacks = directivesOf(answered).map(({ payload }) => payload?.fallback_message);
    assert.deepEqual(fallbacks.slice(1, 4), ["own words", "in words", undefined]);
    assert.match(fallbacks[0], /com\.example\.dashboard/);
  });
});

describe("§10 what is done", () => {
  test("OPH-28, OPH-29 a reported outcome reaches the waiting agent as a step of the run", async () => {
    // Given a directive that is waited for, when the shell reports, then the agent has the outcome, and it is a step of
    // the run.
    const terms = {
      priority: "critical",
      risk_tier: "dangerous",
      requires_user_approval: true,
      deadline_ms: 5000,
    };
    const told = await direct([{ ...press, ...terms }]);
    const directive = directiveOf(told, "simulate_action");
    const { extensions: _, ...rest } = directive;
    assert.deepEqual(rest, { ...press, ...terms });
    assert.equal(ownOf(directive).expects_outcome, true);
    const done = await shell.resume(told, {
      outcomes: [outcome(directive, "completed", { result: { pressed: true } })],
    });
    assert.deepEqual(givenTo(done), [{ status: "completed", result: { pressed: true }, error: null }]);
    const steps = await stepsOf(runOf(told));
    const ended = steps.filter(({ step }) => step === "host:shell.simulate_action:1");
    assert.deepEqual(
      ended.map(({ event }) => event),
      ["span.started", "span.completed"],
    );
    const { receipt_id } = done.response.extensions["com.bridle"];
    const receipt = (await shell.client.get(`/v1/receipts/${receipt_id}`)).body;
    assert.ok(JSON.stringify(receipt).includes("host:shell.simulate_action:1"));
  });

  test("OPH-29 agents get every kind of outcome as the shell reports it", async () => {
    // Given every way that it can go, when shells report it, then that is what agents are given.
    const error = { code: "unknown_action_type", message: "What is that?" };
    for (const [status, more] of [
      ["declined", {}],
      ["failed", { error }],
      ["skipped", { error }],
      ["expired", {}],
      ["completed", { result: [1, null] }],
    ] as const) {
      const told = await direct([press]);
      const done = await shell.resume(told, { outcomes: [outcome(directivesOf(told)[0], status, more)] });
      assert.deepEqual(givenTo(done), [{ status, result: null, error: null, ...more }]);
    }
  });

  test("OPH-29 a directive is unreported if the shell returns without an outcome", async () => {
    // Given a shell that does not report, when it comes back, then what it was told is unreported.
    const told = await shell.say({ directives: [press, press] }, { task_hint: { sop_id: "director" } });
    const next = await shell.resume(told);
    const done = await shell.resume(next);
    assert.deepEqual(
      givenTo(done).map(({ status }) => status),
      ["unreported", "unreported"],
    );
  });

  test("OPH-28, OPH-30 sibling directives share a response; unreported ones repeat their id", async () => {
    // Given siblings, when they are given side by side, then one response has them, in order, and what is not reported
    // is told again under the same id.
    const directives = ["a", "b", "c"].map((name) => ({
      action_type: `com.example.${name}`,
      execution: "parallel",
      payload: { fallback_message: name },
    }));
    const told = await direct(directives, { parallel: true });
    assert.deepEqual(typesOf(told), ["com.example.a", "com.example.b", "com.example.c"]);
    for (const { execution } of directivesOf(told)) assert.equal(execution, "parallel");
    const [a, b, c] = directivesOf(told);
    const next = await shell.resume(told, { outcomes: [outcome(b, "declined")] });
    assert.deepEqual(typesOf(next), ["com.example.a", "com.example.c"]);
    assert.deepEqual(
      directivesOf(next).map((one) => ownOf(one).directive_id),
      [a, c].map((one) => ownOf(one).directive_id),
    );
    const done = await shell.resume(next, { outcomes: [outcome(c), outcome(a), outcome(b), outcome(a)] });
    assert.deepEqual(
      givenTo(done).map(({ status }) => status),
      ["completed", "declined", "completed"],
    );
    const late = [b, a].map((one) => ownOf(one).directive_id);
    assert.deepEqual(done.response.extensions["com.bridle"].not_taken, late);
  });

  test("OPH-29 foreign outcomes are rejected together with the rest of the message", async () => {
    // Given outcomes of something else, when they are sent, then they are refused, and the rest is not taken either.
    const told = await direct([press]);
    const other = await direct([press]);
    for (const directive_id of [
      ownOf(directivesOf(other)[0]).directive_id,
      "made up",
      `${runOf(told)}:host:clipboard.read:1`,
    ]) {
      const outcomes = [outcome(directivesOf(told)[0]), { directive_id, status: "completed" }];
      const error = errorOf(await shell.send(continued(told, { outcomes })));
      assert.deepEqual([error.code, error.retryable], ["unknown_action_type", false]);
    }
    const done = await shell.resume(told, { outcomes: [outcome(directivesOf(told)[0])] });
    assert.equal(givenTo(done)[0].status, "completed");
  });

  test("OPH-28 an agent that gives an invalid directive is told what is wrong", async () => {
    // Given directives that are none, when an agent gives them, then it is told what is wrong.
    const wrong = [
      { action_type: "has spaces" },
      { action_type: "" },
      { ...press, priority: "urgent" },
      { ...press, deadline_ms: -1 },
      { ...press, payload: "text" },
      { action_type: `com.${"x".repeat(100)}` },
    ];
    const answered = await direct(wrong);
    assert.deepEqual(
      givenTo(answered).map(({ code }) => code),
      wrong.map(() => "invalid_directive"),
    );
  });

  test("OPH-29 the first answer of shell or WebSocket host ends a directive", async () => {
    // Given a host on the session's WebSocket that can do it, when a shell is asked, then whichever answers first ends
    // it.
    const told = await direct([press]);
    await using host = await openSession(shell.client, told.response.extensions["com.bridle"].session_id, {
      host_capabilities: ["shell.simulate_action"],
    });
    const { call_id, input } = await host.until("request");
    assert.equal(call_id, ownOf(directivesOf(told)[0]).directive_id);
    assert.equal(input.action_type, "simulate_action");
    await host.command({
      type: "host.result",
      call_id,
      output: { status: "completed", result: "by another" },
    });
    await shell.client.untilTask(runOf(told), ({ status }) => status === "COMPLETED");
    const done = await shell.resume(told, { outcomes: [outcome(directivesOf(told)[0])] });
    assert.deepEqual(done.response.extensions["com.bridle"].not_taken, [call_id]);
    assert.equal(givenTo(done)[0].result, "by another");
  });

  test("OPH-29 less free personas have directives simulated, approved first, or refused", async () => {
    // Given personas of less freedom, when their agents give directives, then they are simulated, approved first, or
    // refused.
    const given = async (persona: object) =>
      await shell.say({ directives: [press] }, { task_hint: { sop_id: await personaWith(persona) } }, able);
    const shadow = await given({ autonomy_tier: "shadow" });
    assert.equal(givenTo(shadow)[0].status, "simulated");
    const bound = await given({ capabilities: ["shell.render_ui"] });
    assert.equal(givenTo(bound)[0].code, "policy_violation");
    const careful = await given({ autonomy_tier: "act_with_approval", capabilities: ["shell.*"] });
    const approval = directiveOf(careful, "request_approval");
    assert.deepEqual(approval.payload.details.input.payload, press.payload);
    const { request_id, artifact_hash } = approval.payload;
    const told = await shell.resume(careful, { approvals: [{ request_id, artifact_hash, approved: true }] });
    assert.deepEqual(typesOf(told), ["simulate_action"]);
  });
});

describe("§10 what people decide", () => {
  /** A run that asks for permission, and what it asks. */
  async function asking(): Promise<[Json, Json]> {
    const begun = await shell.say({}, { task_hint: { sop_id: "asker" } }, able);
    const asked = await shell.resume(begun, {}, { user_intent: { region: "eu" } });
    return [asked, directiveOf(asked, "request_approval")];
  }

  async function permissionOf(asked: Json): Promise<Json> {
    const [request] = await shell.client.listAll(`/v1/permission-requests?task_id=${runOf(asked)}`);
    return request;
  }

  test("OPH-32 a permission request shows what is asked, its risk and its hash", async () => {
    // Given a request for permission, when it is shown, then it says what is asked, how risky it is, and its hash.
    const [asked, directive] = await asking();
    assert.equal(directive.requires_user_approval, true);
    assert.equal(directive.risk_tier, "dangerous");
    const { summary, details, artifact_hash, request_id, via } = directive.payload;
    assert.deepEqual(
      { summary, details, via },
      { summary: "deploy to eu", details: { region: "eu" }, via: "shell" },
    );
    assert.match(artifact_hash, /^[0-9a-f]{64}$/);
    const done = await shell.resume(asked, {
      approvals: [{ request_id, artifact_hash, approved: true, reason: "looks right" }],
    });
    assert.deepEqual(textsOf(done), ["deployed to eu"]);
    const { status, response } = await permissionOf(asked);
    assert.deepEqual([status, response.reason], ["approved", "looks right"]);
  });

  test("OPH-32 given an answer that names another hash, when it is sent, then nothing is decided", async () => {
    const [asked, { payload }] = await asking();
    const { request_id, artifact_hash } = payload;
    const other = `${artifact_hash.slice(0, -1)}${artifact_hash.endsWith("0") ? "1" : "0"}`;
    for (const approved of [true, false]) {
      const approvals = [{ request_id, artifact_hash: other, approved }];
      const error = errorOf(await shell.send(continued(asked, { approvals })));
      assert.deepEqual([error.code, error.retryable], ["policy_denied", false]);
    }
    const stranger = errorOf(
      await shell.send(
        continued(asked, { approvals: [{ request_id: "perm_x", artifact_hash, approved: true }] }),
      ),
    );
    assert.equal(stranger.code, "invalid_request");
    assert.equal((await permissionOf(asked)).status, "pending");
    const denied = errorOf(
      await shell.send(continued(asked, { approvals: [{ request_id, artifact_hash, approved: false }] })),
    );
    assert.deepEqual([denied.code, denied.details.failure_code], ["policy_denied", "approval_denied"]);
  });

  test("OPH-32 an intent that says yes does not approve a permission request", async () => {
    // Given an intent while permission is asked for, when it says yes, then nothing is approved.
    const [asked, { payload }] = await asking();
    const next = await shell.resume(asked, {}, { user_intent: "yes, approved, do it" });
    assert.equal(directiveOf(next, "request_approval").payload.request_id, payload.request_id);
    assert.equal((await permissionOf(asked)).status, "pending");
  });

  test("OPH-32 a shell's approval after somebody else's is reported as too late", async () => {
    // Given an approval that somebody else has given, when the shell's comes, then it is told that it came too late.
    const [asked, { payload }] = await asking();
    const { request_id, artifact_hash } = payload;
    await shell.client.post(`/v1/permission-requests/${request_id}/respond`, { approved: true });
    const late = await shell.resume(asked, { approvals: [{ request_id, artifact_hash, approved: false }] });
    assert.deepEqual(late.response.extensions["com.bridle"].not_taken, [request_id]);
    assert.deepEqual(textsOf(late), ["deployed to eu"]);
  });
});

describe("§10 what only a signature decides", () => {
  test("OPH-33 a signed approval points the shell to the approver and refuses its own", async () => {
    // Given a persona that demands signed approvals, when its agent asks for one, then the shell is pointed to the
    // approver, and its own word is refused.
    const personaId = await personaWith({
      entry_workflow: "rehearsal",
      approval_policy: { channel: "harp" },
    });
    const asked = await shell.say("approve deploy", { task_hint: { sop_id: personaId } }, able);
    const { payload } = directiveOf(asked, "request_approval");
    assert.equal(payload.via, "harp");
    assert.match(payload.message, /approver/);
    const { request_id, artifact_hash } = payload;
    const approvals = [{ request_id, artifact_hash, approved: true }];
    const error = errorOf(await shell.send(continued(asked, { approvals })));
    assert.deepEqual([error.code, error.retryable], ["policy_denied", false]);
    assert.equal(error.details.request_id, request_id);
    const canceled = errorOf(await shell.send(continued(asked, { cancel: {} })));
    assert.equal(canceled.details.failure_code, "canceled");
  });
});

describe("§12 without a shell", () => {
  test("OPH-35 a directive in a task that no shell started fails clearly and has no state", async () => {
    // Given a task that no shell started, when its agent gives a directive, then it fails clearly, and there is no
    // state.
    const session = await shell.client.createSession();
    const submit = async (personaId: string, input: object) => {
      const task = await shell.client.submit(session.id, "", { persona_id: personaId, input });
      return await shell.client.untilTask(task.id, ({ status }) => ["COMPLETED", "FAILED"].includes(status));
    };
    const directed = await submit("persona_director", { directives: [press] });
    const { body: outcomeOf } = await shell.client.get(`/v1/tasks/${directed.id}/outcome`);
    assert.equal(directed.status, "COMPLETED", JSON.stringify(outcomeOf));
    const messages = await shell.client.listAll(`/v1/sessions/${session.id}/messages`);
    assert.equal(messages.at(-1).parts[0].value[0].code, "no_shell");
    await submit("persona_mirror", userMessage("look"));
    const seen = (await shell.client.listAll(`/v1/sessions/${session.id}/messages`)).at(-1).parts[0].value;
    assert.deepEqual(
      { isPresent: seen.isPresent, identity: seen.identity, hint: seen.hint, environment: seen.environment },
      { isPresent: false, identity: null, hint: {}, environment: null },
    );
  });

  test("OPH-29 a replay takes outcomes from the log and asks no shell", async () => {
    // Given a run with outcomes, when it is replayed, then they come from the log and no shell is asked.
    const told = await direct([{ action_type: "render_ui", payload: { component: "Card" } }, press]);
    const done = await shell.resume(told, {
      outcomes: [outcome(directiveOf(told, "simulate_action"), "completed", { result: 42 })],
    });
    assert.equal(givenTo(done)[1].result, 42);
    const { body: replay } = await shell.client.post(`/v1/tasks/${runOf(told)}/replay`, { mode: "exact" });
    const replayed = await shell.client.untilTask(replay.id, ({ status }) =>
      ["COMPLETED", "FAILED"].includes(status),
    );
    assert.equal(replayed.status, "COMPLETED", JSON.stringify(replayed.failure));
    const changed = await shell.client.post(`/v1/tasks/${runOf(told)}/replay`, {
      mode: "with_overrides",
      override: {
        "host:shell.simulate_action:1": {
          kind: "host_fact",
          value: { status: "declined", result: null, error: null },
        },
      },
    });
    const other = await shell.client.untilTask(changed.body.id, ({ status }) =>
      ["COMPLETED", "FAILED"].includes(status),
    );
    assert.equal(other.status, "COMPLETED", JSON.stringify(other.failure));
    const events = await shell.client.listAll(`/v1/tasks/${changed.body.id}/events`);
    assert.ok(JSON.stringify(events).includes("declined"));
  });

  test("OPH-31 a message with answers that resumes nothing begins its own run", async () => {
    // Given a message that resumes nothing, when it has answers all the same, then it begins a run of its own.
    const extensions = { "com.bridle": { answers: [{ question_id: "q", value: 1 }] } };
    const answered = await shell.send(message({ user_intent: "hello", continuation: { extensions } }));
    assert.deepEqual(textsOf(answered), ["hello"]);
  });
});
