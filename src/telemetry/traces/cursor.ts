/** How far the log was exported, in a file of the data directory: it is about this server's collector, not about anybody's work. */

import { readFileSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { Type } from "typebox";
import { Compile } from "typebox/compile";
import { lazy } from "../../lazy.ts";
import type { Position } from "../../store/port.ts";
import type { WholeStore } from "../../store/whole-store.ts";

export interface Cursor {
  /** Every event up to here was seen, and what ended with it was taken by the collector. */
  position: Position;
  /** The time of the newest of them, in milliseconds since 1970; not when it was taken, which may be long after those that follow. */
  at: number;
}

const checked = lazy(() =>
  Compile(Type.Object({ position: Type.Integer({ minimum: 0 }), at: Type.Integer({ minimum: 0 }) })),
);

/** Null when there is none that can be read. */
export function readCursor(file: string): Cursor | null {
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    return checked().Check(value) ? value : null;
  } catch {
    return null;
  }
}

/** Whole or not at all. It need not survive a loss of power: then a little is exported twice. */
export async function writeCursor(file: string, cursor: Cursor): Promise<void> {
  await writeFile(`${file}.next`, JSON.stringify(cursor));
  await rename(`${file}.next`, file);
}

/**
 * The last position, from there on, with nothing but what is older than that time before it. What was imported is older than its
 * neighbours and may lead astray, which costs spans that are about as old.
 */
export async function positionBefore(
  store: Pick<WholeStore, "events">,
  time: string,
  from: Position,
  to: Position,
): Promise<Position> {
  const [first] = await store.events({ after: from, limit: 1 });
  if (first === undefined || first.createdAt >= time) return from;
  let [low, high] = [first.position, to];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [event] = await store.events({ after: middle, limit: 1 });
    if (event !== undefined && event.createdAt < time) low = event.position;
    else high = middle;
  }
  return low;
}
