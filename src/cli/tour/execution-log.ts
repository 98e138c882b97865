/** Where the agent's code leaves a line each time that it really runs, whatever the log says. */

import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const lookEveryMs = 20;
/** A step begins within moments; a machine that takes longer does something else. */
const beginMsMax = 120_000;

export interface Ran {
  name: string;
  /** The processes that ran it, once for each time. */
  pids: number[];
}

export function readExecutions(file: string): Ran[] {
  const ran = new Map<string, number[]>();
  for (const line of linesIn(file)) {
    const [name = "", pid = ""] = line.split(" ");
    ran.set(name, [...(ran.get(name) ?? []), Number(pid)]);
  }
  return [...ran].map(([name, pids]) => ({ name, pids }));
}

/** Waits until the code of this step runs. */
export async function begun(file: string, name: string, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + beginMsMax;
  while (!readExecutions(file).some((ran) => ran.name === name)) {
    if (performance.now() > deadline) throw new Error(`The step ${name} did not begin.`);
    await pause(lookEveryMs, undefined, { signal });
  }
}

/** Nothing has run yet while there is no file. */
function linesIn(file: string): string[] {
  try {
    // A line that is not whole yet counts when it is.
    return readFileSync(file, "utf8").split("\n").slice(0, -1);
  } catch {
    return [];
  }
}
