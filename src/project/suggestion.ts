/** What somebody who mistyped a name may have meant. Imports nothing, so that every command can afford it. */

/** The known name that needs the fewest letters changed, if these are few. */
export function suggestion(name: string, known: readonly string[]): string {
  const [best] = known
    .map((other) => ({ other, changes: distance(name.toLowerCase(), other.toLowerCase()) }))
    .sort((a, b) => a.changes - b.changes);
  if (best === undefined || best.changes > Math.max(2, Math.floor(name.length / 3))) return "";
  return ` Did you mean ${best.other}?`;
}

/** How many letters must be put in, taken out or exchanged to make one of the other. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [line, letter] of [...one].entries()) {
    const next = [line + 1];
    for (const [column, wanted] of [...other].entries()) {
      const exchanged = (row[column] ?? 0) + (letter === wanted ? 0 : 1);
      next.push(Math.min(exchanged, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
