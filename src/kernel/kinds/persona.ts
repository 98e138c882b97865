/** A persona: an operational role, the agent (`entry_workflow`) that fills it, and the policy that binds it. */

import type { JsonObject } from "../../store/port.ts";
import type { KernelEvent } from "../core/events.ts";
import { type MembersOf, picked } from "./picked.ts";
import type { Resource } from "./resource.ts";

/** From the one that does nothing by itself to the one that does all. */
export const autonomyTiers = ["shadow", "suggest", "act_with_approval", "act_auto"] as const;
export type AutonomyTier = (typeof autonomyTiers)[number];

/** What is at stake when something is done, from the least. */
export const risks = ["low", "medium", "high", "dangerous"] as const;
export type Risk = (typeof risks)[number];
/** What is meant by those who say nothing. */
export const riskDefault: Risk = "medium";

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
  /** The model of calls that name none, as `provider/model`; the server's when it is absent. */
  model?: string;
  /** Those that are asked when it does not answer, in this order. */
  alternatives?: string[];
  /** `provider/model`; absent means any. */
  allowed_models?: string[];
  /** The most tokens that one call may ask for. */
  max_tokens?: number;
  temperature?: number;
  /** What the `assistant` agent is told to be and to do; others read it as `ctx.persona.instructions`. */
  instructions?: string;
  /** How many times the `assistant` may call the model for one task. */
  max_steps?: number;
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
  /** No task is submitted until it is resumed; ticks that pass meanwhile are skipped. */
  paused?: boolean;
}

/** Work that is submitted when something arrives at a connector. */
export interface Trigger {
  connector_id: string;
  event_kinds?: string[];
}

/** Whose word lets a task go on where it has to ask. */
export interface ApprovalPolicy {
  /** `harp`: only signatures of paired approvers count. `any`: an answer over the API does as well, which is the default. */
  channel?: "any" | "harp";
  /** How many approvers must agree; one unless said. More than one needs signatures, since an API key proves no person. */
  quorum?: number;
  /** Only these approvers are asked; all of the tenant's when it is absent. */
  approvers?: string[];
  /** Under `act_auto`: what is this risky, or more, is asked for all the same. Nothing is when it is absent. */
  ask_from?: Risk;
  /** Whoever submitted a task does not approve what it does: neither with their key, nor as the approver of their name. */
  four_eyes?: boolean;
}

export interface PersonaPolicy extends Permissions {
  /** Texts of the project that its agent is given. */
  context_packs?: string[];
  autonomy_tier: AutonomyTier;
  receipt_policy: "required" | "optional" | "disabled";
  approval_policy?: ApprovalPolicy;
}

export interface PersonaRecord extends Resource<"persona">, PersonaPolicy {
  name: string;
  version: string;
  entry_workflow: string;
  description: string;
  triggers?: Trigger[];
  schedules?: Schedule[];
  evals?: string[];
  owner?: string | null;
  rollout_policy?: JsonObject;
  quota_id?: string | null;
  module_ref?: string;
  /** Takes no new tasks. */
  disabled?: boolean;
  /** What a list that is absent allows: everything, which is the default, or nothing. */
  lists?: "open" | "strict";
  created_by_key_id?: string;
  /** The versions before this one: none of them is given a second meaning. */
  past_versions?: string[];
  /** What is going to be changed once the approvers agree. */
  pending_change?: PendingChange;
  /** The version that sessions outside of the rollout keep. */
  baseline?: PersonaBaseline | null;
}

/** What of a version its tasks depend on. */
export type PersonaBaseline = PersonaPolicy & Pick<PersonaRecord, "version" | "entry_workflow" | "lists">;

export interface PendingChange {
  /** Of the policy change. */
  id: string;
  changes: PersonaChanges;
  requested_by: string;
  requested_at: string;
  /** When it takes effect if nobody refuses; null needs signatures. */
  effective_at: string | null;
  expires_at: string;
}

export type PersonaFields = Omit<
  PersonaRecord,
  keyof Resource<"persona"> | "past_versions" | "created_by_key_id" | "pending_change" | "baseline"
>;
export type PersonaChanges = Partial<PersonaFields> & {
  metadata?: JsonObject;
  baseline?: PersonaBaseline | null;
};

const changeable: MembersOf<PersonaChanges> = {
  name: true,
  version: true,
  entry_workflow: true,
  description: true,
  triggers: true,
  schedules: true,
  context_packs: true,
  evals: true,
  owner: true,
  rollout_policy: true,
  quota_id: true,
  module_ref: true,
  disabled: true,
  lists: true,
  autonomy_tier: true,
  receipt_policy: true,
  approval_policy: true,
  tools: true,
  capabilities: true,
  handoffs: true,
  model_policy: true,
  metadata: true,
  baseline: true,
};

export function foldPersona(persona: PersonaRecord, event: KernelEvent): PersonaRecord {
  const updated_at = event.createdAt;
  switch (event.event) {
    case "vendor.bridle.persona.updated": {
      const past_versions = [...(persona.past_versions ?? []), persona.version];
      return { ...persona, ...picked(event.payload.changes, changeable), past_versions, updated_at };
    }
    case "vendor.bridle.persona.change_requested":
      return { ...persona, pending_change: event.payload.pending_change, updated_at };
    case "vendor.bridle.persona.change_settled": {
      const { pending_change: _, ...settled } = persona;
      return { ...settled, updated_at };
    }
    default:
      return persona;
  }
}

/** What a task keeps of its persona: later changes of the persona are not for this task. */
export interface TaskPolicy extends PersonaPolicy {
  persona_version: string;
}

/** A task that another one handed over acts no more freely than that one. */
export function policyOf(persona: PersonaRecord, parent: TaskPolicy | null): TaskPolicy {
  const { version, autonomy_tier, receipt_policy, model_policy, context_packs } = persona;
  const { tools, capabilities, handoffs } = listsOf(persona);
  const approval_policy = stricter(persona.approval_policy, parent?.approval_policy);
  return {
    persona_version: version,
    autonomy_tier: parent === null ? autonomy_tier : lesserTier(autonomy_tier, parent.autonomy_tier),
    receipt_policy,
    ...(tools === undefined ? {} : { tools }),
    ...(capabilities === undefined ? {} : { capabilities }),
    ...(handoffs === undefined ? {} : { handoffs }),
    ...(model_policy === undefined ? {} : { model_policy }),
    ...(approval_policy === undefined ? {} : { approval_policy }),
    ...(context_packs === undefined ? {} : { context_packs }),
  };
}

function listsOf({ lists, tools, capabilities, handoffs }: PersonaRecord): Permissions {
  if (lists !== "strict") {
    return {
      ...(tools === undefined ? {} : { tools }),
      ...(capabilities === undefined ? {} : { capabilities }),
      ...(handoffs === undefined ? {} : { handoffs }),
    };
  }
  return { tools: tools ?? [], capabilities: capabilities ?? [], handoffs: handoffs ?? [] };
}

/** What the one policy allows as well as the other. */
export function stricterPolicy(own: TaskPolicy, other: TaskPolicy): TaskPolicy {
  const {
    tools: _,
    capabilities: __,
    handoffs: ___,
    model_policy: ____,
    approval_policy: _____,
    ...rest
  } = own;
  const approval_policy = stricter(own.approval_policy, other.approval_policy);
  const tools = inBoth(own.tools, other.tools);
  const capabilities = inBoth(own.capabilities, other.capabilities);
  const handoffs = inBoth(own.handoffs, other.handoffs);
  const model_policy = stricterModels(own.model_policy, other.model_policy);
  return {
    ...rest,
    autonomy_tier: lesserTier(own.autonomy_tier, other.autonomy_tier),
    ...(tools === undefined ? {} : { tools }),
    ...(capabilities === undefined ? {} : { capabilities }),
    ...(handoffs === undefined ? {} : { handoffs }),
    ...(model_policy === undefined ? {} : { model_policy }),
    ...(approval_policy === undefined ? {} : { approval_policy }),
  };
}

function stricterModels(
  own: Permissions["model_policy"],
  other: Permissions["model_policy"],
): Permissions["model_policy"] {
  if (own === undefined || other === undefined) return own ?? other;
  const allowed_models = inBoth(own.allowed_models, other.allowed_models);
  const most = [own.max_tokens, other.max_tokens].filter((tokens) => tokens !== undefined);
  return {
    ...own,
    ...(allowed_models === undefined ? {} : { allowed_models }),
    ...(most.length === 0 ? {} : { max_tokens: Math.min(...most) }),
  };
}

/** The names that two lists have in common; a star at the end of a name stands for the rest of it, no list for everything. */
function inBoth(own: string[] | undefined, other: string[] | undefined): string[] | undefined {
  if (own === undefined || other === undefined) return own ?? other;
  const named = [
    ...own.filter((name) => isCovered(name, other)),
    ...other.filter((name) => isCovered(name, own)),
  ];
  return [...new Set(named)];
}

function isCovered(name: string, list: readonly string[]): boolean {
  return list.some((entry) => entry === name || (entry.endsWith("*") && name.startsWith(entry.slice(0, -1))));
}

/** Whom a parent would have had to ask is asked about what it hands over, too. */
function stricter(
  own: ApprovalPolicy | undefined,
  parents: ApprovalPolicy | undefined,
): ApprovalPolicy | undefined {
  if (own === undefined || parents === undefined) return own ?? parents;
  const approvers =
    own.approvers === undefined || parents.approvers === undefined
      ? (own.approvers ?? parents.approvers)
      : own.approvers.filter((id) => parents.approvers?.includes(id));
  const ask_from = lesserRisk(own.ask_from, parents.ask_from);
  return {
    channel: own.channel === "harp" || parents.channel === "harp" ? "harp" : "any",
    quorum: Math.max(quorumOf(own), quorumOf(parents)),
    ...(approvers === undefined ? {} : { approvers }),
    ...(ask_from === undefined ? {} : { ask_from }),
    ...(own.four_eyes === true || parents.four_eyes === true ? { four_eyes: true } : {}),
  };
}

/** Whether somebody is asked before something this risky is done: always under `act_with_approval`. */
export function asksBefore(risk: Risk, { autonomy_tier, approval_policy }: PersonaPolicy): boolean {
  const { ask_from } = approval_policy ?? {};
  if (autonomy_tier !== "act_auto") return autonomy_tier === "act_with_approval";
  return ask_from !== undefined && risks.indexOf(risk) >= risks.indexOf(ask_from);
}

export function quorumOf(policy: ApprovalPolicy | undefined): number {
  return policy?.quorum ?? 1;
}

/** Whether nothing but signatures counts. */
export function demandsHarp(policy: ApprovalPolicy | undefined): boolean {
  return policy?.channel === "harp" || quorumOf(policy) > 1;
}

function lesserTier(one: AutonomyTier, other: AutonomyTier): AutonomyTier {
  return autonomyTiers.indexOf(one) <= autonomyTiers.indexOf(other) ? one : other;
}

function lesserRisk(one: Risk | undefined, other: Risk | undefined): Risk | undefined {
  return risks.find((risk) => risk === one || risk === other);
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
