/** What a server takes and gives, as its own schemas say it. Types only: nothing of the server is here at run time. */

import type { Static } from "typebox";
import type { EventKind } from "../../kernel/core/events.ts";
import type { TaskStatus } from "../../kernel/tasks/lifecycle.ts";
import type * as schemas from "../../surfaces/harn/schemas.ts";
import type * as approvals from "../../surfaces/harn/schemas-approvals.ts";
import type * as audit from "../../surfaces/harn/schemas-audit.ts";
import type * as events from "../../surfaces/harn/schemas-event.ts";
import type * as keys from "../../surfaces/harn/schemas-keys.ts";
import type * as knowledge from "../../surfaces/harn/schemas-knowledge.ts";
import type * as messages from "../../surfaces/harn/schemas-message.ts";
import type * as policy from "../../surfaces/harn/schemas-policy.ts";
import type * as push from "../../surfaces/harn/schemas-push.ts";
import type * as receipts from "../../surfaces/harn/schemas-receipt.ts";
import type * as sessions from "../../surfaces/harn/schemas-session.ts";
import type * as tasks from "../../surfaces/harn/schemas-task.ts";
import type * as vaults from "../../surfaces/harn/schemas-vault.ts";
import type * as workspaces from "../../surfaces/harn/schemas-workspace.ts";

export type { TaskStatus };
export type Session = Static<typeof sessions.Session>;
export type Task = Static<typeof tasks.Task>;
export type TaskExplanation = Static<typeof tasks.TaskExplanation>;
export type Agent = Static<typeof knowledge.Agent>;
export type Persona = Static<typeof policy.Persona>;
export type Workspace = Static<typeof workspaces.Workspace>;
export type Connector = Static<typeof knowledge.Connector>;
export type Vault = Static<typeof vaults.Vault>;
export type VaultSecret = Static<typeof vaults.VaultSecret>;
export type MasterKeyRotation = Static<typeof vaults.MasterKeyRotation>;
/** A webhook of a task. */
export type PushConfig = Static<typeof push.PushConfig>;
export type ApiKey = Static<typeof keys.ApiKey>;
export type AdminKey = Static<typeof keys.AdminKey>;
export type ApiKeyWithMade = Static<typeof keys.ApiKeyWithMade>;
export type Quota = Static<typeof policy.Quota>;
export type Message = Static<typeof messages.Message>;
export type MessageInput = Static<typeof messages.MessageInput>;
export type Artifact = Static<typeof workspaces.Artifact>;
export type PermissionRequest = Static<typeof approvals.PermissionRequest>;

/** What an event says, by its kind. */
export type EventPayloads = {
  [Kind in keyof typeof events.eventPayloads]: Static<(typeof events.eventPayloads)[Kind]>;
};
type EventEnvelope = Omit<Static<typeof schemas.Event>, "event" | "payload">;
/** An event of one of these kinds; `event` says which. */
export type EventOf<Kind extends keyof EventPayloads> = {
  [Name in Kind]: EventEnvelope & { event: Name; payload: EventPayloads[Name] };
}[Kind];
/** Of a kind whose payload this client does not describe, among them those of newer servers. */
type OtherEvent = EventEnvelope & {
  event: Exclude<EventKind, keyof EventPayloads>;
  payload: Record<string, unknown>;
};
export type BridleEvent = EventOf<keyof EventPayloads> | OtherEvent;
export type AuditRecord = Static<typeof audit.AuditRecord>;
export type AuditVerification = Static<typeof audit.AuditVerification>;
export type ReceiptProof = Static<typeof receipts.ReceiptProof>;
export type { Receipt } from "../../receipts/schema.ts";

export type CreateSessionRequest = Static<typeof sessions.CreateSessionRequest>;
export type ForkSessionRequest = Static<typeof sessions.ForkSessionRequest>;
export type CreatePersonaRequest = Static<typeof policy.CreatePersonaRequest>;
export type UpdatePersonaRequest = Static<typeof policy.UpdatePersonaRequest>;
export type CreateWorkspaceRequest = Static<typeof workspaces.CreateWorkspaceRequest>;
export type UpdateWorkspaceRequest = Static<typeof workspaces.UpdateWorkspaceRequest>;
export type CreateConnectorRequest = Static<typeof knowledge.CreateConnectorRequest>;
export type UpdateConnectorRequest = Static<typeof knowledge.UpdateConnectorRequest>;
export type CreateVaultRequest = Static<typeof vaults.CreateVaultRequest>;
export type SetSecretRequest = Static<typeof vaults.SetSecretRequest>;
export type CreateApiKeyRequest = Static<typeof keys.CreateApiKeyRequest>;
export type CreateQuotaRequest = Static<typeof policy.CreateQuotaRequest>;
export type UpdateQuotaRequest = Static<typeof policy.UpdateQuotaRequest>;
export type ReplayTaskRequest = Static<typeof tasks.ReplayTaskRequest>;
export type PermissionResponse = Static<typeof approvals.PermissionResponseRequest>;

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
