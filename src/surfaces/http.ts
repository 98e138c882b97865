/** The HTTP server that the surfaces plug into: its limits, request ids, and a line per request when debugging. */

import Fastify, { type FastifyInstance } from "fastify";
import type { Logger } from "pino";

export interface HttpOptions {
  logger: Logger;
  bodyBytesMax: number;
  newRequestId(): string;
}

/** Longest a client may take to send a request, and to keep an idle connection. */
const requestTimeoutMs = 60_000;
const keepAliveTimeoutMs = 72_000;
/** Longer ids than this are nobody's. */
const pathParamCharsMax = 200;

export function createHttp({ logger, bodyBytesMax, newRequestId }: HttpOptions): FastifyInstance {
  const app = Fastify({
    logger: false,
    genReqId: newRequestId,
    requestIdHeader: false,
    bodyLimit: bodyBytesMax,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: pathParamCharsMax, ignoreTrailingSlash: true },
  });
  // Schemas are checked by the surfaces themselves, and what they answer is already in its final shape.
  app.setSerializerCompiler(() => JSON.stringify);
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
