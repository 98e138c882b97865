/** The agents that come along. */

import type { Agent } from "../runtime/agents/agent.ts";
import { assistant } from "./assistant.ts";
import { echo } from "./echo.ts";
import { gate } from "./gate.ts";
import { rehearsal } from "./rehearsal.ts";
import { tour } from "./tour.ts";

/** For trying things out: whoever may submit a task has them do whatever their script says. */
const demonstrations: readonly Agent[] = [rehearsal, tour];

export const builtInAgents: readonly Agent[] = [echo, assistant, gate, ...demonstrations];

/** Those that a server loads which others reach. */
export const builtInAgentsForOthers: readonly Agent[] = [echo, assistant, gate];
