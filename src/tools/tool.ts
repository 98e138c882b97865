/** A tool: a function with a schema that says what it does to the world, so that policy can be about it. */

import type { Static, TSchema } from "typebox";
import type { WorkspaceFiles, WorkspacePlace } from "../files/workspace-files.ts";
import type { Outbound } from "../policy/outbound.ts";

/** `none`: it only looks. `reversible`: what it does can be undone. `irreversible`: it cannot, so it is never tried twice. */
export const toolEffects = ["none", "reversible", "irreversible"] as const;
export type ToolEffect = (typeof toolEffects)[number];

export type Risk = "low" | "medium" | "high" | "dangerous";

/** What a tool is given beside its input. */
export interface ToolContext {
  /** Aborted when the task is canceled, when the tool's time is over, and when the server stops. */
  readonly signal: AbortSignal;
  /** The same on every attempt of this call: for services that can recognize a repeated call. */
  readonly idempotencyKey: string;
  readonly taskId: string;
  readonly workspaceId: string;
  /** The way out for addresses that somebody else chose. */
  readonly outbound: Outbound;
  /** The files of the task's workspace. */
  readonly files: WorkspaceFiles;
  readonly place: () => Promise<WorkspacePlace>;
  /** A secret of a vault, as `ctx.secret` gives it. It is taken out of everything that the run records. */
  secret(name: string): Promise<string>;
}

export interface ToolDefinition<Input extends TSchema = TSchema, Output extends TSchema = TSchema> {
  /** Letters, digits, dots, dashes and underscores. */
  name: string;
  description: string;
  input?: Input;
  output?: Output;
  effect: ToolEffect;
  /** What whoever approves it is told; `medium` unless said, `high` for what is irreversible. */
  risk?: Risk;
  /** How long one call may take; a minute unless said. */
  timeoutMs?: number;
  /** Only for personas whose list of tools names it: the absence of a list is not enough. */
  isOptIn?: boolean;
  run(input: Static<Input>, context: ToolContext): Promise<Static<Output>> | Static<Output>;
}
