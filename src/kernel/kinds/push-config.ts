/**
 * A push config: a webhook that is told what happens to a task. There is no outbox: what is still to be told is the log of
 * the task beyond `delivered_through_event_id`. What it takes to reach the webhook is sealed, and gone once nothing is left to tell.
 */

import type { WrappedKey } from "../../policy/vault-crypto.ts";
import { sha256Hex } from "../core/content.ts";
import type { KernelEvent } from "../core/events.ts";
import type { TraceContext } from "../core/trace.ts";
import type { Resource } from "./resource.ts";

/** In whose shape the webhook is told: that of the protocol under which it was registered. */
const pushVersions = ["1.0", "0.3"] as const;
export type PushVersion = (typeof pushVersions)[number];

/** `ended`: the end of the task was told. `failed`: the webhook was given up. */
export type PushState = "active" | "ended" | "failed";

export interface PushConfigRecord extends Resource<"push_config"> {
  workspace_id: string;
  session_id: string;
  task_id: string;
  /** The name by which the client knows it, unique in the task. */
  config_id: string;
  /** Counts what was put under this name: what is reported about an earlier one is not about this one. */
  revision: number;
  /** As it may be shown; the one that is called is sealed. */
  url: string;
  auth_scheme: string | null;
  protocol_version: PushVersion;
  /** What whoever registered it may read of a task beside its state. */
  with_history: boolean;
  with_artifacts: boolean;
  /** What it is told with: the span of the task. */
  trace: TraceContext | null;
  /** The JSON of `PushSecrets`; nothing once it is not needed any more. */
  sealed_secrets: string;
  data_key: WrappedKey | null;
  /** The key that registered it, which it does not outlive. */
  created_by_key_id?: string;
  state: PushState;
  /** Everything that the log has about the task up to here was told. */
  delivered_through_event_id: string;
  delivered_count: number;
  /** How often what comes next was tried, and when it is tried again. */
  attempts: number;
  next_attempt_at: string | null;
  last_error: string | null;
  deleted_at: string | null;
}

/** What is opened for a delivery only. */
export interface PushSecrets {
  url: string;
  token: string | null;
  credentials: string | null;
}

export interface PushDelivered {
  through_event_id: string;
  /** How many notifications that was. */
  count: number;
  /** Whether the end of the task was among them. */
  is_last: boolean;
}

/** What was told before the failure is told with it: the log is read again from there. */
export interface PushAttemptFailed extends Omit<PushDelivered, "is_last"> {
  attempts: number;
  next_attempt_at: string;
  problem: string;
}

export type PushGaveUp = Omit<PushAttemptFailed, "next_attempt_at">;

/** The same for the same name in the same task, so that a name is never there twice. */
export function pushConfigId(taskId: string, configId: string): string {
  return `push_${sha256Hex(JSON.stringify([taskId, configId])).slice(0, 32)}`;
}

export function foldPushConfig(config: PushConfigRecord, event: KernelEvent): PushConfigRecord {
  const at = event.createdAt;
  switch (event.event) {
    case "vendor.bridle.push_config.deleted":
      return { ...withoutSecrets(config), next_attempt_at: null, deleted_at: at, updated_at: at };
    case "vendor.bridle.push_config.data_key_rewrapped":
      return { ...config, data_key: event.payload.data_key, updated_at: at };
    case "vendor.bridle.push_config.delivered": {
      const told = { ...progress(config, event.payload), attempts: 0, next_attempt_at: null, updated_at: at };
      return event.payload.is_last ? { ...withoutSecrets(told), state: "ended" } : told;
    }
    case "vendor.bridle.push_config.attempt_failed": {
      const { attempts, next_attempt_at, problem } = event.payload;
      return {
        ...progress(config, event.payload),
        attempts,
        next_attempt_at,
        last_error: problem,
        updated_at: at,
      };
    }
    case "vendor.bridle.push_config.gave_up": {
      const { attempts, problem } = event.payload;
      return {
        ...withoutSecrets(progress(config, event.payload)),
        state: "failed",
        attempts,
        next_attempt_at: null,
        last_error: problem,
        updated_at: at,
      };
    }
    default:
      return config;
  }
}

function progress(
  config: PushConfigRecord,
  { through_event_id, count }: Omit<PushDelivered, "is_last">,
): PushConfigRecord {
  return {
    ...config,
    delivered_through_event_id: through_event_id,
    delivered_count: config.delivered_count + count,
  };
}

function withoutSecrets(config: PushConfigRecord): PushConfigRecord {
  return { ...config, sealed_secrets: "", data_key: null };
}

/** What has to be looked at next: every one that is active, at once or when its next attempt is due. */
export function pushWakeAt({
  state,
  deleted_at,
  next_attempt_at,
  created_at,
}: PushConfigRecord): number | null {
  if (state !== "active" || deleted_at !== null) return null;
  return Date.parse(next_attempt_at ?? created_at);
}
