/** Replays: a task that runs another task's log again, and how its events say so. */

import { hashOf } from "../../receipts/canonical.ts";
import type { JsonValue } from "../../store/port.ts";
import type { Content } from "../core/content.ts";
import type { Visibility } from "./resource.ts";

export const replayModes = ["exact", "with_overrides", "from_checkpoint"] as const;
export type ReplayMode = (typeof replayModes)[number];

/** What a replay may be allowed to do for real where the log has nothing. */
export const liveKinds = ["llm", "mcp", "tool", "host", "secret", "time", "random", "step"] as const;
export type LiveKind = (typeof liveKinds)[number];
/** Those that may change something in the world. */
export const actingKinds: ReadonlySet<string> = new Set<LiveKind>(["step", "tool", "mcp", "host"]);

/** One value given in place of what was recorded. */
export interface Substitution {
  /** As the caller wrote it: a step's key, or its beginning for all steps of that name. */
  override_key: string;
  value: JsonValue;
  sha256: string;
  visibility: Visibility;
  reason: string | null;
  artifact_id: string | null;
  /** The event that the caller says it is about, where it does. */
  event_id?: string;
}

export interface ReplayPlan {
  source_task_id: string;
  mode: ReplayMode;
  /** By the key of the step; secrets are not among them. */
  substitutions: Content<Record<string, Substitution>>;
  /** Steps whose secret was given with the request, and the override that gave it. The secret is in memory only. */
  secret_overrides: Record<string, string>;
  /** The step after which events are replayed; what came before is only restored. */
  checkpoint: string | null;
  allow_live: LiveKind[];
  reason: string | null;
  /** Named by what is replayed and how: equal replays have equal names, on every server. */
  segment: string;
}

/** On every event that a replay emits: copies of what was recorded, and what came out differently. */
export interface ReplayMark {
  is_copy: boolean;
  source_task_id: string;
  mode: ReplayMode;
  original_event_id: string | null;
  override_key?: string;
  /** What the substituted step gave, and what was given instead. */
  before_sha256?: string | null;
  after_sha256?: string | null;
  reason?: string;
  artifact_id?: string;
  /** The event that the request named for it. */
  event_id?: string;
}

/** Readable where the key is plain; otherwise a piece of its hash keeps keys apart that look alike. */
export function deltaIdOf(stepKey: string): string {
  const readable = `delta_${stepKey.replaceAll(/[^A-Za-z0-9]+/g, "_")}`;
  const isPlain = /^[A-Za-z0-9]+(:[A-Za-z0-9]+)*$/.test(stepKey) || /^time:[a-z]+_at$/.test(stepKey);
  if (isPlain) return readable;
  return `${readable}_${hashOf(stepKey.toWellFormed()).slice("sha256:".length, 15)}`;
}
