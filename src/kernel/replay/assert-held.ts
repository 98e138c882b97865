/** A replay or a retry needs what the log held; when that is gone by request or by age, the first thing missing is named. */

import { HarnessError } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import type { TaskRecord } from "../kinds/task.ts";

export function assertContentHeld(
  unit: Unit,
  source: TaskRecord,
  use: "replayed" | "retried" = "replayed",
): void {
  const session = unit.find("session", source.session_id);
  const isTrimmed = source.trimmed !== undefined;
  if (session?.erasure === undefined && !isTrimmed) return;
  const why = isTrimmed ? "has left the log by age" : "was erased by request";
  const key = "message_id" in source.input ? source.input.message_id : "input";
  throw new HarnessError(
    "policy_violation",
    `Task ${source.id} cannot be ${use}: its log cannot supply ${key}, which ${why}.`,
    {
      details: {
        reason: "replay_dependency_unavailable",
        source_task_id: source.id,
        dependency: { kind: "message_id" in source.input ? "message" : "input", key },
      },
    },
  );
}
