/**
 * The persona that work for an agent goes to when only the agent is named: the one that it has from the start, or, where that
 * is disabled or was never made, the only other one that is enabled.
 */

import { type Caller, mayReach } from "../../policy/caller.ts";
import type { Store } from "../../store/port.ts";
import { isVisible } from "../access/authorize.ts";
import { paginate } from "../core/paginate.ts";
import { findVisible } from "../core/read.ts";
import type { Unit } from "../core/unit.ts";
import type { PersonaRecord } from "../kinds/persona.ts";
import { personaIdOf } from "../workspaces/ensure-tenant.ts";
import { mayReachAgent } from "./reachable-agents.ts";

/** Null when there is none, or more than one. */
export async function personaForAgent(store: Store, caller: Caller, agent: string): Promise<string | null> {
  if (!mayReachAgent(caller, agent)) return null;
  const usual = await findVisible(store, caller, "persona", personaIdOf(agent, caller.tenantId));
  if (usual !== undefined && usual.disabled !== true) return usual.id;
  const others: string[] = [];
  for await (const page of paginate(store.of(caller.tenantId), { kind: "persona" })) {
    const personas = page.map(({ body }) => body as PersonaRecord);
    const enabled = personas.filter(
      ({ id, entry_workflow, disabled }) =>
        entry_workflow === agent && disabled !== true && mayReach(caller, id, agent),
    );
    others.push(...enabled.map(({ id }) => id));
  }
  const [first, second] = others;
  return second === undefined ? (first ?? null) : null;
}

/** The same for a decision. Mostly it is the one from the start, which is in memory. */
export function personaOfAgent(unit: Unit, agent: string): string | null {
  const { caller, deps } = unit;
  const usual = mayReachAgent(caller, agent)
    ? unit.peek("persona", personaIdOf(agent, caller.tenantId))
    : undefined;
  if (usual !== undefined && usual.disabled !== true && isVisible(caller, usual)) return usual.id;
  return unit.awaited(`persona of ${agent}`, () => personaForAgent(deps.store, caller, agent));
}
