/**
 * Preloaded into a server (`--import`), this gives it a clock that tests move: the file that MOVED_CLOCK names holds by how
 * many milliseconds it differs from the true one. Timers are left alone.
 */

import { readFileSync } from "node:fs";

const { MOVED_CLOCK } = process.env;
const TrueDate = Date;

function now(): number {
  if (MOVED_CLOCK === undefined) return TrueDate.now();
  return TrueDate.now() + Number(readFileSync(MOVED_CLOCK, "utf8"));
}

globalThis.Date = new Proxy(TrueDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  apply: () => new TrueDate(now()).toString(),
  get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
});
