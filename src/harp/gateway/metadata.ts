/** What of an artifact's metadata its approvers are shown: everything that is not about where it goes. */

import type { Metadata } from "../core/wire.ts";

/** Never shown, in whatever case they are written and however deep they are. */
const alwaysStripped = ["routingToken", "approverId", "tenantId", "tenantHint"];

/** Null when nothing is left. `more` can only add to what is kept from approvers. */
export function shownMetadata(metadata: Metadata | undefined, more: readonly string[]): Metadata | null {
  if (metadata === undefined) return null;
  const stripped = new Set([...alwaysStripped, ...more].map((name) => name.toLowerCase()));
  const shown = without(metadata, stripped);
  return Object.keys(shown).length === 0 ? null : shown;
}

function without(metadata: Metadata, stripped: ReadonlySet<string>): Metadata {
  const inside = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inside);
    return typeof value === "object" && value !== null ? without({ ...value }, stripped) : value;
  };
  return Object.fromEntries(
    Object.entries(metadata)
      .filter(([name]) => !stripped.has(name.toLowerCase()))
      .map(([name, value]) => [name, inside(value)]),
  );
}
