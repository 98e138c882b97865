/** What a server takes and gives, as its own schemas say it. Types only: nothing of the server is here at run time. */

import type { Static } from "typebox";
import type { TaskStatus } from "../../kernel/tasks/lifecycle.ts";
import type * as schemas from "../../surfaces/harn/schemas.ts";
import type * as audit from "../../surfaces/harn/schemas-audit.ts";
import type * as knowledge from "../../surfaces/harn/schemas-knowledge.ts";
import type * as policy from "../../surfaces/harn/schemas-policy.ts";

export type { TaskStatus };
export type Session = Static<typeof schemas.Session>;
export type Task = Omit<Static<typeof schemas.Task>, "status"> & { status: TaskStatus };
export type TaskExplanation = Omit<Static<typeof schemas.TaskExplanation>, "status"> & { status: TaskStatus };
export type Agent = Static<typeof knowledge.Agent>;
export type Persona = Static<typeof policy.Persona>;
export type ApiKey = Static<typeof schemas.ApiKey>;
export type AdminKey = Static<typeof schemas.AdminKey>;
export type ApiKeyWithMade = Static<typeof schemas.ApiKeyWithMade>;
export type Quota = Static<typeof policy.Quota>;
export type Message = Static<typeof schemas.Message>;
export type MessageInput = Static<typeof schemas.MessageInput>;
export type Artifact = Static<typeof schemas.Artifact>;
export type PermissionRequest = Static<typeof schemas.PermissionRequest>;
export type BridleEvent = Static<typeof schemas.Event>;
export type AuditRecord = Static<typeof audit.AuditRecord>;
export type AuditVerification = Static<typeof audit.AuditVerification>;
export type ReceiptProof = Static<typeof schemas.ReceiptProof>;
export type { Receipt } from "../../receipts/schema.ts";

export type CreateSessionRequest = Static<typeof schemas.CreateSessionRequest>;
export type ForkSessionRequest = Static<typeof schemas.ForkSessionRequest>;
export type CreateApiKeyRequest = Static<typeof schemas.CreateApiKeyRequest>;
export type CreateQuotaRequest = Static<typeof policy.CreateQuotaRequest>;
export type UpdateQuotaRequest = Static<typeof policy.UpdateQuotaRequest>;
export type ReplayTaskRequest = Static<typeof schemas.ReplayTaskRequest>;
export type PermissionResponse = Static<typeof schemas.PermissionResponseRequest>;

/** One page of a list. */
export interface Page<T> {
  items: T[];
  /** Where the next page begins; null after the last. */
  nextCursor: string | null;
}

export interface PageOptions extends CallOptions {
  limit?: number;
  cursor?: string;
}

export interface CallOptions {
  signal?: AbortSignal;
}

export interface WriteOptions extends CallOptions {
  /** What a retry is known by. Made for every call unless given: give one to repeat a call safely after a restart. */
  idempotencyKey?: string;
}
