/** Asking the person at the terminal: for a yes, and for answers with several parts. */

import type { ApprovalContext, Directive, Json, Question } from "../../sdk/shell/index.ts";
import { approvalCard, riskStyle } from "../terminal/approval-card.ts";
import { answerIn, fieldsOf } from "../terminal/fields.ts";
import { askFields, askVerdict, type Prompter } from "../terminal/prompt.ts";
import type { Style } from "../terminal/style.ts";
import { oneLine } from "../terminal/text.ts";
import type { Dialogue } from "./dialogue.ts";
import type { Presenter } from "./presenter.ts";

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
  const prompter: Prompter = {
    async line(question) {
      const reply = await dialogue.ask(question, signal);
      if (reply.kind === "interrupt" || reply.kind === "end") interrupt();
      return reply.kind === "line" ? reply.text : null;
    },
    tell: (text) => presenter.note(text),
  };
  const card = approvalCard(directive, style, dialogue.columns);
  dialogue.print(card.text);
  const hasDetails = card.hidden > 0;
  const word = isDangerous ? "yes" : "y";
  const prompt = riskStyle(style, directive.riskTier)("Approve?");
  const question = `${prompt} [${word}/N${hasDetails ? ", d for all details" : ""}] `;
  let verdict = await askVerdict(prompter, { question, isDangerous, hasDetails });
  if (verdict === "details") {
    dialogue.print(approvalCard(directive, style, dialogue.columns, Number.POSITIVE_INFINITY).text);
    verdict = await askVerdict(prompter, { question: `${prompt} [${word}/N] `, isDangerous });
  }
  if (signal.aborted) return false;
  dialogue.print(style.faint(verdict === "approve" ? "Approved." : "Not approved."));
  return verdict === "approve";
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
    person.presenter.error(`The answer has to be JSON: ${oneLine(JSON.stringify(schema), 500)}`);
    return null;
  }
  const { dialogue, presenter } = person;
  const prompter: Prompter = {
    async line(prompt) {
      const reply = await dialogue.ask(prompt);
      return reply.kind === "line" ? reply.text : null;
    },
    tell: (text) => presenter.note(text),
  };
  return await askFields(prompter, fields);
}
