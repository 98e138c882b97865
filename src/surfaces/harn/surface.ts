/** The Harn Agents Protocol over HTTP, as a Fastify plugin. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { HarnessError } from "../../kernel/errors.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { toErrorAnswer } from "./errors.ts";
import { openApiDocument } from "./openapi.ts";
import type { Route } from "./route.ts";
import { apiKeyRoutes } from "./routes/api-keys.ts";
import { artifactRoutes } from "./routes/artifacts.ts";
import { discoveryRoutes, type ServerFacts } from "./routes/discovery.ts";
import { eventRoutes } from "./routes/events.ts";
import { messageRoutes } from "./routes/messages.ts";
import { sessionRoutes } from "./routes/sessions.ts";
import { taskRoutes } from "./routes/tasks.ts";
import { workspaceRoutes } from "./routes/workspaces.ts";

export interface HarnOptions {
  kernel: Kernel;
  facts: ServerFacts;
  logger: Logger;
  /** Aborted when the server stops: ends open streams. */
  stopped: AbortSignal;
}

/** Seconds after which a client may find another server, or this one restarted. */
const retryAfterSeconds = 5;

export function harnRoutes({ kernel, facts, stopped }: Omit<HarnOptions, "logger">): Route[] {
  return [
    ...discoveryRoutes(kernel, facts),
    ...workspaceRoutes,
    ...sessionRoutes,
    ...messageRoutes,
    ...taskRoutes,
    ...artifactRoutes,
    ...eventRoutes(stopped),
    ...apiKeyRoutes,
  ];
}

export function harn(options: HarnOptions): (app: FastifyInstance) => Promise<void> {
  const { kernel, facts, logger } = options;
  const fail = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const { status, body, unexpected } = toErrorAnswer(error, request.id);
    if (unexpected) logger.error({ err: error, request_id: request.id }, "a request failed");
    if (status === 503) reply.header("Retry-After", String(retryAfterSeconds));
    return reply.code(status).send(body);
  };
  return async (app) => {
    app.addHook("onRequest", (request, reply, done) => {
      reply.header("X-Request-Id", request.id);
      const isRead = request.method === "GET" || request.method === "HEAD";
      if (isRead || facts.isReady()) done();
      else done(new HarnessError("service_unavailable", "The server is stopping and takes no new work."));
    });
    app.setErrorHandler(fail);
    app.setNotFoundHandler((request, reply) =>
      fail(
        new HarnessError(
          "resource_not_found",
          `There is nothing at ${request.method} ${request.url.split("?")[0]}.`,
        ),
        request,
        reply,
      ),
    );
    const routes = harnRoutes(options);
    for (const route of routes) route.register(app, kernel);
    const document = JSON.stringify(openApiDocument(routes, facts.version));
    app.get("/openapi.json", async (_request, reply) => reply.type("application/json").send(document));
  };
}
