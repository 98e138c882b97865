/** Free values in a message must be such as JSON can say: they are kept, and told on every binding, as JSON. */

import type { Message } from "@bufbuild/protobuf";
import { InvalidParams } from "../errors.ts";

export function requirePlainValues(message: Message): void {
  const violations = Object.entries(message).flatMap(([field, value]) => {
    const description = problemWith(value);
    return description === null ? [] : [{ field, description }];
  });
  if (violations.length > 0) throw new InvalidParams(violations);
}

/** Goes as deep as messages can be read, which is not far. */
function problemWith(value: unknown): string | null {
  if (typeof value === "number" && !Number.isFinite(value)) return "has a number that is none";
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return null;
  if (Object.hasOwn(value, "__proto__")) return "has a key that no object may have: __proto__";
  for (const inner of Object.values(value)) {
    const problem = problemWith(inner);
    if (problem !== null) return problem;
  }
  return null;
}
