/** Runs that go on: what is reported, answered, approved, waited for, given up and taken up again. */

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import type { Json } from "../../../test/support/client.ts";
import {
  answer,
  continuation,
  directives,
  errorOf,
  failed,
  named,
  open,
  type ScriptedEngine,
  say,
  scriptedEngine,
  stream,
} from "../../../test/support/scripted-engine.ts";
import { type Directive, parseState, Shell, type ShellOptions, type ShellState } from "./index.ts";

let engine: ScriptedEngine;
before(async () => {
  engine = await scriptedEngine();
});
let log: string[];
let states: ShellState[];
beforeEach(() => {
  log = [];
  states = [];
  engine.asked.length = 0;
});
after(() => engine[Symbol.asyncDispose]());

function shellWith(options: Partial<ShellOptions> = {}): Shell {
  return new Shell({
    url: engine.url,
    retry: { firstDelayMs: 1, attemptsMax: 2 },
    onStateChange: (state) => states.push(state),
    onNotice: (text) => log.push(`notice: ${text}`),
    ...options,
    handlers: {
      render_message: ({ payload }: Directive) => void log.push(String(payload.text)),
      ...options.handlers,
    },
  });
}

const contextOf = (index: number): Json => engine.asked.at(index)?.body.request.context;
const told = (index: number): Json => contextOf(index).continuation?.extensions?.["com.bridle"];
const outcomeExpected = { expects_outcome: true };
const press = (id: string, more: object = {}) => ({
  action_type: "simulate_action",
  ...named(id, "action", outcomeExpected),
  ...more,
});
const question = (text: string, more: object = {}) => say(text, named(`q:${text}`, "question", more));
const approval = (more: object = {}) => ({
  action_type: "request_approval",
  requires_user_approval: true,
  risk_tier: "dangerous",
  payload: {
    message: "Deploy?",
    summary: "Deploy build 7",
    artifact_hash: "9f86",
    request_id: "perm_1",
    via: "shell",
    ...more,
  },
  ...named("a1", "approval"),
});
const status = (runStatus: string) => ({
  extensions: { "com.bridle": { run_id: "r1", run_status: runStatus } },
});

describe("outcomes", () => {
  test("SHL-30 returns expected outcomes with the continuation, each in the engine's terms", async () => {
    // Given directives whose outcome is expected, when they have one, then it goes back with the continuation, each in
    // the engine's words.
    engine.play(
      open(
        "t1",
        press("d:done"),
        press("d:no", { requires_user_approval: true }),
        { action_type: "breaks", ...named("d:breaks", "action", outcomeExpected) },
        { action_type: "com.example.fly", ...named("d:fly", "action", outcomeExpected) },
        press("d:late", { deadline_ms: 0 }),
        { action_type: "simulate_action", ...named("d:unasked", "action") },
        say("seen", named("d:seen", "message")),
      ),
      directives(say("thanks")),
    );
    const shell = shellWith({
      approve: () => false,
      handlers: {
        simulate_action: () => ({ pressed: true }),
        breaks: () => {
          throw new Error("no hands");
        },
      },
    });
    const turn = await shell.send("go");
    assert.equal(turn.status, "completed");
    assert.equal(turn.outcomes.length, 8);
    assert.deepEqual(log, ["seen", "thanks"]);
    const { continuation: sent, user_intent, task_hint } = contextOf(1);
    assert.equal(sent.continuation_token, "t1");
    assert.equal(sent.run_id, "run_1");
    assert.equal(user_intent, undefined);
    assert.equal(task_hint, undefined);
    assert.deepEqual(told(1), {
      outcomes: [
        { directive_id: "d:done", status: "completed", result: { pressed: true } },
        { directive_id: "d:no", status: "declined" },
        {
          directive_id: "d:breaks",
          status: "failed",
          error: { code: "handler_failed", message: "no hands" },
        },
        { directive_id: "d:fly", status: "skipped", error: { code: "unknown_action_type" } },
        { directive_id: "d:late", status: "expired" },
      ],
    });
  });

  test("SHL-30 splits outcomes that exceed one message over several and sends each once", async () => {
    // Given more outcomes than one message should hold, when they are reported, then they go in several, each once.
    const ids = Array.from({ length: 120 }, (_, n) => `d${n}`);
    engine.play(
      open("t1", ...ids.map((id) => press(id))),
      open("t2", press("d119")),
      open("t3"),
      directives(),
    );
    await shellWith({ handlers: { simulate_action: () => undefined } }).send("go");
    const reported = [1, 2, 3].map((index) =>
      told(index).outcomes.map(({ directive_id }: Json) => directive_id),
    );
    assert.deepEqual(reported.flat(), ids);
    assert.ok(reported.every((list) => list.length <= 50));
  });

  test("SHL-31 returns the person's decision with the approval id and hash that were shown", async () => {
    // Given a request for approval, when the person decides, then the decision goes back with the id and the hash that
    // were shown.
    for (const approved of [true, false]) {
      engine.asked.length = 0;
      engine.play(open("t1", approval()), directives());
      const shell = shellWith({
        approve: ({ payload }, { why }) => {
          assert.equal(payload.artifact_hash, "9f86");
          assert.equal(why, "requested");
          return approved;
        },
      });
      const { outcomes } = await shell.send("go");
      assert.equal(outcomes[0]?.status, approved ? "succeeded" : "denied");
      assert.deepEqual(told(1), { approvals: [{ request_id: "perm_1", artifact_hash: "9f86", approved }] });
    }
  });

  test("SHL-31 asks the person again if the engine rejects the decision", async () => {
    // Given a decision that the engine refuses, when it is told again, then the person is asked again.
    let asked = 0;
    const shell = shellWith({ approve: () => ++asked > 0 });
    engine.play(open("t1", approval()), failed("policy_denied"));
    const turn = await shell.send("go");
    assert.equal(turn.error?.code, "policy_denied");
    assert.equal(shell.isOpen, true, "a request that was refused has not used its token");
    const again = { ...approval({ artifact_hash: "aaaa" }), ...named("a2", "approval") };
    engine.play(open("t2", again), directives());
    await shell.resume();
    assert.equal(asked, 2);
    assert.equal(told(2), undefined, "what was refused is not sent again");
    assert.equal(told(3).approvals[0].artifact_hash, "aaaa");
  });

  test("SHL-32 does not ask for an approval made elsewhere, and the turn says what it awaits", async () => {
    // Given an approval that is given elsewhere, when it comes, then nobody is asked here, and the turn says what is
    // waited for.
    engine.play(open("t1", approval({ via: "harp" })));
    const shell = shellWith({ approve: () => assert.fail("asked") });
    const turn = await shell.send("go");
    assert.deepEqual([turn.status, turn.awaits], ["open", "approval"]);
    assert.deepEqual(log, ["notice: Deploy?"]);
    await shell.resume();
    assert.equal(told(1), undefined);
    assert.deepEqual(log, ["notice: Deploy?"], "it is the same one, and shown once");
  });
});

describe("the next turn", () => {
  test("SHL-35 sends the next intent after a question as its answer, with the continuation", async () => {
    // Given a question, when the next intent is sent, then it goes with the continuation and is the answer.
    const schema = { type: "object", properties: { region: { type: "string" } } };
    engine.play(
      open("t1", say("Hello."), question("Which region?", { schema })),
      open("t2", question("Sure?")),
      directives(say("Done.")),
    );
    const shell = shellWith();
    const first = await shell.send("deploy");
    assert.deepEqual([first.status, first.awaits], ["open", "answer"]);
    assert.deepEqual(first.question, { id: "q:Which region?", text: "Which region?", schema });
    assert.equal((await shell.answer("q:Which region?", { region: "eu" })).status, "open");
    assert.deepEqual(told(1), { answers: [{ question_id: "q:Which region?", value: { region: "eu" } }] });
    const last = await shell.send("yes");
    assert.equal(contextOf(2).user_intent, "yes");
    assert.deepEqual([last.status, last.awaits, last.question], ["completed", null, undefined]);
    assert.equal(shell.isOpen, false);
  });

  test("SHL-33 sends each continuation token once and drops it at the end of the run", async () => {
    // Given continuations, when requests follow each other, then each token is sent once and the run's end ends it.
    engine.play(open("t1", question("a")), open("t2", question("b")), directives(), directives());
    const shell = shellWith();
    for (const text of ["1", "2", "3", "4"]) await shell.send(text);
    assert.deepEqual(
      [0, 1, 2, 3].map((index) => contextOf(index).continuation?.continuation_token),
      [undefined, "t1", "t2", undefined],
    );
    assert.equal(new Set([0, 1, 2, 3].map((index) => contextOf(index).session_id)).size, 1);
  });

  test("SHL-33 the next intent begins a new run after the engine rejects the continuation", async () => {
    // Given a continuation that is no longer good, when the engine says so, then the next intent begins anew.
    engine.play(open("t1", question("a")), failed("continuation_invalid"), directives());
    const shell = shellWith();
    await shell.send("1");
    assert.equal((await shell.send("2")).error?.code, "continuation_invalid");
    assert.equal(shell.isOpen, false);
    await shell.send("3");
    assert.equal(contextOf(2).continuation, undefined);
  });

  test("SHL-33 keeps the continuation for another answer if the first is rejected", async () => {
    // Given an answer that is refused, when another is sent, then it has the same continuation.
    engine.play(open("t1", question("a")), failed("invalid_request"), directives());
    const shell = shellWith();
    await shell.send("1");
    await shell.send("wrong");
    await shell.send("right");
    assert.equal(contextOf(2).continuation.continuation_token, "t1");
  });

  test("SHL-34 keeps polling, with pauses, while the engine says it is working", async () => {
    // Given an engine that works on, when it says so, then the shell goes on waiting by itself, with pauses.
    const at: number[] = [];
    const working = (token: string) => {
      const script = answer({
        action_directives: [{ action_type: "noop", ...named(`n${token}`, "status") }],
        continuation: continuation(token),
        ...status("WORKING"),
      });
      return (...args: Parameters<typeof script>) => {
        at.push(performance.now());
        return script(...args);
      };
    };
    engine.play(working("t1"), working("t2"), directives(say("Done.")));
    const turn = await shellWith().send("go");
    assert.equal(turn.status, "completed");
    assert.deepEqual(log, ["Done."]);
    assert.equal(contextOf(2).continuation.continuation_token, "t2");
    assert.equal(told(2), undefined);
    assert.ok((at[1] ?? 0) - (at[0] ?? 0) > 400, "an engine that answers at once is not asked at once again");
  });

  test("SHL-34 without our extension, no output means working and a message awaits an answer", async () => {
    // Given an engine without our extension, when a run goes on, then silence is work and words are the person's turn.
    engine.play(open("t1", { action_type: "noop" }), open("t2", say("And now?")));
    const turn = await shellWith().send("go");
    assert.deepEqual([turn.status, turn.awaits], ["open", "answer"]);
    assert.equal(engine.asked.length, 2);
  });

  test("SHL-32 a run that needs authorization elsewhere leaves the turn awaiting approval", async () => {
    // Given a run that waits for permission in another place, when nothing is asked here, then the turn says so.
    engine.play(answer({ continuation: continuation("t1"), ...status("AUTH_REQUIRED") }));
    const turn = await shellWith().send("go");
    assert.deepEqual([turn.status, turn.awaits], ["open", "approval"]);
  });

  test("SHL-30 the turn lists the parts of a request that the engine got too late", async () => {
    // Given parts of a request that came too late, when the engine says so, then the turn has them.
    engine.play(
      answer({ extensions: { "com.bridle": { run_id: "r1", receipt_id: "rcp_1", not_taken: ["d1"] } } }),
    );
    const { notTaken, runId, receiptId } = await shellWith().send("go");
    assert.deepEqual([notTaken, runId, receiptId], [["d1"], "r1", "rcp_1"]);
  });

  test("SHL-35 cancel tells the engine, after it has waited for a request in flight", async () => {
    // Given an open run, when it is canceled, then the engine is told, and a request on its way is waited for first.
    engine.play(open("t1", question("a")), directives());
    const shell = shellWith();
    await shell.send("go");
    await shell.cancel("changed my mind");
    assert.deepEqual(told(1), { cancel: { reason: "changed my mind" } });
    assert.match((await errorOf(shell.cancel())).message, /no open run/);

    engine.asked.length = 0;
    const given = new AbortController();
    engine.play(() => given.abort(), open("t5", say("ignored")), directives());
    await errorOf(shell.send("long", { signal: given.signal }));
    await shell.cancel();
    assert.equal(engine.asked[1]?.text, engine.asked[0]?.text);
    assert.equal(contextOf(2).continuation.continuation_token, "t5");
    assert.deepEqual(log.includes("ignored"), false);
  });
});

describe("taking it up again", () => {
  test("SHL-36 resume asks again for an undecided approval, and nothing is sent in between", async () => {
    // Given an approval that was given up undecided, when the run is resumed, then the person is asked again and nothing
    // was told in between.
    const given = new AbortController();
    const answers = [
      async () => {
        given.abort();
        return true;
      },
      async () => true,
    ];
    const shell = shellWith({ approve: () => (answers.shift() ?? assert.fail)() });
    engine.play(open("t1", approval()), open("t2", approval()), directives());
    assert.equal((await errorOf(shell.send("go", { signal: given.signal }))).code, "canceled");
    assert.equal(engine.asked.length, 1);
    await shell.resume();
    assert.equal(contextOf(1).continuation.continuation_token, "t1");
    assert.equal(told(1), undefined);
    assert.equal(told(2).approvals[0].approved, true);
    assert.deepEqual(answers, []);
  });

  test("SHL-36 resume shows an open question again", async () => {
    // Given a question that was seen before, when the run is resumed, then it is shown again.
    const shell = shellWith();
    engine.play(open("t1", question("Which?")), open("t2", question("Which?")));
    await shell.send("go");
    await shell.resume();
    assert.deepEqual(log, ["Which?", "Which?"]);
  });

  test("SHL-36 a new intent after an abandoned request begins a new run", async () => {
    // Given a request that was given up on, when another intent is sent instead, then it begins a new run.
    const given = new AbortController();
    const shell = shellWith();
    engine.play(open("t1", question("Which?")), () => given.abort(), directives());
    await shell.send("go");
    await errorOf(shell.send("this", { signal: given.signal }));
    await shell.send("something else");
    assert.equal(
      contextOf(2).continuation,
      undefined,
      "the token was used by the request that was given up on",
    );
    assert.equal(contextOf(2).user_intent, "something else");
  });

  test("SHL-37 a shell with restored state sends what is pending and restarts nothing", async () => {
    // Given a state that was kept, when another shell goes on with it, then it sends what was pending, and nothing that
    // was begun is begun again.
    let pressed = 0;
    const handlers = { simulate_action: () => ({ times: ++pressed }) };
    engine.play((asked, reply) => {
      const { directive } = stream(reply);
      directive(asked, 1, press("d1"));
      directive(asked, 2, press("d2"));
    });
    // The first program dies in the middle of the second directive: it keeps what was told up to there.
    const { promise: died, resolve: die } = Promise.withResolvers<string>();
    const given = new AbortController();
    const first = shellWith({
      sessionId: "sess_kept",
      handlers: {
        simulate_action: (directive) => {
          if (directive.id === "d1") return handlers.simulate_action();
          die(JSON.stringify(states.at(-1)));
          return new Promise(() => undefined);
        },
      },
    });
    const turn = errorOf(first.send("go", { signal: given.signal }));
    const state = parseState(JSON.parse(await died));
    given.abort();
    await turn;
    assert.ok(state !== null);

    engine.play(open("t1", press("d1"), press("d2"), press("d3")), directives(say("Done.")));
    const second = shellWith({ state, handlers });
    assert.equal(second.isOpen, true);
    assert.equal((await second.resume()).status, "completed");
    assert.equal(engine.asked[1]?.text, engine.asked[0]?.text);
    assert.equal(pressed, 2, "d1 before, d3 now, d2 not again");
    const outcomes = told(2).outcomes;
    assert.deepEqual(
      outcomes.map(({ directive_id, status, error }: Json) => [directive_id, status, error?.code]),
      [
        ["d1", "completed", undefined],
        ["d2", "failed", "interrupted"],
        ["d3", "completed", undefined],
      ],
    );
    assert.deepEqual(second.state, { session_id: "sess_kept", begun: [], reports: [] });
  });

  test("SHL-37 given what is no state, when it is read, then there is none and nothing breaks", () => {
    for (const value of [undefined, null, 7, "x", [], {}, { session_id: "" }, { session_id: 7 }]) {
      assert.equal(parseState(value), null);
    }
    const circular: Record<string, unknown> = { session_id: "s" };
    circular.self = circular;
    assert.equal(parseState(circular), null);
    const rest = { begun: "x", reports: [null, { id: "a" }], pending: { body: 7 }, continuation: null };
    assert.deepEqual(parseState({ session_id: "s", ...rest }), { session_id: "s", begun: [], reports: [] });
  });

  test("SHL-37 resume fails if nothing is open, and a new conversation gets a new session", async () => {
    // Given nothing that is open, when it is resumed, then the shell says so; given a new conversation, then it has a
    // new session.
    const shell = shellWith({ sessionId: "sess_old" });
    assert.match((await errorOf(shell.resume())).message, /no open run/);
    engine.play(directives());
    shell.startAnew();
    await shell.send("hello");
    assert.match(contextOf(0).session_id, /^sess_[0-9a-f]{32}$/);
  });

  test("SHL-39 keeps a secret environment out of saved state and sends it again on request", async () => {
    // Given surroundings that are secret, when they are sent, then they are in no state that is kept; when the engine
    // asks again, then they are sent again.
    const environment = () => ({ privacy_tier: "secret" as const, password: "hunter2-hunter2" });
    engine.play(
      open("t1", {
        action_type: "com.bridle.environment.request",
        payload: { fallback_message: "Please sign in again." },
        ...named("e1", "action", outcomeExpected),
      }),
      directives(),
    );
    await shellWith({ environment }).send("sign in");
    assert.equal(contextOf(0).environment_state.password, "hunter2-hunter2");
    assert.equal(contextOf(1).environment_state.password, "hunter2-hunter2");
    assert.deepEqual(told(1), { outcomes: [{ directive_id: "e1", status: "completed" }] });
    assert.ok(states.length > 3);
    assert.doesNotMatch(JSON.stringify(states), /hunter2/);
  });
});
