/**
 * The HTTP binding of HARP, as a Fastify plugin: at a prefix beside other protocols, or at the root of a port of its own.
 * It says who calls and what was sent; what may happen is for the gateway.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import type { GatewayRefusal } from "../../harp/core/gateway-link.ts";
import { harpMediaType, harpVersion, harpVersionHeader } from "../../harp/core/wire.ts";
import type { Gateway } from "../../harp/gateway/gateway.ts";
import { refusal } from "../../harp/gateway/refusals.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { harpPath } from "../addresses.ts";
import { refusalOf, type ServerFacts } from "../server-facts.ts";
import type { WebSockets } from "../websocket.ts";
import { requireSecure } from "./admit.ts";
import { noSuchRoute, refusalsTo } from "./errors.ts";
import type { Limits } from "./limits.ts";
import { requestIdIn, textOf } from "./read.ts";
import { type HarpRoute, registerRoute } from "./route.ts";
import { exchangeRoutes } from "./routes/exchanges.ts";
import { inboxRoutes } from "./routes/inboxes.ts";
import { pairingRoutes } from "./routes/pairing.ts";
import { platformRoutes } from "./routes/platform.ts";
import { presenceRoutes } from "./routes/presence.ts";
import { promptRoutes } from "./routes/prompts.ts";
import { refreshRoutes } from "./routes/refresh.ts";
import { statusPath, statusRoute } from "./routes/status.ts";
import { streamRoutes } from "./routes/streams.ts";
import { webSocketRoutes } from "./routes/websocket.ts";

export interface HarpOptions {
  gateway: Gateway;
  kernel: Kernel;
  facts: ServerFacts;
  logger: Logger;
  limits: Limits;
  sockets: WebSockets;
  /** Whether there are agents here that can be sent prompts. A gateway alone has none. */
  isEnforcer: boolean;
  /** Whether clients have to show a certificate. */
  isMutualTls: boolean;
  /** Aborted when the server stops. */
  stopped: AbortSignal;
}

/** Seconds after which a client may find the gateway, or the one that it asks for, back. */
const retryAfterSeconds = 5;

export function harpRoutes({ isEnforcer }: Pick<HarpOptions, "isEnforcer">): HarpRoute[] {
  return [
    ...exchangeRoutes,
    ...inboxRoutes,
    ...refreshRoutes,
    ...presenceRoutes,
    ...pairingRoutes,
    ...streamRoutes,
    ...webSocketRoutes,
    ...platformRoutes,
    ...(isEnforcer ? promptRoutes : []),
  ];
}

export function harp(options: HarpOptions): (app: FastifyInstance) => Promise<void> {
  const { logger, facts } = options;
  const fail = harpFail(options);
  const routes = harpRoutes(options);
  return async (app) => {
    // What is in a body is for the routes to read, which have their own words for what is wrong with it.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", { parseAs: "buffer" }, async (_request: FastifyRequest, body: Buffer) =>
      textOf(body),
    );
    app.addHook("onRequest", (request, reply, done) => {
      reply.header(harpVersionHeader, harpVersion);
      try {
        requireSecure(request, logger);
        const isRead = request.method === "GET" || request.method === "HEAD";
        done(isRead ? undefined : (refusalOf(facts) ?? undefined));
      } catch (error) {
        done(error instanceof Error ? error : new Error(String(error)));
      }
    });
    app.setErrorHandler(fail);
    app.setNotFoundHandler((request, reply) => {
      const known = [...routes, { method: "GET", path: statusPath } as const];
      const allowed = methodsAt(known, request.url.slice(app.prefix.length));
      if (allowed.length === 0) return fail(noSuchRoute(), request, reply);
      reply.header("Allow", allowed.join(", "));
      return fail(refusal("MethodNotAllowed", "This address is not for this method."), request, reply);
    });
    statusRoute(app, options);
    for (const route of routes) registerRoute(app, options, route);
  };
}

export type Fail = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply;

/** Whether an address is one of ours, where others have addresses too. */
export function isHarpAddress({ url }: FastifyRequest): boolean {
  return url.startsWith(`${harpPath}/`);
}

export function harpFail({ gateway, logger }: Pick<HarpOptions, "gateway" | "logger">): Fail {
  const toRefusal = refusalsTo(logger);
  return (error, request, reply) => {
    const refused = toRefusal(error, request.id);
    tellWhen(refused, reply);
    const isPlatform = request.routeOptions.config.isPlatform === true;
    reply.code(refused.status).header(harpVersionHeader, harpVersion);
    if (isPlatform) {
      const { code, message, isRetryable } = refused;
      return reply
        .type("application/json")
        .send(JSON.stringify({ error: { code, message, retryable: isRetryable }, message }));
    }
    const envelope = gateway.envelopes.error(refused, requestIdOf(request));
    return reply.header("Content-Type", harpMediaType).send(JSON.stringify(envelope));
  };
}

function tellWhen({ status, details }: GatewayRefusal, reply: FastifyReply): void {
  const { retryAfterSeconds: seconds } = details;
  if (typeof seconds === "number") reply.header("Retry-After", String(seconds));
  else if (status === 503) reply.header("Retry-After", String(retryAfterSeconds));
  if (status === 401) reply.header("WWW-Authenticate", 'Bearer realm="bridle"');
  // Fastify would hang up on a client that is still sending, which then never sees why.
  if (status === 413) reply.removeHeader("connection");
}

/** What the request is about, from the address or from as much of its body as can be read. */
function requestIdOf({ params, body }: FastifyRequest): string | null {
  const named = requestIdIn(params);
  if (named !== null || typeof body !== "string") return named;
  try {
    return requestIdIn(JSON.parse(body));
  } catch {
    return null;
  }
}

function methodsAt(routes: readonly Pick<HarpRoute, "method" | "path">[], url: string): string[] {
  const [path = ""] = url.split("?");
  const found = routes.filter((route) => matches(route.path, path));
  return [...new Set(found.map(({ method }) => method))];
}

function matches(pattern: string, path: string): boolean {
  const [wanted, given] = [pattern, path.replace(/\/$/, "")].map((text) => text.split("/"));
  if (wanted === undefined || wanted.length !== given?.length) return false;
  return wanted.every((step, index) => step.startsWith(":") || step === given[index]);
}
