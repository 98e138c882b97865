/** What a step was given and what came of it, for people: in a few words on a line, and whole below it. */

import { isRecord } from "../../sdk/client/errors.ts";
import type { EventPayloads } from "../../sdk/client/index.ts";

export interface Detail {
  label: "given" | "gave" | "prompt" | "answer" | "thrown at";
  value: unknown;
}

const briefChars = 60;
const cutChars = 400;

/** On the line of a step. */
export function brief(details: readonly Detail[]): string {
  const parts = details.flatMap(({ label, value }) => {
    if (label === "prompt" || label === "thrown at") return [];
    const text = textOf(value).replaceAll(/\s+/g, " ");
    const short = text.length > briefChars ? `${text.slice(0, briefChars)}…` : text;
    return [label === "given" ? short : `→ ${short}`];
  });
  return parts.join(" ");
}

/** Below the line: cut sensibly, or in full. */
export function detailText({ label, value }: Detail, isFull: boolean): string {
  const text = textOf(value, isFull ? 2 : undefined);
  const more = text.length - cutChars;
  const shown = isFull || more <= 0 ? text : `${text.slice(0, cutChars)}… (${more} more characters: --full)`;
  return `${label.padEnd(9)} ${shown.replaceAll("\n", `\n${" ".repeat(10)}`)}`;
}

type Input = Pick<EventPayloads["span.started"], "tool_call" | "host_call"> & {
  model_call?: EventPayloads["span.started"]["model_call"] | EventPayloads["span.completed"]["model_call"];
};

export function detailsOfInput({ tool_call, host_call, model_call }: Input): Detail[] {
  if (model_call !== undefined && "input" in model_call) {
    return model_call.input.flatMap((piece) =>
      "content" in piece ? readable("prompt", messageText(piece.content)) : [],
    );
  }
  return readable("given", (tool_call ?? host_call)?.input);
}

export function detailsOfResult({ kind, result, stack }: EventPayloads["span.completed"]): Detail[] {
  const output = "output" in result ? result.output : undefined;
  const isAnswer = kind === "llm" && isRecord(output) && typeof output.text === "string";
  const gave = isAnswer ? readable("answer", output.object ?? output.text) : readable("gave", output);
  return [...gave, ...readable("thrown at", stack)];
}

/** Empty for a value that is missing, or that this key may not read. */
export function readable(label: Detail["label"], value: unknown): Detail[] {
  const isHidden = isRecord(value) && value.redacted === true;
  return value == null || value === "" || isHidden ? [] : [{ label, value }];
}

function messageText(message: unknown): unknown {
  if (!isRecord(message) || typeof message.role !== "string") return message;
  const { role, content } = message;
  const parts = Array.isArray(content)
    ? content.map((part) => (isRecord(part) ? (part.text ?? part) : part))
    : [];
  const text = typeof content === "string" ? content : parts.map((part) => textOf(part)).join(" ");
  return `${role}: ${text}`;
}

function textOf(value: unknown, indent?: number): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, indent) ?? "");
}
