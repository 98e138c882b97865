/** The script that stands in for a model on the tour. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Providers } from "./configured.ts";
import type { ModelCall } from "./model.ts";
import { createModels } from "./providers.ts";

const watched = (heard: string[] = []) => ({
  signal: AbortSignal.timeout(30_000),
  onDelta: ({ text }: { text: string }) => void heard.push(text),
});

const call: ModelCall = {
  messages: [{ role: "user", content: "Write notes:\n- One is new\n- Two is gone" }],
};

test("TOU-2 tour/guide streams without a key, says that it is a script and costs nothing", async () => {
  // Given no key at all, when tour/guide is called by its name, then it speaks piece by piece, says what it is, and
  // costs nothing.
  const guide = createModels({}, {}).open("tour/guide");
  const heard: string[] = [];
  const answer = await guide.call(call, watched(heard));
  assert.match(answer.text, /- One is new\n- Two is gone\n[\s\S]*a script and no model/);
  assert.ok(heard.length > 20);
  assert.equal(heard.join(""), answer.text);
  assert.ok(answer.usage.inputTokens > 0 && answer.usage.outputTokens > 0);
  assert.deepEqual(guide.price, { input: 0, output: 0 });
});

test("TOU-2 tour/guide asks for a tool first and uses its result", async () => {
  // Given a tool, when tour/guide is called, then it asks for the tool first and uses what that gave.
  const guide = createModels({}, {}).open("tour/guide");
  const tools = [{ name: "today", description: "The date.", input: { type: "object" } }];
  const { toolCalls, message } = await guide.call({ ...call, tools }, watched());
  assert.deepEqual(toolCalls, [{ id: "guide_1", name: "today", input: {} }]);
  const output = { type: "text" as const, value: "2026-11-18" };
  const result = { type: "tool-result" as const, toolCallId: "guide_1", toolName: "today", output };
  const messages = [...call.messages, message, { role: "tool" as const, content: [result] }];
  assert.match((await guide.call({ messages, tools }, watched())).text, /^Release notes of 2026-11-18\n/);
});

test("TOU-2 given somebody who has lost interest, when tour/guide speaks, then it stops", async () => {
  const stop = new AbortController();
  const onDelta = () => stop.abort(new Error("enough"));
  const speaking = createModels({}, {}).open("tour/guide").call(call, { signal: stop.signal, onDelta });
  await assert.rejects(speaking, /enough/);
});

test("TOU-2 rejects tour/guide as default and tour as provider, and does not list it", () => {
  // Given settings that make a script the default, or call a provider tour, when they are read, then they are refused,
  // and nobody is told of it as a provider.
  assert.throws(
    () => createModels({}, { BRIDLE_MODEL: "tour/guide" }),
    /BRIDLE_MODEL names tour\/guide, which is a script/,
  );
  assert.throws(() => createModels({ default: "tour/guide" }, {}), /models\.default names tour\/guide/);
  const providers = { tour: { kind: "openai" as const } };
  assert.throws(() => createModels({ providers }, {}), /models\.providers\.tour is taken/);
  assert.equal(createModels({}, {}).defaultModel, null);
  assert.deepEqual(new Providers({}, {}).usable(), []);
  assert.throws(() => createModels({}, {}).open("tour/other"), /no provider "tour"/);
});
