/** Asking the person at the terminal what a task wants to know. What they typed is counted in rows, for those who draw around it. */

import { isRecord } from "../../sdk/client/errors.ts";
import type { JsonObject } from "../../sdk/shell/index.ts";
import { answerIn, type Field, fieldsOf, promptFor, typedValue } from "../shell/answers.ts";
import { ask, harmlessLine } from "../terminal/terminal.ts";
import { widthOf } from "../terminal/text.ts";
import { asJson } from "./answer.ts";

/** Somebody who types nonsense that often wants to do something else. */
const triesMax = 5;

export class Asking {
  readonly #signal: AbortSignal;
  readonly #columns: number;
  /** How many rows of the screen questions and answers have taken. */
  rows = 0;
  /** Ctrl-C, or the end of the input: the person wants to be elsewhere. */
  isLeft = false;

  constructor(signal: AbortSignal, columns: number) {
    this.#signal = signal;
    this.#columns = columns;
  }

  /** A line that was typed; null when the question was withdrawn or given up. */
  async line(question: string): Promise<string | null> {
    if (this.#signal.aborted) return null;
    const typed = await ask(question, this.#signal);
    if (typed === null && !this.#signal.aborted) {
      this.isLeft = true;
      // Where there was no Enter, the next line begins here all the same; a question that is withdrawn ends its own.
      process.stderr.write("\n");
    }
    this.#count(question + (typed ?? ""));
    return typed;
  }

  tell(text: string): void {
    process.stderr.write(`${text}\n`);
    this.#count(text);
  }

  #count(text: string): void {
    this.rows += Math.floor(widthOf(text) / this.#columns) + 1;
  }
}

/** Undefined for no answer. A question without a schema takes any text. */
export async function askAnswer(
  asking: Asking,
  schema: Record<string, unknown> | null,
): Promise<unknown | undefined> {
  if (schema === null) {
    const typed = await asking.line("Your answer: ");
    return typed === null || typed.trim() === "" ? undefined : typed;
  }
  const fields = fieldsOf(asJson(schema));
  if (fields !== null) return await askFields(asking, fields);
  for (let tries = 0; tries < triesMax; tries++) {
    const typed = await asking.line("Your answer, as JSON: ");
    if (typed === null || typed.trim() === "") return undefined;
    const answer = answerIn(typed, asJson(schema));
    if (answer !== null) return answer;
    asking.tell("It has to be JSON.");
  }
  return undefined;
}

async function askFields(asking: Asking, fields: readonly Field[]): Promise<JsonObject | undefined> {
  const answer: JsonObject = {};
  for (const field of fields) {
    const value = await askField(asking, field);
    if (value === undefined) return undefined;
    if (value !== null) answer[field.name] = value;
  }
  return answer;
}

/** Null for one that is left out, undefined when the person gives up. */
async function askField(asking: Asking, field: Field) {
  for (let tries = 0; tries < triesMax; tries++) {
    const typed = await asking.line(`${harmlessLine(promptFor(field), 60)} `);
    if (typed === null) return undefined;
    if (typed === "") {
      if (!field.isRequired) return null;
      return undefined;
    }
    const value = typedValue(field, typed);
    if (value !== null) return value;
    asking.tell(harmlessLine(`${field.name} has to be ${field.choices?.join(" or ") ?? `a ${field.type}`}.`));
  }
  return undefined;
}

export type Verdict = "approve" | "deny" | "later" | "details";

/** What is dangerous wants the whole word. Nothing typed decides nothing. */
export async function askVerdict(asking: Asking, risk: unknown, isMore: boolean): Promise<Verdict> {
  const isDangerous = risk === "high" || risk === "dangerous";
  const details = isMore ? ", d for all of it" : "";
  const question = `Approve? [${isDangerous ? "yes" : "y"}/n${details}, Enter for later] `;
  for (let tries = 0; tries < triesMax; tries++) {
    const typed = (await asking.line(question))?.trim().toLowerCase();
    if (typed === undefined || typed === "") return "later";
    if (typed === "yes" || (typed === "y" && !isDangerous)) return "approve";
    if (typed === "n" || typed === "no") return "deny";
    if (typed === "d" && isMore) return "details";
    asking.tell(isDangerous ? "This is risky: type yes in full, or no." : "Type yes or no.");
  }
  return "later";
}

export function riskIn(request: unknown): unknown {
  return isRecord(request) ? request.risk : undefined;
}
