/** The HTTP server that the surfaces plug into: its limits, request ids, and a line per request when debugging. */

import { Readable } from "node:stream";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { HarnessError } from "../kernel/errors.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The route takes its body as it comes, however long that takes. */
    readsSlowly?: boolean;
  }
}

export interface HttpOptions {
  logger: Logger;
  bodyBytesMax: number;
  newRequestId(): string;
  /** How an error is answered, for what is refused before any surface is reached. */
  fail(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply;
}

/** Longest a client may take to send a request, an upload above all, and to keep an idle connection. */
const requestTimeoutMs = 60 * 60_000;
/** The same for a body that is read as a whole before anything is done with it. */
const bodyTimeoutMs = 60_000;
const keepAliveTimeoutMs = 72_000;
/** Longer ids than this are nobody's. */
const pathParamCharsMax = 200;
/** JSON nested deeper than this is an attack on somebody's stack, not data. */
const bodyDepthMax = 100;

export function createHttp({ logger, bodyBytesMax, newRequestId, fail }: HttpOptions): FastifyInstance {
  const app = Fastify({
    logger: false,
    // A HEAD request to a stream would never end.
    exposeHeadRoutes: false,
    genReqId: newRequestId,
    requestIdHeader: false,
    bodyLimit: bodyBytesMax,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    forceCloseConnections: "idle",
    frameworkErrors: (error, request, reply) => {
      const unreachable = new HarnessError("resource_not_found", "There is nothing at this address.");
      fail(error.statusCode === 414 ? unreachable : error, request, reply);
    },
    routerOptions: { maxParamLength: pathParamCharsMax, ignoreTrailingSlash: true },
  });
  // Only JSON is spoken here; text must not slip through as a body.
  app.removeContentTypeParser("text/plain");
  // Schemas are checked by the surfaces themselves, and what they answer is already in its final shape.
  app.setSerializerCompiler(() => JSON.stringify);
  app.addHook("preParsing", (request, _reply, payload, done) => {
    if (!request.raw.complete && request.routeOptions.config.readsSlowly !== true) limitTime(request);
    done(null, payload);
  });
  app.addHook("preValidation", (request, _reply, done) => {
    // A stream is for its route to read.
    const problem = request.body instanceof Readable ? null : problemWith(request.body, bodyDepthMax);
    if (problem === null) done();
    else done(new HarnessError("invalid_request", problem));
  });
  if (logger.isLevelEnabled("debug")) {
    app.addHook("onResponse", async (request, reply) => {
      const { method, routeOptions, id } = request;
      const ms = Math.round(reply.elapsedTime);
      logger.debug(
        { request_id: id, method, route: routeOptions.url, status: reply.statusCode, ms },
        "request",
      );
    });
  }
  return app;
}

/** Hangs up on a client that does not come to the end of its body. */
function limitTime({ raw }: FastifyRequest): void {
  const patience = setTimeout(() => raw.destroy(), bodyTimeoutMs);
  raw.once("close", () => clearTimeout(patience));
  raw.once("end", () => clearTimeout(patience));
}

/** What JSON can say but nobody can give back: endless numbers, endless nesting. Goes no deeper than it must. */
function problemWith(value: unknown, levels: number): string | null {
  if (typeof value === "number" && !Number.isFinite(value)) return "The body has a number that is too large.";
  if (typeof value !== "object" || value === null) return null;
  if (levels === 0) return `The body is nested deeper than ${bodyDepthMax} levels.`;
  for (const inner of Object.values(value)) {
    const problem = problemWith(inner, levels - 1);
    if (problem !== null) return problem;
  }
  return null;
}
