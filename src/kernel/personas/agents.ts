/** What the kernel knows of the agents that are loaded: their names and what they offer. The runtime runs them. */

import type { JsonObject } from "../../store/port.ts";

export interface AgentSkill {
  id: string;
  name: string;
  description: string;
  input_schema: JsonObject | null;
  output_schema: JsonObject | null;
  /** What other agents are told of it: words to find it by, prompts that it is for, media types that differ from the agent's. */
  tags: string[];
  examples: string[];
  input_modes: string[];
  output_modes: string[];
}

export interface AgentTool {
  name: string;
  description: string;
  input_schema: JsonObject;
  output_schema: JsonObject;
}

/** Something beyond the protocol that an agent offers, or asks its callers to know. */
export interface AgentExtension {
  uri: string;
  description: string;
  required: boolean;
  params: JsonObject | null;
}

/** What an agent shows of itself to other agents, and how it deals with them. */
export interface AgentCardInfo {
  /** Set for an agent that everybody may use: whose tenant the work is done in, and how many calls a minute it takes from one address. */
  public: { tenantId: string; requestsPerMinute: number } | null;
  /** Media types; `text/*` names all that begin so. */
  inputModes: string[];
  outputModes: string[];
  streaming: boolean;
  pushNotifications: boolean;
  /** Whether there is more to tell to those who have proved who they are. */
  extendedCard: "yes" | "no" | "unconfigured";
  extensions: AgentExtension[];
  /** Who offers the agent, and where there is more about it. */
  provider: { organization: string; url: string } | null;
  documentationUrl: string | null;
  iconUrl: string | null;
  /** Whether its answer is a message instead of a task that ended. */
  answersWithMessage: boolean;
}

export interface AgentInfo {
  name: string;
  version: string;
  description: string;
  /** What the input of its tasks must be; null takes everything. */
  input_schema: JsonObject | null;
  skills: AgentSkill[];
  tools: AgentTool[];
  card: AgentCardInfo;
  /** Whether only signatures count in the persona that it has from the start. */
  signed_approvals: boolean;
}

export interface AgentDirectory {
  /** The newest loaded version of an agent. */
  find(name: string): AgentInfo | undefined;
  list(): readonly AgentInfo[];
  /** Every loaded version of an agent, the newest first. */
  versions(name: string): string[];
  /** Whether an agent is loaded in this version; null means in any. */
  has(name: string, version: string | null): boolean;
}
