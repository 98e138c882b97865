/**
 * The HTTP server that the surfaces plug into: its limits, request ids, the headers that keep browsers from doing harm,
 * and what is said of each request.
 */

import { Readable } from "node:stream";
import cors from "@fastify/cors";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { HarnessError } from "../kernel/core/errors.ts";
import { pauseIfLate } from "../slices.ts";
import { warnOfIgnoredForwarding } from "./forwarded.ts";
import { readJson } from "./json-body.ts";
import { LargeBodies } from "./large-bodies.ts";
import { type HttpWatch, logRequests } from "./request-log.ts";
import { SiteGuard, type SiteRules } from "./site-guard.ts";
import { StalledClients } from "./stalled-clients.ts";
import { type Tls, tlsOptions } from "./tls.ts";
import { wantsWebSocket } from "./websocket.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The route reads its body as a stream. */
    streamsBody?: boolean;
    /** And takes it as it comes, however long that takes. */
    readsSlowly?: boolean;
  }
}

export interface HttpOptions extends SiteRules {
  logger: Logger;
  bodyBytesMax: number;
  newRequestId(): string;
  /** Addresses of proxies that are believed when they say for whom they ask. */
  trustedProxies: readonly string[];
  /** A certificate and its key, as PEM; without them nothing is encrypted. */
  tls: Tls | null;
  /** Whether clients reach the server by https only. */
  isHttps: boolean;
  /** How long a client may take nothing of what is sent to it, or send nothing of an upload; 5 minutes when left out. */
  stalledClientMs?: number;
  /** Who counts requests; nobody when left out. */
  watch?: HttpWatch | null;
  /** Why no request is taken at all, but for those that ask after the server; null while they are. */
  readRefusal(): Error | null;
  /** How an error is answered, for what is refused before any surface is reached. */
  fail(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply;
}

/** Longest a client may take to send a request, an upload above all, and to keep an idle connection. */
const requestTimeoutMs = 60 * 60_000;
/** The same for a body that is read as a whole before anything is done with it. */
const bodyTimeoutMs = 60_000;
const stalledClientMsDefault = 5 * 60_000;
const keepAliveTimeoutMs = 72_000;
/** They say how the server is, whatever state the database is in. */
const answeredWithoutDatabase = new Set(["/", "/health", "/ready", "/version", "/metrics", "/openapi.json"]);
/** How long somebody who does not take an answer is waited for when the server stops. */
const closeMsMax = 1000;
/** How long a client that is still sending has to read an answer before its connection is cut. */
const lingerMs = 2000;
/** Longer ids than this are nobody's. */
const pathParamCharsMax = 200;
/** A year, as browsers expect of those who mean it. */
const hstsSeconds = 365 * 24 * 60 * 60;
/** How long a browser remembers what another origin may do. */
const preflightSeconds = 600;
/** What scripts of another origin may send, and what they may see of an answer. */
const requestHeaders = [
  ...["Authorization", "Content-Type", "Accept", "Prefer", "Range", "If-None-Match", "If-Range"],
  ...["Idempotency-Key", "Harn-Agents-Protocol-Version", "Last-Event-ID", "traceparent", "tracestate"],
  ...["OPVS-Version", "OPVS-Extensions", "OPVS-Since", "A2A-Version", "A2A-Extensions", "A2A-Since"],
  ...["X-HARP-Version", "X-Correlation-ID"],
  ...["MCP-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name"],
];
const answerHeaders = [
  ...["X-Request-Id", "Idempotent-Replayed", "ETag", "Location", "Retry-After", "Preference-Applied"],
  ...["RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"],
  ...["Content-Range", "Content-Disposition", "WWW-Authenticate"],
  ...["OPVS-Extensions", "A2A-Extensions", "X-HARP-Version", "traceparent", "X-Correlation-ID"],
  "Mcp-Session-Id",
];
/** What orchestrators ask by habit. */
const otherNames: Readonly<Record<string, string>> = { "/healthz": "/health", "/readyz": "/ready" };
/** Routes check what they get themselves (`validate.ts`); so Fastify need not load what would check and write it. */
const noSchemas = () => () => {
  throw new Error("Routes have no schemas of Fastify's");
};

export function createHttp(options: HttpOptions): FastifyInstance {
  const { logger, bodyBytesMax, newRequestId, fail } = options;
  const securityHeaders = securityHeadersFor(options.isHttps);
  const guard = new SiteGuard(options);
  const listening = { shouldUpgradeCallback: wantsWebSocket };
  const app = Fastify({
    logger: false,
    ...(options.tls === null ? { http: listening } : { https: { ...listening, ...tlsOptions(options.tls) } }),
    // A HEAD request to a stream would never end.
    exposeHeadRoutes: false,
    genReqId: newRequestId,
    requestIdHeader: false,
    rewriteUrl: ({ url = "/" }) => otherNames[url] ?? url,
    trustProxy: options.trustedProxies.length > 0 && [...options.trustedProxies],
    bodyLimit: bodyBytesMax,
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    forceCloseConnections: "idle",
    frameworkErrors: (error, request, reply) => {
      reply.headers(securityHeaders);
      const unreachable = new HarnessError("resource_not_found", "The path is longer than any route.");
      fail(error.statusCode === 414 ? unreachable : error, request, reply);
    },
    routerOptions: { maxParamLength: pathParamCharsMax, ignoreTrailingSlash: true },
  });
  app.addHook("onRequest", (request, reply, done) => {
    reply.headers(securityHeaders).header("X-Request-Id", request.id);
    const { method, headers, raw, host: forwardedHost } = request;
    const { localAddress } = raw.socket;
    const refusal = guard.refusalOf({ method, headers, forwardedHost, localAddress });
    if (refusal !== null) reply.header("Vary", "Origin");
    const isAnswerable = answeredWithoutDatabase.has(request.routeOptions.url ?? "");
    done(refusal ?? (isAnswerable ? null : options.readRefusal()) ?? undefined);
  });
  warnOfIgnoredForwarding(app, logger);
  // For pages that no surface answers for.
  app.setErrorHandler(fail);
  if (options.corsOrigins.length > 0) allowOrigins(app, new Set(options.corsOrigins));
  // Only JSON is spoken here; text must not slip through as a body.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/json",
    { parseAs: "buffer" },
    async (_request: FastifyRequest, body: Buffer) => readJson(body),
  );
  // Schemas are checked by the surfaces themselves, and what they answer is already in its final shape.
  app.setSerializerCompiler(() => JSON.stringify);
  const largeBodies = new LargeBodies(bodyBytesMax);
  const stalledClients = new StalledClients(options.stalledClientMs ?? stalledClientMsDefault);
  stalledClients.watch(app.server);
  app.addHook("preParsing", (request, reply, payload, done) => {
    const { readsSlowly = false, streamsBody = false } = request.routeOptions.config;
    request.raw.once("error", blameClient);
    if (!request.raw.complete && !readsSlowly) limitTime(request);
    if (readsSlowly) request.raw.once("close", stalledClients.expectUpload(request.raw.socket));
    if (streamsBody || !(payload instanceof Readable)) done(null, payload);
    else done(null, largeBodies.receive(request, reply, payload));
  });
  app.addHook("preValidation", (_request, _reply, done) => {
    const pause = pauseIfLate();
    if (pause === null) done();
    else void pause.then(() => done());
  });
  app.addHook("onSend", (request, reply, payload, done) => {
    if (request.body instanceof Readable) dropRest(request, reply);
    done(null, payload);
  });
  logRequests(app, logger, options.watch ?? null);
  return app;
}

/** A client that hangs up in its body has sent a malformed request, which every surface knows by Fastify's codes. */
function blameClient(error: Error): void {
  Object.assign(error, { code: "FST_ERR_CLIENT_HUNG_UP", statusCode: 400 });
}

/** Headers for API responses; routes that serve a page override them. */
function securityHeadersFor(isHttps: boolean): Record<string, string> {
  return {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    ...(isHttps ? { "Strict-Transport-Security": `max-age=${hstsSeconds}` } : {}),
  };
}

/** Scripts of other origins send the key that they have. The session of the console is for its own origin: its header is not among the allowed ones. */
function allowOrigins(app: FastifyInstance, origins: ReadonlySet<string>): void {
  app.register(cors, {
    origin: (origin, answer) => answer(null, origin !== undefined && origins.has(origin) ? origin : false),
    credentials: false,
    // What is refused here would be refused in plain text.
    strictPreflight: false,
    methods: ["GET", "POST", "PATCH", "PUT", "DELETE"],
    allowedHeaders: requestHeaders,
    exposedHeaders: answerHeaders,
    maxAge: preflightSeconds,
  });
}

/** Hangs up on a client that does not come to the end of its body. */
function limitTime({ raw }: FastifyRequest): void {
  const patience = setTimeout(() => raw.destroy(), bodyTimeoutMs);
  raw.once("close", () => clearTimeout(patience));
  raw.once("end", () => clearTimeout(patience));
}

/**
 * The route may have answered before it read all of its body. If some has yet to arrive, no later request can use the connection. What
 * arrives is dropped for a moment: the operating system could discard the answer before a client that is still sending has read it.
 */
function dropRest({ raw }: FastifyRequest, reply: FastifyReply): void {
  raw.resume();
  if (raw.complete) return;
  reply.header("Connection", "close");
  const { socket } = raw;
  // Called by Node when such an answer is on its way.
  socket.destroySoon = () => {
    socket.end();
    const patience = setTimeout(() => socket.destroy(), lingerMs);
    socket.once("close", () => clearTimeout(patience));
  };
}

/** Open requests are answered first; a client that does not take its answer is not waited for long. */
export async function closeHttp(http: FastifyInstance): Promise<void> {
  const impatience = setTimeout(() => http.server.closeAllConnections(), closeMsMax);
  await http.close();
  clearTimeout(impatience);
}
