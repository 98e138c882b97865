import assert from "node:assert/strict";
import { test } from "node:test";
import type { TaskEvent } from "./events.ts";
import { Updates } from "./updates.ts";

const common = { id: "evt_1", task_id: "task_1", resource: { id: "task_1" } };
const span = { step: "tool:grep:1", kind: "tool", name: "grep" };

function updatesOf(...events: TaskEvent[]) {
  const updates = new Updates("http://server");
  return events.flatMap((event) => updates.of(event));
}

test("given a step that is told when it begins and when it ends, when it is shown, then it is one tool call", () => {
  const shown = updatesOf(
    { ...common, event: "span.started", payload: span },
    { ...common, event: "span.completed", payload: { ...span, result: { output: { lines: 3 } } } },
  );
  assert.deepEqual(shown, [
    {
      sessionUpdate: "tool_call",
      toolCallId: "task_1:tool:grep:1",
      title: "grep",
      kind: "execute",
      status: "in_progress",
    },
    {
      sessionUpdate: "tool_call_update",
      toolCallId: "task_1:tool:grep:1",
      status: "completed",
      rawOutput: { lines: 3 },
    },
  ]);
});

test("given what a key may not see, and more than anybody wants to see, when a step is shown, then it is shown without", () => {
  for (const output of [{ redacted: true, type: "json" }, "x".repeat(20_000)]) {
    const [, ended] = updatesOf({
      ...common,
      event: "span.completed",
      payload: { ...span, result: { output } },
    });
    assert.deepEqual(ended, {
      sessionUpdate: "tool_call_update",
      toolCallId: "task_1:tool:grep:1",
      status: "completed",
    });
  }
});

test("given steps that only think, wait or remember, when they are recorded, then nothing is shown of them", () => {
  for (const kind of ["llm", "sleep", "time", "random", "memory", "ask", "approve", "secret"]) {
    assert.deepEqual(
      updatesOf({ ...common, event: "span.completed", payload: { ...span, kind, result: {} } }),
      [],
    );
  }
});

test("given the words of a model as they come, when they are shown, then as thoughts: the message comes later, and once", () => {
  const delta = { step: "llm:plan:1", index: 0, text: "First, " };
  assert.deepEqual(updatesOf({ ...common, event: "span.updated", payload: { delta } }), [
    { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "First, " } },
  ]);
});
