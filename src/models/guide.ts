/**
 * `tour/guide`: a script in the place of a model, for the tour. It needs no key and no network, costs nothing, and says what it
 * is. Whoever names it gets it; nobody gets it without naming it.
 */

import { setTimeout as pause } from "node:timers/promises";
import { tokensOfCall, tokensOfText } from "./estimate.ts";
import type { ModelAnswer, ModelCall, ModelWatch, OpenModel, Price } from "./model.ts";

export const guideProvider = "tour";
const guideModel = "guide";
/** As agents name it. */
export const guideName = `${guideProvider}/${guideModel}`;

const free: Price = { input: 0, output: 0 };
/** About as fast as models speak. */
const wordMs = 12;

export function openGuide(): OpenModel {
  return { provider: guideProvider, model: guideModel, price: free, call: speak };
}

/** Asks for the first tool that it is offered, as models do, and then writes notes of the changes that it was told. */
async function speak(call: ModelCall, watch: ModelWatch): Promise<ModelAnswer> {
  watch.signal.throwIfAborted();
  const [tool] = call.tools ?? [];
  const given = toolResultOf(call);
  if (tool !== undefined && given === null) return asksFor(tool.name, call);
  const text = notesOf(promptOf(call), given);
  if (watch.onDelta !== undefined) {
    for (const word of text.split(/(?<=\s)/)) {
      watch.onDelta({ type: "text", text: word });
      await pause(wordMs, undefined, { signal: watch.signal }).catch(() => watch.signal.throwIfAborted());
    }
  }
  return { ...answer(call, text), message: { role: "assistant", content: text } };
}

function asksFor(name: string, call: ModelCall): ModelAnswer {
  const request = { id: "guide_1", name, input: {} };
  const content = { type: "tool-call" as const, toolCallId: request.id, toolName: name, input: {} };
  return {
    ...answer(call, ""),
    toolCalls: [request],
    finishReason: "tool-calls",
    message: { role: "assistant", content: [content] },
  };
}

function answer(call: ModelCall, text: string): Omit<ModelAnswer, "message"> {
  const usage = { inputTokens: tokensOfCall(call), outputTokens: tokensOfText(text) };
  return {
    text,
    toolCalls: [],
    object: null,
    finishReason: "stop",
    usage: { ...usage, isEstimated: true },
    servedBy: null,
  };
}

/** What the changes come to, each of them a line of the prompt that begins with a dash. */
function notesOf(prompt: string, given: string | null): string {
  const changes = prompt.split("\n").filter((line) => line.startsWith("- "));
  const dated = given === null ? "" : ` of ${given}`;
  return [
    `Release notes${dated}`,
    changes.length === 0 ? "I was told of no change." : changes.join("\n"),
    "Written by tour/guide: a script and no model, which needs no key and no network, and costs nothing. What is real is all " +
      "around it. The text came piece by piece, its tokens are counted, and it was on disk before the agent saw it: no crash " +
      "makes anybody ask, or pay, for it again.",
  ].join("\n\n");
}

function promptOf({ messages }: ModelCall): string {
  const said = messages.findLast(({ role }) => role === "user")?.content ?? "";
  if (typeof said === "string") return said;
  return said.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}

/** What the tool gave, as text; null while none was used. */
function toolResultOf({ messages }: ModelCall): string | null {
  const last = messages.at(-1);
  if (last?.role !== "tool") return null;
  const [result] = last.content;
  if (result?.type !== "tool-result") return null;
  const { output } = result;
  return output.type === "text" ? output.value : "value" in output ? JSON.stringify(output.value) : "";
}
