import type { TaskStatus } from "bridle/client";
import { text } from "../text.ts";

export const statuses = Object.keys(text.status) as TaskStatus[];

export function Status({ status }: { status: TaskStatus }) {
  return (
    <span className={`status status--${status.toLowerCase()}`}>
      <span className="status__dot" aria-hidden="true" />
      {text.status[status]}
    </span>
  );
}

const final: readonly TaskStatus[] = ["COMPLETED", "FAILED", "CANCELED"];

export function isFinal(status: TaskStatus): boolean {
  return final.includes(status);
}
