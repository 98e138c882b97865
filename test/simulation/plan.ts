/**
 * What a seed stands for: who does what, and what goes wrong. A plan is data, so that parts of it can be left out to find the shortest
 * that still fails, and printed for people.
 */

import { randomOf } from "./machine.ts";

/** What the agent of a task does, one after the other. */
export type Act =
  | "step"
  | "parallel"
  | "say"
  | "ask"
  | "effect"
  | "tool"
  | "sleep"
  | "spawn"
  | "memory"
  | "artifact"
  | "signal"
  | "flaky"
  | "fail";

export interface TaskPlan {
  kind: "task";
  at: number;
  acts: Act[];
  webhook: boolean;
  /** When a person cancels it, after its submission. */
  cancelAfter: number | null;
  /** Every answer of the person is a no. */
  denies: boolean;
}

/**
 * Refused: full. Uncertain: the COMMIT fails before or after it is on disk, which is found out by reading. Unknown: that fails as well.
 */
export type DiskFate =
  | "refused"
  | "uncertain_lost"
  | "uncertain_written"
  | "unknown_lost"
  | "unknown_written";

export type FaultPlan =
  /** The process ends at this step of the schedule. */
  | { kind: "crash"; step: number }
  /** The process ends with its n-th write, which is lost or on disk. */
  | { kind: "crash_at_write"; write: number; isWritten: boolean }
  /** The disk refuses writes, or nobody knows what became of them, for a while. */
  | { kind: "disk"; at: number; ms: number; fate: DiskFate }
  /** Requests and answers are lost. */
  | { kind: "partition"; at: number; ms: number }
  /** The wall clock is set. */
  | { kind: "clock"; at: number; by: number }
  /** The process does nothing for a while (SIGSTOP), and then goes on. */
  | { kind: "freeze"; at: number; ms: number }
  /** A second process is started on the same data; the first is not told. */
  | { kind: "takeover"; at: number };

export type Item = TaskPlan | FaultPlan;

export interface Plan {
  seed: number;
  items: Item[];
}

const usual: readonly Act[] = [
  ...(["step", "parallel", "say", "ask", "effect", "tool", "sleep"] as const),
  ...(["spawn", "memory", "artifact", "signal", "flaky"] as const),
];

const diskFates: readonly [DiskFate, ...DiskFate[]] = [
  ...(["refused", "uncertain_lost", "uncertain_written", "unknown_lost", "unknown_written"] as const),
];

/** Faults come while the tasks are at it. */
const busyMs = 3000;

export function planOf(seed: number): Plan {
  const random = randomOf(seed);
  const below = (max: number) => Math.floor(random() * max);
  const pick = <T>(from: readonly [T, ...T[]]): T => from[below(from.length)] ?? from[0];
  const items: Item[] = [];
  for (let n = 1 + below(3); n > 0; n--) {
    const acts = Array.from({ length: 1 + below(5) }, () => pick(usual as [Act, ...Act[]]));
    if (random() < 0.1) acts.push("fail");
    items.push({
      kind: "task",
      at: below(busyMs / 3),
      acts,
      webhook: random() < 0.4,
      cancelAfter: random() < 0.15 ? below(busyMs) : null,
      denies: random() < 0.1,
    });
  }
  const faults: readonly [() => FaultPlan, ...(() => FaultPlan)[]] = [
    () => ({ kind: "crash", step: 20 + below(1500) }),
    () => ({ kind: "crash_at_write", write: 1 + below(40), isWritten: random() < 0.5 }),
    () => ({ kind: "crash_at_write", write: 1 + below(15), isWritten: random() < 0.5 }),
    () => ({
      ...{ kind: "disk", at: below(busyMs), ms: below(3000) },
      fate: pick(diskFates),
    }),
    () => ({ kind: "partition", at: below(busyMs), ms: below(5000) }),
    () => ({
      kind: "clock",
      at: below(busyMs),
      by: pick([-1, 1]) * below(random() < 0.5 ? 5000 : 7_200_000),
    }),
    () => ({ kind: "freeze", at: below(busyMs), ms: below(20_000) }),
    () => ({ kind: "takeover", at: below(busyMs) }),
  ];
  for (let n = below(5); n > 0; n--) items.push(pick(faults)());
  return { seed, items };
}

/** The same without some of its parts. */
export function only({ seed, items }: Plan, kept: readonly number[]): Plan {
  return { seed, items: items.filter((_, index) => kept.includes(index)) };
}

export function describe({ items }: Plan): string {
  return items.map((item, index) => `  ${index}  ${JSON.stringify(item)}`).join("\n");
}
