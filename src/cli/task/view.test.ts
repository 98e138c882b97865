/** A task on a screen: what is to be seen of it, and that it fits. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { emptyMessage, envelope } from "../../../test/support/events.ts";
import type { Message } from "../../sdk/client/index.ts";
import { durationText } from "../terminal/duration.ts";
import { styleFor } from "../terminal/style.ts";
import { widthOf } from "../terminal/text.ts";
import { type Fact, factIn, type TimedFact } from "./facts.ts";
import { logLine } from "./log-lines.ts";
import { hiddenLines } from "./pending-lines.ts";
import { type Sight, viewLines } from "./view-lines.ts";
import { unseen, type ViewState, withFact } from "./view-state.ts";

const startedAt = Date.parse("2026-04-25T19:00:00Z");
const plain = styleFor({ isTerminal: true, env: { NO_COLOR: "1", LANG: "C.UTF-8" } });

/** The facts a second after each other. */
function stateOf(...facts: Fact[]): ViewState {
  const timed = facts.map((fact, index): TimedFact => ({ ...fact, at: startedAt + index * 1000 }));
  return timed.reduce(withFact, unseen("task_1"));
}

function seen(state: ViewState, sight: Partial<Sight> = {}): string[] {
  const now = (state.lastAt ?? startedAt) + 1000;
  const usual = { columns: 80, rows: 24, now, style: plain, isConnected: true, isLast: false, hint: null };
  return viewLines(state, { ...usual, ...sight });
}

const submitted: Fact = { kind: "submitted", isReplay: false };
const started: Fact = { kind: "started", agent: "releaser@1.0.0" };
const working: Fact = { kind: "status", to: "WORKING", reason: null };
const begun = (name: string, stepKind = "step"): Fact => {
  return { kind: "step_begun", step: `${stepKind}:${name}`, stepKind, name, until: null };
};
const ended = (name: string, more: Partial<Extract<Fact, { kind: "step_ended" }>> = {}): Fact => {
  const stepKind = more.stepKind ?? "step";
  const facts = { step: `${stepKind}:${name}`, name, stepKind, begunAt: null, error: null } as const;
  return { kind: "step_ended", ...facts, isSimulated: false, use: null, ...more };
};
const asks: Fact = {
  kind: "question",
  question: {
    kind: "input",
    step: "ask:1",
    prompt: "Which region?",
    schema: null,
    requestId: null,
    until: null,
  },
};

describe("The view of a task", () => {
  test("CMD-20 a working task shows agent, status, elapsed time, text and marked steps", () => {
    // Given a task at work, when it is looked at, then agent, status, elapsed time, words and steps with their marks are
    // there.
    const lines = seen(
      stateOf(
        submitted,
        started,
        working,
        { kind: "said", by: "user", text: "go" },
        ended("collect"),
        ended("upload", { error: "the mirror is full", begunAt: startedAt + 2500 }),
        { kind: "said", by: "agent", text: "3 changes" },
        begun("publish", "tool"),
        { kind: "progress", message: "halfway", percent: 50 },
      ),
    );
    assert.match(lines[0] ?? "", /^releaser@1\.0\.0 {2}WORKING {2}9\.0 s +task_1$/);
    const text = lines.join("\n");
    assert.match(text, /^> go$/m);
    assert.match(text, /^✓ collect +~1\.0 s$/m, "an old record, of its end only");
    assert.match(text, /^✗ upload {2}the mirror is full +\d\.5 s$/m, "a record that says when it began");
    assert.match(text, /^● 3 changes$/m);
    assert.match(text, /^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] tool publish +2\.0 s$/m);
    assert.match(text, /█{10}░{10} {2}50 % {2}halfway/);
  });

  test("CMD-20 a working task shows a spinner even when no step is under way", () => {
    // Given nothing that is recorded as under way, when a task works, then something turns all the same.
    assert.match(seen(stateOf(submitted, started, working)).join("\n"), /^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] working +1\.0 s$/m);
    assert.doesNotMatch(seen(stateOf(submitted, started, working, asks)).join("\n"), /working/);
  });

  test("CMD-20 a model's text is shown as it streams, and then its usage and cost", () => {
    // Given a model that speaks, when it is looked at, then its words are there as they come, and then what it used and
    // cost.
    const delta = (text: string, attempt = 1): Fact => {
      return { kind: "delta", step: "llm:main", attempt, index: 0, isThought: false, text };
    };
    const speaking = [submitted, started, working, begun("main", "llm"), delta("It is "), delta("raining.")];
    assert.match(seen(stateOf(...speaking)).join("\n"), /^ {4}It is raining\.$/m);
    const again = seen(stateOf(...speaking, delta("Once more.", 2))).join("\n");
    assert.match(again, /^ {4}Once more\.$/m);
    assert.doesNotMatch(again, /raining/, "an attempt starts from the beginning");
    const use = { model: "acme/one", inputTokens: 1200, outputTokens: 34, usd: 0.0123, attempts: 2 };
    const over = seen(stateOf(...speaking, ended("main", { stepKind: "llm", use }))).join("\n");
    assert.match(over, /✓ model main {2}acme\/one, 1200\+34 tokens, \$0\.0123, 2 attempts/);
    assert.match(over, /1 model call, 1,200 \+ 34 tokens, \$0\.0123/);
    assert.doesNotMatch(over, /raining/);
  });

  test("CMD-21 older steps that do not fit fold into one line with their count", () => {
    // Given many steps, when they do not fit, then the older ones are folded into a line that counts them.
    const steps = Array.from({ length: 50 }, (_, index) => ended(`part ${index + 1}`));
    const lines = seen(stateOf(submitted, started, working, ...steps), { rows: 20 });
    assert.equal(lines.length, 20);
    const [, count] = /… (\d+) earlier steps/.exec(lines.join("\n")) ?? [];
    const shown = lines.filter((line) => line.startsWith("✓")).length;
    assert.equal(Number(count) + shown, 50);
    assert.match(lines.join("\n"), /part 50/);
  });

  test("CMD-22 a tiny screen still shows the question and the command that answers it", () => {
    // Given a question, when the screen is tiny, then it is still there with the command that helps.
    const steps = Array.from({ length: 50 }, (_, index) => ended(`part ${index + 1}`));
    const text = seen(stateOf(submitted, started, working, ...steps, asks), { rows: 8 }).join("\n");
    assert.match(text, /\? Which region\?/);
    assert.match(text, /bridle task answer task_1 TEXT/);
  });

  test("CMD-22 an approval shows action, risk, time, payload and the count of hidden lines", () => {
    // Given an approval, when it is looked at, then action, risk, time and payload are there, and how many lines of it
    // are not.
    const payload = { files: Array.from({ length: 40 }, (_, index) => `file-${index}`) };
    const state = stateOf(
      submitted,
      started,
      working,
      { kind: "asks_permission", requestId: "perm_1", request: { risk: "high", payload } },
      {
        kind: "question",
        question: {
          kind: "approval",
          step: "approve:1",
          prompt: "delete files",
          schema: null,
          requestId: "perm_1",
          until: "2026-04-26T19:00:00.000Z",
        },
      },
    );
    const text = seen(state).join("\n");
    assert.match(text, /\? May it do this: delete files\n {2}risk: high, until 2026-04-26 19:00 UTC\n/);
    assert.match(text, /"file-0"/);
    const [, hidden] = /… (\d+) more lines/.exec(text) ?? [];
    assert.equal(Number(hidden) + [...text.matchAll(/^ {4}[ {}\]"[]/gm)].length, 44);
    assert.match(text, /bridle approve perm_1/);
    assert.match(seen(state, { isLast: true }).join("\n"), /"file-39"/);
  });

  test("CMD-22 an approval's action longer than the screen is offered in full", () => {
    // Given an approval whose action is longer than the screen, when the person is asked, then all of it is offered.
    const question = {
      kind: "approval",
      step: "approve:1",
      schema: null,
      requestId: "perm_1",
      until: null,
    } as const;
    const hiddenOf = (prompt: string, rows: number) => {
      const { pending } = stateOf(submitted, { kind: "question", question: { ...question, prompt } });
      assert.ok(pending !== null);
      return hiddenLines(pending, { columns: 80, rows, style: plain, isLast: false });
    };
    const lines = Array.from({ length: 30 }, (_, index) => `line ${index}`).join("\n");
    assert.equal(hiddenOf("deploy", 20), 0);
    assert.equal(hiddenOf(lines, 31), 0, "the action, and the command that helps");
    assert.equal(hiddenOf(lines, 30), 1);
  });

  test("CMD-21 the view never exceeds the screen and never emits terminal control", () => {
    // Given any text and any screen, when the view is drawn, then it is never wider or higher than the screen, and
    // nothing in it drives the terminal.
    const word = fc.constantFrom(
      "a",
      "word",
      "漢字",
      "🙂",
      "\u001b[2J",
      "\u202e",
      "\r",
      "\n",
      "x".repeat(90),
      " ",
    );
    const text = fc.array(word, { maxLength: 30 }).map((words) => words.join(" "));
    const fact: fc.Arbitrary<Fact> = fc.oneof(
      text.map((said): Fact => ({ kind: "said", by: "agent", text: said })),
      text.map((name) => begun(name, "llm")),
      text.map((name) => ended(name, { error: name })),
      text.map((message): Fact => ({ kind: "progress", message, percent: 40 })),
      text.map((reason): Fact => ({ kind: "parked", reason, until: null })),
      fc.constant(asks),
    );
    fc.assert(
      fc.property(
        fc.array(fact, { maxLength: 40 }),
        fc.integer({ min: 60, max: 130 }),
        fc.integer({ min: 3, max: 50 }),
        (facts, columns, rows) => {
          const lines = seen(stateOf(submitted, started, working, ...facts), { columns, rows });
          assert.ok(lines.length <= rows, `${lines.length} of ${rows}`);
          for (const line of lines) {
            assert.ok(widthOf(line) <= columns, JSON.stringify(line));
            assert.doesNotMatch(line, /\p{Cc}|\u202e/u);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test("CMD-21 given no colours or no Unicode, when the view is drawn, then there are none", () => {
    const state = stateOf(submitted, started, working, ended("collect"), ended("upload", { error: "no" }));
    const style = styleFor({ isTerminal: true, env: { LANG: "C", TERM: "xterm", NO_COLOR: "1" } });
    const text = seen(state, { style }).join("\n");
    assert.match(text, /^\+ collect/m);
    assert.match(text, /^x upload {2}no/m);
    assert.equal(stripVTControlCharacters(text), text);
    assert.doesNotMatch(text, /[^\u0020-\u007e\n]/);
    const coloured = seen(state, { style: styleFor({ isTerminal: true, env: { TERM: "xterm" } }) }).join(
      "\n",
    );
    assert.notEqual(stripVTControlCharacters(coloured), coloured);
  });

  test("CMD-23 the view says that it is reconnecting when the server is away", () => {
    // Given a server that is away, when the view is drawn, then it says that it is reconnecting.
    const state = stateOf(submitted, started, working);
    assert.match(seen(state, { isConnected: false }).join("\n"), /reconnecting/);
    assert.doesNotMatch(seen(state).join("\n"), /reconnecting/);
  });

  test("CMD-20 the last view of an ended task shows why, stops open steps and has no spinner", () => {
    // Given a task that ended, when it is looked at for the last time, then why is there, what was under way is stopped,
    // and nothing turns.
    const failure = { code: "step_failed", message: "no disk" };
    const end: Fact = { kind: "ended", status: "FAILED", summary: "", failure, reason: null };
    const text = seen(stateOf(submitted, started, working, begun("publish", "tool"), end), {
      isLast: true,
    }).join("\n");
    assert.match(text, /FAILED {2}4\.0 s/);
    assert.match(text, /^✗ tool publish/m);
    assert.match(text, /step_failed: no disk/);
    assert.doesNotMatch(text, /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/);
  });
});

describe("Events of a task as facts and lines", () => {
  test("CMD-9 events of a kind that is not shown are skipped", () => {
    assert.equal(factIn({ ...envelope, event: "session.closed", payload: {} }), null);
  });

  test("CMD-9 a log message of several lines is indented behind its time and escaped", () => {
    // Given a message of several lines with what would drive a terminal, when it is a line of the log, then its lines
    // stay behind the time and nothing drives.
    const message: Message = {
      ...emptyMessage,
      parts: [
        { type: "text", text: "one\ntwo\u001b[2J", visibility: "public" },
        { redacted: true, type: "text", visibility: "internal", sha256: "0" },
      ],
    };
    const fact = factIn({ ...envelope, event: "agent.message", payload: { message } });
    assert.ok(fact !== null);
    const line = logLine(fact, withFact(unseen("task_1"), fact), plain) ?? "";
    const [first, second, third, last] = line.split("\n");
    assert.equal(first, "2026-04-25T19:00:00Z  says      one");
    assert.match(second ?? "", /^ {32}two\\u\{1b\}\[2J$/);
    assert.match(third ?? "", /^ {32}\[text, not for this key\]$/);
    assert.equal(last, "");
  });

  test("CMD-20 given durations, when they are said, then as people say them", () => {
    assert.deepEqual([-5, 300, 12_345, 200_000, 7_500_000, 273_600_000].map(durationText), [
      "0.0 s",
      "0.3 s",
      "12 s",
      "3 min 20 s",
      "2 h 5 min",
      "3 d 4 h",
    ]);
  });
});
