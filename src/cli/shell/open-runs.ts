/**
 * Runs that were left open, so that the next start can go on with them: one file for each conversation, gone when its run
 * has ended. What is in there is a way into a run, so nobody but the owner can read it.
 */

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { writePrivateFile } from "../../policy/private-file.ts";
import { parseState, type ShellState } from "../../sdk/shell/index.ts";

/** The oldest go first: a run that nobody came back to for so long is over at the engine too. */
const filesMax = 50;
/** A pending request is the largest thing in it. */
const fileBytesMax = 8 * 1024 * 1024;

export interface OpenRun {
  url: string;
  agent: string | null;
  state: ShellState;
  at: Date;
}

/** Where programs keep what should survive them and is not worth a backup. */
export function stateDirectory(env: Record<string, string | undefined>, platform = process.platform): string {
  if (platform === "win32") return join(env.LOCALAPPDATA ?? join(homedir(), "AppData", "Local"), "bridle");
  return join(env.XDG_STATE_HOME || join(env.HOME || homedir(), ".local", "state"), "bridle");
}

export class OpenRuns {
  readonly #directory: string;
  readonly #url: string;

  constructor(directory: string, url: string) {
    this.#directory = join(directory, "shell");
    this.#url = url;
  }

  /** Keeps a conversation that has an open run, and forgets one that has none. */
  keep(state: ShellState, agent: string | null): void {
    const file = this.#fileOf(state.session_id);
    if (state.continuation === undefined && state.pending === undefined) {
      rmSync(file, { force: true });
      return;
    }
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    const at = new Date().toISOString();
    writePrivateFile(file, `${JSON.stringify({ url: this.#url, agent, at, state })}\n`);
    for (const old of this.#files().slice(filesMax)) rmSync(old, { force: true });
  }

  forget(sessionId: string): void {
    rmSync(this.#fileOf(sessionId), { force: true });
  }

  /** The conversation with this name, or the one that was open last, at this engine. */
  find(sessionId?: string): OpenRun | null {
    const files = sessionId === undefined ? this.#files() : [this.#fileOf(sessionId)];
    for (const file of files) {
      const run = readRun(file);
      if (run?.url === this.#url) return run;
    }
    return null;
  }

  /** The newest first. */
  #files(): string[] {
    const files = names(this.#directory).map((name) => join(this.#directory, name));
    return files
      .map((file) => ({ file, at: statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
      .sort((a, b) => b.at - a.at)
      .map(({ file }) => file);
  }

  /** Names of sessions are the user's own and may be anything; the same one at two engines is two. */
  #fileOf(sessionId: string): string {
    const name = createHash("sha256").update(`${this.#url}\n${sessionId}`).digest("hex").slice(0, 32);
    return join(this.#directory, `${name}.json`);
  }
}

function names(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => name.endsWith(".json"));
  } catch {
    return [];
  }
}

/** Null for a file that is gone, damaged, or somebody's joke. */
function readRun(file: string): OpenRun | null {
  try {
    if (statSync(file).size > fileBytesMax) return null;
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (typeof value !== "object" || value === null) return null;
    const { url, agent, at, state } = value as Record<string, unknown>;
    const kept = parseState(state);
    if (kept === null || typeof url !== "string") return null;
    return { url, agent: typeof agent === "string" ? agent : null, state: kept, at: new Date(String(at)) };
  } catch {
    return null;
  }
}
