/** What is counted of HTTP requests and gRPC calls: what the surfaces call while they answer. */

import type { ServerResponse } from "node:http";
import type { Registry } from "prom-client";
import type { AuthFailureReason } from "../../kernel/access/auth-failure.ts";
import { requestMetrics } from "./definitions.ts";
import { instrumentsOf } from "./instruments.ts";
import { oneOf } from "./labels.ts";
import type { Harmless } from "./metrics.ts";

/** Those that a route can have. */
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

interface Answered {
  method: string;
  route: string | null;
  status: number;
  seconds: number;
  isStream: boolean;
}

export function countRequests(registry: Registry, harmless: Harmless) {
  const instruments = instrumentsOf(requestMetrics, registry);
  const { requests, requestSeconds, authFailures, inFlight, calls, callSeconds, streams } = instruments;
  const open = new Set<ServerResponse>();
  let grpcStreams = 0;
  const http = {
    began(response: ServerResponse): void {
      open.add(response);
      response.once("close", () => open.delete(response));
    },
    answered: harmless((answered: Answered) => {
      const method = oneOf(methods, answered.method);
      const route = answered.route ?? "none";
      requests.inc({ method, route, status: `${Math.floor(answered.status / 100)}xx` });
      if (!answered.isStream) requestSeconds.observe({ method, route }, answered.seconds);
    }),
  };
  const grpc = {
    began(method: string, isStream: boolean): (code: string) => void {
      const begunAt = performance.now();
      if (isStream) grpcStreams += 1;
      return harmless((code: string) => {
        if (isStream) grpcStreams -= 1;
        else callSeconds.observe({ method }, (performance.now() - begunAt) / 1000);
        calls.inc({ method, code });
      });
    },
  };
  const authFailed = harmless((reason: AuthFailureReason) => authFailures.inc({ reason }));
  /** What is open now. */
  function refresh(webSockets: number): void {
    inFlight.set(open.size);
    streams.set({ transport: "sse" }, [...open].filter(isEventStream).length);
    streams.set({ transport: "websocket" }, webSockets);
    streams.set({ transport: "grpc" }, grpcStreams);
  }
  return { http, grpc, authFailed, refresh };
}

function isEventStream(response: ServerResponse): boolean {
  return String(response.getHeader("content-type") ?? "").startsWith("text/event-stream");
}
