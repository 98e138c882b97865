/** The Harn Agents Protocol over HTTP, as a Fastify plugin. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { HarnessError } from "../../kernel/errors.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { Redactor } from "../../policy/redact/redact.ts";
import { toErrorAnswer } from "./errors.ts";
import { openApiRoute } from "./openapi.ts";
import { rateLimitHeaders } from "./rate-limit-headers.ts";
import type { Route } from "./route.ts";
import { apiKeyRoutes } from "./routes/api-keys.ts";
import { artifactRoutes } from "./routes/artifacts.ts";
import { discoveryRoutes, type ServerFacts } from "./routes/discovery.ts";
import { eventRoutes } from "./routes/events.ts";
import { messageRoutes } from "./routes/messages.ts";
import { personaRoutes } from "./routes/personas.ts";
import { quotaRoutes } from "./routes/quotas.ts";
import { receiptRoutes } from "./routes/receipts.ts";
import { sessionRoutes } from "./routes/sessions.ts";
import { taskRoutes } from "./routes/tasks.ts";
import { transferRoutes } from "./routes/transfer.ts";
import { vaultRoutes } from "./routes/vaults.ts";
import { workspaceFileRoutes } from "./routes/workspace-files.ts";
import { workspaceRoutes } from "./routes/workspaces.ts";

export interface HarnOptions {
  kernel: Kernel;
  facts: ServerFacts;
  fail: Fail;
  /** Aborted when the server stops: ends open streams. */
  stopped: AbortSignal;
  /** The largest artifact that can be uploaded. */
  artifactBytesMax: number;
}

const unavailable: Record<ReturnType<ServerFacts["state"]>, string> = {
  ready: "The server takes no new work now.",
  draining: "The server is stopping and takes no new work.",
  store_unavailable: "The server cannot write to its disk and takes no new work until it is started again.",
};

/** Seconds after which a client may find another server, or this one restarted. */
const retryAfterSeconds = 5;

export function harnRoutes({ kernel, facts, stopped, artifactBytesMax }: Omit<HarnOptions, "fail">): Route[] {
  const routes: Route[] = [
    openApiRoute(() => routes, facts.version),
    ...discoveryRoutes(kernel, facts),
    ...workspaceRoutes,
    ...workspaceFileRoutes,
    ...personaRoutes,
    ...quotaRoutes,
    ...sessionRoutes,
    ...messageRoutes,
    ...taskRoutes(stopped),
    ...artifactRoutes(artifactBytesMax),
    ...vaultRoutes,
    ...receiptRoutes(kernel),
    ...transferRoutes,
    ...eventRoutes(stopped),
    ...apiKeyRoutes,
  ];
  return routes;
}

export type Fail = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply;

/** Answers an error in the protocol's shape, and logs what was our fault. */
export function harnFail(logger: Logger, redactor: Redactor): Fail {
  return (error, request, reply) => {
    const { status, body, unexpected } = toErrorAnswer(error, request.id, redactor);
    if (unexpected) logger.error({ err: error, request_id: request.id }, "a request failed");
    // Fastify would hang up on a client that is still sending, which then never sees why.
    if (status === 413) reply.removeHeader("connection");
    if (status === 503) reply.header("Retry-After", String(retryAfterSeconds));
    for (const [name, value] of rateLimitHeaders(body.error.details)) reply.header(name, value);
    return reply.code(status).header("X-Request-Id", request.id).send(body);
  };
}

/** Quoted only when it is plain: an address can hold anything, in encodings that hide it from redaction. */
function plainPath(url: string): string {
  const [path = ""] = url.split("?");
  return /^[\w/.-]{1,200}$/.test(path) ? path : "this address";
}

export function harn(options: HarnOptions): (app: FastifyInstance) => Promise<void> {
  const { kernel, facts, fail } = options;
  return async (app) => {
    app.addHook("onRequest", (request, reply, done) => {
      reply.header("X-Request-Id", request.id);
      const isRead = request.method === "GET" || request.method === "HEAD";
      if (isRead || facts.state() === "ready") done();
      else done(new HarnessError("service_unavailable", unavailable[facts.state()]));
    });
    app.setErrorHandler(fail);
    app.setNotFoundHandler((request, reply) =>
      fail(
        new HarnessError(
          "resource_not_found",
          `There is nothing at ${request.method} ${plainPath(request.url)}.`,
        ),
        request,
        reply,
      ),
    );
    for (const route of harnRoutes(options)) route.register(app, kernel);
  };
}
