/** What answers say of limits in headers: how much is left, and of a refusal for want of quota also when to come back. */

import type { RateLeft } from "../../kernel/access/request-rates.ts";

export function rateLeftHeaders({ most, left, resetSeconds }: RateLeft): Record<string, string> {
  return {
    "RateLimit-Policy": `"requests";q=${most};w=60`,
    RateLimit: `"requests";r=${left};t=${resetSeconds}`,
  };
}

/** Of a refusal: when to come back, and how much of which limit is left. */
export function rateLimitHeaders(details: Record<string, unknown>): [string, string][] {
  const { limit, most, used, retry_after_seconds: seconds } = details;
  const headers: [string, string][] = [];
  if (typeof seconds === "number") headers.push(["Retry-After", String(seconds)]);
  if (typeof limit !== "string" || typeof most !== "number" || typeof used !== "number") return headers;
  const left = Math.max(0, Math.floor(most - used));
  const reset = typeof seconds === "number" ? `;t=${seconds}` : "";
  headers.push(["RateLimit-Policy", `"${limit}";q=${Math.floor(most)}`]);
  headers.push(["RateLimit", `"${limit}";r=${left}${reset}`]);
  // The names that clients knew before the standard's last draft.
  headers.push(["RateLimit-Limit", String(most)], ["RateLimit-Remaining", String(left)]);
  if (typeof seconds === "number") headers.push(["RateLimit-Reset", String(seconds)]);
  return headers;
}
