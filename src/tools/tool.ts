/** A tool: a function with a schema that says what it does to the world, so that policy can be about it. */

import type { TSchema } from "typebox";
import type { WorkspaceFiles, WorkspacePlace } from "../files/workspace-files.ts";
import type { Outbound } from "../policy/outbound.ts";
import type { CircuitBreakerOptions } from "./circuit-breaker.ts";
import type { RetryOptions } from "./retry.ts";
import type { GivenOf, Schema, ValueOf } from "./schema.ts";

/** `none`: it only looks. `reversible`: what it does can be undone. `irreversible`: it cannot, so it is never tried twice. */
export const toolEffects = ["none", "reversible", "irreversible"] as const;
export type ToolEffect = (typeof toolEffects)[number];

export const toolRisks = ["low", "medium", "high", "dangerous"] as const;
export type Risk = (typeof toolRisks)[number];

export const toolPattern = /^[A-Za-z][\w.-]{0,99}$/;

/** What a tool is given beside its input. */
export interface ToolContext {
  /** Aborted when the task is canceled, when the tool's time is over, and when the server stops. */
  readonly signal: AbortSignal;
  /** The same on every attempt of this call: for services that can recognize a repeated call. */
  readonly idempotencyKey: string;
  /** Counts the attempts of this call: 1 is the first. */
  readonly attempt: number;
  /** The headers `traceparent` and `tracestate` for requests that the tool makes; none when nobody follows the task. */
  readonly traceHeaders: Readonly<Record<string, string>>;
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

/** What is known of a tool before it is called. */
export interface ToolTerms<Input extends Schema = TSchema, Output extends Schema = TSchema>
  extends RetryOptions {
  /** Letters, digits, dots, dashes and underscores. */
  name: string;
  description: string;
  /** Of an object: models and MCP know no other input. */
  input?: Input;
  output?: Output;
  effect: ToolEffect;
  /** What whoever approves it is told; `medium` unless said, `high` for what is irreversible. */
  risk?: Risk;
  /** What is to be done, in a few words, for whoever approves it: `publish v0.2.0`; the name of the tool unless said. */
  action?(input: ValueOf<Input>): string;
  /** How long one attempt may take; a minute by default. */
  timeoutMs?: number;
  /**
   * Further attempts after a failed one. The default is 2 for a tool that only reads, and none for others: a tool with effects that says more
   * must recognize a repeated call by its `idempotencyKey`. An irreversible tool is never repeated.
   */
  retries?: number;
  /** When its circuit opens, so that a tool that keeps failing is not called for a while; `false` never opens it. */
  circuitBreaker?: CircuitBreakerOptions | false;
  /** Only for personas whose list of tools names it: the absence of a list is not enough. */
  isOptIn?: boolean;
  /** What a persona's list of capabilities, where there is one, must name as well: `files:read`, say. */
  capabilities?: readonly string[];
}

export interface ToolDefinition<Input extends Schema = TSchema, Output extends Schema = TSchema>
  extends ToolTerms<Input, Output> {
  run(input: ValueOf<Input>, context: ToolContext): Promise<GivenOf<Output>> | GivenOf<Output>;
  /** What it gives when the persona's autonomy does not let it act; without it, whoever calls it is told so. */
  simulate?(input: ValueOf<Input>): ValueOf<Output>;
}

/**
 * A tool that is written against what agents are given: each call that it makes there is recorded, allowed, approved and put
 * into the receipt for itself, so nothing of that is done for the tool as a whole.
 */
export interface ContextTool<Context = never, Input extends Schema = TSchema, Output extends Schema = TSchema>
  extends ToolTerms<Input, Output> {
  runWith(ctx: Context, input: ValueOf<Input>): Promise<GivenOf<Output>>;
}

/** A tool of either kind, whatever its schemas. */
export type AnyTool<Context = never> = ToolDefinition | ContextTool<Context>;

export function riskOf({ risk, effect }: Pick<ToolTerms, "risk" | "effect">): Risk {
  return risk ?? (effect === "irreversible" ? "high" : "medium");
}
