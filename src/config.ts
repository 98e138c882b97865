/** What a server is told, and what it does when it is told nothing. */

import type { Logger } from "pino";
import type { Agent } from "./runtime/agent.ts";

export interface ServerConfig {
  host: string;
  /** 0 lets the system choose. */
  port: number;
  dataDirectory: string;
  /** A fixed administrator key; without one, a key is made on first start and kept in the data directory. */
  apiKey: string | null;
  /** Agents beside the built-in ones. */
  agents: readonly Agent[];
  logger: Logger;
  /** Runs in memory at once. */
  concurrency: number;
  /** Where clients find the server, when that is not where it listens: behind a proxy, say. */
  publicUrl: string | null;
  /** The largest request body that is read. */
  bodyBytesMax: number;
  /** How long what ended is kept in the log; null keeps everything. */
  retainMs: number | null;
}

export const defaultConfig = {
  host: "127.0.0.1",
  port: 8080,
  dataDirectory: "./.bridle",
  apiKey: null,
  agents: [],
  publicUrl: null,
  concurrency: 256,
  bodyBytesMax: 4 * 1024 * 1024,
  retainMs: null,
} as const satisfies Omit<ServerConfig, "logger">;
