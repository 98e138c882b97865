/** Copies at the border between the agent's code and the log: neither may change under the other's hands. */

/** What JSON makes of a value: what will be on disk. Throws for what JSON cannot say. */
export function jsonCopy<T>(value: T): T {
  return value === undefined ? value : JSON.parse(JSON.stringify(value));
}
