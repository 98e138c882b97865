/** What the engine has told in this process, by id: what is told again is the same thing. */

import type { Directive } from "./directive.ts";

/** Enough to know again what one run tells twice. */
const idsMax = 10_000;

export class Told {
  readonly #ids = new Set<string>();
  /** Those of them that are questions on a screen. */
  readonly #questions = new Set<string>();

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  add({ id, kind, actionType }: Directive): void {
    if (id === undefined) return;
    const [oldest] = this.#ids;
    if (this.#ids.size >= idsMax && oldest !== undefined) this.forget(oldest);
    this.#ids.add(id);
    if (kind === "question" && actionType === "render_message") this.#questions.add(id);
  }

  forget(id: string): void {
    this.#ids.delete(id);
    this.#questions.delete(id);
  }

  /** Whoever comes back to a run wants to see what is asked. */
  forgetQuestions(): void {
    for (const id of this.#questions) this.forget(id);
  }

  clear(): void {
    this.#ids.clear();
    this.#questions.clear();
  }
}
