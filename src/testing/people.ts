/** The people of a rehearsal, and its hosts: who answers what. */

import type { JsonObject, JsonValue } from "../store/port.ts";

/** Stands for an answer that never comes: time goes on until the question expires. */
export const nobody: unique symbol = Symbol("nobody");
export type Nobody = typeof nobody;

/** A question that was asked, and what was answered. */
export interface Question {
  step: string;
  question: string;
  /** JSON Schema of the answer, where one was asked for. */
  schema: JsonObject | null;
}

export interface ApprovalAsked {
  step: string;
  action: string;
  payload: JsonValue;
  risk: string;
}

export type Answer = JsonValue | Nobody;
export type Decision = boolean | { approved: boolean; reason?: string } | Nobody;

/** In order; or by a text that is in what is asked; or by a function, which gives undefined where it has no answer. */
export type Script<Asked, Given> =
  | readonly Given[]
  | { readonly [text: string]: Given }
  | ((asked: Asked) => Given | undefined);

export interface People {
  answers?: Script<Question, Answer>;
  approvals?: Script<ApprovalAsked, Decision>;
}

/** By capability. A host that gives `nobody` is not there. */
export type Hosts = Record<string, (input: JsonValue) => JsonValue | Promise<JsonValue> | Nobody>;

/** Reads a script from its beginning. */
export class Prompter<Asked, Given> {
  readonly #script: Script<Asked, Given>;
  readonly #textOf: (asked: Asked) => string;
  #given = 0;

  constructor(script: Script<Asked, Given>, textOf: (asked: Asked) => string) {
    this.#script = script;
    this.#textOf = textOf;
  }

  next(asked: Asked): Given | undefined {
    const script = this.#script;
    if (typeof script === "function") return script(asked);
    if (isList(script)) return script[this.#given++];
    const text = this.#textOf(asked);
    return Object.entries(script).find(([part]) => text.includes(part))?.[1];
  }
}

function isList<Given>(
  script: readonly Given[] | { readonly [text: string]: Given },
): script is readonly Given[] {
  return Array.isArray(script);
}
