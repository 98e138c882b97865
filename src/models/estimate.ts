/** How many tokens messages come to, roughly: for budgets, before the provider has counted. */

import type { ModelMessage } from "./messages.ts";

const charsPerToken = 4;

export function estimateTokens(messages: readonly ModelMessage[]): number {
  return textTokens(JSON.stringify(messages));
}

export function textTokens(text: string): number {
  return Math.ceil(text.length / charsPerToken);
}
