/** MCP servers as the runtime sees them. */

import type { JsonObject, JsonValue } from "../store/port.ts";

/** A server that is started as a process and spoken to over its standard streams. */
export interface StdioServer {
  command: string;
  args?: string[];
  /** Beside HOME, LOGNAME, PATH, SHELL, TERM and USER: nothing else of the harness's own environment is passed on. */
  env?: Record<string, string>;
  cwd?: string;
}

/** A server that is spoken to over streamable HTTP. */
export interface HttpServer {
  url: string;
  /** Sent with every request: `Authorization`, say. Never logged. */
  headers?: Record<string, string>;
}

export type McpServerSettings = (StdioServer | HttpServer) & {
  /** How long one call may take; a minute unless said. Progress that the server reports does not lengthen it. */
  timeoutMs?: number;
  /** What its tools do to the world, by name, where that is known better than by the server's annotations. */
  effects?: Record<string, "none" | "reversible" | "irreversible">;
};

export interface McpToolInfo {
  server: string;
  name: string;
  description: string;
  /** JSON Schema of an object. */
  input: JsonObject;
  output: JsonObject | null;
  /**
   * From the settings, or from the annotations: `readOnlyHint` is `none`, `destructiveHint: false` is `reversible`, everything
   * else is `irreversible`.
   */
  effect: "none" | "reversible" | "irreversible";
}

/** What the server asks the person in the middle of a call. */
export interface Elicitation {
  message: string;
  /** JSON Schema of a flat object. */
  schema: JsonObject;
}

export type ElicitationAnswer = { action: "accept"; content: JsonObject } | { action: "decline" | "cancel" };

export interface McpCallOptions {
  signal: AbortSignal;
  timeoutMs?: number;
  onElicitation: (asked: Elicitation) => Promise<ElicitationAnswer>;
  onProgress?: (progress: { message: string | null; percent: number | null }) => void;
  /** Sent in `_meta` so that the server can recognize a call that is repeated. */
  idempotencyKey: string;
  /** `traceparent` and `tracestate`, sent in `_meta` too, and as headers where there are some. */
  trace?: Readonly<Record<string, string>>;
}

/** `structuredContent` where the server gave it; otherwise the text of the content, or the content blocks as JSON. */
export type McpResult = { output: JsonValue };

export interface McpAccess {
  readonly servers: readonly string[];
  /** The tools of one server, kept until the server says that they changed, for five minutes at most. Throws `McpError`. */
  tools(server: string, signal: AbortSignal): Promise<McpToolInfo[]>;
  /** Throws `McpError`; when the signal is aborted the server is told, and its reason is thrown. */
  call(server: string, tool: string, input: JsonObject, options: McpCallOptions): Promise<McpResult>;
  close(): Promise<void>;
}

export type McpErrorCode =
  /** No such server, or no such tool. */
  | "mcp_unknown"
  /** It cannot be reached, or went away in the middle of the call and did not come back. */
  | "mcp_unavailable"
  | "mcp_timeout"
  /** The tool itself said that it failed. */
  | "mcp_tool_failed"
  /** It does not speak the protocol, or refused the request. */
  | "mcp_protocol_error";

/** The message never holds headers or the environment. */
export class McpError extends Error {
  override name = "McpError";
  readonly code: McpErrorCode;
  /** Whether the call may have been carried out all the same. */
  readonly isOutcomeUnknown: boolean;

  constructor(
    code: McpErrorCode,
    message: string,
    { isOutcomeUnknown = false, cause }: { isOutcomeUnknown?: boolean; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
    this.isOutcomeUnknown = isOutcomeUnknown;
  }
}
