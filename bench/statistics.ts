/** Several measurements of one thing: the median and how far they are apart. */

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2;
}

/** `12.0 (11.5–14.2)`: the median and, of several values, the lowest and the highest. */
export function spread(values: readonly number[]): string {
  if (values.length === 1) return rounded(median(values));
  return `${rounded(median(values))} (${rounded(Math.min(...values))}–${rounded(Math.max(...values))})`;
}

/** Three digits that mean something, or all before the point. */
export function rounded(value: number): string {
  return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);
}
