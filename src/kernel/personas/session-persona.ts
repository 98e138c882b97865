/** A session that is bound to a persona takes work for that persona only, however the work comes. */

import { HarnessError, notFound } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import type { SessionRecord } from "../kinds/session.ts";
import { defaultAgent } from "../workspaces/ensure-tenant.ts";
import { personaOfAgent } from "./agent-persona.ts";
import { mayReachAgent } from "./reachable-agents.ts";

export function assertSessionPersona({ id, persona_id }: SessionRecord, personaId: string | null): void {
  if (persona_id === null || personaId === null || personaId === persona_id) return;
  throw new HarnessError(
    "policy_violation",
    `Session ${id} is bound to persona ${persona_id}: leave persona_id out, or use another session for ${personaId}.`,
    { param: "persona_id", details: { rule: "session_persona", session_id: id, persona_id } },
  );
}

/** For surfaces on which an agent is named and no persona: the session's, if it runs that agent, or the agent's own. */
export function personaToCall(unit: Unit, agent: string, session: SessionRecord): string {
  if (session.persona_id !== null) {
    const bound = unit.require("persona", session.persona_id);
    if (bound.entry_workflow === agent) return bound.id;
    throw new HarnessError(
      "policy_violation",
      `Session ${session.id} is bound to persona ${bound.id}, which runs the agent ${JSON.stringify(bound.entry_workflow)}: use another session for ${JSON.stringify(agent)}.`,
      { details: { rule: "session_persona", session_id: session.id, persona_id: bound.id } },
    );
  }
  if (!mayReachAgent(unit.caller, agent)) throw notFound("agent", agent);
  const personaId = personaOfAgent(unit, agent);
  if (personaId !== null) return personaId;
  throw new HarnessError(
    "policy_violation",
    `There is no one persona for the agent ${JSON.stringify(agent)}: enable its default persona, keep exactly one other enabled, or submit a task that names a persona (POST /v1/tasks, persona_id).`,
    { details: { rule: "persona_of_agent", agent } },
  );
}

/** For work that names no agent. Undefined leaves it to the session, or to the tenant's default. */
export function personaByDefault(unit: Unit, session: SessionRecord): string | undefined {
  const named = unit.deps.defaultAgent;
  return named === defaultAgent || session.persona_id !== null
    ? undefined
    : personaToCall(unit, named, session);
}
