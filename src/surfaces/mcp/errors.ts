/** What is refused before a message is understood, as JSON-RPC with a status of HTTP. */

import type { FastifyReply } from "fastify";
import { type ErrorCode, HarnessError, refusalFor } from "../../kernel/core/errors.ts";
import { resourceMetadataPath } from "../addresses.ts";
import { NotJson } from "../json-body.ts";
import type { McpOptions } from "./surface.ts";

interface Saying {
  http: number;
  code: number;
}

const parseError: Saying = { http: 400, code: -32_700 };
const invalidRequest: Saying = { http: 400, code: -32_600 };

/** Everything else that can happen here is told in results of tools. */
const sayings: Partial<Record<ErrorCode, Saying>> = {
  invalid_request: invalidRequest,
  unauthenticated: { http: 401, code: -32_000 },
  permission_denied: { http: 403, code: -32_000 },
  payload_too_large: { http: 413, code: -32_000 },
  rate_limited: { http: 429, code: -32_000 },
  service_unavailable: { http: 503, code: -32_000 },
};
const internal: Saying & { message: string } = { http: 500, code: -32_603, message: "Internal error" };

export function failMcp(
  { kernel, facts, logger }: McpOptions,
  error: unknown,
  reply: FastifyReply,
): FastifyReply {
  const { http, code, message } = sayingOf(error);
  if (http === 500)
    logger.error({ event: "http.failed", err: error, request_id: reply.request.id }, "A request failed");
  if (http === 401) reply.header("WWW-Authenticate", challenge(facts.url(), error));
  if (http === 429 || http === 503) reply.header("Retry-After", String(secondsIn(error)));
  // Fastify would hang up on a client that is still sending, which then never sees why.
  if (http === 413) reply.removeHeader("connection");
  return reply
    .code(http)
    .send({ jsonrpc: "2.0", id: null, error: { code, message: kernel.redactor.value(message) } });
}

function sayingOf(thrown: unknown): Saying & { message: string } {
  const error = refusalFor(thrown) ?? thrown;
  if (error instanceof NotJson) return { ...parseError, message: error.message };
  if (error instanceof HarnessError) {
    const saying = sayings[error.code];
    return saying === undefined ? internal : { ...saying, message: error.message };
  }
  return refusalOfFastify(error);
}

function refusalOfFastify(error: unknown): Saying & { message: string } {
  const { code, statusCode }: { code?: unknown; statusCode?: unknown } = Object(error);
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") {
    return { http: 413, code: -32_000, message: "The message is larger than this server accepts." };
  }
  const isTheirs = typeof code === "string" && code.startsWith("FST_") && Number(statusCode) < 500;
  return isTheirs ? { ...invalidRequest, message: "The request is malformed." } : internal;
}

/** RFC 6750, with the address where RFC 9728 says who issues tokens. */
function challenge(url: string, error: unknown): string {
  const isPresented = error instanceof HarnessError && error.details.is_presented === true;
  return [
    'Bearer realm="bridle"',
    `resource_metadata="${url}${resourceMetadataPath}"`,
    ...(isPresented ? ['error="invalid_token"'] : []),
  ].join(", ");
}

function secondsIn(error: unknown): number {
  const seconds = error instanceof HarnessError ? error.details.retry_after_seconds : undefined;
  return typeof seconds === "number" ? seconds : 1;
}
