/** `grpc.health.v1.Health`: what load balancers ask, with no credentials. */

import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import {
  type Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../../proto/generated/grpc/health/v1/health_pb.js";
import { pause } from "../../../web/pause.ts";

export interface HealthOptions {
  /** Whether new work is taken. */
  isReady(): boolean;
  /** The services that can be asked about; the empty name is the server as a whole. */
  services: readonly string[];
}

/** How soon somebody who watches hears of a change. */
const lookMs = 500;

export function health({ isReady, services }: HealthOptions): ServiceImpl<typeof Health> {
  const known = new Set(["", ...services]);
  const statusOf = (service: string) => {
    if (!known.has(service)) return Status.SERVICE_UNKNOWN;
    return isReady() ? Status.SERVING : Status.NOT_SERVING;
  };
  return {
    check({ service }) {
      const status = statusOf(service);
      if (status !== Status.SERVICE_UNKNOWN) return { status };
      throw new ConnectError("There is no service of this name.", Code.NotFound);
    },
    async *watch({ service }, { signal }: HandlerContext) {
      let told: Status | null = null;
      while (true) {
        // A server that stops is not ready any more; that is the last thing it says.
        const status = statusOf(service);
        if (status !== told) yield { status };
        told = status;
        signal.throwIfAborted();
        await pause(lookMs, signal);
      }
    },
  };
}
