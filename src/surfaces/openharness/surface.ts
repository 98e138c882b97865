/** OpenHarness as a Fastify plugin: a message by POST, answered as JSON or as a stream, and messages over a WebSocket. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { requireScope } from "../../kernel/access/authorize.ts";
import { HarnessError } from "../../kernel/core/errors.ts";
import { continueTrace } from "../../kernel/core/trace.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { takeShellTurn } from "../../kernel/openharness/take-shell-turn.ts";
import type { Caller } from "../../policy/caller.ts";
import { openHarnessPath } from "../addresses.ts";
import { presentedBy } from "../credentials.ts";
import { NotJson, parseSyntax, requireSound, textOf } from "../json-body.ts";
import { refusalOf, type ServerFacts } from "../server-facts.ts";
import { SseResponse } from "../sse.ts";
import { traceIn } from "../trace-headers.ts";
import { isUpgrade, type WebSockets } from "../websocket.ts";
import type { Engine, Exchange, Taken } from "./engine.ts";
import { UnreadableBody, UpgradeRequired } from "./errors.ts";
import { serveShell } from "./socket.ts";
import type { ResponseMessage } from "./wire.ts";

export interface OpenHarnessOptions {
  engine: Engine;
  kernel: Kernel;
  facts: ServerFacts;
  sockets: WebSockets;
  heartbeatMs: number;
  stopped: AbortSignal;
}

export interface Admitted {
  caller: Caller;
  credential: string;
}

/** Only what can be a header goes back as one. */
const headerValue = /^[\x21-\x7e]{1,200}$/;
const retryAfterSeconds = 1;

export function openHarness(options: OpenHarnessOptions): (app: FastifyInstance) => Promise<void> {
  const { engine, kernel, facts, sockets } = options;
  return async (app) => {
    // Bodies are read here: what is wrong with them is said in the protocol's own words.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", { parseAs: "buffer" }, async (_request: FastifyRequest, body: Buffer) =>
      textOf(body),
    );
    app.setErrorHandler((error, _request, reply) => failOpenHarness(engine, error, reply));
    const onRequest = async (request: FastifyRequest) => {
      const { caller } = await admit(kernel, request, false);
      requireScope(caller, takeShellTurn.scope);
    };
    app.post(openHarnessPath, { onRequest }, (request, reply) => answerPost(options, request, reply));
    app.get(`${openHarnessPath}/ws`, async (request, reply) => {
      if (!isUpgrade(request)) throw new UpgradeRequired();
      const { caller, credential } = await admit(kernel, request, true);
      requireScope(caller, takeShellTurn.scope);
      if (facts.isStopping()) throw refusalOf(facts);
      const isStillAllowed = kernel.stillAllowed(credential);
      const socket = await sockets.accept(request, reply, isStillAllowed);
      const trace = traceIn(request.headers);
      if (socket !== null)
        serveShell({ engine, kernel }, { openedBy: { credential, address: request.ip }, trace }, socket);
      return reply;
    });
  };
}

/** Whether an address is ours. */
export function isOpenHarnessAddress({ url }: FastifyRequest): boolean {
  return url.startsWith(openHarnessPath) && /^(?:$|[/?])/.test(url.slice(openHarnessPath.length));
}

async function answerPost(
  options: OpenHarnessOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { engine, kernel } = options;
  const gone = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) gone.abort();
  });
  const correlationHeader = correlationOf(request);
  const trace = traceIn(request.headers);
  if (trace !== null) reply.header("traceparent", continueTrace(trace).traceparent);
  let exchange: Exchange | null = null;
  try {
    requireJson(request);
    const text = String(request.body ?? "");
    const value = parseSyntax(text);
    exchange = engine.open({ value, correlationHeader, trace, gone: gone.signal });
    tellCorrelation(reply, exchange.echo.correlationId);
    const { caller, credential } = await admit(kernel, request, false);
    requireSound(value, text);
    const taken = await engine.take(exchange, caller);
    if (!taken.isStreamed || !wantsStream(request)) return reply.send(await engine.response(taken));
    await stream(options, taken, credential, gone, reply);
    return reply;
  } catch (error) {
    return fail(engine, error, exchange, reply);
  }
}

/** What is refused before a message is read: unknown callers, bodies that are too large, methods that there are not. */
export function failOpenHarness(engine: Engine, error: unknown, reply: FastifyReply): FastifyReply {
  tellCorrelation(reply, correlationOf(reply.request));
  return fail(engine, refusalOfFastify(error), null, reply);
}

function fail(engine: Engine, error: unknown, exchange: Exchange | null, reply: FastifyReply): FastifyReply {
  const echo = exchange?.echo ?? { requestId: null, correlationId: correlationOf(reply.request) };
  const { http, message, retryAfterSeconds: seconds } = engine.fail(error, exchange, reply.request.id, echo);
  if (http === 429 || http === 503) reply.header("Retry-After", String(seconds ?? retryAfterSeconds));
  if (http === 426) reply.header("Upgrade", "websocket");
  if (http === 401) reply.header("WWW-Authenticate", 'Bearer realm="bridle"');
  // Fastify would hang up on a client that is still sending, which then never sees why.
  if (http === 413) reply.removeHeader("connection");
  return reply.code(http).send(message);
}

function refusalOfFastify(error: unknown): unknown {
  const { code, statusCode }: { code?: unknown; statusCode?: unknown } = Object(error);
  if (typeof code !== "string" || !code.startsWith("FST_")) return error;
  switch (code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return new HarnessError("payload_too_large", "The message is larger than this engine accepts.");
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return new UnreadableBody();
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
      return new NotJson();
    default:
      return typeof statusCode === "number" && statusCode < 500
        ? new HarnessError("invalid_request", "The request is malformed.")
        : error;
  }
}

async function admit(kernel: Kernel, request: FastifyRequest, takesTickets: boolean): Promise<Admitted> {
  const credential = presentedBy(request, takesTickets ? kernel.tickets : null);
  const caller = credential === null ? null : await kernel.authenticate(credential, request.ip);
  if (credential === null || caller === null) {
    throw new HarnessError(
      "unauthenticated",
      "Send a valid API key or access token as Authorization: Bearer <key>.",
    );
  }
  return { caller, credential };
}

function requireJson({ headers }: FastifyRequest): void {
  const [type = ""] = (headers["content-type"] ?? "").split(";");
  if (type.trim().toLowerCase() !== "application/json") throw new UnreadableBody();
}

function wantsStream({ headers }: FastifyRequest): boolean {
  return (headers.accept ?? "").toLowerCase().includes("text/event-stream");
}

function correlationOf({ headers }: FastifyRequest): string | null {
  const given = headers["x-correlation-id"];
  return typeof given === "string" && headerValue.test(given) ? given : null;
}

function tellCorrelation(reply: FastifyReply, correlationId: string | null): void {
  if (correlationId !== null && headerValue.test(correlationId))
    reply.header("X-Correlation-ID", correlationId);
}

/** The streaming profile: frames as they come, and last the response. */
async function stream(
  { engine, kernel, heartbeatMs, stopped }: OpenHarnessOptions,
  taken: Taken,
  credential: string,
  gone: AbortController,
  reply: FastifyReply,
): Promise<void> {
  const isStillAllowed = kernel.stillAllowed(credential);
  const response = new SseResponse(reply, { heartbeatMs, stopped, isStillAllowed });
  // Whoever follows the run must not wait for more when nobody may hear it.
  const leave = () => gone.abort();
  response.signal.addEventListener("abort", leave);
  try {
    const frames = engine.follow(taken);
    let next = await frames.next();
    for (; next.done !== true; next = await frames.next()) {
      await response.write(eventOf(next.value.type, next.value));
    }
    response.requireAllowed();
    await response.write(eventOf("response", next.value));
  } catch (error) {
    const { message } = engine.fail(error, taken.exchange, reply.request.id);
    await response.write(eventOf("response", message));
  } finally {
    response.signal.removeEventListener("abort", leave);
    response.end();
  }
}

function eventOf(name: string, data: object | ResponseMessage): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
