/** The agents that come along. */

import type { Agent } from "../runtime/agent.ts";
import { assistant } from "./assistant.ts";
import { echo } from "./echo.ts";
import { rehearsal } from "./rehearsal.ts";
import { tour } from "./tour.ts";

export const builtInAgents: readonly Agent[] = [echo, rehearsal, assistant, tour];
