/** Asking the person at the terminal what a task wants to know. What they typed is counted in rows, for those who draw around it. */

import { isRecord } from "../../sdk/client/errors.ts";
import { answerIn, fieldsOf } from "../terminal/fields.ts";
import { ask, askFields, askVerdict, type Prompter, triesMax, type Verdict } from "../terminal/prompt.ts";
import { widthOf } from "../terminal/text.ts";
import { asJson } from "./answer.ts";

export class Asking implements Prompter {
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
  if (fields !== null) return (await askFields(asking, fields)) ?? undefined;
  for (let tries = 0; tries < triesMax; tries++) {
    const typed = await asking.line("Your answer, as JSON: ");
    if (typed === null || typed.trim() === "") return undefined;
    const answer = answerIn(typed, asJson(schema));
    if (answer !== null) return answer;
    asking.tell("It has to be JSON.");
  }
  return undefined;
}

/** Whether an approval is one that wants the whole word. */
export function isDangerous(request: unknown): boolean {
  const risk = riskIn(request);
  return risk === "high" || risk === "dangerous";
}

export async function askForVerdict(asking: Asking, request: unknown, hasDetails: boolean): Promise<Verdict> {
  const word = isDangerous(request) ? "yes" : "y";
  const question = `Approve? [${word}/n${hasDetails ? ", d for all of it" : ""}, Enter for later] `;
  return await askVerdict(asking, { question, isDangerous: isDangerous(request), hasDetails });
}

export function riskIn(request: unknown): unknown {
  return isRecord(request) ? request.risk : undefined;
}
