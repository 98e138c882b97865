/** The kinds of things that are taken out of texts and values, and what stands in their place. */

const kinds = [
  "private_key",
  "bearer_token",
  "api_key",
  "jwt",
  "password",
  "secret",
  "url_credentials",
  "hidden_reasoning",
] as const;

/** The kinds of things that are taken out. */
export type RedactedKind = (typeof kinds)[number];

/** What stands in its place, e.g. "[redacted:bearer_token]". */
export function placeholder(kind: RedactedKind): string {
  return `[redacted:${kind}]`;
}

export const placeholderPattern = String.raw`\[redacted:(?:${kinds.join("|")})\]`;
export const placeholders = new RegExp(placeholderPattern, "g");
const placeholderHere = new RegExp(placeholderPattern, "y");

/** The kinds whose placeholders occur in a text, for receipts, which list what was left out. */
export function redactedKindsIn(text: string): RedactedKind[] {
  if (!text.includes("[redacted:")) return [];
  const found = new Set(text.match(placeholders));
  return kinds.filter((kind) => found.has(placeholder(kind)));
}

export function isPlaceholder(text: string): boolean {
  placeholderHere.lastIndex = 0;
  return placeholderHere.test(text) && placeholderHere.lastIndex === text.length;
}

/** Nothing shorter is taken for a secret; real ones are longer, and shorter words would tear up ordinary text. */
export const secretLengthMin = 8;
