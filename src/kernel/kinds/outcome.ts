/**
 * An outcome: how a task ended, in a sentence, with what it left behind. There is one for each task that ended, so it is
 * kept on the task and has the task's id under another prefix.
 */

export interface Failure {
  code: string;
  message: string;
  details?: Record<string, unknown>;
}

export interface Outcome {
  status: "SUCCEEDED" | "FAILED" | "CANCELED";
  summary: string;
  message_ids: string[];
  receipt_id: string | null;
}

export function outcomeIdOf(taskId: string): string {
  return taskId.replace(/^task_/, "outcome_");
}

/** The task that an outcome is of; what is no outcome's id names no task. */
export function taskIdOf(outcomeId: string): string {
  return outcomeId.replace(/^outcome_/, "task_");
}
