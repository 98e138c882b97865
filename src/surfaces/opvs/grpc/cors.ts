/** What lets scripts of other origins use gRPC-Web: the origins that the HTTP port lets in. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { cors } from "@connectrpc/connect";

export type Request = IncomingMessage | Http2ServerRequest;
export type Response = ServerResponse | Http2ServerResponse;

/** How long a browser remembers what another origin may do. */
const preflightSeconds = 600;
const spellings = ["a2a", "opvs"];
const requestHeaders = [
  ...cors.allowedHeaders,
  ...["Authorization", "traceparent", "tracestate"],
  ...spellings.flatMap((prefix) =>
    ["version", "extensions", "since", "agent"].map((name) => `${prefix}-${name}`),
  ),
];
const answerHeaders = [
  ...cors.exposedHeaders,
  ...["traceparent", "www-authenticate", "retry-after"],
  ...spellings.map((prefix) => `${prefix}-extensions`),
];

/** Adds the headers; true when the request was only a question about them, and is answered. */
export function allowOrigin(origins: ReadonlySet<string>, request: Request, response: Response): boolean {
  if (origins.size === 0) return false;
  response.setHeader("Vary", "Origin");
  const { origin } = request.headers;
  if (origin !== undefined && origins.has(origin)) {
    response.setHeader("Access-Control-Allow-Origin", origin);
    response.setHeader("Access-Control-Expose-Headers", answerHeaders.join(", "));
  }
  if (request.method !== "OPTIONS") return false;
  if (response.hasHeader("Access-Control-Allow-Origin")) {
    response.setHeader("Access-Control-Allow-Methods", "POST");
    response.setHeader("Access-Control-Allow-Headers", requestHeaders.join(", "));
    response.setHeader("Access-Control-Max-Age", String(preflightSeconds));
  }
  response.statusCode = 204;
  response.end();
  return true;
}
