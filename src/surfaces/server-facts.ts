/** What the surface has to know about the server that it is part of. */

import { HarnessError } from "../kernel/errors.ts";

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
  /** New work is taken only when it is ready. */
  state(): "ready" | "draining" | "store_unavailable";
}

const unavailable: Record<ReturnType<ServerFacts["state"]>, string> = {
  ready: "The server takes no new work now.",
  draining: "The server is stopping and takes no new work.",
  store_unavailable: "The server cannot write to its disk and takes no new work until it is started again.",
};

/** Why no new work is taken now; nothing when it is. */
export function refusalOf(facts: ServerFacts): HarnessError | null {
  const state = facts.state();
  return state === "ready" ? null : new HarnessError("service_unavailable", unavailable[state]);
}
