/** Whatever an engine sends, the shell runs nothing that is not registered, nothing without its yes, and does not break. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { type ScriptedEngine, scriptedEngine } from "../../../test/support/scripted-engine.ts";
import { type Directive, Shell, ShellError } from "./index.ts";

let engine: ScriptedEngine;
before(async () => {
  engine = await scriptedEngine();
});
after(() => engine[Symbol.asyncDispose]());

const runs = 400;

/** Mostly right, so that it is often read to its end. */
const often = <T, U>(likely: fc.Arbitrary<T>, odd: fc.Arbitrary<U>) =>
  fc.oneof({ arbitrary: likely, weight: 40 }, { arbitrary: odd, weight: 1 });
const anything = fc.jsonValue({ maxDepth: 3 });

const directive = fc.record(
  {
    action_type: often(
      fc.constantFrom("known", "render_message", "noop", "request_approval", "constructor", "com.example.x"),
      anything,
    ),
    payload: often(
      fc.dictionary(fc.constantFrom("text", "message", "via", "request_id"), anything),
      anything,
    ),
    execution: often(fc.constantFrom("sequential", "parallel", "later"), anything),
    risk_tier: often(fc.constantFrom("safe", "caution", "dangerous", "worse"), anything),
    requires_user_approval: often(fc.boolean(), anything),
    deadline_ms: often(fc.constantFrom(0, 1, 60_000, 1e15), anything),
    extensions: often(
      fc.record(
        {
          "com.bridle": often(
            fc.record(
              {
                directive_id: often(fc.constantFrom("a", "b", "c"), anything),
                kind: fc.constantFrom("message", "action", "question", "approval", "status", "odd"),
                expects_outcome: often(fc.boolean(), anything),
              },
              { requiredKeys: [] },
            ),
            anything,
          ),
        },
        { requiredKeys: [] },
      ),
      anything,
    ),
    priority: often(fc.constantFrom("low", "critical"), anything),
  },
  { requiredKeys: ["action_type"] },
);

const response = fc.record(
  {
    protocol_version: often(fc.constantFrom("1.0.0", "1.9.9"), anything),
    supported_capabilities: often(fc.dictionary(fc.string(), anything), anything),
    capability_denials: often(fc.array(fc.record({ capability: fc.constant("x") })), anything),
    response: often(
      fc.record(
        {
          status: often(fc.constantFrom("success", "error"), anything),
          action_directives: often(fc.array(often(directive, anything), { maxLength: 6 }), anything),
          error: often(
            fc.record({ code: fc.constantFrom("odd", "invalid_request"), details: anything }),
            anything,
          ),
          extensions: often(fc.record({ "com.bridle": anything }), anything),
          continuation: often(fc.constant(null), anything),
        },
        { requiredKeys: ["status"] },
      ),
      anything,
    ),
  },
  { requiredKeys: ["protocol_version", "response"] },
);

test("SHL-29 any response runs only allowed handlers and ends in a result or a ShellError", async () => {
  // Given any response, whole or as a stream, when it comes, then only registered handlers run, only after a yes where
  // one is needed, and the turn ends with a result or a ShellError.
  let completed = 0;
  let ran = 0;
  await fc.assert(
    fc.asyncProperty(response, fc.boolean(), async (body, isStream) => {
      engine.play((_asked, reply) => {
        if (!isStream) {
          reply.writeHead(200, { "Content-Type": "application/json" });
          return void reply.end(JSON.stringify(body));
        }
        reply.writeHead(200, { "Content-Type": "text/event-stream" });
        const list: unknown = Reflect.get(Object(body.response), "action_directives");
        for (const [index, item] of (Array.isArray(list) ? list : []).entries()) {
          const frame = { sequence: index + 1, action_directive: item };
          reply.write(`event: directive\ndata: ${JSON.stringify(frame)}\n\n`);
        }
        reply.end(`event: response\ndata: ${JSON.stringify(body)}\n\n`);
      });
      const approved = new Set<Directive>();
      const run = (type: string) => (directive: Directive) => {
        ran += 1;
        assert.equal(directive.actionType, type);
        const isRisky = directive.requiresUserApproval || directive.riskTier === "dangerous";
        assert.ok(!isRisky || approved.has(directive), "nothing risky runs without a yes");
        assert.notEqual(directive.deadlineMs, 0);
      };
      const shell = new Shell({
        url: engine.url,
        riskLimit: "caution",
        retry: { attemptsMax: 1 },
        handlers: { known: run("known"), render_message: run("render_message") },
        approve: (directive) => {
          approved.add(directive);
          return approved.size % 2 === 1;
        },
      });
      try {
        const { outcomes } = await shell.send("go");
        completed += 1;
        for (const { directive, status, wasBegun, reason } of outcomes) {
          assert.ok(status !== "failed", reason ?? "failed");
          const isKnown = ["known", "render_message"].includes(directive.actionType);
          assert.ok(isKnown || !wasBegun);
        }
      } catch (error) {
        assert.ok(error instanceof ShellError, String(error));
      }
      assert.doesNotThrow(() => structuredClone(shell.state));
    }),
    { numRuns: runs },
  );
  assert.ok(completed > runs / 10, `${completed} of ${runs} responses were good enough to be carried out`);
  assert.ok(ran > runs / 10, `${ran} handlers ran`);
});
