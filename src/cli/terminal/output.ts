/** What the commands write: results to standard output or a file, progress to standard error. */

import { once } from "node:events";
import { rmSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import type { Command } from "commander";
import { exitCodes, fileProblem } from "../exit-codes.ts";
import { progressLine, type Unit } from "./progress-bar.ts";
import { escapedJson } from "./text.ts";

/** Every command that gives a result gives it to scripts as well. */
export interface JsonSettings {
  json?: true;
}

export function withJson(command: Command): Command {
  return command.option("--json", "JSON, for scripts");
}

/** One result: as JSON, or in words. */
export function show({ json }: JsonSettings, value: unknown, words: () => string): void {
  process.stdout.write(json === true ? `${escapedJson(value, 2)}\n` : words());
}

/** Work that is over sooner than this shows no progress. */
const patienceMs = 1000;
const everyMs = 200;

export interface Progress {
  at(done: number, total?: number): void;
  end(): void;
}

/** A bar on a terminal, which is gone when the work is done, and now and then a new line elsewhere. */
export function progress(what: string, unit: Unit = "things"): Progress {
  const isTerminal = process.stderr.isTTY === true;
  const begun = Date.now();
  let next = begun + patienceMs;
  let shown = false;
  return {
    at(done, total) {
      const now = Date.now();
      if (now < next) return;
      next = now + (isTerminal ? everyMs : patienceMs * 5);
      shown = true;
      const columns = process.stderr.columns || 80;
      process.stderr.write(
        isTerminal
          ? `\r\x1b[K${progressLine({ what, done, total, unit, elapsedMs: now - begun, columns })}`
          : `${what}: ${total === undefined ? done : `${done} of ${total}`}\n`,
      );
    },
    end() {
      if (shown && isTerminal) process.stderr.write("\r\x1b[K");
      shown = false;
    },
  };
}

/** Shows how far something is for as long as it takes, and takes the bar away however it ends. */
export async function withProgress<T>(
  what: string,
  act: (shown: Progress) => Promise<T>,
  unit?: Unit,
): Promise<T> {
  const shown = progress(what, unit);
  try {
    return await act(shown);
  } finally {
    shown.end();
  }
}

/** For one answer that takes its time: how many seconds it has taken already. */
export async function whileWaiting<T>(what: string, answer: Promise<T>): Promise<T> {
  return await withProgress(what, async (shown) => {
    const begun = Date.now();
    const timer = setInterval(() => shown.at(Math.floor((Date.now() - begun) / 1000)), everyMs);
    try {
      return await answer;
    } finally {
      clearInterval(timer);
    }
  });
}

/** Written together up to this size. */
const chunkCharsMin = 65_536;

/** Writes lines to a file, which is there when it is whole, or to standard output. Gives their number. */
export async function writeLines(
  lines: AsyncIterable<string>,
  file: string | undefined,
  onLine: (count: number, line: string) => void,
): Promise<number> {
  if (file === undefined) return await copyLines(lines, onLine, toStandardOutput);
  const partial = `${file}.part`;
  const handle = await open(partial, "w", 0o600);
  const giveUp = () => {
    rmSync(partial, { force: true });
    process.exit(exitCodes.interrupted.code);
  };
  for (const signal of endings) process.once(signal, giveUp);
  try {
    const count = await copyLines(lines, onLine, (text) => handle.appendFile(text));
    await handle.sync();
    await handle.close();
    await rename(partial, file);
    return count;
  } catch (error) {
    await handle.close();
    await rm(partial, { force: true });
    throw error;
  } finally {
    for (const signal of endings) process.off(signal, giveUp);
  }
}

const endings = ["SIGINT", "SIGTERM"] as const;

async function copyLines(
  lines: AsyncIterable<string>,
  onLine: (count: number, line: string) => void,
  write: (text: string) => Promise<void>,
): Promise<number> {
  let count = 0;
  let text = "";
  for await (const line of lines) {
    count += 1;
    onLine(count, line);
    text += `${line}\n`;
    if (text.length < chunkCharsMin) continue;
    await write(text);
    text = "";
  }
  if (text !== "") await write(text);
  return count;
}

async function toStandardOutput(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, "drain");
}

/** A message that may quote anything, as one line that no terminal obeys. */
export function plainLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\s]+/gu, " ").trim();
}

/** Says which file a problem is about. */
export async function about<T>(file: string, read: () => Promise<T> | T): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const known = error instanceof Error ? fileProblem(error) : null;
    const problem = known ?? plainLine(error instanceof Error ? error.message : String(error));
    throw new Error(problem.includes(file) ? problem : `${file}: ${problem}`, { cause: error });
  }
}

/** Whoever read what we write has gone, as `head` does; that is no error, and no reason to go on. A disk that is full is one. */
export function endWithReader(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit();
    process.stderr.write(`bridle: standard output: ${plainLine(error.message)}\n`);
    process.exit(exitCodes.failed.code);
  });
  // That nobody hears complaints does not change what is done, or how it ended.
  process.stderr.on("error", () => {});
}
