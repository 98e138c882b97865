/** How far the log was exported, in a file of the data directory: it is about this server's collector, not about anybody's work. */

import { readFileSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { Type } from "typebox";
import { Compile } from "typebox/compile";
import type { Position } from "../../store/port.ts";

export interface Cursor {
  /** Every event up to here was seen, and what ended with it was taken by the collector. */
  position: Position;
  /** When that was, in milliseconds since 1970. */
  at: number;
}

const checked = Compile(
  Type.Object({ position: Type.Integer({ minimum: 0 }), at: Type.Integer({ minimum: 0 }) }),
);

/** Null when there is none that can be read. */
export function readCursor(file: string): Cursor | null {
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    return checked.Check(value) ? value : null;
  } catch {
    return null;
  }
}

/** Whole or not at all. It need not survive a loss of power: then a little is exported twice. */
export async function writeCursor(file: string, cursor: Cursor): Promise<void> {
  await writeFile(`${file}.next`, JSON.stringify(cursor));
  await rename(`${file}.next`, file);
}
