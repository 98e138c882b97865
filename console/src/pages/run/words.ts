/** What records say, in words. Everything that agents and people wrote is text here and never anything else. */

import type { Message, Task } from "bridle/client";
import { text } from "../../text.ts";

/** Long enough for a row and a heading. */
const charsMax = 300;

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function stringIn(value: unknown, name: string): string | null {
  const found = isRecord(value) ? value[name] : undefined;
  return typeof found === "string" ? found : null;
}

/** What a task was given, on one line. */
export function inputText(input: Task["input"]): string {
  const parts = isRecord(input) && Array.isArray(input.parts) ? (input.parts as Message["parts"]) : null;
  if (parts === null) {
    const members = Object.entries(Object(input)).map(
      ([name, value]) =>
        `${name.replaceAll("_", " ")}: ${typeof value === "string" ? value : JSON.stringify(value)}`,
    );
    return members.join(", ").slice(0, charsMax);
  }
  return parts
    .map((part) =>
      "text" in part && typeof part.text === "string"
        ? part.text
        : "value" in part
          ? JSON.stringify(part.value)
          : `[${part.type}]`,
    )
    .join(" ")
    .slice(0, charsMax);
}

/** The agent; the persona only where it is not the one that comes with the agent. */
export function agentOf({ assigned_agent_id, persona_id }: Task): { name: string; persona: string | null } {
  const ofPersona = persona_id?.replace(/^persona_/, "") ?? null;
  const name = assigned_agent_id?.replace(/@[^@]*$/, "") ?? ofPersona ?? text.none;
  return { name, persona: ofPersona === name ? null : ofPersona };
}

const units = ["bytes", "KB", "MB", "GB"];

export function size(bytes: number): string {
  const step = Math.min(units.length - 1, bytes === 0 ? 0 : Math.floor(Math.log10(bytes) / 3));
  const amount = bytes / 1000 ** step;
  return `${step === 0 ? amount : amount.toPrecision(3)} ${units[step]}`;
}

export function usd(amount: number): string {
  return new Intl.NumberFormat("en", { style: "currency", currency: "USD", maximumFractionDigits: 4 }).format(
    amount,
  );
}
