/**
 * OAuth2 for machines, as a Fastify plugin: the token endpoint (RFC 6749, client credentials) and its description (RFC
 * 8414). An API key is a client: its id is the client's id, the key itself the client's secret.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { TokenRefused } from "../../kernel/access/issue-token.ts";
import { HarnessError, refusalFor } from "../../kernel/core/errors.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { allScopes } from "../../policy/caller.ts";
import { keySetPath, tokenMetadataPath, tokenPath } from "../addresses.ts";
import { credentialsOf, InvalidTokenRequest, once, readForm } from "./token-request.ts";

export interface OauthOptions {
  kernel: Kernel;
  /** Where clients find the server. */
  url(): string;
  logger: Logger;
}

const formType = "application/x-www-form-urlencoded";
/** An id, a secret and some scopes are far smaller. */
const formBytesMax = 16 * 1024;

export function oauth({ kernel, url, logger }: OauthOptions): (app: FastifyInstance) => Promise<void> {
  return async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser(
      formType,
      { parseAs: "string", bodyLimit: formBytesMax },
      (_request, text, done) => done(null, readForm(text.toString())),
    );
    app.setErrorHandler((error, request, reply) => refuse(error, request, reply, logger));
    app.post(tokenPath, (request, reply) => issue(kernel, request, reply));
    app.get(tokenMetadataPath, (_request, reply) =>
      reply.header("Cache-Control", "public, max-age=300").send(metadata(url())),
    );
  };
}

async function issue(kernel: Kernel, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { body } = request;
  if (!(body instanceof URLSearchParams)) {
    throw new InvalidTokenRequest("invalid_request", `Send the request as Content-Type: ${formType}.`);
  }
  const grantType = once(body, "grant_type");
  if (grantType === null) throw new InvalidTokenRequest("invalid_request", "grant_type is missing.");
  if (grantType !== "client_credentials") {
    throw new InvalidTokenRequest("unsupported_grant_type", "Only client_credentials is supported.");
  }
  const { token, expiresInSeconds, scopes } = await kernel.issueToken({
    ...credentialsOf(request.headers.authorization, body),
    scope: once(body, "scope"),
    from: request.ip,
  });
  return reply.headers(notStored).send({
    access_token: token,
    token_type: "Bearer",
    expires_in: expiresInSeconds,
    scope: scopes.join(" "),
  });
}

/** RFC 6749, section 5.1, asks for both. */
const notStored = { "Cache-Control": "no-store", Pragma: "no-cache" };

function metadata(url: string): object {
  return {
    issuer: url,
    token_endpoint: url + tokenPath,
    jwks_uri: url + keySetPath,
    scopes_supported: allScopes,
    response_types_supported: [],
    grant_types_supported: ["client_credentials"],
    token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
    service_documentation: `${url}/openapi.json`,
  };
}

interface Refusal {
  status: number;
  error: string;
  error_description: string;
}

function refuse(error: unknown, request: FastifyRequest, reply: FastifyReply, logger: Logger): FastifyReply {
  const { status, ...body } = refusalOf(error);
  if (status === 500)
    logger.error({ event: "http.failed", err: error, request_id: request.id }, "A request failed");
  if (status === 401) reply.header("WWW-Authenticate", 'Basic realm="bridle"');
  if (status === 503) reply.header("Retry-After", "1");
  if (error instanceof HarnessError && typeof error.details.retry_after_seconds === "number") {
    reply.header("Retry-After", String(error.details.retry_after_seconds));
  }
  return reply.code(status).headers(notStored).send(body);
}

/** RFC 6749, section 5.2: the words are the specification's, the descriptions quote nothing that was sent. */
function refusalOf(thrown: unknown): Refusal {
  const error = refusalFor(thrown) ?? thrown;
  if (error instanceof InvalidTokenRequest) {
    return { status: 400, error: error.reason, error_description: error.message };
  }
  if (error instanceof TokenRefused) {
    const status = error.reason === "invalid_client" ? 401 : 400;
    return { status, error: error.reason, error_description: error.message };
  }
  if (error instanceof HarnessError) {
    const status = { rate_limited: 429, permission_denied: 403, service_unavailable: 503 }[
      String(error.code)
    ];
    if (status !== undefined) return { status, error: error.code, error_description: error.message };
  }
  const status = error instanceof Error && "statusCode" in error ? Number(error.statusCode) : 500;
  if (status >= 400 && status < 500) {
    return { status: 400, error: "invalid_request", error_description: `Send a form, as ${formType}.` };
  }
  return { status: 500, error: "server_error", error_description: "Something went wrong on the server." };
}
