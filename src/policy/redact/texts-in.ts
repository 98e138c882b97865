/** What of a secret has to be looked for: it may be given as an object. */

import type { JsonValue } from "../../store/port.ts";

/** Every text in a value. */
export function textsIn(value: JsonValue): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
