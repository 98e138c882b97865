/**
 * A server with an agent whose step takes until a file appears, and which stops as `bridle serve` does. The task's text
 * names a directory: each attempt of a step is a line in its file `attempts`, and `release` lets the step end.
 */

import { appendFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { defineAgent, type ServerConfig, startServer } from "bridle";
import { pino } from "pino";
import { sayReady } from "./ready.ts";

const pollMs = 10;

async function appeared(file: string): Promise<void> {
  while (true) {
    const found = await stat(file).catch(() => null);
    if (found !== null) return;
    // The test is over.
    await stat(dirname(file));
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

/** It does not listen to its signal: nothing but the file ends its first step. */
const slow = defineAgent({
  name: "slow",
  version: "1",
  async run(ctx) {
    const attempts = join(ctx.text, "attempts");
    const first = await ctx.step("first", async () => {
      await appendFile(attempts, "first\n");
      await appeared(join(ctx.text, "release"));
      return "waited";
    });
    const second = await ctx.step("second", async () => {
      await appendFile(attempts, "second\n");
      return "went on";
    });
    return `${first} and ${second}`;
  },
});

export const config: Partial<ServerConfig> = { agents: [slow] };

if (import.meta.main) {
  const { values } = parseArgs({
    options: { port: { type: "string" }, data: { type: "string" }, "grace-ms": { type: "string" } },
  });
  const server = await startServer({
    port: Number(values.port),
    dataDirectory: values.data ?? "",
    apiKey: process.env.BRIDLE_API_KEY ?? null,
    logger: pino({ level: "warn" }, pino.destination(2)),
    ...config,
  });
  process.once("SIGINT", async () => {
    const { interrupted } = await server.stop(Number(values["grace-ms"]));
    process.stdout.write(`Stopped, ${interrupted} cut short\n`);
    // A step that ignores its signal holds the event loop; whoever embeds the server decides that it is time to go.
    process.exit(0);
  });
  sayReady(server);
}
