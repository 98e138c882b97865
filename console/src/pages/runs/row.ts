/** Of each run what its row shows and no more: lists of 100,000 runs stay in memory as far as somebody has scrolled. */

import type { Task, TaskStatus } from "bridle/client";
import { agentOf, inputText } from "../run/words.ts";

export interface RunRow {
  id: string;
  status: TaskStatus;
  words: string;
  agent: string;
  persona: string | null;
  waitsFor: string | null;
  createdAt: string;
  startedAt: string | null;
  endedAt: string | null;
}

/** As much as fits into a row, and into what is shown when somebody points at it. */
const charsMax = 300;

export function rowOf(task: Task): RunRow {
  const { id, status, created_at, started_at, completed_at, canceled_at, waiting_for } = task;
  const { name, persona } = agentOf(task);
  return {
    ...{ id, status, agent: name, persona },
    words: inputText(task.input) || id,
    waitsFor: waiting_for?.description.slice(0, charsMax) ?? null,
    createdAt: created_at,
    startedAt: started_at,
    endedAt: completed_at ?? canceled_at,
  };
}
