/** The Harn Agents Protocol over HTTP, as a Fastify plugin. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { HarnessError } from "../../kernel/core/errors.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { Redactor } from "../../policy/redact/redact.ts";
import { refusalOf, type ServerFacts } from "../server-facts.ts";
import type { WebSockets } from "../websocket.ts";
import { type ErrorAnswer, type ErrorBody, toErrorAnswer } from "./errors.ts";
import { openApiRoute, receiptSchemaRoute } from "./openapi.ts";
import { rateLimitHeaders } from "./rate-limit-headers.ts";
import type { Route } from "./route.ts";
import { adminKeyRoutes } from "./routes/admin-key.ts";
import { agentRoutes } from "./routes/agents.ts";
import { apiKeyRoutes } from "./routes/api-keys.ts";
import { approvalRoutes } from "./routes/approvals.ts";
import { artifactRoutes } from "./routes/artifacts.ts";
import { auditRoutes } from "./routes/audit.ts";
import { branchRoutes } from "./routes/branches.ts";
import { connectorRoutes } from "./routes/connectors.ts";
import { discoveryRoutes, healthRoutes } from "./routes/discovery.ts";
import { eventRoutes } from "./routes/events.ts";
import { memoryRoutes } from "./routes/memories.ts";
import { messageRoutes } from "./routes/messages.ts";
import { type MetricsPage, metricsRoutes } from "./routes/metrics.ts";
import { outcomeRoutes } from "./routes/outcomes.ts";
import { permissionRequestRoutes } from "./routes/permission-requests.ts";
import { personaRoutes } from "./routes/personas.ts";
import { pushConfigRoutes } from "./routes/push-configs.ts";
import { quotaRoutes } from "./routes/quotas.ts";
import { receiptRoutes } from "./routes/receipts.ts";
import { retentionRoutes } from "./routes/retention.ts";
import { sessionRoutes } from "./routes/sessions.ts";
import { skillRoutes } from "./routes/skills.ts";
import { taskRoutes } from "./routes/tasks.ts";
import { transferRoutes } from "./routes/transfer.ts";
import { uiRoutes } from "./routes/ui.ts";
import { vaultRoutes } from "./routes/vaults.ts";
import { webSocketRoutes } from "./routes/websocket.ts";
import { workspaceFileRoutes } from "./routes/workspace-files.ts";
import { workspaceRoutes } from "./routes/workspaces.ts";

export interface HarnOptions {
  kernel: Kernel;
  facts: ServerFacts;
  report: Report;
  /** Aborted when the server stops: ends open streams. */
  stopped: AbortSignal;
  sockets: WebSockets;
  /** How long a WebSocket may be open before it says hello. */
  helloMs: number;
  /** How often an open stream gets a sign of life. */
  heartbeatMs: number;
  /** The largest artifact that can be uploaded. */
  artifactBytesMax: number;
  /** The A2A card of the default agent, which the card of the server has in it. */
  a2aCard: () => object;
  /** What the server counts, and for whom; null when it counts nothing. */
  metrics: MetricsPage | null;
}

/** Seconds after which a client may find another server, or this one restarted. */
const retryAfterSeconds = 5;

function harnRoutes(options: HarnOptions): Route[] {
  const { kernel, facts, stopped, artifactBytesMax } = options;
  const routes: Route[] = [
    openApiRoute(() => routes, facts.version),
    receiptSchemaRoute(),
    ...discoveryRoutes(kernel, facts, options.a2aCard),
    ...metricsRoutes(options.metrics),
    ...workspaceRoutes,
    ...workspaceFileRoutes,
    ...agentRoutes(facts.createdAt),
    ...personaRoutes,
    ...quotaRoutes,
    ...sessionRoutes,
    ...branchRoutes,
    ...retentionRoutes,
    ...messageRoutes,
    ...uiRoutes(options),
    ...taskRoutes(stopped),
    ...permissionRequestRoutes,
    ...outcomeRoutes,
    ...approvalRoutes(facts),
    ...pushConfigRoutes,
    ...artifactRoutes(artifactBytesMax, options.report),
    ...vaultRoutes,
    ...receiptRoutes(kernel),
    ...transferRoutes,
    ...eventRoutes(options),
    ...auditRoutes(options),
    ...webSocketRoutes(options),
    ...memoryRoutes,
    ...skillRoutes(facts.createdAt),
    ...connectorRoutes,
    ...apiKeyRoutes,
    ...adminKeyRoutes,
  ];
  return routes;
}

export type Fail = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply;

/** What a client is told about an error. */
export type Report = (error: unknown, requestId: string) => ErrorAnswer;

/** Says an error in the protocol's shape, and logs what was our fault. */
export function harnReport(logger: Logger, redactor: Redactor): Report {
  return (error, requestId) => {
    const answer = toErrorAnswer(error, requestId, redactor);
    if (answer.unexpected)
      logger.error({ event: "http.failed", err: error, request_id: requestId }, "A request failed");
    return answer;
  };
}

export function harnFail(report: Report): Fail {
  return (error, request, reply) => {
    const { status, body } = report(error, request.id);
    // Fastify would hang up on a client that is still sending, which then never sees why.
    if (status === 413) reply.removeHeader("connection");
    if (status === 503) reply.header("Retry-After", String(retryAfterSeconds));
    for (const [name, value] of rateLimitHeaders(body.error.details)) reply.header(name, value);
    const challenge = challengeFor(body, request);
    if (challenge !== null) reply.header("WWW-Authenticate", challenge);
    return reply.code(status).header("X-Request-Id", request.id).send(body);
  };
}

/** RFC 6750: how to authenticate, and no more about what was wrong than the body says. */
function challengeFor({ error }: ErrorBody, request: FastifyRequest): string | null {
  if (error.code === "unauthenticated") {
    const wasTried = request.headers.authorization !== undefined;
    return `Bearer realm="bridle"${wasTried ? ', error="invalid_token"' : ""}`;
  }
  const { required_scope } = error.details;
  if (error.code !== "permission_denied" || typeof required_scope !== "string") return null;
  return `Bearer realm="bridle", error="insufficient_scope", scope="${required_scope}"`;
}

/** Quoted only when it is plain: an address can hold anything, in encodings that hide it from redaction. */
function plainPath(url: string): string {
  const [path = ""] = url.split("?");
  return /^[\w/.-]{1,200}$/.test(path) ? path : "this address";
}

/** Only what it takes to make keys and to look after the process, for a server that has no agents. */
export function harnKeys({
  kernel,
  facts,
  report,
}: Pick<HarnOptions, "kernel" | "facts" | "report">): (app: FastifyInstance) => Promise<void> {
  return async (app) => {
    app.setErrorHandler(harnFail(report));
    for (const route of [...healthRoutes(facts), ...apiKeyRoutes, ...adminKeyRoutes])
      route.register(app, kernel);
  };
}

export function harn(options: HarnOptions): (app: FastifyInstance) => Promise<void> {
  const { kernel, facts } = options;
  const fail = harnFail(options.report);
  return async (app) => {
    app.addHook("onRequest", (request, _reply, done) => {
      const isRead = request.method === "GET" || request.method === "HEAD";
      done(isRead ? undefined : (refusalOf(facts) ?? undefined));
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
    options.sockets.listen(app);
  };
}
