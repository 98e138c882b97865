/**
 * The fold: which documents an event changes, and how. Commands and `rebuild` use this one function, so a document
 * can always be made again from its events.
 */

import type { DocumentIndex } from "../../store/port.ts";
import { type ApiKeyRecord, foldApiKey } from "../kinds/api-key.ts";
import { type ApprovalAuditRecord, foldApprovalAudit } from "../kinds/approval-audit.ts";
import type { ApprovalNonceRecord } from "../kinds/approval-nonce.ts";
import { type ApproverRegistryRecord, foldApproverRegistry } from "../kinds/approver-registry.ts";
import { type ArtifactRecord, foldArtifact } from "../kinds/artifact.ts";
import { type AuditLogRecord, emptyAuditLog, foldAuditLog } from "../kinds/audit-log.ts";
import { type BranchRecord, foldBranch } from "../kinds/branch.ts";
import { type ConnectorRecord, connectorWakeAt, foldConnector } from "../kinds/connector.ts";
import { exchangesWakeAt } from "../kinds/exchange.ts";
import { foldHandoff, type HandoffRecord, handoffWakeAt } from "../kinds/handoff.ts";
import type { HarpPromptRecord } from "../kinds/harp-prompt.ts";
import { foldHarpSession, type HarpSessionRecord } from "../kinds/harp-session.ts";
import {
  foldMemory,
  type MemoryRecord,
  memoryWakeAt,
  statusOfMemory,
  textOfMemory,
} from "../kinds/memory.ts";
import type { MessageRecord } from "../kinds/message.ts";
import { foldPermissionRequest, type PermissionRequestRecord } from "../kinds/permission-request.ts";
import { foldPersona, type PersonaRecord } from "../kinds/persona.ts";
import { foldPolicyChange, type PolicyChangeRecord, policyChangeWakeAt } from "../kinds/policy-change.ts";
import { foldPushConfig, type PushConfigRecord, pushWakeAt } from "../kinds/push-config.ts";
import { foldQuota, type QuotaRecord } from "../kinds/quota.ts";
import {
  chainIdOf,
  createdByReceipt,
  foldReceiptChain,
  type ReceiptChainRecord,
  type ReceiptRecord,
  type ReceiptTreeRecord,
} from "../kinds/receipt.ts";
import { foldSchedule, type ScheduleRecord } from "../kinds/schedule.ts";
import { type Erasure, foldSession, type SessionRecord } from "../kinds/session.ts";
import { foldShellLink, type ShellLinkRecord } from "../kinds/shell-link.ts";
import { foldSigningKey, type SigningKeyRecord } from "../kinds/signing-key.ts";
import { foldSkill, type SkillRecord } from "../kinds/skill.ts";
import { foldTask, listedStatus, type TaskRecord, wakeAt } from "../kinds/task.ts";
import { foldTenant, type TenantRecord } from "../kinds/tenant.ts";
import { foldVault, type VaultRecord } from "../kinds/vault.ts";
import { foldWorkspace, type WorkspaceRecord } from "../kinds/workspace.ts";
import { asImported } from "../sessions/transfer/imported.ts";
import type { KernelEvent } from "./events.ts";

export interface Records {
  api_key: ApiKeyRecord;
  approval_audit: ApprovalAuditRecord;
  approval_nonce: ApprovalNonceRecord;
  approver_registry: ApproverRegistryRecord;
  artifact: ArtifactRecord;
  audit_log: AuditLogRecord;
  branch: BranchRecord;
  connector: ConnectorRecord;
  handoff: HandoffRecord;
  harp_prompt: HarpPromptRecord;
  harp_session: HarpSessionRecord;
  memory: MemoryRecord;
  message: MessageRecord;
  permission_request: PermissionRequestRecord;
  persona: PersonaRecord;
  policy_change: PolicyChangeRecord;
  push_config: PushConfigRecord;
  quota: QuotaRecord;
  receipt: ReceiptRecord;
  receipt_chain: ReceiptChainRecord;
  receipt_tree: ReceiptTreeRecord;
  schedule: ScheduleRecord;
  session: SessionRecord;
  shell_link: ShellLinkRecord;
  signing_key: SigningKeyRecord;
  skill: SkillRecord;
  task: TaskRecord;
  tenant: TenantRecord;
  vault: VaultRecord;
  workspace: WorkspaceRecord;
}

export type Kind = keyof Records;
export type AnyRecord = Records[Kind];

/** The records that an event brings into being. Of those that it brings from another server, not all is taken. */
export function created(event: KernelEvent): AnyRecord[] {
  if (event.replay?.is_copy === true) return [];
  const { imported } = event;
  const records = recordsIn(event);
  return imported === undefined ? records : records.map((record) => asImported(record, imported));
}

function recordsIn(event: KernelEvent): AnyRecord[] {
  switch (event.event) {
    case "vendor.bridle.tenant.created":
      return [event.payload.tenant];
    case "vendor.bridle.workspace.created":
      return [event.payload.workspace];
    case "vendor.bridle.persona.created":
      return [event.payload.persona];
    case "vendor.bridle.quota.created":
      return [event.payload.quota];
    case "vendor.bridle.schedule.created":
      return [event.payload.schedule];
    case "vendor.bridle.api_key.created":
      return [event.payload.api_key];
    case "session.created":
      return [event.payload.session];
    case "vendor.bridle.session.trimmed":
      return event.payload.tasks;
    case "user.message":
    case "agent.message":
    case "vendor.bridle.message":
      return [event.payload.message];
    case "branch.created":
      return [event.payload.branch];
    case "artifact.created":
      return [event.payload.artifact];
    case "task.submitted":
      return [event.payload.task];
    case "tool.approval_required":
      return [event.payload.permission_request];
    case "vendor.bridle.policy_change.requested":
      return [event.payload.policy_change];
    case "vendor.bridle.approval.decided":
      return [event.payload.nonce];
    case "vendor.bridle.approvers.created":
      return [event.payload.approver_registry];
    case "vendor.bridle.approvals.audit_begun":
      return [event.payload.approval_audit];
    case "vendor.bridle.audit.recorded":
      // The first record begins the log.
      return event.payload.previous_hash === null ? [emptyAuditLog(event.tenantId, event.createdAt)] : [];
    case "vendor.bridle.harp_prompt.delivered":
      return [event.payload.harp_prompt];
    case "vendor.bridle.harp_session.begun":
      return [event.payload.harp_session];
    case "vendor.bridle.handoff.created":
      return [event.payload.handoff];
    case "vendor.bridle.vault.created":
      return [event.payload.vault];
    case "vendor.bridle.signing_key.created":
      return [event.payload.signing_key];
    case "vendor.bridle.memory.created":
      return [event.payload.memory];
    case "vendor.bridle.skill.created":
      return [event.payload.skill];
    case "vendor.bridle.connector.created":
      return [event.payload.connector];
    case "vendor.bridle.push_config.created":
    case "vendor.bridle.push_config.replaced":
      return [event.payload.push_config];
    case "vendor.bridle.shell_link.created":
      return [event.payload.shell_link];
    case "receipt.issued":
    case "vendor.bridle.receipt.imported":
      return createdByReceipt(event.payload);
    default:
      return [];
  }
}

/** The records that an event changes beside the one it is about. */
export function alsoChanged(event: KernelEvent): string[] {
  if (event.event !== "receipt.issued") return [];
  const { workspace_id, index } = event.payload.record;
  return index === null ? [] : [chainIdOf(workspace_id)];
}

/** The record after the event. The same object when nothing about it changed. */
export function changed<R extends AnyRecord>(record: R, event: KernelEvent): R;
export function changed(record: AnyRecord, event: KernelEvent): AnyRecord {
  if (event.replay?.is_copy === true) return record;
  switch (record.object) {
    case "task":
      return foldTask(record, event);
    case "session":
      return foldSession(record, event);
    case "workspace":
      return foldWorkspace(record, event);
    case "artifact":
      return foldArtifact(record, event);
    case "permission_request":
      return foldPermissionRequest(record, event);
    case "policy_change":
      return foldPolicyChange(record, event);
    case "approver_registry":
      return foldApproverRegistry(record, event);
    case "approval_audit":
      return foldApprovalAudit(record, event);
    case "audit_log":
      return foldAuditLog(record, event);
    case "harp_session":
      return foldHarpSession(record, event);
    case "handoff":
      return foldHandoff(record, event);
    case "api_key":
      return foldApiKey(record, event);
    case "persona":
      return foldPersona(record, event);
    case "quota":
      return foldQuota(record, event);
    case "schedule":
      return foldSchedule(record, event);
    case "tenant":
      return foldTenant(record, event);
    case "receipt_chain":
      return foldReceiptChain(record, event);
    case "signing_key":
      return foldSigningKey(record, event);
    case "branch":
      return foldBranch(record, event);
    case "memory":
      return foldMemory(record, event);
    case "skill":
      return foldSkill(record, event);
    case "connector":
      return foldConnector(record, event);
    case "push_config":
      return foldPushConfig(record, event);
    case "shell_link":
      return foldShellLink(record, event);
    case "vault":
      return foldVault(record, event);
    default:
      return record;
  }
}

/** The columns by which a record is found. What a kind is never listed by stays out of that index. */
export function indexOf(record: AnyRecord): DocumentIndex {
  const tenantId = record.tenant_id;
  switch (record.object) {
    case "task":
      return {
        tenantId,
        isListed: record.trimmed === undefined,
        workspaceId: record.workspace_id,
        sessionId: record.session_id,
        taskId: record.parent_task_id,
        status: listedStatus(record),
        wakeAt: wakeAt(record),
        rank: Date.parse(record.status_at),
        label: record.agent.name,
      };
    case "session":
      return {
        tenantId,
        workspaceId: record.workspace_id,
        status: record.state,
        wakeAt: erasureDue(record.erasure) ?? expiryDue(record),
      };
    case "message":
      // What a replay says was said before, or never was: it is no part of the conversation.
      return { tenantId, isListed: false, sessionId: record.is_replayed === true ? null : record.session_id };
    case "permission_request":
      return {
        tenantId,
        workspaceId: record.workspace_id,
        sessionId: record.session_id,
        taskId: record.task_id,
        status: record.status,
        wakeAt: exchangesWakeAt(record),
      };
    case "policy_change":
      return { tenantId, status: record.status, wakeAt: policyChangeWakeAt(record) };
    case "approval_nonce":
      return { tenantId, isListed: false, sessionId: record.session_id, taskId: record.task_id };
    case "artifact":
    case "receipt":
      return {
        tenantId,
        workspaceId: record.workspace_id,
        sessionId: record.session_id,
        taskId: record.task_id,
      };
    case "handoff":
      return {
        tenantId,
        isListed: false,
        sessionId: record.session_id,
        taskId: record.task_id,
        wakeAt: handoffWakeAt(record),
      };
    case "quota":
      // What was deleted is in the log, not in lists.
      return { tenantId, isListed: record.deleted_at === null };
    case "schedule":
      return { tenantId, isListed: false, wakeAt: Date.parse(record.next_at ?? "") || null };
    case "branch":
      return { tenantId, workspaceId: record.workspace_id, sessionId: record.session_id };
    case "vault":
      return { tenantId, workspaceId: record.workspace_id };
    case "workspace":
      return { tenantId, workspaceId: record.id };
    case "memory":
      return {
        tenantId,
        workspaceId: record.workspace_id,
        ownerId: record.owner_id,
        status: statusOfMemory(record),
        wakeAt: memoryWakeAt(record),
        text: textOfMemory(record),
      };
    case "skill":
      return { tenantId, status: liveness(record) };
    case "connector":
      return {
        tenantId,
        workspaceId: record.workspace_id,
        status: liveness(record),
        wakeAt: connectorWakeAt(record),
      };
    case "push_config":
      return {
        tenantId,
        isListed: false,
        sessionId: record.session_id,
        taskId: record.task_id,
        ownerId: record.created_by_key_id ?? null,
        status: liveness(record),
        wakeAt: pushWakeAt(record),
      };
    case "shell_link":
      return { tenantId, isListed: false, sessionId: record.session_id, taskId: record.task_id };
    case "audit_log":
    case "harp_prompt":
    case "harp_session":
    case "receipt_chain":
    case "receipt_tree":
      return { tenantId, isListed: false };
    case "tenant":
      return { tenantId, wakeAt: erasureDue(record.erasure) };
    default:
      return { tenantId };
  }
}

/** Documents stay when what they stand for is deleted; lists ask for the others. */
function liveness({ deleted_at }: { deleted_at: string | null }): "live" | "deleted" {
  return deleted_at === null ? "live" : "deleted";
}

/** What was deleted is there for the log only. */
export function isDeleted(record: AnyRecord): boolean {
  return "deleted_at" in record && record.deleted_at !== null;
}

/** What was asked for and is not done waits for somebody to do it. */
function erasureDue(erasure: Erasure | undefined): number | null {
  return erasure?.erased_at === null ? Date.parse(erasure.requested_at) : null;
}

/** Who takes no more work need not be told to stop. */
function expiryDue({ state, expires_at }: SessionRecord): number | null {
  return expires_at === null || state === "CLOSED" ? null : Date.parse(expires_at);
}

/** Of which workspace a record is, for those that belong to one. */
export function workspaceOf(record: {
  object: string;
  id: string;
  workspace_id?: string | null;
}): string | null {
  return record.object === "workspace" ? record.id : (record.workspace_id ?? null);
}
