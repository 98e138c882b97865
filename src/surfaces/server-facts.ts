/** What the surface has to know about the server that it is part of. */

import { cannotRead, cannotWrite, HarnessError } from "../kernel/core/errors.ts";

export interface ServerFacts {
  version: string;
  /** When the server's log began. */
  createdAt: string;
  /** Where clients find the server. Never what a client says in its Host header. */
  url(): string;
  /** `host:port` of gRPC; null when it is not spoken. */
  grpcAddress(): string | null;
  /** What clients show beside the server's own keys and tokens. */
  credentials: { mutualTls: boolean; issuers: readonly string[] };
  /** Where approvers find the gateway that this server asks through. */
  gatewayUrl(): string;
  isStopping(): boolean;
  /** Why nothing can be written ("disk full"); null while it can. */
  writeFault(): string | null;
  /** Why nothing can be read ("database unreachable"); null while it can. */
  readFault(): string | null;
  /** Whether there is less free disk space than the operator wants; deleting still works then. */
  isDiskLow(): boolean;
}

export type Readiness =
  | { status: "ready" | "draining" }
  | { status: "store_unavailable" | "disk_low"; reason: string };

export function readinessOf(facts: ServerFacts): Readiness {
  if (facts.isStopping()) return { status: "draining" };
  const reason = facts.writeFault();
  if (reason !== null) return { status: "store_unavailable", reason };
  return facts.isDiskLow() ? { status: "disk_low", reason: "disk almost full" } : { status: "ready" };
}

export function isReady(facts: ServerFacts): boolean {
  return readinessOf(facts).status === "ready";
}

/** Why no request is taken at all; null while they are. */
export function readRefusalOf(facts: Pick<ServerFacts, "readFault">): HarnessError | null {
  const fault = facts.readFault();
  return fault === null ? null : cannotRead(fault);
}

/** Why no request that changes something is taken now; null while they are. */
export function refusalOf(facts: ServerFacts): HarnessError | null {
  const readiness = readinessOf(facts);
  if (readiness.status === "store_unavailable") return cannotWrite(readiness.reason);
  if (readiness.status !== "draining") return null;
  return new HarnessError("service_unavailable", "The server is stopping and takes no new work.");
}
