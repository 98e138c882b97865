/** The binding, put together for a server: with limits and sockets of its own and, where it is wanted, a port of its own. */

import type { FastifyInstance } from "fastify";
import { createHttp, type HttpOptions } from "../http.ts";
import { WebSockets } from "../websocket.ts";
import { Limits } from "./limits.ts";
import { artifactBytesMax } from "./routes/exchanges.ts";
import { type HarpOptions, harp, harpFail } from "./surface.ts";

export function harpBinding(parts: Omit<HarpOptions, "limits" | "sockets">): HarpOptions {
  const { now, settings } = parts.gateway.deps;
  const { pingMs, idleMs } = settings;
  const sockets = new WebSockets({
    payloadBytesMax: artifactBytesMax,
    heartbeatMs: pingMs,
    // The first ping is one ping after the connection, and the last look at it is where it ends.
    missedMax: Math.max(0, Math.floor(idleMs / pingMs) - 2),
    protocol: null,
    stopped: parts.stopped,
  });
  return { ...parts, limits: new Limits(settings, now), sockets };
}

/** A server on which there is nothing else, so that the binding is at its root. */
export async function createHarpHttp(
  binding: HarpOptions,
  options: Omit<HttpOptions, "fail">,
): Promise<FastifyInstance> {
  const http = createHttp({ ...options, fail: harpFail(binding) });
  await http.register(harp(binding));
  binding.sockets.listen(http);
  return http;
}
