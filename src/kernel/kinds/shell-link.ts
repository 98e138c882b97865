/**
 * A shell's line to the run that it started: who it is, what it can do, what it said of its surroundings, and how far it
 * was told what the run does. A turn is one request of the shell and its response; the response of a turn is the fold of the
 * task's events between two positions, so it can be given again whenever it is asked for.
 */

import type { JsonObject, Position } from "../../store/port.ts";
import type { Content } from "../core/content.ts";
import type { KernelEvent } from "../core/events.ts";
import type { Resource } from "./resource.ts";

export const privacyTiers = ["public", "restricted", "secret"] as const;
export type PrivacyTier = (typeof privacyTiers)[number];

/** What a shell said of its surroundings. Of what is secret there is only a hash under the master key. */
export type RecordedEnvironment =
  | { tier: "public" | "restricted"; state: Content<JsonObject> }
  | { tier: "secret"; keyed_hash: string; bytes: number };

export type ShellIdentity = {
  shell_kind?: string;
  shell_version?: string;
  locale?: string;
  timezone?: string;
};

/** What a task keeps of the shell that started it. */
export interface TaskShell {
  identity: ShellIdentity;
  /** The hint that it was routed by, and whatever else the shell put there. */
  hint: JsonObject;
}

/** A request of the shell. */
export interface ShellTurn {
  turn: number;
  identity: ShellIdentity;
  /** What it asked for, whether it can have it or not. */
  capabilities: string[];
  /** As of this turn; null when it never said anything. */
  environment: RecordedEnvironment | null;
}

/** The response to it: what became of the run after one event and up to another. */
export interface ToldTurn {
  turn: number;
  after: Position;
  through: Position;
  /** The directives that it expects outcomes of, and the step of the question that it tells. */
  asked: string[];
  question: string | null;
  /** Until when the run can be continued with the token of this turn; null when there is nothing to continue. */
  expires_at: string | null;
  latency_ms: number;
}

export interface ShellLinkRecord extends Resource<"shell_link">, ShellTurn {
  workspace_id: string;
  session_id: string;
  task_id: string;
  /** Names the one who may continue. */
  caller: string;
  /** What the tokens are made with: nobody is shown it. */
  seed: string;
  /** What it was told last. */
  told: ToldTurn | null;
}

/** There is one for each task that a shell started, and it is found by that. */
export function shellLinkIdOf(taskId: string): string {
  return taskId.replace(/^task_/, "shell_");
}

export function foldShellLink(link: ShellLinkRecord, event: KernelEvent): ShellLinkRecord {
  switch (event.event) {
    case "vendor.bridle.shell_link.turn_taken":
      return { ...link, ...event.payload.turn, updated_at: event.createdAt };
    case "vendor.bridle.shell_link.turn_answered":
      return { ...link, told: event.payload.told, updated_at: event.createdAt };
    default:
      return link;
  }
}
