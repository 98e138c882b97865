/** The two ways to a server, as the SDK has them, with limits on what comes back and with somewhere for standard error to go. */

import type { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { Logger } from "pino";
import { withTimeout } from "../web/timeout.ts";
import { streamEndedCode } from "./failures.ts";
import type { HttpServer, StdioServer } from "./mcp.ts";
import { currentCall } from "./questions.ts";

export type Transport = StdioClientTransport | StreamableHTTPClientTransport;

/** One message of a server, over either way. */
const messageBytesMax = 10 * 1024 * 1024;
/** A longer line of standard error is cut. */
const lineCharsMax = 2000;
/** Shorter values of the environment are hardly secrets, and may be part of any word. */
const secretCharsMin = 8;
/** From the kill of a process to its end. */
const killMs = 1000;

export async function processTransport(
  name: string,
  { command, args = [], env = {}, cwd }: StdioServer,
  logger: Logger | undefined,
): Promise<StdioClientTransport> {
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const isHeard = logger?.isLevelEnabled("debug") === true;
  // Beside `env` the SDK passes on HOME, LOGNAME, PATH, SHELL, TERM and USER.
  const transport = new StdioClientTransport({
    command,
    args,
    env,
    ...(cwd === undefined ? {} : { cwd }),
    stderr: isHeard ? "pipe" : "ignore",
    maxBufferSize: messageBytesMax,
  });
  const secrets = Object.values(env).filter(({ length }) => length >= secretCharsMin);
  if (isHeard) {
    const log = lines((line) =>
      logger?.debug(
        { event: "mcp.stderr", mcpServer: name, line: without(secrets, line) },
        "An MCP server wrote to its standard error",
      ),
    );
    transport.stderr?.on("data", (chunk: Buffer) => log(chunk.toString("utf8")));
  }
  return transport;
}

export async function httpTransport({
  url,
  headers = {},
}: HttpServer): Promise<StreamableHTTPClientTransport> {
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    fetch: async (input, init) => limited(await fetch(input, { ...init, headers: traced(init?.headers) })),
  });
  const send = transport.send.bind(transport);
  // The SDK waits on when the stream ends that should have brought the answer; nothing will come any more.
  transport.send = (message, options) =>
    send(message, {
      onRequestStreamEnd: () => {
        if (Array.isArray(message) || !("id" in message) || message.id === undefined) return;
        const error = { code: streamEndedCode, message: "The answer broke off." };
        transport.onmessage?.({ jsonrpc: "2.0", id: message.id, error });
      },
      ...options,
    });
  return transport;
}

/** What a call sends is part of its trace, and what the connection sends on its own of none. */
function traced(given: RequestInit["headers"]): Headers {
  const headers = new Headers(given);
  for (const [name, value] of Object.entries(currentCall.getStore()?.trace ?? {})) headers.set(name, value);
  return headers;
}

/**
 * Says when the other side is gone for good, and has everybody who closes wait for that. The SDK ends the input of a process,
 * terminates it after 2 s and kills it after 2 s more; it waits only for whoever is the first to close, and not for the kill.
 */
export function trackEnd(transport: Transport, onEnd: () => void): void {
  const ended = Promise.withResolvers<void>();
  // The SDK keeps it, and calls it before its own.
  transport.onclose = () => {
    onEnd();
    ended.resolve();
  };
  const close = transport.close.bind(transport);
  const closeForGood = async () => {
    const isRunning = "pid" in transport && transport.pid !== null;
    await close();
    if (isRunning) await withTimeout(killMs, ended.promise).catch(() => {});
    onEnd();
  };
  let closing: Promise<void> | null = null;
  transport.close = () => {
    closing ??= closeForGood();
    return closing;
  };
}

/** A body that ends with an error when a message is too long: the whole of it, or a line where it is a stream of them. */
function limited(response: Response): Response {
  const { body, status, statusText, headers } = response;
  if (body === null) return response;
  const isStream = headers.get("content-type")?.startsWith("text/event-stream") === true;
  let bytes = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const newline = isStream ? chunk.lastIndexOf(0x0a) : -1;
      bytes = newline === -1 ? bytes + chunk.length : chunk.length - newline;
      if (bytes <= messageBytesMax) controller.enqueue(chunk);
      else controller.error(new Error(`A message has more than ${messageBytesMax} bytes.`));
    },
  });
  return new Response(body.pipeThrough(counted), { status, statusText, headers });
}

/** Gives on whole lines; what comes beyond the limit of a line is dropped. */
function lines(onLine: (line: string) => void): (text: string) => void {
  let rest = "";
  return (text) => {
    const [first = "", ...more] = text.split("\n");
    rest = (rest + first).slice(0, lineCharsMax);
    for (const next of more) {
      if (rest !== "") onLine(rest);
      rest = next.slice(0, lineCharsMax);
    }
  };
}

function without(secrets: readonly string[], line: string): string {
  return secrets.reduce((text, secret) => text.replaceAll(secret, "[redacted]"), line);
}
