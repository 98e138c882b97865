import assert from "node:assert/strict";
import { test } from "node:test";
import { costOf, priceOf } from "./prices.ts";

test("MDL-23 the longest matching prefix in the table gives a model's price", () => {
  // Given the table, when a model is looked up, then the longest name that it begins with says its price.
  assert.equal(priceOf("openai/gpt-5.4-mini-2026-03-05")?.input, 0.75);
  assert.equal(priceOf("openai/gpt-5.4-2026-03-05")?.input, 2.5);
  assert.equal(priceOf("anthropic/claude-opus-5-5-20260922")?.output, 20);
  assert.equal(priceOf("anthropic/claude-opus-5-20260724")?.output, 25);
  assert.equal(priceOf("google/gemini-2.5-flash-lite")?.output, 0.4);
});

test("MDL-23 given a model that is not in the table, when it is looked up, then it has no price", () => {
  for (const name of [
    "openai/gpt-5.9",
    "openai/gpt-50",
    "anthropic/claude-opus-6",
    "groq/gpt-5",
    "other/x",
  ]) {
    assert.equal(priceOf(name), null, name);
  }
});

test("MDL-23 given a server of one's own, when a model of it is looked up, then it costs nothing", () => {
  assert.deepEqual(priceOf("local/llama"), { input: 0, output: 0 });
});

test("MDL-23 prices in the settings beat the table, the longest match first", () => {
  // Given prices in the settings, when they match, then they go before the table, the longest first.
  const price = (input: number) => ({ input, output: input });
  const settings = {
    "openai/*": price(1),
    "openai/gpt-5*": price(2),
    "openai/gpt-5": price(3),
    "openai/gpt-5.4-mini": price(4),
    "local/*": price(5),
  };
  const input = (name: string) => priceOf(name, settings)?.input;
  assert.equal(input("openai/gpt-6-sol"), 1);
  assert.equal(input("openai/gpt-5-mini"), 2);
  assert.equal(input("openai/gpt-5"), 3);
  assert.equal(input("openai/gpt-5.4-mini"), 4);
  assert.equal(input("openai/gpt-5.4-mini-2026-03-05"), 2, "without a star it is a whole name");
  assert.equal(input("local/llama"), 5);
  assert.equal(input("google/gemini-2.5-pro"), 1.25);
});

test("MDL-24 usage with a cache counts each token once, at its own price", () => {
  // Given usage with a cache, when it is priced, then each token is counted once, at its own price.
  const price = { input: 10, output: 100, cachedInput: 1, cacheWrite: 12 };
  const usage = {
    inputTokens: 1_000_000,
    outputTokens: 100_000,
    cachedInputTokens: 500_000,
    cacheWriteTokens: 100_000,
  };
  assert.equal(costOf(usage, price), 0.4 * 10 + 0.5 + 0.1 * 12 + 0.1 * 100);
  assert.equal(costOf(usage, { input: 10, output: 100 }), 10 + 10, "the price of input when left out");
  assert.equal(costOf({ inputTokens: 10, outputTokens: 0, cachedInputTokens: 20 }, price), 20 / 1_000_000);
  assert.equal(costOf({ inputTokens: 10, outputTokens: 10 }, { input: 0, output: 0 }), 0);
});
