/** Search in memory, with the rules and the ranking (BM25) of the full-text index of SQLite. */

import type { FoundDocument, SearchQuery } from "../port.ts";
import { phrasesOf, wordsOf } from "../words.ts";
import type { HeldDocument } from "./contents.ts";
import { compare, isListedIn, isOf, isOfOrNone, shown } from "./queries.ts";

/** How much it counts that a word comes again, and that a text is long. */
const repetition = 1.2;
const length = 0.75;

export function search(
  documents: Iterable<HeldDocument>,
  query: SearchQuery,
  tenantId: string,
): FoundDocument[] {
  const phrases = phrasesOf(query.text);
  if (phrases.length === 0) return [];
  const texts = [...documents].flatMap((document) => {
    const { text } = document.index;
    return text == null ? [] : [{ document, words: wordsOf(text) }];
  });
  const lengthMean = texts.reduce((sum, { words }) => sum + words.length, 0) / texts.length;
  const weights = phrases.map((phrase) => {
    const having = texts.filter(({ words }) => occurrences(words, phrase) > 0).length;
    return Math.max(Math.log((texts.length - having + 0.5) / (having + 0.5)), 1e-6);
  });
  const { beyond } = query;
  return texts
    .filter(({ document }) => isListedIn(document.index, tenantId) && isWanted(document, query))
    .flatMap(({ document, words }) => {
      const counts = phrases.map((phrase) => occurrences(words, phrase));
      if (counts.includes(0)) return [];
      const long = repetition * (1 - length + (length * words.length) / lengthMean);
      const score = counts.reduce(
        (sum, count, n) => sum - ((weights[n] ?? 0) * count * (repetition + 1)) / (count + long),
        0,
      );
      return [{ ...shown(document), score }];
    })
    .filter((one) => beyond === undefined || byScore(one, beyond) > 0)
    .sort(byScore)
    .slice(0, query.limit);
}

function isWanted({ kind, id, index }: HeldDocument, query: SearchQuery): boolean {
  return (
    kind === query.kind &&
    isOfOrNone(index.workspaceId, query.workspaceIds) &&
    isOf(id, query.ids) &&
    isOf(index.ownerId, query.ownerIds) &&
    isOf(index.status, query.statuses)
  );
}

function byScore(a: { score: number; id: string }, b: { score: number; id: string }): number {
  return a.score - b.score || compare(a.id, b.id);
}

function occurrences(words: readonly string[], phrase: readonly string[]): number {
  const last = phrase.length - 1;
  return words.filter((_, at) =>
    phrase.every((word, n) => (n === last ? words[at + n]?.startsWith(word) : words[at + n] === word)),
  ).length;
}
