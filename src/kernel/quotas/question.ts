/** Whether a task may go on beyond a limit is a question like others; its step says of which quota, and before which step. */

const prefix = "approve:quota:";

export function quotaQuestion(quotaId: string, step: string): string {
  return `${prefix}${quotaId}:${step}`;
}

/** The quota that a question is about; null for one that is about something else. */
export function quotaInQuestion(question: string): string | null {
  if (!question.startsWith(prefix)) return null;
  return question.slice(prefix.length).split(":")[0] ?? null;
}
