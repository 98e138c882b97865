/** What the kernel knows of the agents that are loaded: their names and what they offer. The runtime runs them. */

import type { JsonObject } from "../store/port.ts";

export interface AgentSkill {
  id: string;
  name: string;
  description: string;
  input_schema: JsonObject | null;
  output_schema: JsonObject | null;
}

export interface AgentTool {
  name: string;
  description: string;
  input_schema: JsonObject;
  output_schema: JsonObject;
}

export interface AgentInfo {
  name: string;
  version: string;
  description: string;
  skills: AgentSkill[];
  tools: AgentTool[];
}

export interface AgentDirectory {
  /** The newest loaded version of an agent. */
  find(name: string): AgentInfo | undefined;
  list(): AgentInfo[];
  /** Whether an agent is loaded in this version; null means in any. */
  has(name: string, version: string | null): boolean;
}
