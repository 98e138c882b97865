/** Questions to the person at the terminal. */

import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import type { JsonObject } from "../../sdk/shell/index.ts";
import { pause } from "../../web/pause.ts";
import { type Field, promptFor, typedValue } from "./fields.ts";
import { oneLine } from "./text.ts";

/** Whether there is somebody who can be asked. Questions go to standard error, so that results stay clean. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** Long enough for what is in the terminal's buffer to arrive. */
const settleMs = 50;

/** Null when there is no answer: end of input, Ctrl-C, or the signal. */
export async function ask(question: string, signal?: AbortSignal): Promise<string | null> {
  await forgetTypedAhead();
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  return await answered(lines, question, signal);
}

/** The same without showing what is typed. */
export async function askHidden(question: string): Promise<string | null> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  // Only now that the terminal shows nothing any more.
  process.stderr.write(question);
  const answer = await answered(lines, "");
  process.stderr.write("\n");
  return answer;
}

async function answered(
  lines: ReturnType<typeof createInterface>,
  question: string,
  signal?: AbortSignal,
): Promise<string | null> {
  const gone = new Promise<null>((resolve) => {
    lines.once("close", () => resolve(null));
    lines.once("SIGINT", () => resolve(null));
  });
  try {
    const answer = lines.question(question, signal === undefined ? {} : { signal });
    return await Promise.race([answer, gone]);
  } catch (error) {
    if (signal?.aborted === true) return null;
    throw error;
  } finally {
    lines.close();
  }
}

/** What was typed before a question was asked is no answer to it. */
async function forgetTypedAhead(): Promise<void> {
  const { stdin } = process;
  const forget = () => {};
  stdin.setRawMode?.(true);
  stdin.on("data", forget).resume();
  await pause(settleMs);
  stdin.off("data", forget).pause();
  stdin.setRawMode?.(false);
}

/** Where questions go, and what is said about an answer that is none. */
export interface Prompter {
  /** The line that was typed; null when there is none: the person has left, or the question was withdrawn. */
  line(question: string): Promise<string | null>;
  tell(text: string): void;
}

/** Somebody who types nonsense that often wants to do something else. */
export const triesMax = 5;

/** One part after the other; null when the person gives up. */
export async function askFields(prompter: Prompter, fields: readonly Field[]): Promise<JsonObject | null> {
  const answer: JsonObject = {};
  for (const field of fields) {
    if (field.description !== undefined) prompter.tell(oneLine(field.description));
    const value = await askField(prompter, field);
    if (value === null) return null;
    if (value !== undefined) answer[field.name] = value;
  }
  return answer;
}

/** Undefined for one that is left out, null when the person gives up. */
async function askField(prompter: Prompter, field: Field) {
  for (let tries = 0; tries < triesMax; tries++) {
    const typed = await prompter.line(`  ${oneLine(promptFor(field), 60)} `);
    if (typed === null) return null;
    if (typed === "") return field.isRequired ? null : undefined;
    const value = typedValue(field, typed);
    if (value !== null) return value;
    prompter.tell(oneLine(`${field.name} has to be ${field.choices?.join(" or ") ?? `a ${field.type}`}.`));
  }
  return null;
}

export type Verdict = "approve" | "deny" | "details" | "none";

export interface VerdictQuestion {
  /** Ends in a space. */
  question: string;
  /** What is dangerous wants the whole word. */
  isDangerous: boolean;
  hasDetails?: boolean;
}

/** Nothing typed, or nobody there, is none. */
export async function askVerdict(
  prompter: Prompter,
  { question, isDangerous, hasDetails = false }: VerdictQuestion,
): Promise<Verdict> {
  for (let tries = 0; tries < triesMax; tries++) {
    const typed = (await prompter.line(question))?.trim().toLowerCase() ?? "";
    if (typed === "") return "none";
    if (typed === "yes" || (typed === "y" && !isDangerous)) return "approve";
    if (typed === "n" || typed === "no") return "deny";
    if (typed === "d" && hasDetails) return "details";
    prompter.tell(isDangerous ? "This is dangerous: type yes in full, or no." : "Type yes or no.");
  }
  return "none";
}
