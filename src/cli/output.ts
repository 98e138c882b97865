/** What the commands write: results to standard output or a file, progress to standard error. */

import { once } from "node:events";
import { open, rename, rm } from "node:fs/promises";
import type { Command } from "commander";
import { harmlessJson } from "./terminal.ts";

/** Every command that gives a result gives it to scripts as well. */
export interface JsonSettings {
  json?: true;
}

export function withJson(command: Command): Command {
  return command.option("--json", "JSON, for scripts");
}

/** One result: as JSON, or in words. */
export function show({ json }: JsonSettings, value: unknown, words: () => string): void {
  process.stdout.write(json === true ? `${harmlessJson(value, 2)}\n` : words());
}

/** Work that is over sooner than this shows no progress. */
const patienceMs = 1000;
const everyMs = 200;

export interface Progress {
  at(done: number, total?: number): void;
  end(): void;
}

/** A line that is written over on a terminal, and now and then a new line elsewhere. */
export function progress(what: string): Progress {
  const isTerminal = process.stderr.isTTY === true;
  const interval = isTerminal ? everyMs : patienceMs * 5;
  let next = Date.now() + patienceMs;
  let shown = false;
  return {
    at(done, total) {
      if (Date.now() < next) return;
      next = Date.now() + interval;
      shown = true;
      const count = total === undefined ? `${done}` : `${done} of ${total}`;
      process.stderr.write(isTerminal ? `\r${what}: ${count}` : `${what}: ${count}\n`);
    },
    end() {
      if (shown && isTerminal) process.stderr.write("\n");
    },
  };
}

/** Written together up to this size. */
const chunkCharsMin = 65_536;

/** Writes lines to a file, which is there when it is whole, or to standard output. Gives their number. */
export async function writeLines(
  lines: AsyncIterable<string>,
  file: string | undefined,
  onLine: (count: number) => void,
): Promise<number> {
  if (file === undefined) return await copyLines(lines, onLine, toStandardOutput);
  const partial = `${file}.part`;
  const handle = await open(partial, "w", 0o600);
  try {
    const count = await copyLines(lines, onLine, (text) => handle.appendFile(text));
    await handle.close();
    await rename(partial, file);
    return count;
  } catch (error) {
    await handle.close();
    await rm(partial, { force: true });
    throw error;
  }
}

async function copyLines(
  lines: AsyncIterable<string>,
  onLine: (count: number) => void,
  write: (text: string) => Promise<void>,
): Promise<number> {
  let count = 0;
  let text = "";
  for await (const line of lines) {
    count += 1;
    onLine(count);
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
    const problem = plainLine(error instanceof Error ? error.message : String(error));
    throw new Error(problem.includes(file) ? problem : `${file}: ${problem}`, { cause: error });
  }
}

/** As much of a text as fits, on one line. */
export function shorten(text: string, width: number): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`;
}

/** Whoever read what we write has gone, as `head` does; that is no error, and no reason to go on. */
export function endWithReader(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit();
  });
}
