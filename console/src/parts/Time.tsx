/** A time as people say it, with the exact one on hover. */

import { useEffect, useState } from "react";

const units: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];
const words = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const exact = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "long" });

export function relative(at: string, now: number): string {
  const seconds = (Date.parse(at) - now) / 1000;
  for (const [unit, size] of units) {
    if (Math.abs(seconds) >= size) return words.format(Math.trunc(seconds / size), unit);
  }
  return Math.abs(seconds) < 5 ? "now" : words.format(Math.trunc(seconds), "second");
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

/** One clock for all: what is shown changes together, and nothing ticks faster than it can be read. */
const listeners = new Set<(now: number) => void>();
setInterval(() => {
  for (const listener of listeners) listener(Date.now());
}, 1000);

export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    listeners.add(setNow);
    return () => void listeners.delete(setNow);
  }, []);
  return now;
}

export function Time({ at }: { at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={exact.format(new Date(at))}>
      {relative(at, now)}
    </time>
  );
}

/** How long something took, or has taken until now. */
export function Took({ from, to }: { from: string; to: string | null }) {
  return to === null ? <Running from={from} /> : <span>{duration(Date.parse(to) - Date.parse(from))}</span>;
}

function Running({ from }: { from: string }) {
  return <span>{duration(useNow() - Date.parse(from))}</span>;
}
