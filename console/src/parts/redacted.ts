/** What the server shows in place of what this key may not read. */
export function isRedacted(value: unknown): boolean {
  return typeof value === "object" && value !== null && "redacted" in value && value.redacted === true;
}
