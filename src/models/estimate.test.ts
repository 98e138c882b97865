import assert from "node:assert/strict";
import { test } from "node:test";
import { tokensOfCall, tokensOfMessages, tokensOfText } from "./estimate.ts";
import type { ModelMessage } from "./messages.ts";

test("MDL-26 given a text, when its tokens are estimated, then there is one for four characters", () => {
  assert.deepEqual(["", "a", "abcd", "abcde"].map(tokensOfText), [0, 1, 1, 2]);
});

test("MDL-26 an estimate counts every part of a message, and each picture alike", () => {
  // Given messages of all kinds, when their tokens are estimated, then every part counts, pictures alike.
  const text = "x".repeat(400);
  const picture = (data: string): ModelMessage => ({
    role: "user",
    content: [{ type: "file", data: { type: "data", data }, mediaType: "image/png" }],
  });
  const messages: ModelMessage[] = [
    { role: "system", content: text },
    { role: "user", content: [{ type: "text", text }] },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text },
        { type: "tool-call", toolCallId: "1", toolName: "t", input: { text } },
      ],
    },
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "1", toolName: "t", output: { type: "text", value: text } },
      ],
    },
  ];
  const tokens = tokensOfMessages(messages);
  assert.ok(tokens > 500 && tokens < 550, String(tokens));
  assert.equal(tokensOfMessages([picture("a".repeat(100_000))]), tokensOfMessages([picture("a")]));
});

test("MDL-26 an estimate of a call counts its tools and its schema", () => {
  // Given tools and a schema, when the tokens of a call are estimated, then they count, too.
  const schema = { type: "object", description: "y".repeat(4000) };
  const call = { messages: [{ role: "user", content: "hi" }] } as const;
  const more = { ...call, tools: [{ name: "t", description: "d", input: schema }], output: schema };
  assert.ok(tokensOfCall(more) - tokensOfCall(call) > 2000);
});
