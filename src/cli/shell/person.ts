/** Asking the person at the terminal: for a yes, and for answers with several parts. */

import type { ApprovalContext, Directive, Json, JsonObject, Question } from "../../sdk/shell/index.ts";
import { approvalCard, riskStyle } from "../terminal/approval-card.ts";
import type { Style } from "../terminal/style.ts";
import { plainLineOf } from "../terminal/text.ts";
import { answerIn, type Field, fieldsOf, promptFor, typedValue } from "./answers.ts";
import type { Dialogue } from "./dialogue.ts";
import type { Presenter } from "./presenter.ts";

/** Somebody who types nonsense that often wants to do something else. */
const triesMax = 5;

export interface Person {
  dialogue: Dialogue;
  style: Style;
  presenter: Presenter;
  /** Gives up the turn. */
  interrupt(): void;
}

/** Shows what is to be approved and asks. Ctrl-C decides nothing. */
export async function askApproval(
  { dialogue, style, presenter, interrupt }: Person,
  directive: Directive,
  { signal }: ApprovalContext,
): Promise<boolean> {
  const isDangerous = directive.riskTier === "dangerous";
  const card = approvalCard(directive, style, dialogue.columns);
  dialogue.print(card.text);
  const more = card.hidden > 0 ? ", d for all details" : "";
  const prompt = `${riskStyle(style, directive.riskTier)("Approve?")} [${isDangerous ? "yes" : "y"}/N${more}] `;
  for (let tries = 0; tries < triesMax; tries++) {
    const reply = await dialogue.ask(prompt, signal);
    if (reply.kind === "interrupt" || reply.kind === "end") interrupt();
    if (reply.kind !== "line") return false;
    const text = reply.text.trim().toLowerCase();
    if (text === "yes" || (text === "y" && !isDangerous)) {
      dialogue.print(style.faint("Approved."));
      return true;
    }
    if (["", "n", "no"].includes(text)) break;
    if (text === "d") {
      dialogue.print(approvalCard(directive, style, dialogue.columns, Number.POSITIVE_INFINITY).text);
    } else {
      presenter.note(isDangerous ? "This is dangerous: type yes in full, or no." : "Type yes or no.");
    }
  }
  dialogue.print(style.faint("Not approved."));
  return false;
}

/** The answer that a line gives to a question with a schema, or that is asked for part by part; null for none. */
export async function structuredAnswer(
  person: Person,
  { schema = {} }: Question,
  line: string,
): Promise<Json | null> {
  const whole = answerIn(line, schema);
  if (whole !== null) return whole;
  const fields = fieldsOf(schema);
  if (fields === null || !person.dialogue.isTerminal) {
    person.presenter.error(`The answer has to be JSON: ${plainLineOf(JSON.stringify(schema), 500)}`);
    return null;
  }
  return await askFields(person, fields);
}

async function askFields(person: Person, fields: readonly Field[]): Promise<JsonObject | null> {
  const answer: JsonObject = {};
  for (const field of fields) {
    const value = await askField(person, field);
    if (value === null) return null;
    if (value !== undefined) answer[field.name] = value;
  }
  return answer;
}

/** Undefined for one that was left out, null when the person gives up. */
async function askField({ dialogue, presenter }: Person, field: Field): Promise<Json | undefined | null> {
  if (field.description !== undefined) presenter.note(field.description);
  for (let tries = 0; tries < triesMax; tries++) {
    const reply = await dialogue.ask(`  ${plainLineOf(promptFor(field), dialogue.columns)} `);
    if (reply.kind !== "line") return null;
    if (reply.text === "" && !field.isRequired) return undefined;
    const value = typedValue(field, reply.text);
    if (value !== null && !(value === "" && field.isRequired)) return value;
    presenter.error(`${field.name} has to be ${field.choices?.join(" or ") ?? `a ${field.type}`}.`);
  }
  return null;
}
