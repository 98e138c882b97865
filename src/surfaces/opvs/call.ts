/** One call of an operation, whichever binding it came by. */

import type { TraceContext } from "../../kernel/core/trace.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { Caller } from "../../policy/caller.ts";
import type { ServerFacts } from "../server-facts.ts";

export type ProtocolVersion = "1.0" | "0.3";

export interface Call {
  kernel: Kernel;
  caller: Caller;
  /** True for the anonymous callers of a public agent. */
  isAnonymous: boolean;
  /** The agent that was addressed; null at the front door, where new work is for the tenant's default agent. */
  agent: string | null;
  version: ProtocolVersion;
  /** The extensions that the client asked for and this agent has: those that are active. */
  extensions: ReadonlySet<string>;
  /** Of the durable cursor: the event after which a stream goes on. */
  since: string | null;
  trace: TraceContext | null;
  /** Where clients find this server. */
  publicUrl: string;
  credentials: ServerFacts["credentials"];
  /** `host:port` of gRPC; null when it is not spoken. */
  grpcAddress: string | null;
  /** Aborted when the client has gone away or the server stops. */
  signal: AbortSignal;
  /** Aborted when the server stops. */
  stopped: AbortSignal;
}

/** What a binding knows of a call before anybody looked at it. */
export interface Arrival {
  /** A header, or a gRPC metadata entry, by its lower-case name; several of one name are joined by commas. */
  header(name: string): string | undefined;
  /** A query parameter by its name, whatever its case. */
  query(name: string): string | undefined;
  /** Whose failures to authenticate are counted. */
  address: string;
  /** The agent that the endpoint's path names. */
  agent: string | null;
  /** Aborted when the client has gone away or the server stops. */
  signal: AbortSignal;
}
