/** A moment as somebody types it: as a time, or as how long ago it was. */

import { InvalidArgumentError } from "commander";

const units: Readonly<Record<string, number>> = { s: 1, m: 60, min: 60, h: 3600, d: 86_400 };

export function parseMoment(text: string): Date {
  const [, count, unit = ""] = /^(\d{1,6})\s*(s|m|min|h|d)$/.exec(text) ?? [];
  const seconds = units[unit];
  if (count !== undefined && seconds !== undefined)
    return new Date(Date.now() - Number(count) * seconds * 1000);
  const at = /^\d{4}-/.test(text) ? new Date(text) : new Date(Number.NaN);
  if (Number.isNaN(at.getTime())) {
    throw new InvalidArgumentError(
      "It must be a time like 2026-04-25T19:00:00Z, or how long ago: 30m, 2h or 5d.",
    );
  }
  return at;
}
