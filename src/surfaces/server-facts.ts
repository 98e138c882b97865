/** What the surface has to know about the server that it is part of. */

import { cannotWrite, HarnessError } from "../kernel/errors.ts";

export interface ServerFacts {
  version: string;
  /** When the server's log began. */
  createdAt: string;
  /** Where clients find the server. Never what a client says in its Host header. */
  url(): string;
  /** `host:port` of gRPC; null when it is not spoken. */
  grpcAddress(): string | null;
  /** Where approvers find the gateway that this server asks through. */
  gatewayUrl(): string;
  isStopping(): boolean;
  /** Why nothing can be written ("disk full"); null while it can. */
  writeFault(): string | null;
}

export type Readiness =
  | { status: "ready" | "draining" }
  | { status: "store_unavailable" /** In words. */; reason: string };

export function readinessOf(facts: ServerFacts): Readiness {
  if (facts.isStopping()) return { status: "draining" };
  const reason = facts.writeFault();
  return reason === null ? { status: "ready" } : { status: "store_unavailable", reason };
}

export function isReady(facts: ServerFacts): boolean {
  return readinessOf(facts).status === "ready";
}

/** Why no new work is taken now; null while it is. */
export function refusalOf(facts: ServerFacts): HarnessError | null {
  const readiness = readinessOf(facts);
  if (readiness.status === "ready") return null;
  if (readiness.status === "store_unavailable") return cannotWrite(readiness.reason);
  return new HarnessError("service_unavailable", "The server is stopping and takes no new work.");
}
