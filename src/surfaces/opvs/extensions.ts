/** What this server offers beyond the protocol. Plain clients never notice; who asks for one by its URI gets it. */

import type { AgentExtension } from "../../kernel/agents.ts";

/**
 * Every streamed event carries the id of the log's event in its metadata, and a subscription goes on after the event
 * that `since` names.
 */
export const durableCursorUri = "urn:bridle:durable-cursor:1";
/** Work that is handed on says under which receipt, and a task that has ended says under which receipt it was done. */
export const delegationUri = "urn:bridle:delegation:1";

export const builtInExtensions: readonly AgentExtension[] = [
  {
    uri: durableCursorUri,
    description: "Streams can be continued after any event, also when the task has ended meanwhile.",
    required: false,
    params: { parameter: "OPVS-Since" },
  },
  {
    uri: delegationUri,
    description: "Hand-offs name the receipts on both sides.",
    required: false,
    params: null,
  },
];
