/**
 * What is said of every request once it is over: a line in the log, and a number for whoever counts. Addresses are named by
 * their template, never as they were written: they hold ids, and whatever else a client puts there.
 */

import type { ServerResponse } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { isUpgrade } from "./websocket.ts";

/** Hears of requests. What it does must not throw. */
export interface HttpWatch {
  /** Not told of upgrades: what becomes of them is no answer. */
  began(response: ServerResponse): void;
  answered(request: AnsweredRequest): void;
}

export interface AnsweredRequest {
  method: string;
  /** The template of the address; null where nothing is. */
  route: string | null;
  status: number;
  seconds: number;
  /** Whether it was a stream, which lasts as long as somebody listens. */
  isStream: boolean;
}

export function logRequests(app: FastifyInstance, logger: Logger, watch: HttpWatch | null): void {
  if (watch !== null) {
    app.addHook("onRequest", (request, reply, done) => {
      if (!isUpgrade(request)) watch.began(reply.raw);
      done();
    });
  }
  app.addHook("onResponse", (request, reply, done) => {
    logRequest(logger, request, reply);
    watch?.answered({
      method: request.method,
      route: request.routeOptions.url ?? null,
      status: reply.statusCode,
      seconds: reply.elapsedTime / 1000,
      isStream: isStream(reply),
    });
    done();
  });
}

/**
 * Quiet, unless it was our fault. That the server takes no work (503) is a state of the server, not of a request: everybody is
 * told the same, and a line for each of them would hide the one that says why.
 */
function logRequest(logger: Logger, request: FastifyRequest, reply: FastifyReply): void {
  const isFault = reply.statusCode >= 500 && reply.statusCode !== 503;
  const level = isFault ? "warn" : "debug";
  if (!logger.isLevelEnabled(level)) return;
  const about = {
    event: "http.request",
    request_id: request.id,
    // What the client calls the request, where its protocol has a name for that.
    correlation_id: reply.getHeader("X-Correlation-ID"),
    method: request.method,
    route: request.routeOptions.url,
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime),
  };
  logger[level](about, "request");
}

function isStream(reply: FastifyReply): boolean {
  return String(reply.getHeader("Content-Type") ?? "").startsWith("text/event-stream");
}
