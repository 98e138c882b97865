import type { Task } from "bridle/client";
import { isFinal } from "../../parts/Status.tsx";

export function endOf(task: Task): string | null {
  return isFinal(task.status) ? (task.completed_at ?? task.canceled_at ?? task.updated_at) : null;
}
