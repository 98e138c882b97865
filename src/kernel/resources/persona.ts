/** A persona: an operational role, the agent (`entry_workflow`) that fills it, and the policy that binds it. */

import type { JsonObject } from "../../store/port.ts";
import type { KernelEvent } from "../events.ts";
import type { Resource } from "./resource.ts";

/** From the one that does nothing by itself to the one that does all. */
export const autonomyTiers = ["shadow", "suggest", "act_with_approval", "act_auto"] as const;
export type AutonomyTier = (typeof autonomyTiers)[number];

/** A list that is absent allows everything; one that is there allows what it names. `mail.*` names all that begins so. */
export interface Permissions {
  /** Names of side effects and tools. */
  tools?: string[];
  /** What the runtime offers beside them: `secrets`, `memory:write`, `files:write`, and the names of host capabilities. */
  capabilities?: string[];
  /** Personas, and URLs of remote agents, that work may be handed to. */
  handoffs?: string[];
  model_policy?: ModelPolicy;
}

export interface ModelPolicy {
  /** `provider/model`; absent means any. */
  allowed_models?: string[];
  /** The most tokens that one call may ask for. */
  max_tokens?: number;
}

/** Work that is submitted by the clock. */
export interface Schedule {
  /** Given by the server. */
  id?: string;
  cron: string;
  /** An IANA name; UTC when it is absent. */
  time_zone?: string;
  /** What the task is given. */
  input?: JsonObject;
  /** Where the tasks go; the default workspace, and a session of the schedule's own, when it is absent. */
  workspace_id?: string;
  session_id?: string;
}

/** Work that is submitted when something arrives at a connector. */
export interface Trigger {
  connector_id: string;
  event_kinds?: string[];
}

export interface PersonaPolicy extends Permissions {
  autonomy_tier: AutonomyTier;
  receipt_policy: "required" | "optional" | "disabled";
}

export interface PersonaRecord extends Resource<"persona">, PersonaPolicy {
  name: string;
  version: string;
  entry_workflow: string;
  description: string;
  triggers?: Trigger[];
  schedules?: Schedule[];
  context_packs?: string[];
  evals?: string[];
  owner?: string | null;
  rollout_policy?: JsonObject;
  quota_id?: string | null;
  module_ref?: string;
  /** The versions before this one: none of them is given a second meaning. */
  past_versions?: string[];
}

export type PersonaFields = Omit<
  PersonaRecord,
  "id" | "object" | "tenant_id" | "created_at" | "updated_at" | "metadata" | "past_versions"
>;
export type PersonaChanges = Partial<PersonaFields> & { metadata?: JsonObject };

export function foldPersona(persona: PersonaRecord, event: KernelEvent): PersonaRecord {
  if (event.event !== "vendor.bridle.persona.updated") return persona;
  const past_versions = [...(persona.past_versions ?? []), persona.version];
  return { ...persona, ...event.payload.changes, past_versions, updated_at: event.createdAt };
}

/** What a task keeps of its persona: later changes of the persona are not for this task. */
export interface TaskPolicy extends PersonaPolicy {
  persona_version: string;
}

/** A task that another one handed over acts no more freely than that one. */
export function policyOf(persona: PersonaRecord, parent: TaskPolicy | null): TaskPolicy {
  const { version, autonomy_tier, receipt_policy, tools, capabilities, handoffs, model_policy } = persona;
  return {
    persona_version: version,
    autonomy_tier: parent === null ? autonomy_tier : lesserTier(autonomy_tier, parent.autonomy_tier),
    receipt_policy,
    ...(tools === undefined ? {} : { tools }),
    ...(capabilities === undefined ? {} : { capabilities }),
    ...(handoffs === undefined ? {} : { handoffs }),
    ...(model_policy === undefined ? {} : { model_policy }),
  };
}

function lesserTier(one: AutonomyTier, other: AutonomyTier): AutonomyTier {
  return autonomyTiers.indexOf(one) <= autonomyTiers.indexOf(other) ? one : other;
}

/** The version after the present one: its last number is counted up until it is new. */
export function nextVersion({ version, past_versions = [] }: PersonaRecord): string {
  let next = countUp(version);
  while (past_versions.includes(next)) next = countUp(next);
  return next;
}

function countUp(version: string): string {
  const [, before = version, digits = "", after = ""] = /^(.*?)(\d{1,9})(\D*)$/.exec(version) ?? [];
  return digits === "" ? `${version}.2` : `${before}${Number(digits) + 1}${after}`;
}
