import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyMessage, envelope } from "../../../test/support/events.ts";
import type { BridleEvent } from "../../sdk/client/index.ts";
import { Updates } from "./updates.ts";

const span = { step: "tool:grep:1", kind: "tool", name: "grep" };

function updatesOf(...events: BridleEvent[]) {
  const updates = new Updates("http://server");
  return events.flatMap((event) => updates.of("task_1", event));
}

test("the begin and the end of a step are shown as one tool call", () => {
  // Given a step that is told when it begins and when it ends, when it is shown, then it is one tool call.
  const shown = updatesOf(
    { ...envelope, event: "span.started", payload: span },
    { ...envelope, event: "span.completed", payload: { ...span, result: { output: { lines: 3 } } } },
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

test("a step is shown without output that is redacted or too large", () => {
  // Given what a key may not see, and more than anybody wants to see, when a step is shown, then it is shown without.
  for (const output of [{ redacted: true, type: "json" }, "x".repeat(20_000)]) {
    const [, ended] = updatesOf({
      ...envelope,
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

test("steps that only think, wait or remember are not shown", () => {
  // Given steps that only think, wait or remember, when they are recorded, then nothing is shown of them.
  for (const kind of ["llm", "sleep", "time", "random", "memory", "ask", "approve", "secret"]) {
    assert.deepEqual(
      updatesOf({
        ...envelope,
        event: "span.completed",
        payload: { ...span, kind, result: { output: null } },
      }),
      [],
    );
  }
});

test("the agent's own model output streams as thoughts", () => {
  // Given words of a model that are the agent's own, when they are shown as they come, then as thoughts.
  const delta = {
    step: "llm:plan:1",
    attempt: 1,
    index: 0,
    type: "text",
    visibility: "internal",
    text: "First, ",
  } as const;
  assert.deepEqual(updatesOf({ ...envelope, event: "span.updated", payload: { delta } }), [
    { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "First, " } },
  ]);
});

test("a message is not shown again after its text was streamed to the person", () => {
  // Given words of a model that are for the person, when they are shown as they come, then the message that says the
  // same is not shown again.
  const updates = new Updates("http://127.0.0.1");
  const delta = (index: number, text: string) => ({
    ...envelope,
    event: "span.updated" as const,
    payload: {
      delta: {
        step: "llm:a:1",
        attempt: 1,
        index,
        type: "text" as const,
        visibility: "public" as const,
        text,
      },
    },
  });
  const said = (text: string) => ({
    ...envelope,
    event: "agent.message" as const,
    payload: {
      message: {
        ...emptyMessage,
        parts: [{ type: "text" as const, text, visibility: "public" as const }],
      },
    },
  });
  const shown = [delta(0, "Hello, "), delta(1, "you."), said("Hello, you."), said("And more.")]
    .flatMap((event) => updates.of("task_1", event))
    .map((update) => [update.sessionUpdate, "content" in update ? Object(update.content).text : null]);
  assert.deepEqual(shown, [
    ["agent_message_chunk", "Hello, "],
    ["agent_message_chunk", "you."],
    ["agent_message_chunk", "And more."],
  ]);
});

test("listing a server's tools is not shown", () => {
  // Given that a server is asked for its tools, when that is recorded, then nothing is shown of it.
  const listing = { step: "mcp:github:tools/list:1", kind: "mcp", name: "github.tools/list" };
  assert.deepEqual(
    updatesOf({ ...envelope, event: "span.completed", payload: { ...listing, result: { output: [] } } }),
    [],
  );
});
