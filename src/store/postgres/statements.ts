/** Putting statements together: conditions with their values, and a name for each text. */

import type { Statement } from "./connect.ts";

const names = new Map<string, string>();

/** The texts are bounded in number: they are made of constants, never of what somebody sends. */
function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = `bridle_${names.size + 1}`;
    names.set(text, name);
  }
  return name;
}

export function statement(text: string, ...values: unknown[]): Statement {
  return { name: nameOf(text), text, values };
}

/** The values of a statement that is being put together. */
export class Values {
  readonly list: unknown[] = [];

  /** The place of a value in the text. */
  add(value: unknown): string {
    this.list.push(value);
    return `$${this.list.length}`;
  }
}

/** Conditions that must all hold. */
export class Where {
  readonly values: Values;
  readonly #conditions: string[];

  constructor(values: Values, ...conditions: string[]) {
    this.values = values;
    this.#conditions = conditions;
  }

  /** In the condition, `?` stands for the value. Without a value there is no condition. */
  and(condition: string, value: unknown): void {
    if (value === undefined) return;
    const place = this.values.add(value);
    this.#conditions.push(condition.replace("?", () => place));
  }

  also(condition: string): void {
    this.#conditions.push(condition);
  }

  toString(): string {
    return this.#conditions.join(" AND ");
  }
}
