/** Where the surface is found, by the HTTP bindings that serve it and the cards that tell of it. */

import { opvsPath } from "../addresses.ts";

/** Ours, and that of A2A, under which everything is found as well. */
export const prefixes = [opvsPath, "/a2a"] as const;

/** The front door, where the default agent is, or an agent's own. */
export function endpointOf(publicUrl: string, agent: string | null): string {
  return `${publicUrl}${prefixes[0]}${agent === null ? "" : `/agents/${encodeURIComponent(agent)}`}`;
}
