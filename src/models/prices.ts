/**
 * What models cost: US dollars for a million tokens, as published by their providers in November 2026, for prompts of
 * ordinary length at ordinary speed. Prices change and contracts differ, so that settings go before this table. A model that
 * is not in it has no price, rather than a wrong one.
 */

import type { ModelUsage, Price } from "./model.ts";

const million = 1_000_000;

/** `cachedShare` and a write to a cache are parts of the price of input, as Anthropic states them. */
function anthropic(input: number, output: number, cachedShare = 0.1): Price {
  return { input, output, cachedInput: input * cachedShare, cacheWrite: input * 1.25 };
}

function price(input: number, output: number, cachedInput?: number, cacheWrite?: number): Price {
  return {
    input,
    output,
    ...(cachedInput !== undefined && { cachedInput }),
    ...(cacheWrite !== undefined && { cacheWrite }),
  };
}

/** By name without what follows it after a dash: dates and the like. */
const builtIn: Readonly<Record<string, Price>> = {
  "anthropic/claude-fable-5": anthropic(10, 50),
  "anthropic/claude-fable-5-1": anthropic(10, 50, 0.025),
  "anthropic/claude-opus-5-5": anthropic(4, 20, 0.05),
  "anthropic/claude-opus-5": anthropic(5, 25),
  "anthropic/claude-opus-4-8": anthropic(5, 25),
  "anthropic/claude-opus-4-7": anthropic(5, 25),
  "anthropic/claude-opus-4-6": anthropic(5, 25),
  "anthropic/claude-opus-4-5": anthropic(5, 25),
  "anthropic/claude-opus-4-1": anthropic(15, 75),
  "anthropic/claude-opus-4-0": anthropic(15, 75),
  "anthropic/claude-sonnet-5-5": anthropic(2, 10, 0.05),
  "anthropic/claude-sonnet-5": anthropic(2, 10),
  "anthropic/claude-sonnet-4": anthropic(3, 15),
  "anthropic/claude-haiku-5-5": anthropic(0.1, 0.5),
  "anthropic/claude-haiku-4-5": anthropic(1, 5),
  "openai/gpt-6.1-sol": price(2, 10, 0.1),
  "openai/gpt-6-astra": price(10, 50, 1),
  "openai/gpt-6-sol": price(2, 10, 0.2, 2.5),
  "openai/gpt-6-luna": price(0.1, 0.5, 0.01, 0.125),
  "openai/gpt-5.6-sol": price(4, 20, 0.4),
  "openai/gpt-5.6-terra": price(2, 12, 0.2),
  "openai/gpt-5.6-luna": price(0.2, 1.2, 0.02),
  "openai/gpt-5.5": price(5, 30, 0.5),
  "openai/gpt-5.5-pro": price(30, 180),
  "openai/gpt-5.4": price(2.5, 15, 0.25),
  "openai/gpt-5.4-mini": price(0.75, 4.5, 0.075),
  "openai/gpt-5.4-nano": price(0.2, 1.25, 0.02),
  "openai/gpt-5.4-pro": price(30, 180),
  "openai/gpt-5.2": price(1.75, 14, 0.175),
  "openai/gpt-5.2-pro": price(21, 168),
  "openai/gpt-5.1": price(1.25, 10, 0.125),
  "openai/gpt-5": price(1.25, 10, 0.125),
  "openai/gpt-5-mini": price(0.25, 2, 0.025),
  "openai/gpt-5-nano": price(0.05, 0.4, 0.005),
  "openai/gpt-5-pro": price(15, 120),
  "openai/gpt-4.1": price(2, 8, 0.5),
  "openai/gpt-4.1-mini": price(0.4, 1.6, 0.1),
  "openai/gpt-4.1-nano": price(0.1, 0.4, 0.025),
  "openai/gpt-4o": price(2.5, 10, 1.25),
  "openai/gpt-4o-mini": price(0.15, 0.6, 0.075),
  "openai/o3": price(2, 8, 0.5),
  "openai/o4-mini": price(1.1, 4.4, 0.275),
  "google/gemini-4-argon": price(2, 10, 0.1),
  "google/gemini-3.8-flash": price(0.75, 3.75, 0.075),
  "google/gemini-3.7-flash": price(0.75, 3.75, 0.075),
  "google/gemini-3.1-pro": price(2, 12, 0.2),
  "google/gemini-3.1-flash-lite": price(0.25, 1.5, 0.025),
  "google/gemini-3-pro": price(2, 12, 0.2),
  "google/gemini-3-flash": price(0.5, 3, 0.05),
  "google/gemini-2.5-pro": price(1.25, 10, 0.125),
  "google/gemini-2.5-flash": price(0.3, 2.5, 0.03),
  "google/gemini-2.5-flash-lite": price(0.1, 0.4, 0.01),
};

const free: Price = { input: 0, output: 0 };

/** The price of `provider/model`: what the settings say, by the longest match; then this table. Null when nobody says. */
export function priceOf(name: string, settings: Readonly<Record<string, Price>> = {}): Price | null {
  return (
    longest(settings, (key) => (key.endsWith("*") ? name.startsWith(key.slice(0, -1)) : name === key)) ??
    (name.startsWith("local/") ? free : null) ??
    longest(builtIn, (key) => name === key || name.startsWith(`${key}-`))
  );
}

function longest(prices: Readonly<Record<string, Price>>, matches: (key: string) => boolean): Price | null {
  const [best] = Object.entries(prices)
    .filter(([key]) => matches(key))
    .sort(([a], [b]) => rank(b) - rank(a));
  return best?.[1] ?? null;
}

/** A whole name says more than a prefix that is just as long. */
function rank(key: string): number {
  return key.endsWith("*") ? key.length - 1 : key.length + 0.5;
}

/** In US dollars. */
export function costOf(
  usage: ModelUsage,
  { input, output, cachedInput = input, cacheWrite = input }: Price,
): number {
  const { cachedInputTokens = 0, cacheWriteTokens = 0 } = usage;
  const uncached = Math.max(0, usage.inputTokens - cachedInputTokens - cacheWriteTokens);
  const sum =
    uncached * input +
    cachedInputTokens * cachedInput +
    cacheWriteTokens * cacheWrite +
    usage.outputTokens * output;
  return sum / million;
}
