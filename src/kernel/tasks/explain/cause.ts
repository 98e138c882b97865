/** What a task waits for, or why it ended, as facts: see `words.ts` for the sentence that is made of them. */

import type { Failure } from "../../kinds/outcome.ts";
import type { Blocker, RunningStep, WorkFacts } from "../runtime-status.ts";

export type Cause =
  | { kind: "completed"; summary: string }
  | { kind: "failed"; failure: Failure; agent: string }
  | { kind: "canceled"; by: string | null; reason: string | null }
  | { kind: "input"; prompt: string; until: string }
  | {
      kind: "approval";
      action: string;
      risk: string;
      approved: number;
      quorum: number;
      askedOf: string[];
      isSigned: boolean;
      until: string;
    }
  /** A person is asked whether the task may go on beyond the limit. */
  | {
      kind: "quota_question";
      quotaId: string;
      limit: QuotaLimit | null;
      resetAt: string | null;
      until: string;
    }
  | { kind: "budget"; quotaIds: string[] }
  | { kind: "retry"; blocker: Extract<Blocker, { by: "retry" }> }
  | { kind: "steps"; running: readonly RunningStep[] }
  | { kind: "code" }
  | { kind: "host"; capabilities: string[]; until: string }
  | {
      kind: "remote";
      remotes: { url: string; state: string | null; problem: string | null }[];
      until: string | null;
    }
  | { kind: "children"; children: { id: string; agent: string; status: string }[]; until: string | null }
  | { kind: "timer"; until: string | null; reason: string }
  | { kind: "agent"; name: string; version: string | null; loaded: string | null }
  | { kind: "paused"; sessionId: string }
  | { kind: "queue"; work: WorkFacts };

export interface QuotaLimit {
  name: string;
  most: number;
  used: number;
}

/** What a task waits for, as a program tells it apart. */
export const waitKinds = [
  "input",
  "approval",
  "quota",
  "retry",
  "step",
  "host",
  "remote_agent",
  "child",
  "timer",
  "agent",
  "session",
  "queue",
] as const;
export type WaitKind = (typeof waitKinds)[number];

/** Null for what has ended. */
export const waitKindOf: Record<Cause["kind"], WaitKind | null> = {
  completed: null,
  failed: null,
  canceled: null,
  input: "input",
  approval: "approval",
  quota_question: "quota",
  budget: "quota",
  retry: "retry",
  steps: "step",
  code: "step",
  host: "host",
  remote: "remote_agent",
  children: "child",
  timer: "timer",
  agent: "agent",
  paused: "session",
  queue: "queue",
};
