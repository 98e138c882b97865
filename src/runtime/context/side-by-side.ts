/** `ctx.map` and `ctx.parallel`: branches of agent code side by side, a bounded number at a time. */

/** Results are in the order of the items. The first error rejects, and no further branch begins. */
export async function mapSideBySide<Item, Result>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<Result> | Result,
  concurrency: number,
): Promise<Result[]> {
  if (!(Number.isInteger(concurrency) && concurrency >= 1))
    throw new TypeError("concurrency must be a whole number from 1.");
  const results: Result[] = [];
  let next = 0;
  let hasFailed = false;
  const lane = async () => {
    while (next < items.length && !hasFailed) {
      const index = next++;
      try {
        // The index is below the length.
        results[index] = await work(items[index] as Item, index);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, lane));
  return results;
}
