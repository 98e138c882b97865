/** Random as a dependency: what agents are given by `ctx.random` and `ctx.uuid`, each time for a step of its own. */

import { randomUUID } from "node:crypto";
import type { TaskRecord } from "../kinds/task.ts";

export interface Random {
  /** From 0 up to and not including 1. */
  random(task: TaskRecord, step: string): number;
  uuid(task: TaskRecord, step: string): string;
}

export const systemRandom: Random = { random: () => Math.random(), uuid: () => randomUUID() };
