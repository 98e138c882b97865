/** What the commands write: results to standard output or a file, progress to standard error. */

import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";

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

/** Writes lines to a file, which is there when it is whole, or to standard output. Gives their number. */
export async function writeLines(
  lines: AsyncIterable<string>,
  file: string | undefined,
  onLine: (count: number) => void,
): Promise<number> {
  const partial = file === undefined ? null : `${file}.part`;
  const out = partial === null ? process.stdout : createWriteStream(partial, { mode: 0o600 });
  let count = 0;
  try {
    for await (const line of lines) {
      count += 1;
      onLine(count);
      if (!out.write(`${line}\n`)) await once(out, "drain");
    }
    if (partial !== null && file !== undefined) {
      out.end();
      await once(out, "finish");
      await rename(partial, file);
    }
    return count;
  } catch (error) {
    if (partial !== null) await rm(partial, { force: true });
    throw error;
  }
}

/** As much of a text as fits, on one line. */
export function shorten(text: string, width: number): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`;
}
