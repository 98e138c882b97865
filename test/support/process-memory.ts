/** Looking for words in the memory of another process, as whoever runs the machine could. Linux only, and as root. */

import { closeSync, openSync, readFileSync, readSync } from "node:fs";

/** Why it cannot be done here, or null where it can. */
export function whyMemoryIsClosed(): string | null {
  if (process.platform !== "linux") return "reading memory needs Linux";
  if (process.getuid?.() !== 0) return "reading memory needs root";
  return null;
}

interface Region {
  start: number;
  end: number;
}

function regionsOf(pid: number): Region[] {
  return readFileSync(`/proc/${pid}/maps`, "utf8")
    .split("\n")
    .flatMap((line) => {
      const [, from = "", to = "", mode = "", name = ""] =
        /^([0-9a-f]+)-([0-9a-f]+) (\S+)(?: +\S+){3} *(.*)$/.exec(line) ?? [];
      const isReadable = mode.startsWith("rw") && !name.startsWith("[vv");
      return isReadable ? [{ start: Number.parseInt(from, 16), end: Number.parseInt(to, 16) }] : [];
    });
}

const chunkBytes = 8 * 1024 * 1024;

/** Those of the words that are in what the process may write to, as bytes or in the two-byte form that strings can have. */
export function memoryHas(pid: number, words: readonly string[]): string[] {
  const forms = words.map((word) => [Buffer.from(word, "utf8"), Buffer.from(word, "utf16le")]);
  const overlap = Math.max(...forms.flat().map(({ length }) => length));
  const found = new Set<string>();
  const memory = openSync(`/proc/${pid}/mem`, "r");
  const buffer = Buffer.alloc(chunkBytes + overlap);
  try {
    for (const { start, end } of regionsOf(pid)) {
      for (let at = start; at < end; at += chunkBytes) {
        const read = tryRead(memory, buffer, at, Math.min(buffer.length, end - at));
        const chunk = buffer.subarray(0, read);
        for (const [n, word] of words.entries()) {
          if (forms[n]?.some((form) => chunk.includes(form))) found.add(word);
        }
      }
    }
  } finally {
    closeSync(memory);
  }
  return words.filter((word) => found.has(word));
}

/** A region can be gone since it was listed. */
function tryRead(memory: number, buffer: Buffer, at: number, length: number): number {
  try {
    return readSync(memory, buffer, 0, length, at);
  } catch {
    return 0;
  }
}
