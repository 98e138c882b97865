/** Several measurements of one thing: the median and how far they are apart. */

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** `12 (11–14)` */
export function spread(values: readonly number[], digits = 0): string {
  const [middle, low, high] = [median(values), Math.min(...values), Math.max(...values)].map((value) =>
    value.toFixed(digits),
  );
  return values.length === 1 ? `${middle}` : `${middle} (${low}–${high})`;
}
