/** What a check found, and how it is told. */

import { styleOf } from "../terminal/style.ts";
import { escapedJson, oneLine } from "../terminal/text.ts";
export interface Finding {
  check: string;
  status: "ok" | "warning" | "problem";
  message: string;
  /** What to do about it. */
  advice: string | null;
}

/** What a check says; its name is known to whoever asked for it. */
export type Answer = Omit<Finding, "check">;

export function ok(message: string): Answer {
  return { status: "ok", message, advice: null };
}

export function warning(message: string, advice: string): Answer {
  return { status: "warning", message, advice };
}

export function problem(message: string, advice: string): Answer {
  return { status: "problem", message, advice };
}

/** A check that cannot be made has found a problem: what it needs does not work. */
export async function finding(
  check: string,
  ask: () => Answer | Promise<Answer>,
  advice: string,
): Promise<Finding> {
  try {
    return { check, ...(await ask()) };
  } catch (error) {
    return { check, ...problem(error instanceof Error ? error.message : String(error), advice) };
  }
}

const paints = { ok: "good", warning: "warning", problem: "danger" } as const;
const statusWidth = "problem".length;

export function asLines(findings: readonly Finding[]): string {
  const style = styleOf();
  const checkWidth = Math.max(...findings.map(({ check }) => check.length));
  return findings
    .map(({ check, status, message, advice }) => {
      const text = oneLine(advice === null ? message : `${ended(message)} ${advice}`);
      return `${style[paints[status]](status.padEnd(statusWidth))}  ${check.padEnd(checkWidth)}  ${text}\n`;
    })
    .join("");
}

function ended(sentence: string): string {
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}

export function asJson(findings: readonly Finding[]): string {
  return `${escapedJson(findings, 2)}\n`;
}
