/**
 * Agents as tools of the Model Context Protocol, as a Fastify plugin: one address that speaks streamable HTTP. Every request
 * stands for itself, also those of older clients, so that a restart loses nothing but open connections.
 */

import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import type { StillAllowed } from "../../kernel/access/still-allowed.ts";
import { HarnessError } from "../../kernel/core/errors.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { Caller } from "../../policy/caller.ts";
import { mcpPath, resourceMetadataPath } from "../addresses.ts";
import { presentedBy } from "../credentials.ts";
import { parseJson, textOf } from "../json-body.ts";
import type { ServerFacts } from "../server-facts.ts";
import { requireSmallUnless } from "../small-body.ts";
import { failMcp } from "./errors.ts";
import { type Ending, OpenCalls } from "./open-calls.ts";
import { answerForm, readElicited, readQuestionId } from "./questions.ts";
import { conversationElicits, hasForms, type McpRequest, nameConversation } from "./request.ts";
import { loadSdk } from "./sdk.ts";
import { serverFor } from "./server.ts";

export interface McpOptions {
  kernel: Kernel;
  facts: ServerFacts;
  logger: Logger;
  heartbeatMs: number;
  stopped: AbortSignal;
}

const conversationHeader = "mcp-session-id";
/** What the library says and the server says better, or must not say. */
const ownHeaders = new Set(["cache-control", "connection", conversationHeader]);

export function mcp(options: McpOptions): (app: FastifyInstance) => Promise<void> {
  const { facts } = options;
  const openCalls = new OpenCalls();
  return async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", { parseAs: "buffer" }, async (_request: FastifyRequest, body: Buffer) =>
      textOf(body),
    );
    app.setErrorHandler((error, _request, reply) => failMcp(options, error, reply));
    for (const method of ["GET", "POST", "DELETE"] as const) {
      app.route({
        method,
        url: mcpPath,
        // Before the body is read.
        onRequest: async (request) => {
          const { caller } = await admit(options.kernel, request);
          requireSmallUnless(request, caller, ["tasks:write", "messages:write"]);
        },
        handler: (request, reply) => answer(options, openCalls, request, reply),
      });
    }
    app.get(resourceMetadataPath, async (_request, reply) => reply.send(resourceMetadata(facts.url())));
  };
}

/** RFC 9728: who issues the tokens that are good here. */
function resourceMetadata(url: string): object {
  return {
    resource: url + mcpPath,
    authorization_servers: [url],
    scopes_supported: ["tasks:write", "tasks:read", "messages:read", "messages:write"],
    bearer_methods_supported: ["header"],
    resource_name: "Bridle",
  };
}

/** Whether an address is ours. */
export function isMcpAddress({ url }: FastifyRequest): boolean {
  return url.startsWith(mcpPath) && /^(?:$|[/?])/.test(url.slice(mcpPath.length));
}

async function answer(
  options: McpOptions,
  openCalls: OpenCalls,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { kernel, facts, logger, heartbeatMs, stopped } = options;
  const { caller, credential } = await admit(kernel, request);
  const body = request.method === "POST" ? parseJson(String(request.body ?? "")) : undefined;
  const conversation = conversationOf(request);
  if (await takesNote(kernel, openCalls, caller, conversation, body)) return reply.code(202).send();
  const isStillAllowed = kernel.stillAllowed(credential);
  const waiting = new Waiting(reply, { heartbeatMs, stopped, isStillAllowed });
  const sdk = await loadSdk();
  const began = beginning(body);
  const handler = sdk.createMcpHandler(
    ({ era }) => {
      const { params }: { params?: unknown } = Object(body);
      const envelope: unknown = Object(Object(params)._meta)[sdk.CLIENT_CAPABILITIES_META_KEY];
      const elicits = era === "modern" ? hasForms(envelope) : conversationElicits(conversation);
      const mcpRequest: McpRequest = {
        ...{ kernel, facts, logger, openCalls, caller, era, conversation, elicits },
        ...{ id: request.id, signal: waiting.signal },
      };
      return serverFor(sdk, mcpRequest);
    },
    {
      responseMode: "sse",
      keepAliveMs: heartbeatMs,
      onerror: (error) =>
        logger.debug(
          { event: "mcp.failed", err: error, request_id: request.id },
          "The MCP library reported an error",
        ),
    },
  );
  const response = await handler.fetch(asWebRequest(facts.url(), request, waiting.left), {
    ...(body === undefined ? {} : { parsedBody: body }),
  });
  if (began !== null && response.ok) reply.header(conversationHeader, nameConversation(began.elicits));
  return sendWebResponse(response, reply);
}

/**
 * Who waits for an answer: until it is sent, the client hangs up, its credentials are taken back, or the server stops. What
 * comes first is the reason that the signal gives.
 */
class Waiting {
  readonly #over = new AbortController();
  readonly #left = new AbortController();

  constructor(
    { raw }: FastifyReply,
    {
      heartbeatMs,
      stopped,
      isStillAllowed,
    }: Pick<McpOptions, "heartbeatMs" | "stopped"> & { isStillAllowed: StillAllowed },
  ) {
    const end = (why: Ending) => this.#over.abort(why);
    const stop = () => end("stopped");
    const check = async () => {
      // A store that cannot answer now says nothing about the credentials; the next beat asks again.
      if (await isStillAllowed().catch(() => true)) return;
      end("refused");
      raw.destroy();
    };
    const beat = setInterval(check, heartbeatMs);
    const unwatch = isStillAllowed.watch(() => void check());
    stopped.addEventListener("abort", stop);
    if (stopped.aborted) stop();
    raw.once("close", () => {
      clearInterval(beat);
      unwatch();
      stopped.removeEventListener("abort", stop);
      if (!raw.writableFinished) end("gone");
      this.#left.abort();
    });
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Aborted when the connection is closed, whatever for. */
  get left(): AbortSignal {
    return this.#left.signal;
  }
}

/**
 * What needs no library: an older client gives a call up, or brings the answer to what another request asked. There it is one
 * server for a whole conversation that understands these; here there is none.
 */
async function takesNote(
  kernel: Kernel,
  openCalls: OpenCalls,
  caller: Caller,
  conversation: string | null,
  body: unknown,
): Promise<boolean> {
  const {
    method,
    params,
    id,
    result,
  }: { method?: unknown; params?: unknown; id?: unknown; result?: unknown } = Object(body);
  if (method === "notifications/cancelled") {
    openCalls.cancel(caller, conversation, Object(params).requestId);
    return true;
  }
  const question = method === undefined ? readQuestionId(id) : null;
  if (question === null) return false;
  try {
    const elicited = result === undefined ? null : readElicited(result);
    if (elicited !== null) await answerForm(kernel, caller, question, elicited.content);
    else openCalls.leaveOpen(caller, question, "The person did not answer.");
  } catch (error) {
    if (!(error instanceof HarnessError)) throw error;
    openCalls.leaveOpen(caller, question, error.message);
  }
  return true;
}

/** Set for the request with which an older client begins a conversation. */
function beginning(body: unknown): { elicits: boolean } | null {
  const { method, params }: { method?: unknown; params?: unknown } = Object(body);
  return method === "initialize" ? { elicits: hasForms(Object(params).capabilities) } : null;
}

function conversationOf({ headers }: FastifyRequest): string | null {
  const given = headers[conversationHeader];
  return typeof given === "string" && given.length <= 200 ? given : null;
}

async function admit(
  kernel: Kernel,
  request: FastifyRequest,
): Promise<{ caller: Caller; credential: string }> {
  const credential = presentedBy(request, null);
  const caller = credential === null ? null : await kernel.authenticate(credential, request.ip);
  if (credential === null || caller === null) {
    throw new HarnessError(
      "unauthenticated",
      "Send a valid API key or access token as Authorization: Bearer <key>.",
      {
        details: { is_presented: credential !== null },
      },
    );
  }
  return { caller, credential };
}

/** Without the body, which goes along as it was read. */
function asWebRequest(url: string, { method, headers }: FastifyRequest, signal: AbortSignal): Request {
  const web = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (name !== "authorization" && typeof value === "string") web.set(name, value);
  }
  return new Request(url + mcpPath, { method, headers: web, signal });
}

function sendWebResponse({ status, headers, body }: Response, reply: FastifyReply): FastifyReply {
  reply.code(status);
  for (const [name, value] of headers) if (!ownHeaders.has(name)) reply.header(name, value);
  if (headers.get("content-type")?.startsWith("text/event-stream")) {
    reply.headers({ "Cache-Control": "no-cache, no-store, no-transform", "X-Accel-Buffering": "no" });
  }
  return body === null ? reply.send() : reply.send(Readable.fromWeb(body));
}
