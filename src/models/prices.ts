/** What models cost. */

import type { ModelUsage, Price } from "./model.ts";

/** US dollars for what was used. */
export function costOf(usage: ModelUsage, price: Price): number {
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0 } = usage;
  const plain = Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens);
  const sum =
    plain * price.input +
    cachedInputTokens * (price.cachedInput ?? price.input) +
    cacheWriteTokens * (price.cacheWrite ?? price.input) +
    outputTokens * price.output;
  return sum / 1_000_000;
}
