/** The parts of the page, each for the keys that may read what is on it. */

import { may, type Session } from "../../server/session.ts";
import { text } from "../../text.ts";

const scopes = {
  overview: null,
  personas: "personas:read",
  schedules: "personas:read",
  quotas: "quotas:read",
  connectors: "connectors:read",
  vaults: "vaults:read",
  audit: "audit:read",
} as const satisfies Record<keyof typeof text.operate.parts, string | null>;

export type OperatePart = keyof typeof scopes;

export function partsFor(session: Session | null): OperatePart[] {
  return (Object.keys(text.operate.parts) as OperatePart[]).filter((part) => {
    const scope = scopes[part];
    return scope === null || may(session, scope);
  });
}
