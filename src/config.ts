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
  /** The largest artifact that can be uploaded. */
  artifactBytesMax: number;
  /** Directories in which workspaces may have their own roots; elsewhere their files are in the data directory. */
  workspaceRoots: readonly string[];
  /** The operator's master key for vaults and those before it; none means one in the data directory. */
  masterKeys: readonly string[];
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
  artifactBytesMax: 256 * 1024 * 1024,
  workspaceRoots: [],
  masterKeys: [],
} as const satisfies Omit<ServerConfig, "logger">;
