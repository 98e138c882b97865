/** Whoever answers the questions of the tour: the person at the terminal, or the tour itself where there is none. */

import { Type } from "typebox";
import { Value } from "typebox/value";
import type { PermissionRequest } from "../../sdk/client/index.ts";
import { ask, askVerdict, triesMax } from "../terminal/prompt.ts";
import { oneLine } from "../terminal/text.ts";
import type { Page } from "./page.ts";

const nameUsual = "First light";
const nameCharsMax = 40;

const Bound = Type.Object({
  action: Type.String(),
  payload: Type.Unknown(),
  risk: Type.String(),
  artifact_hash: Type.String(),
});

/** The person has left. */
export class Left extends Error {}

export interface Person {
  nameRelease(question: string): Promise<string>;
  approves(request: PermissionRequest): Promise<boolean>;
}

export function personAt(page: Page, isAsked: boolean, signal: AbortSignal): Person {
  const asked = async (prompt: string): Promise<string> => {
    const typed = await ask(`   ${prompt} `, signal);
    if (typed === null) throw new Left();
    return typed.trim();
  };
  return {
    async nameRelease(question) {
      page.heading("A question");
      page.text(question, page.style.strong);
      page.note("The task waits on disk and not in memory: for a week if need be, and through any restart.");
      if (!isAsked) {
        page.text(`Answered by the tour itself: ${nameUsual}`);
        return nameUsual;
      }
      for (let tries = 0; tries < triesMax; tries++) {
        const name = (await asked(`A name, or nothing for "${nameUsual}":`)) || nameUsual;
        if (name.length <= nameCharsMax) return name;
        page.note(
          `At most ${nameCharsMax} characters: the question has a schema, which the server holds answers to.`,
        );
      }
      return nameUsual;
    },
    async approves({ request }) {
      const { action, payload, risk, artifact_hash } = Value.Parse(Bound, request);
      page.heading("An approval", `${oneLine(risk, 20)} risk`, page.style.danger);
      page.text(action, page.style.strong);
      page.note("A yes is for exactly this and nothing else:");
      page.quote(fieldsOf(payload));
      page.note(`Its fingerprint: ${artifact_hash}`);
      if (!isAsked) {
        page.text("Answered by the tour itself: yes");
        return true;
      }
      const prompter = { line: asked, tell: (text: string) => page.note(text) };
      const verdict = await askVerdict(prompter, { question: "Approve? [yes/no]", isDangerous: false });
      if (verdict === "approve") return true;
      page.note("Not approved: the agent hears it, and publishes nothing.");
      return false;
    },
  };
}

/** A field a line, texts as they are. */
function fieldsOf(payload: unknown): string {
  if (typeof payload !== "object" || payload === null) return JSON.stringify(payload);
  return Object.entries(payload)
    .map(([name, value]) => {
      if (typeof value !== "string") return `${name}: ${JSON.stringify(value)}`;
      return value.includes("\n") ? `${name}:\n${value}` : `${name}: ${value}`;
    })
    .join("\n");
}
