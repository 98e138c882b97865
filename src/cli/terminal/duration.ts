/** How long something took, and how long ago it was, as people say it. */

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** `0.3 s`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. Clocks differ: what would be less than nothing is nothing. */
export function durationText(ms: number): string {
  const given = Math.max(0, ms);
  if (given < 10 * second) return `${(given / second).toFixed(1)} s`;
  if (given < minute) return `${Math.floor(given / second)} s`;
  if (given < hour) return two(given, minute, "min", second, "s");
  return given < day ? two(given, hour, "h", minute, "min") : two(given, day, "d", hour, "h");
}

/** The same for a table: `12s`, `3min`, `2h`, `5d`. */
export function ageText(ms: number): string {
  const given = Math.max(0, ms);
  if (given < minute) return `${Math.floor(given / second)}s`;
  if (given < hour) return `${Math.floor(given / minute)}min`;
  return given < day ? `${Math.floor(given / hour)}h` : `${Math.floor(given / day)}d`;
}

function two(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)} ${largeName}${rest === 0 ? "" : ` ${rest} ${smallName}`}`;
}

/** A moment to the minute: `2026-04-25 19:00 UTC`, or what came instead of one. */
export function momentText(text: string): string {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? text : `${at.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
