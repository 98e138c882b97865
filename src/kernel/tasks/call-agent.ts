/**
 * Call an agent as one calls a function: a task for it, with arguments or with a message, in the session that is named or in
 * a new one. One commit, whatever of this has to be made.
 */

import type { JsonObject } from "../../store/port.ts";
import type { Command } from "../core/dispatch.ts";
import { notFound } from "../core/errors.ts";
import type { TraceContext } from "../core/trace.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { personaToCall } from "../personas/session-persona.ts";
import { createSession } from "../sessions/create-session.ts";
import { workspaceFor } from "../sessions/send-message.ts";
import { recordQuotaRefusal, type SubmitTask, submitTask } from "./submit-task.ts";

export interface CallAgent {
  agent: string;
  /** Null opens a session of its own. */
  sessionId: string | null;
  input: SubmitTask["input"];
  metadata?: JsonObject | undefined;
  trace: TraceContext | null;
}

export const callAgent: Command<CallAgent, TaskRecord> = {
  name: "call_agent",
  scope: "tasks:write",
  decide(unit, { agent, sessionId, input, metadata, trace }) {
    if (unit.deps.agents.find(agent) === undefined) throw notFound("agent", agent);
    const session =
      sessionId === null
        ? createSession.decide(unit, { workspaceId: workspaceFor(unit) })
        : unit.require("session", sessionId);
    const personaId = personaToCall(unit, agent, session);
    return submitTask.decide(unit, { sessionId: session.id, personaId, input, metadata, trace });
  },
  refused: recordQuotaRefusal,
};
