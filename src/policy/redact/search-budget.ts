/**
 * How much text one decision searches for secrets on the thread that answers requests. Most text contains no word that could announce
 * one and costs next to nothing; text full of such words takes up to 200 ns for a character. Texts beyond the budget are searched on
 * another thread, and the decision is made again with the results.
 */

// Invariant
//   S1  Nothing that was made while the budget was exceeded is used: it may contain texts that were not searched.

import type { Redactor } from "./redact.ts";
import { searched } from "./texts.ts";

/** About 10 ms at worst. */
const charsMax = 64 * 1024;

/** A text and the rules that may have work to do in it, see `rulesFor`. */
export interface SearchedText {
  text: string;
  selected: number;
}

/** Replaces the secrets in texts; the results are in the order of the texts. */
export type SearchTexts = (texts: readonly SearchedText[]) => Promise<string[]>;

export class SearchBudget {
  #charsLeft = charsMax;
  #known: Map<string, SearchedText> | null = null;
  #pending: Map<string, SearchedText> | null = null;

  /** The text without secrets, or unchanged when it is too long to be searched now; then the budget is exceeded. */
  search(text: string, selected: number): string {
    const known = this.#known?.get(text);
    if (known !== undefined && (known.selected & selected) === selected) return known.text;
    this.#charsLeft -= text.length;
    if (this.#charsLeft >= 0) return searched(text, selected);
    this.#pending ??= new Map();
    this.#pending.set(text, { text, selected });
    return text;
  }

  get isExceeded(): boolean {
    return this.#pending !== null;
  }

  /** Has the pending texts searched. Then the decision can be made again, with as much budget as at the start. */
  async refill(search: SearchTexts): Promise<void> {
    const texts = [...(this.#pending?.values() ?? [])];
    const found = await search(texts);
    this.#known ??= new Map();
    for (const [n, { text, selected }] of texts.entries()) {
      const known = { text: found[n] ?? "", selected };
      // A second search finds nothing more.
      this.#known.set(text, known).set(known.text, known);
    }
    this.#pending = null;
    this.#charsLeft = charsMax;
  }
}

/** Runs `use` with a redactor until it has seen results only, however long the texts are. */
export async function redactLong<T>(
  search: SearchTexts,
  redactor: Redactor,
  use: (redactor: Redactor) => T,
): Promise<T> {
  const budget = new SearchBudget();
  while (true) {
    const result = use(redactor.within(budget));
    if (!budget.isExceeded) return result;
    await budget.refill(search);
  }
}

export async function searchHere(texts: readonly SearchedText[]): Promise<string[]> {
  return texts.map(({ text, selected }) => searched(text, selected));
}
