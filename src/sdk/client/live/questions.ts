/** Questions to people, each told once, although every connection begins with those that are open. */

import type { PermissionRequest } from "../types.ts";

export interface Question {
  /** Of a permission, the id to respond to. */
  requestId: string;
  kind: "input" | "authorization";
  taskId: string;
  prompt: string;
  expiresAt: string;
  /** Of an input: the JSON Schema of the answer, if it has one. */
  schema: Record<string, unknown> | null;
  permissionRequest: PermissionRequest | null;
}

/** More than are open at once; one that was told so long ago may be told again. */
const toldMax = 10_000;

export class Questions {
  readonly #onQuestion: ((question: Question) => void) | undefined;
  readonly #told = new Set<string>();

  constructor(onQuestion: ((question: Question) => void) | undefined) {
    this.#onQuestion = onQuestion;
  }

  get areHeard(): boolean {
    return this.#onQuestion !== undefined;
  }

  asked(frame: Record<string, unknown>): void {
    const question = questionIn(frame);
    if (question === null || this.#onQuestion === undefined || this.#told.has(question.requestId)) return;
    if (this.#told.size >= toldMax) this.#told.clear();
    this.#told.add(question.requestId);
    this.#onQuestion(question);
  }
}

function questionIn(frame: Record<string, unknown>): Question | null {
  const { request_id, kind, task_id, prompt, expires_at, schema, permission_request } = frame;
  if (kind !== "input" && kind !== "authorization") return null;
  if (typeof request_id !== "string" || typeof task_id !== "string") return null;
  return {
    requestId: request_id,
    kind,
    taskId: task_id,
    prompt: String(prompt),
    expiresAt: String(expires_at),
    // The server makes both from the schemas of these types.
    schema: (schema ?? null) as Question["schema"],
    permissionRequest: (permission_request ?? null) as PermissionRequest | null,
  };
}
