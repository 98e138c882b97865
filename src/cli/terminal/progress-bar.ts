/** How far something is, as one line for a terminal. */

/** What is counted: things, or the bytes of one. */
export type Unit = "things" | "bytes";

export interface ProgressState {
  what: string;
  done: number;
  /** Undefined where nobody knows. */
  total: number | undefined;
  unit: Unit;
  elapsedMs: number;
  columns: number;
}

const barCharsMax = 24;
/** A shorter bar says less than the percentage beside it. */
const barCharsMin = 8;
/** Whoever has less than this of the work behind them cannot say how long the rest takes. */
const knownShareMin = 0.02;

/** With a total: a bar, the percentage, the rate and the time left. Never longer than the terminal is wide. */
export function progressLine(at: ProgressState): string {
  const line = at.total === undefined || at.total <= 0 ? withoutTotal(at) : withTotal(at, at.total);
  return line.slice(0, Math.max(1, at.columns - 1));
}

function withoutTotal({ what, done, unit, elapsedMs }: ProgressState): string {
  return [`${what}: ${amount(done, unit)}`, rate(done, elapsedMs, unit)].filter(Boolean).join("  ");
}

function withTotal({ what, done, unit, elapsedMs, columns }: ProgressState, total: number): string {
  const share = Math.min(1, Math.max(0, done / total));
  const numbers = [
    `${Math.floor(share * 100)}%`.padStart(4),
    `${amount(done, unit)} of ${amount(total, unit)}`,
    rate(done, elapsedMs, unit),
    share >= knownShareMin && share < 1 ? `${duration((elapsedMs / share) * (1 - share))} left` : "",
  ];
  const text = numbers.filter(Boolean).join("  ");
  const room = Math.min(barCharsMax, columns - 1 - what.length - text.length - 2);
  return room < barCharsMin ? `${what} ${text}` : `${what} ${bar(share, room)} ${text}`;
}

/** Full up to this share. */
export function bar(share: number, width: number): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * width);
  return "█".repeat(full) + "░".repeat(width - full);
}

/** In words of the one who waits. */
function rate(done: number, elapsedMs: number, unit: Unit): string {
  if (elapsedMs <= 0) return "";
  const perSecond = (done / elapsedMs) * 1000;
  return `${unit === "bytes" ? inBytes(perSecond) : inThings(perSecond)}/s`;
}

function amount(count: number, unit: Unit): string {
  return unit === "bytes" ? inBytes(count) : String(count);
}

function inThings(count: number): string {
  return count < 10 ? count.toFixed(1) : String(Math.round(count));
}

const prefixes = ["B", "KiB", "MiB", "GiB", "TiB"];

export function inBytes(bytes: number): string {
  let [value, step] = [bytes, 0];
  while (value >= 1024 && step < prefixes.length - 1) [value, step] = [value / 1024, step + 1];
  return `${step === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${prefixes[step]}`;
}

export function duration(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
