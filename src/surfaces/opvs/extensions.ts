/** What this server offers beyond the protocol. Plain clients never notice; who asks for one by its URI gets it. */

import { delegationUri, durableCursorUri } from "../../kernel/core/extension-uris.ts";
import type { AgentExtension } from "../../kernel/personas/agents.ts";

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
