/** What a step was given and what came of it, for people: in a few words on a line, and whole below it. */

import { isRecord } from "../../sdk/client/errors.ts";

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

export function givenTo({ tool_call, host_call, model_call }: Record<string, unknown>): Detail[] {
  if (isRecord(model_call) && Array.isArray(model_call.input)) {
    return model_call.input.flatMap((piece): Detail[] =>
      isRecord(piece) ? readable("prompt", messageText(piece.content)) : [],
    );
  }
  const call = tool_call ?? host_call;
  return isRecord(call) ? readable("given", call.input) : [];
}

export function cameOf({ kind, result, stack }: Record<string, unknown>): Detail[] {
  const { output } = isRecord(result) ? result : {};
  const isAnswer = kind === "llm" && isRecord(output) && typeof output.text === "string";
  const gave = isAnswer ? readable("answer", output.object ?? output.text) : readable("gave", output);
  return [...gave, ...readable("thrown at", stack)];
}

/** Nothing for what is not there, or not for this key. */
function readable(label: Detail["label"], value: unknown): Detail[] {
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
