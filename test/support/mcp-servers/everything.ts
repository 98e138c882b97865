/**
 * An MCP server with a tool for each thing that can happen in a call. As a program it speaks over its standard streams,
 * `node everything.ts [--legacy] [--stubborn]`; `serveEverything` of `http.ts` has it over HTTP, in the process that calls
 * it. With `--legacy` it knows only the protocol as it was before 2026-07-28; with `--stubborn` it ends only when killed.
 */

import { once } from "node:events";
import { acceptedContent, inputRequired, McpServer, type ServerContext } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

/** What is remembered over all connections. */
export interface Memory {
  /** How often each idempotency key was seen. */
  seen: Record<string, number>;
  /** Calls of `slow` that were under way, and those that heard that they are cancelled. */
  slow: number;
  cancelled: number;
}

export const emptyMemory = (): Memory => ({ seen: {}, slow: 0, cancelled: 0 });

const answerSchema = z.object({ answer: z.string() });
const text = (said: string) => ({ content: [{ type: "text" as const, text: said }] });

/** `crash` is how the server goes away in the middle of a call. */
export function everything(memory: Memory, crash: () => void): McpServer {
  const server = new McpServer(
    { name: "everything", version: "1.0.0" },
    { capabilities: { tools: { listChanged: true } } },
  );

  server.registerTool(
    "echo",
    {
      description: "Says what it is told",
      inputSchema: z.object({ text: z.string() }),
      annotations: { readOnlyHint: true },
    },
    ({ text: said }, ctx) => {
      count(memory, ctx);
      return text(said);
    },
  );

  server.registerTool(
    "add",
    {
      description: "Adds two numbers",
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
      annotations: { destructiveHint: false },
    },
    ({ a, b }) => ({ ...text(`${a + b}`), structuredContent: { sum: a + b } }),
  );

  server.registerTool(
    "slow",
    { description: "Says how far it is, and waits until it is cancelled", inputSchema: z.object({}) },
    async (_input, ctx) => {
      count(memory, ctx);
      memory.slow++;
      await tellProgress(ctx);
      const { signal } = ctx.mcpReq;
      if (!signal.aborted) await once(signal, "abort");
      memory.cancelled++;
      return text("cancelled");
    },
  );

  server.registerTool(
    "brief",
    { description: "Takes so long", inputSchema: z.object({ ms: z.number() }) },
    async ({ ms }) => {
      await new Promise((resolve) => setTimeout(resolve, ms));
      return text("brief");
    },
  );

  server.registerTool("fails", { description: "Fails", inputSchema: z.object({}) }, () => ({
    ...text("The printer is out of paper."),
    isError: true,
  }));

  server.registerTool(
    "elicits",
    {
      description: "Asks a question, and says the answer",
      inputSchema: z.object({ question: z.string() }),
    },
    ({ question }, ctx) => {
      const { inputResponses } = ctx.mcpReq;
      const given = acceptedContent(inputResponses, "answer", answerSchema);
      if (given !== undefined) return text(given.answer);
      if (inputResponses !== undefined) return text("no answer");
      count(memory, ctx);
      const asked = inputRequired.elicit({ message: question, requestedSchema: answerSchema });
      return inputRequired({ inputRequests: { answer: asked } });
    },
  );

  server.registerTool(
    "crashes",
    { description: "Ends the server in the middle of the call", inputSchema: z.object({}) },
    async () => {
      crash();
      return await new Promise<never>(() => {});
    },
  );

  server.registerTool(
    "counts",
    {
      description: "How often each idempotency key was seen, and how many slow calls there were",
      inputSchema: z.object({}),
      outputSchema: z.object({
        seen: z.record(z.string(), z.number()),
        slow: z.number(),
        cancelled: z.number(),
      }),
      annotations: { readOnlyHint: true },
    },
    () => ({ ...text(JSON.stringify(memory)), structuredContent: { ...memory } }),
  );

  server.registerTool(
    "large",
    { description: "Says a lot", inputSchema: z.object({ bytes: z.number() }) },
    ({ bytes }) => text("x".repeat(bytes)),
  );

  server.registerTool("picture", { description: "Shows a dot", inputSchema: z.object({}) }, () => ({
    content: [
      { type: "text", text: "A dot" },
      { type: "image", data: "AAAA", mimeType: "image/png" },
    ],
  }));

  server.registerTool(
    "environment",
    { description: "The names of its environment, its process, its trace", inputSchema: z.object({}) },
    (_, { mcpReq, http }) => {
      const trace = { meta: mcpReq._meta?.traceparent, header: http?.req?.headers.get("traceparent") };
      return text(JSON.stringify({ names: Object.keys(process.env), pid: process.pid, trace }));
    },
  );

  server.registerTool(
    "grows",
    { description: "Gives the server one more tool", inputSchema: z.object({ name: z.string() }) },
    ({ name }) => {
      server.registerTool(name, { description: "Is new", inputSchema: z.object({}) }, () => text("new"));
      return text("grown");
    },
  );

  return server;
}

function count(memory: Memory, { mcpReq }: ServerContext): void {
  const key = mcpReq._meta?.["bridle/idempotency-key"];
  if (typeof key === "string") memory.seen[key] = (memory.seen[key] ?? 0) + 1;
}

async function tellProgress({ mcpReq }: ServerContext): Promise<void> {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return;
  await mcpReq.notify({
    method: "notifications/progress",
    params: { progressToken, progress: 1, total: 4, message: "a quarter" },
  });
}

if (import.meta.main) {
  const memory = emptyMemory();
  const make = () => everything(memory, () => process.exit(3));
  console.error(`everything is ready, ${process.env.GREETING ?? "and was told nothing"}`);
  if (process.argv.includes("--stubborn")) {
    process.on("SIGTERM", () => {});
    setInterval(() => {}, 60_000);
  }
  if (process.argv.includes("--legacy")) await make().connect(new StdioServerTransport());
  else serveStdio(make);
}
