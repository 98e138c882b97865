/** Calling MCP servers in tests: what a call needs beside what it is about. */

import { fileURLToPath } from "node:url";
import type {
  ElicitationAnswer,
  McpAccess,
  McpCallOptions,
  McpError,
  StdioServer,
} from "../../../src/mcp-client/mcp.ts";

const program = fileURLToPath(new URL("everything.ts", import.meta.url));
/** The SDK is large, and many tests start one. */
const NODE_COMPILE_CACHE = fileURLToPath(new URL("../../../node_modules/.cache/tests", import.meta.url));

export function everythingProcess(...flags: string[]): StdioServer {
  return { command: process.execPath, args: [program, ...flags], env: { NODE_COMPILE_CACHE } };
}

export const never = new AbortController().signal;

/** A call that nobody aborts and in which nothing is expected to be asked. */
export function asUsual(options: Partial<McpCallOptions> = {}): McpCallOptions {
  return { signal: never, idempotencyKey: "key", onElicitation: answering("unexpected"), ...options };
}

export function answering(answer: string): () => Promise<ElicitationAnswer> {
  return async () => ({ action: "accept", content: { answer } });
}

/** The error's code, and whether the outcome is known: for one assertion. */
export function failing(code: McpError["code"], isOutcomeUnknown = false) {
  return { name: "McpError", code, isOutcomeUnknown };
}

/** What the server remembers (`Memory` in `everything.ts`), once it is as wanted. */
export async function remembered(mcp: McpAccess, server: string, wanted: object): Promise<void> {
  const isAsWanted = (output: unknown) =>
    typeof output === "object" && JSON.stringify({ ...output, ...wanted }) === JSON.stringify(output);
  const deadline = performance.now() + 30_000;
  for (;;) {
    const { output } = await mcp.call(server, "counts", {}, asUsual());
    if (isAsWanted(output)) return;
    if (performance.now() > deadline) throw new Error(`The server remembers ${JSON.stringify(output)}`);
  }
}

export function processRuns(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The process that answers. */
export async function pidOf(mcp: McpAccess, server: string): Promise<number> {
  const { output } = await mcp.call(server, "environment", {}, asUsual());
  return JSON.parse(String(output)).pid;
}
