/** Whatever goes wrong between here and a server, as one of our errors: what to do next, and whether the call may have been carried out. */

import { McpError } from "./mcp.ts";

/** Of a message that comes from a server, so much is passed on. */
const messageCharsMax = 2000;

/** Our own number, in the range that JSON-RPC leaves to implementations, for an answer that ended before it was whole. */
export const streamEndedCode = -32_098;

/** Answers that a server gives before it begins: parse error, invalid request, no such method, invalid parameters, and the protocol's own. */
const refusedBefore = new Set([-32_700, -32_600, -32_601, -32_602, -32_020, -32_021, -32_022, -32_042]);

/** Nothing was sent when a connection ends like this. */
const neverConnected = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "ENOENT",
  "EACCES",
]);

/** The server no longer knows the session: nothing was carried out, and a new session will do. */
export function isUnknownSession(error: unknown): boolean {
  return statusOf(error) === 404;
}

/** What a failure means for a request that was handed to the connection. The names of the codes are the SDK's. */
export function toMcpError(server: string, error: unknown): McpError {
  if (error instanceof McpError) return error;
  const status = statusOf(error);
  if (status !== null) return httpFailure(server, status);
  const code = codeOf(error);
  if (typeof code === "number") return refusal(server, code, error);
  const cause = networkCodeOf(error);
  if (cause === "ENOENT") return unreachable(server, "its command was not found", false);
  if (cause !== null) {
    return unreachable(server, `its connection failed (${cause})`, !neverConnected.has(cause));
  }
  switch (code) {
    case "REQUEST_TIMEOUT":
      return new McpError("mcp_timeout", `The MCP server ${server} did not answer in time.`, {
        isOutcomeUnknown: true,
      });
    case "INVALID_RESULT":
    case "UNSUPPORTED_RESULT_TYPE":
    case "LIST_PAGINATION_EXCEEDED":
    case "CLIENT_HTTP_UNEXPECTED_CONTENT":
      return new McpError("mcp_protocol_error", `The MCP server ${server} gave an answer that is not MCP.`, {
        isOutcomeUnknown: true,
      });
    case "ERA_NEGOTIATION_FAILED":
      return unreachable(server, "it did not answer as an MCP server does", false);
    case "NOT_CONNECTED":
      return unreachable(server, "its connection is closed", false);
    default:
      return unreachable(server, "its connection broke", true);
  }
}

export function unreachable(server: string, why: string, isOutcomeUnknown: boolean): McpError {
  return new McpError("mcp_unavailable", `The MCP server ${server} cannot be reached: ${why}.`, {
    isOutcomeUnknown,
  });
}

export function bounded(text: string): string {
  return text.length > messageCharsMax ? `${text.slice(0, messageCharsMax)}…` : text;
}

function httpFailure(server: string, status: number): McpError {
  if (status === 401 || status === 403) {
    return new McpError(
      "mcp_protocol_error",
      `The MCP server ${server} refused the credentials (HTTP ${status}).`,
    );
  }
  if (status === 404 || status === 429 || status >= 500) {
    // A proxy says 502 or 504 also of what was carried out.
    return unreachable(server, `it answered with HTTP ${status}`, status >= 500);
  }
  return new McpError("mcp_protocol_error", `The MCP server ${server} refused the request (HTTP ${status}).`);
}

function refusal(server: string, code: number, error: unknown): McpError {
  if (code === streamEndedCode) return unreachable(server, "its answer broke off", true);
  const said = error instanceof Error ? bounded(error.message) : "";
  return new McpError(
    "mcp_protocol_error",
    `The MCP server ${server} answered with the error ${code}: ${said}`,
    {
      isOutcomeUnknown: !refusedBefore.has(code),
    },
  );
}

function codeOf(error: unknown): string | number | null {
  if (!(error instanceof Error) || !("code" in error)) return null;
  return typeof error.code === "string" || typeof error.code === "number" ? error.code : null;
}

function statusOf(error: unknown): number | null {
  return error instanceof Error && "status" in error && typeof error.status === "number"
    ? error.status
    : null;
}

/** `fetch` hides the reason in the cause. */
function networkCodeOf(error: unknown): string | null {
  const own = codeOf(error);
  if (typeof own === "string" && /^(?:E[A-Z]+|UND_ERR_[A-Z_]+)$/.test(own)) return own;
  return error instanceof Error && error.cause !== undefined ? networkCodeOf(error.cause) : null;
}
