/** What comes of a step after nobody waits for it any longer. */

import { runCommand } from "../../kernel/core/dispatch.ts";
import type { StepSpan } from "../../kernel/core/events.ts";
import { noteLateResult } from "../../kernel/tasks/note-late-result.ts";
import type { Attempted } from "./recording.ts";
import type { Run } from "./run.ts";

/** A store that does not take it now loses a remark, not a result. */
export async function noteLate(run: Run, span: StepSpan, attempted: Attempted): Promise<void> {
  if (run.recording.isReplay) return;
  const { kernel, caller, task, redactor } = run;
  const result = "error" in attempted ? { error: attempted.error } : attempted;
  await runCommand(kernel, noteLateResult, caller, { taskId: task.id, span, result, redactor }).catch(
    () => {},
  );
}
