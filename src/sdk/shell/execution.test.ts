/** How directives are carried out: by whom, after whose yes, in which order, until when. */

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import {
  directives,
  type ScriptedEngine,
  say,
  scriptedEngine,
} from "../../../test/support/scripted-engine.ts";
import {
  type ApprovalContext,
  type Diagnostic,
  type Directive,
  type HandlerContext,
  Shell,
  type ShellOptions,
} from "./index.ts";

let engine: ScriptedEngine;
before(async () => {
  engine = await scriptedEngine();
});
/** What happened, in order. */
let log: string[];
let diagnostics: Diagnostic[];
beforeEach(() => {
  log = [];
  diagnostics = [];
});
after(() => engine[Symbol.asyncDispose]());

const note = ({ payload }: Directive) => void log.push(String(payload.text));

async function runCommand(list: object[], options: Partial<ShellOptions> = {}) {
  engine.play(directives(...list));
  const shell = new Shell({
    url: engine.url,
    stream: false,
    onNotice: (text) => log.push(`notice: ${text}`),
    onDiagnostic: (diagnostic) => diagnostics.push(diagnostic),
    ...options,
    handlers: { render_message: note, ...options.handlers },
  });
  const { outcomes } = await shell.send("go");
  return outcomes;
}

const statuses = (outcomes: readonly { status: string }[]) => outcomes.map(({ status }) => status);

describe("what runs", () => {
  test("SHL-18 shows the text of unhandled action types with a diagnostic and runs the rest", async () => {
    // Given action types without a handler, when they come, then none runs, their text is shown, the diagnostic says so,
    // and the rest goes on.
    const outcomes = await runCommand([
      { action_type: "com.example.pay", payload: { fallback_message: "Please pay.", message: "no" } },
      { action_type: "com.example.fly", payload: { message: "Cannot fly." } },
      { action_type: "com.example.mute", payload: { message: 7 } },
      say("after"),
    ]);
    assert.deepEqual(log, ["notice: Please pay.", "notice: Cannot fly.", "after"]);
    assert.deepEqual(statuses(outcomes), [
      "unknown_action_type",
      "unknown_action_type",
      "unknown_action_type",
      "succeeded",
    ]);
    assert.deepEqual(
      diagnostics.map(({ code, actionType }) => [code, actionType]),
      ["pay", "fly", "mute"].map((name) => ["unknown_action_type", `com.example.${name}`]),
    );
  });

  test("SHL-18 treats action types that match inherited object members as unknown", async () => {
    // Given action types that every object inherits, when they come, then they are unknown like all others.
    const names = ["constructor", "toString", "__proto__", "hasOwnProperty", "valueOf"];
    const outcomes = await runCommand(names.map((name) => ({ action_type: name })));
    assert.deepEqual(
      statuses(outcomes),
      names.map(() => "unknown_action_type"),
    );
  });

  test("SHL-18 does not ask for approval of an unknown action type", async () => {
    // Given an unknown type that asks for approval, when it comes, then nobody is asked for what will not be done.
    await runCommand([{ action_type: "com.example.pay", requires_user_approval: true }], {
      approve: () => assert.fail("asked"),
    });
    assert.equal(diagnostics.length, 1);
  });

  test("SHL-21 a handler that throws, rejects or returns no JSON is an outcome; the rest runs", async () => {
    // Given handlers that throw, reject or return what is no JSON, when they run, then each is an outcome and the rest
    // goes on.
    const outcomes = await runCommand(
      [
        { action_type: "throws" },
        { action_type: "rejects" },
        { action_type: "odd" },
        { action_type: "huge" },
        { action_type: "works" },
      ],
      {
        handlers: {
          throws: () => {
            throw new Error("no ink");
          },
          rejects: () => Promise.reject("out of paper"),
          odd: () => 10n,
          huge: () => "x".repeat(100_000),
          works: () => ({ pages: 3 }),
        },
      },
    );
    assert.deepEqual(
      outcomes.map(({ status, reason }) => [status, reason?.split(/[.:]/)[0]]),
      [
        ["failed", "no ink"],
        ["failed", "out of paper"],
        ["failed", "Do not know how to serialize a BigInt"],
        ["failed", "The handler's result has more than 16384 characters as JSON"],
        ["succeeded", undefined],
      ],
    );
    assert.deepEqual(outcomes[4]?.result, { pages: 3 });
  });

  test("SHL-21 given listeners that throw, when they are told something, then nothing changes", async () => {
    const broken = () => {
      throw new Error("broken listener");
    };
    const outcomes = await runCommand([{ action_type: "x", payload: { message: "m" } }, say("fine")], {
      onNotice: broken,
      onDiagnostic: broken,
      onStateChange: broken,
      onProgress: broken,
    });
    assert.deepEqual(statuses(outcomes), ["unknown_action_type", "succeeded"]);
  });
});

describe("order", () => {
  const step = (name: string, more: object = {}) => ({ action_type: "step", payload: { name }, ...more });
  const parallel = { execution: "parallel" };

  /** Handlers that begin and end when the test says so. */
  function stage() {
    const gates = new Map<string, () => void>();
    const begun: string[] = [];
    const waiting: { name: string; resolve: () => void }[] = [];
    return {
      begun,
      async step({ payload }: Directive) {
        const name = String(payload.name);
        const { promise, resolve } = Promise.withResolvers<void>();
        gates.set(name, resolve);
        begun.push(name);
        for (const wait of waiting) if (wait.name === name) wait.resolve();
        await promise;
        log.push(name);
      },
      /** Resolves when it has begun. */
      async hasBegun(name: string) {
        if (begun.includes(name)) return;
        const { promise, resolve } = Promise.withResolvers<void>();
        waiting.push({ name, resolve });
        await promise;
      },
      end(name: string) {
        gates.get(name)?.();
      },
    };
  }

  test("SHL-19 runs siblings one after another by default", async () => {
    // Given siblings that say nothing about their execution, when they come, then each waits for the one before it.
    const { step: handler, begun, hasBegun, end } = stage();
    const done = runCommand(
      [step("a"), step("b", { execution: "sequential" }), step("c", { execution: "someday" })],
      {
        handlers: { step: handler },
      },
    );
    for (const [index, name] of ["a", "b", "c"].entries()) {
      await hasBegun(name);
      assert.equal(begun.length, index + 1);
      end(name);
    }
    assert.deepEqual(statuses(await done), ["succeeded", "succeeded", "succeeded"]);
    assert.deepEqual(log, ["a", "b", "c"]);
  });

  test("SHL-20 runs parallel siblings together, between the sequential ones around them", async () => {
    // Given parallel siblings between sequential ones, when they come, then they run together, after the one before and
    // before the one behind.
    const { step: handler, begun, hasBegun, end } = stage();
    const done = runCommand([step("first"), step("p", parallel), step("q", parallel), step("last")], {
      handlers: { step: handler },
    });
    await hasBegun("first");
    assert.deepEqual(begun, ["first"]);
    end("first");
    await Promise.all([hasBegun("p"), hasBegun("q")]);
    end("q");
    assert.deepEqual(begun, ["first", "p", "q"]);
    end("p");
    await hasBegun("last");
    assert.deepEqual(log, ["first", "q", "p"]);
    end("last");
    assert.deepEqual(
      (await done).map(({ directive }) => directive.payload.name),
      ["first", "p", "q", "last"],
      "outcomes are in the order of the directives",
    );
  });

  test("SHL-20 limits how many of hundreds of parallel siblings run at a time, and runs all", async () => {
    // Given hundreds of parallel siblings, when they come, then only so many run at a time and all of them run.
    let running = 0;
    let most = 0;
    const outcomes = await runCommand(
      Array.from({ length: 300 }, (_, n) => step(`s${n}`, parallel)),
      {
        handlers: {
          step: async () => {
            running += 1;
            most = Math.max(most, running);
            await new Promise((resolve) => setImmediate(resolve));
            running -= 1;
          },
        },
      },
    );
    assert.ok(outcomes.every(({ status }) => status === "succeeded"));
    assert.ok(most > 1 && most <= 16, `${most} at once`);
  });
});

describe("approval", () => {
  const risky = (tier: string, more: object = {}) => say(tier, { risk_tier: tier, ...more });

  test("SHL-24 a directive that requires approval runs after a yes and not after a no", async () => {
    // Given a directive that requires approval, when it comes, then it runs after a yes and not after a no.
    const asked: ApprovalContext["why"][] = [];
    const list = [say("yes", { requires_user_approval: true }), say("no", { requires_user_approval: true })];
    const outcomes = await runCommand(list, {
      riskLimit: "dangerous",
      approve: ({ payload }, { why }) => {
        assert.deepEqual(log, payload.text === "yes" ? [] : ["yes"], "nothing runs before the answer");
        asked.push(why);
        return payload.text === "yes";
      },
    });
    assert.deepEqual(asked, ["required", "required"]);
    assert.deepEqual(log, ["yes"]);
    assert.deepEqual(statuses(outcomes), ["succeeded", "denied"]);
    assert.equal(outcomes[1]?.wasBegun, false);
  });

  for (const { limit, asks } of [
    { limit: undefined, asks: ["caution", "dangerous", "apocalyptic"] },
    { limit: "safe", asks: ["caution", "dangerous", "apocalyptic"] },
    { limit: "caution", asks: ["dangerous", "apocalyptic"] },
    { limit: "dangerous", asks: [] },
  ] as const) {
    test(`SHL-25 risk limit ${limit ?? "that is the default"} asks at ${asks.join(", ") || "none"}`, async () => {
      // Given the limit of risk ${limit ?? "that is the default"}, when directives of all tiers come, then it asks
      // before ${asks.join(", ") || "none"}.
      const asked: unknown[] = [];
      const list = [
        say("none"),
        ...["safe", "caution", "dangerous", "apocalyptic"].map((tier) => risky(tier)),
      ];
      await runCommand(list, {
        ...(limit === undefined ? {} : { riskLimit: limit }),
        approve: ({ payload }, { why }) => {
          assert.equal(why, "risk");
          asked.push(payload.text);
          return true;
        },
      });
      assert.deepEqual(asked, asks);
      assert.equal(log.length, 5);
    });
  }

  test("SHL-26 given no approver, when approval is needed, then the answer is no", async () => {
    const outcomes = await runCommand([
      say("a", { requires_user_approval: true }),
      risky("dangerous"),
      { action_type: "request_approval", payload: { request_id: "perm_1" } },
      say("b"),
    ]);
    assert.deepEqual(statuses(outcomes), ["denied", "denied", "denied", "succeeded"]);
    assert.match(outcomes[0]?.reason ?? "", /nobody to ask/);
    assert.deepEqual(log, ["b"]);
  });

  test("SHL-28 an approver that throws or returns anything but true denies", async () => {
    // Given approvers that throw or give back something that is not true, when they are asked, then the answer is no.
    // Programs without types call it too.
    const answers: unknown[] = [1, "yes", {}, null, undefined, [true], false];
    for (const answer of answers) {
      const outcomes = await runCommand([risky("dangerous")], { approve: async () => answer as boolean });
      assert.deepEqual(statuses(outcomes), ["denied"], JSON.stringify(answer));
    }
    const outcomes = await runCommand([risky("dangerous")], {
      approve: () => {
        throw new Error("the dialog broke");
      },
    });
    assert.deepEqual(statuses(outcomes), ["denied"]);
    assert.equal(outcomes[0]?.reason, "the dialog broke");
    assert.deepEqual(log, []);
  });

  test("SHL-27 asks for the approvals of parallel siblings one at a time", async () => {
    // Given parallel siblings that all need approval, when they come, then the person is asked one at a time.
    let open = 0;
    const list = Array.from({ length: 5 }, (_, n) => risky("dangerous", { execution: "parallel", n }));
    const outcomes = await runCommand(list, {
      approve: async () => {
        open += 1;
        assert.equal(open, 1);
        await new Promise((resolve) => setImmediate(resolve));
        open -= 1;
        return true;
      },
    });
    assert.deepEqual(new Set(statuses(outcomes)), new Set(["succeeded"]));
  });
});

describe("deadlines", () => {
  /** Long enough to begin in, on a busy machine too. */
  const soonMs = 400;

  /** Resolves when it is aborted. */
  const abortableEvents = ({ signal }: HandlerContext) =>
    new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));

  test("SHL-22 does not start a directive whose deadline passes while the one before it runs", async () => {
    // Given a directive whose deadline passes while the one before it runs, when its turn comes, then it is not begun.
    const outcomes = await runCommand(
      [{ action_type: "slow" }, say("late", { deadline_ms: 20 }), say("next")],
      {
        // Busy, so that no timer can fire in between either.
        handlers: {
          slow: () => {
            const end = performance.now() + 60;
            while (performance.now() < end);
          },
        },
      },
    );
    assert.deepEqual(statuses(outcomes), ["succeeded", "timed_out", "succeeded"]);
    assert.equal(outcomes[1]?.wasBegun, false);
    assert.deepEqual(log, ["next"]);
  });

  test("SHL-22 given a deadline of zero, when the directive comes, then it is not begun", async () => {
    assert.deepEqual(statuses(await runCommand([say("never", { deadline_ms: 0 })])), ["timed_out"]);
    assert.deepEqual(log, []);
  });

  test("SHL-22 does not start a directive approved after its deadline", async () => {
    // Given a deadline that passes while the person thinks, when they say yes at last, then it is not begun.
    const outcomes = await runCommand([say("late", { deadline_ms: 20, requires_user_approval: true })], {
      approve: async (_directive, context) => {
        await abortableEvents(context);
        return true;
      },
    });
    assert.deepEqual(statuses(outcomes), ["timed_out"]);
    assert.deepEqual(log, []);
  });

  test("SHL-22 does not ask for a directive that expires behind another's approval", async () => {
    // Given a directive that waits behind another's approval, when its deadline passes meanwhile, then the person is not
    // asked for it.
    const asked: unknown[] = [];
    const both = { execution: "parallel", requires_user_approval: true };
    const outcomes = await runCommand([say("first", both), say("late", { ...both, deadline_ms: 20 })], {
      approve: async ({ payload }) => {
        asked.push(payload.text);
        await new Promise((resolve) => setTimeout(resolve, 60));
        return true;
      },
    });
    assert.deepEqual(asked, ["first"]);
    assert.deepEqual(statuses(outcomes), ["succeeded", "timed_out"]);
  });

  test("SHL-23 the deadline aborts the signal of a running handler, and the outcome is a timeout", async () => {
    // Given a handler that runs past the deadline, when it passes, then the handler's signal is aborted and the outcome
    // is that it timed out.
    let wasAborted = false;
    const outcomes = await runCommand([{ action_type: "slow", deadline_ms: soonMs }, say("next")], {
      handlers: {
        slow: async (_directive, context) => {
          await abortableEvents(context);
          wasAborted = true;
          return "too late";
        },
      },
    });
    assert.equal(wasAborted, true);
    assert.deepEqual(statuses(outcomes), ["timed_out", "succeeded"]);
    assert.equal(outcomes[0]?.wasBegun, true);
    assert.equal(outcomes[0]?.result, undefined);
  });

  test("SHL-23 goes on after the deadline without a handler that ignores its signal", async () => {
    // Given a handler that does not listen to its signal, when the deadline passes, then the shell goes on without it.
    const outcomes = await runCommand([{ action_type: "deaf", deadline_ms: soonMs }, say("next")], {
      handlers: { deaf: () => new Promise(() => undefined) },
    });
    assert.deepEqual(statuses(outcomes), ["timed_out", "succeeded"]);
  });

  test("SHL-23 a handler without a deadline times out at the shell's own limit", async () => {
    // Given a directive without a deadline, when its handler takes longer than the shell's patience, then it timed out.
    const outcomes = await runCommand([{ action_type: "deaf" }, say("next", { deadline_ms: 3e12 })], {
      handlerMsMax: soonMs,
      handlers: { deaf: () => new Promise(() => undefined) },
    });
    assert.deepEqual(statuses(outcomes), ["timed_out", "succeeded"]);
  });
});
