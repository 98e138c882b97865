/** One call of a tool: what is checked, when it ends, and what becomes of a result that comes too late. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Type } from "typebox";
import { toolContext } from "../../test/support/tool-samples.ts";
import { runTool, ToolTimeout, ToolValueInvalid } from "./attempt.ts";
import { defineTool } from "./define.ts";
import type { LateResult } from "./in-time.ts";
import type { ToolDefinition } from "./tool.ts";

/** A tool that ends when the test says so, whatever its signal says. */
function stubborn() {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const seen: { signal?: AbortSignal } = {};
  const tool = defineTool({
    name: "stubborn",
    description: "Does not stop.",
    effect: "irreversible",
    output: Type.String({ maxLength: 10 }),
    run(_, { signal }) {
      seen.signal = signal;
      return promise;
    },
  });
  const late: LateResult[] = [];
  return { tool, seen, resolve, reject, late, onLate: (result: LateResult) => void late.push(result) };
}

test("TOL-2 rejects invalid input before the function runs, naming problems but no values", async () => {
  // Given input that does not fit, when the tool is called, then it is refused before the function runs, naming the
  // first problems without values.
  let calls = 0;
  const tool = defineTool({
    name: "search",
    description: "Finds.",
    input: Type.Object({
      q: Type.String(),
      tags: Type.Array(Type.String()),
      a: Type.Null(),
      b: Type.Null(),
    }),
    effect: "none",
    run: () => {
      calls += 1;
    },
  });
  const input = { tags: ["x", 4711], a: 4711, b: 4711 };
  await assert.rejects(runTool(tool, input, toolContext()), (error) => {
    assert.ok(error instanceof ToolValueInvalid);
    assert.equal(error.code, "tool_input_invalid");
    assert.match(error.message, /The input of tool search does not fit its schema: .*\bq\b.*and 1 more/);
    assert.match(error.message, /tags\[1\] must be string/);
    assert.doesNotMatch(error.message, /4711/);
    return true;
  });
  await assert.rejects(runTool(tool, "q", toolContext()), /it must be object/);
  assert.equal(calls, 0);
});

test("TOL-2 given output that does not fit, when the tool ends, then that is its error", async () => {
  const output = Type.Object({ n: Type.Number() });
  const gives = (value: unknown) => {
    const tool: ToolDefinition = {
      name: "count",
      description: "Counts.",
      effect: "none",
      output,
      run: () => value,
    };
    return runTool(tool, {}, toolContext());
  };
  assert.deepEqual(await gives({ n: 1 }), { n: 1 });
  await assert.rejects(gives({ n: "1" }), { code: "tool_output_invalid", message: /n must be number/ });
});

test("TOL-3 an error thrown by the function, at once or later, is the call's and not late", async () => {
  // Given a function that throws, at once or later, when it is called, then its error is the call's and nothing comes
  // late.
  const late: LateResult[] = [];
  const failing = [
    () => {
      throw new RangeError("at once");
    },
    async () => {
      await setImmediate();
      throw new RangeError("later");
    },
  ];
  for (const run of failing) {
    const tool: ToolDefinition = { name: "fail", description: "Fails.", effect: "none", run };
    await assert.rejects(
      runTool(tool, {}, toolContext(), { onLate: (result) => late.push(result) }),
      RangeError,
    );
  }
  await setImmediate();
  assert.deepEqual(late, []);
});

test("TOL-3 a timeout ends the call at once, and a later result is reported once", async () => {
  // Given a function that does not stop, when its time is over, then the call ends at once, and what the function gives
  // afterwards is told once.
  const { tool, seen, resolve, late, onLate } = stubborn();
  await assert.rejects(runTool(tool, {}, toolContext(), { timeoutMs: 5, onLate }), (error) => {
    assert.ok(error instanceof ToolTimeout);
    assert.equal(error.message, "Tool stubborn did not end within 5 ms.");
    return true;
  });
  assert.ok(seen.signal?.reason instanceof ToolTimeout);
  assert.deepEqual(late, []);
  resolve("done");
  await setImmediate();
  assert.deepEqual(late, [{ output: "done" }]);
});

test("TOL-3 canceling the task ends the call at once, and a later error is reported once", async () => {
  // Given a function that does not stop, when the task is canceled, then the call ends at once with the reason, and the
  // function's error afterwards is told once.
  const { tool, seen, reject, late, onLate } = stubborn();
  const canceled = new AbortController();
  const calling = runTool(tool, {}, toolContext({ signal: canceled.signal }), { onLate });
  const reason = new Error("canceled");
  canceled.abort(reason);
  await assert.rejects(calling, reason);
  assert.equal(seen.signal?.reason, reason);
  reject(new Error("broken"));
  await setImmediate();
  assert.deepEqual(late, [{ error: new Error("broken") }]);
});

test("TOL-3 reports a late result that does not fit its schema as an error", async () => {
  // Given a late result that does not fit its schema, when it comes, then it is told as an error.
  const { tool, resolve, late, onLate } = stubborn();
  await assert.rejects(runTool(tool, {}, toolContext(), { timeoutMs: 5, onLate }), ToolTimeout);
  resolve("much too long");
  await setImmediate();
  const [only] = late;
  assert.ok(only !== undefined && "error" in only && only.error instanceof ToolValueInvalid);
});

test("TOL-3 a result in time is not late if the signal is aborted afterwards", async () => {
  // Given a function that ends in time, when the signal is aborted right after it or later, then it is a result and not
  // late.
  const { tool, resolve, late, onLate } = stubborn();
  const canceled = new AbortController();
  const calling = runTool(tool, {}, toolContext({ signal: canceled.signal }), { onLate });
  resolve("done");
  const output = await calling;
  canceled.abort(new Error("canceled"));
  await setImmediate();
  assert.deepEqual([output, late], ["done", []]);
});

test("TOL-3 does not run the function if the signal is already aborted", async () => {
  // Given a signal that is aborted before, when the tool is called, then the function does not run.
  const { tool, seen } = stubborn();
  const reason = new Error("canceled before");
  await assert.rejects(runTool(tool, {}, toolContext({ signal: AbortSignal.abort(reason) })), reason);
  assert.equal(seen.signal, undefined);
});

test("TOL-3 a late failure without a listener causes no unhandled rejection", async () => {
  // Given nobody who wants to hear of late results, when one fails late, then nothing is left unhandled.
  const { tool, reject } = stubborn();
  await assert.rejects(runTool(tool, {}, toolContext(), { timeoutMs: 5 }), ToolTimeout);
  reject(new Error("broken"));
  await setImmediate();
});
