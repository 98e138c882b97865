/** What the two HTTP bindings share: how a request arrives, how its body is read, and the headers of every answer. */

import type { JsonValue } from "@bufbuild/protobuf";
import type { FastifyReply, FastifyRequest } from "fastify";
import { HarnessError } from "../../kernel/core/errors.ts";
import { continueTrace } from "../../kernel/core/trace.ts";
import type { Caller } from "../../policy/caller.ts";
import { NotJson, parseJson } from "../json-body.ts";
import type { Arrival } from "./call.ts";
import { NoSuchOperation, OpvsError, type WireError } from "./errors.ts";
import type { Admitted, Opvs } from "./opvs.ts";
import { spellings } from "./service-parameters.ts";

export interface HttpCall {
  admitted: Admitted;
  /** Aborted when the client is gone, or may no longer have an answer. */
  gone: AbortController;
}

/** Who sends a request, as it was found before the body was read. */
export const callerDecorator = "opvsCaller";

/** `agent` is the one that the address names. */
export function admitHttp(
  opvs: Opvs,
  request: FastifyRequest,
  reply: FastifyReply,
  agent: string | null,
): HttpCall {
  const gone = opvs.open();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) gone.abort();
    opvs.close(gone);
  });
  const caller = request.getDecorator<Caller | null>(callerDecorator);
  const admitted = opvs.admit(arrivalOf(request, agent, gone.signal), caller);
  // A refusal is part of the trace too.
  if (admitted.trace !== null) reply.header("traceparent", continueTrace(admitted.trace).traceparent);
  return { admitted, gone };
}

export function arrivalOf(request: FastifyRequest, agent: string | null, signal: AbortSignal): Arrival {
  const query = new Map<string, string>();
  for (const [name, value] of queryOf(request)) {
    const before = query.get(name.toLowerCase());
    query.set(name.toLowerCase(), before === undefined ? value : `${before},${value}`);
  }
  return {
    ...senderOf(request),
    query: (name) => query.get(name.toLowerCase()),
    agent,
    signal,
  };
}

/** What tells who sends it. */
export function senderOf(request: FastifyRequest): Pick<Arrival, "header" | "address"> {
  return {
    header(name) {
      const value = request.headers[name];
      return Array.isArray(value) ? value.join(",") : value;
    },
    address: request.ip,
  };
}

export function queryOf({ url }: FastifyRequest): URLSearchParams {
  const at = url.indexOf("?");
  return new URLSearchParams(at === -1 ? "" : url.slice(at + 1));
}

/** The media type of the body, without its parameters. */
function mediaTypeOf(request: FastifyRequest): string {
  const [type = ""] = (request.headers["content-type"] ?? "").split(";");
  return type.trim().toLowerCase();
}

export function requireMediaType(request: FastifyRequest, allowed: readonly string[]): void {
  const type = mediaTypeOf(request);
  if (!allowed.includes(type)) throw new UnreadableBody(allowed, type);
}

/** The body itself, not a part in it, is of a type that is not read here. */
export class UnreadableBody extends OpvsError {
  constructor(allowed: readonly string[], mediaType: string) {
    super("CONTENT_TYPE_NOT_SUPPORTED", `Send the body as Content-Type: ${allowed.join(" or ")}.`, {
      mediaType,
    });
  }
}

/** What Fastify refuses before a binding sees it, in our own errors. */
export function refusalOfFastify(error: unknown, mediaTypes: readonly string[]): unknown {
  const { code, statusCode }: { code?: unknown; statusCode?: unknown } = Object(error);
  if (typeof code !== "string" || !code.startsWith("FST_")) return error;
  switch (code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return new HarnessError("payload_too_large", "The body is larger than this server accepts.");
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return new UnreadableBody(mediaTypes, "");
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
      return new NotJson();
    default:
      if (statusCode === 404 || statusCode === 414)
        return new NoSuchOperation(
          "No operation of A2A has this method and path; the agent card lists the interfaces.",
        );
      return typeof statusCode === "number" && statusCode < 500
        ? new HarnessError("invalid_request", "The request is malformed.")
        : error;
  }
}

/** The body of a request by POST; undefined where there is none. */
export function jsonBodyOf(request: FastifyRequest, allowed: readonly string[]): JsonValue | undefined {
  const text = String(request.body ?? "");
  if (request.method !== "POST" || (text === "" && mediaTypeOf(request) === "")) return undefined;
  requireMediaType(request, allowed);
  return text === "" ? undefined : parseJson(text);
}

/** Which extensions are active, where some are. */
export function setExtensionHeaders(reply: FastifyReply, { activated, version }: Admitted): void {
  if (activated.length === 0) return;
  const names = version === "0.3" ? ["X-A2A-Extensions"] : spellings("Extensions");
  for (const name of names) reply.header(name, activated.join(", "));
}

export function setErrorHeaders(reply: FastifyReply, { http, retryAfterSeconds }: WireError): void {
  if (retryAfterSeconds !== null) reply.header("Retry-After", String(retryAfterSeconds));
  else if (http === 503) reply.header("Retry-After", "1");
  if (http === 401) reply.header("WWW-Authenticate", 'Bearer realm="bridle"');
  // Fastify would hang up on a client that is still sending, which then never sees why.
  if (http === 413) reply.removeHeader("connection");
}
