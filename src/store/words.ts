/** What text is made of for those who search it: words without accents and capitals. It has no language. */

/** More words than this make a search slower, not better. */
const phrasesMax = 16;

/** What stands between spaces is looked for as it stands: its words one after the other, the last one perhaps only begun. */
export function phrasesOf(text: string): string[][] {
  return text
    .split(/[\s\p{Cc}\p{Cs}]+/u)
    .map(wordsOf)
    .filter((phrase) => phrase.length > 0)
    .slice(0, phrasesMax);
}

/** Letters and digits, without accents and capitals. */
export function wordsOf(text: string): string[] {
  const plain = text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  return plain.match(/[\p{L}\p{N}\p{Co}]+/gu) ?? [];
}
