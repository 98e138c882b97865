/**
 * What a model says, told while it says it: gathered into a few events a second, however many pieces it came in. The end of
 * what was said is held back, so that a secret which comes in two pieces is recognized before it is written; what an answer that
 * broke off had said of one is never written.
 */

import type { ModelDelta } from "../../models/model.ts";
import type { Run } from "../run/run.ts";

const tellEveryMs = 250;
/** So much is told at once, whatever the time. */
const tellChars = 2000;
const heldBackChars = 256;

export class DeltaTeller {
  readonly #run: Run;
  readonly #step: string;
  readonly #attempt: number;
  readonly #visibility: "public" | "internal";
  #pending: { type: ModelDelta["type"]; text: string } = { type: "text", text: "" };
  #index = 0;
  #toldAt = performance.now();

  constructor(run: Run, step: string, attempt: number, visibility: "public" | "internal") {
    this.#run = run;
    this.#step = step;
    this.#attempt = attempt;
    this.#visibility = visibility;
  }

  hear({ type, text }: ModelDelta): void {
    if (type !== this.#pending.type) {
      this.#tell(0, 0);
      this.#pending = { type, text: "" };
    }
    this.#pending.text += text;
    const isDue = performance.now() - this.#toldAt >= tellEveryMs;
    if (isDue || this.#pending.text.length >= tellChars + heldBackChars) this.#tell(heldBackChars);
  }

  /** The rest: the model has said all, or has broken off. */
  end(isWhole: boolean): void {
    if (isWhole) this.#tell(0, 0);
    else this.#tell(0);
  }

  #tell(heldBack: number, openEnd?: number): void {
    const { redactor } = this.#run;
    const redacted = redactor.text(this.#pending.text);
    const kept = Math.max(heldBack, openEnd ?? redactor.openEnd(redacted));
    const text = redacted.slice(0, wholeCharacters(redacted, redacted.length - kept));
    if (text === "") return;
    this.#pending.text = redacted.slice(text.length);
    this.#toldAt = performance.now();
    const { type } = this.#pending;
    const delta = { step: this.#step, attempt: this.#attempt, index: this.#index, type };
    this.#index += 1;
    const visibility = this.#visibility;
    // Nobody waits for these: they are told on the way, and the record of the step has all of it.
    const room = this.#run.record((unit, task) =>
      unit.emit(task, "span.updated", { delta: { ...delta, text: unit.seal(text), visibility } }),
    );
    room?.catch(() => {});
  }
}

/** As many code units as this, or one less where that would cut a character in two. */
function wholeCharacters(text: string, length: number): number {
  const isCut = length > 0 && length < text.length && /[\uD800-\uDBFF]/.test(text.charAt(length - 1));
  return Math.max(0, isCut ? length - 1 : length);
}
