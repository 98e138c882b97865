/**
 * From the kernel's records to the protocol's resources. What only the runtime needs stays inside; content that the
 * caller may not see is replaced by a descriptor which shows that it exists.
 */

import type { TObject } from "typebox";
import type { ReadProof } from "../../kernel/approvals/read-proof.ts";
import { unsealShown } from "../../kernel/core/content.ts";
import { eventId } from "../../kernel/core/events.ts";
import { hiddenHash } from "../../kernel/core/hidden-content.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { ApiKeyRecord } from "../../kernel/kinds/api-key.ts";
import type { ArtifactRecord } from "../../kernel/kinds/artifact.ts";
import type { BranchRecord } from "../../kernel/kinds/branch.ts";
import type { ConnectorProvider, ConnectorRecord } from "../../kernel/kinds/connector.ts";
import { type Exchange, exchangesOf } from "../../kernel/kinds/exchange.ts";
import { type MemoryContent, type MemoryRecord, withoutMembers } from "../../kernel/kinds/memory.ts";
import type { MessageRecord, Part } from "../../kernel/kinds/message.ts";
import { outcomeIdOf } from "../../kernel/kinds/outcome.ts";
import type { PermissionRequestRecord } from "../../kernel/kinds/permission-request.ts";
import type { PersonaRecord } from "../../kernel/kinds/persona.ts";
import type { PushConfigRecord } from "../../kernel/kinds/push-config.ts";
import type { Visibility } from "../../kernel/kinds/resource.ts";
import type { Compaction, SessionRecord } from "../../kernel/kinds/session.ts";
import type { SkillRecord } from "../../kernel/kinds/skill.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import type { VaultRecord, VaultSecret } from "../../kernel/kinds/vault.ts";
import type { TruncateResult } from "../../kernel/sessions/truncate-session.ts";
import type { LoadedTool } from "../../kernel/skills/read-skills.ts";
import type { LoadedSkill } from "../../kernel/skills/skills.ts";
import { outcomeFacts } from "../../kernel/tasks/outcomes.ts";
import { type Caller, mayUse } from "../../policy/caller.ts";
import type { JsonValue, Position, TenantStore } from "../../store/port.ts";
import { PermissionRequest } from "./schemas-approvals.ts";
import { ApiKey } from "./schemas-keys.ts";
import { Connector, Memory, Skill } from "./schemas-knowledge.ts";
import { Persona } from "./schemas-policy.ts";
import { PushConfig } from "./schemas-push.ts";
import { Session } from "./schemas-session.ts";
import { Vault } from "./schemas-vault.ts";
import { Artifact } from "./schemas-workspace.ts";

export interface Viewer extends Pick<Kernel, "store" | "approvals"> {
  caller: Caller;
}

/** What the viewer's tenant has. */
export function ownStore({ store, caller }: Viewer): TenantStore {
  return store.of(caller.tenantId);
}

export type Wire = Record<string, unknown>;

/** Most records are shown as they are, less the tenant. */
export function presentRecord<R extends { tenant_id: string }>(record: R): Omit<R, "tenant_id"> {
  const { tenant_id: _, ...shown } = record;
  return shown;
}

/** The members that the schema names, in the order of the record; a record's others are shown to nobody. */
export function pick(schema: TObject, record: object): Wire {
  return Object.fromEntries(
    Object.entries(record).filter(([name]) => Object.hasOwn(schema.properties, name)),
  );
}

export function presentApiKey(key: ApiKeyRecord): Wire {
  const shown = pick(ApiKey, key);
  return key.previous == null ? shown : { ...shown, previous_key_expires_at: key.previous.until };
}

export function presentPersona(persona: PersonaRecord): Wire {
  return pick(Persona, persona);
}

/** A branch that nobody merged or gave up is open. */
export function presentBranch(branch: BranchRecord): Wire {
  return { state: "open", worktree_uri: null, ...presentRecord(branch) };
}

/** How it is known that a delivery is of the other side, or who asks. */
const connectorAuth: Record<ConnectorProvider, string> = {
  webhook: "standard-webhooks",
  github: "x-hub-signature-256",
  slack: "x-slack-signature",
  polling: "bearer",
};

export function presentConnector(connector: ConnectorRecord): Wire {
  const { own_session_id, emits = "task", polling = null, polled = null, failure = null } = connector;
  const isSentTo = connector.provider !== "polling";
  return {
    ...pick(Connector, connector),
    ...{ emits, polling, failure },
    polled: polled === null ? null : { cursor: polled.cursor },
    auth: { scheme: connectorAuth[connector.provider] },
    webhook: {
      ...(isSentTo ? { path: `/v1/connectors/${connector.id}/deliveries` } : {}),
      session_id: own_session_id,
    },
  };
}

/** How telling a webhook goes; what it takes to reach it is shown to nobody. */
export function presentPushConfig(config: PushConfigRecord): Wire {
  return pick(PushConfig, config);
}

/** A memory that is not public is there for all who may see its owner; what it says is not. */
export function presentMemory(memory: MemoryRecord, viewer: Viewer): Wire {
  const place = `${memory.id} ${memory.updated_at}`;
  return { ...pick(Memory, memory), content: presentMemoryContent(memory, { ...viewer, place }) };
}

/** Without what its policy takes out, for those who do not see internal content. */
export function presentMemoryContent(memory: MemoryContent, viewer: Onlooker): unknown {
  const content = seesInternal(viewer.caller) ? memory.content : withoutMembers(memory);
  return presentContent({ ...memory, content }, viewer);
}

export function presentContent(
  { content, visibility }: { content: JsonValue; visibility: Visibility },
  viewer: Onlooker,
): unknown {
  if (visibility === "public" || seesInternal(viewer.caller)) return content;
  return redacted(viewer, content, { type: "json", visibility });
}

export function presentSkill(skill: SkillRecord | LoadedSkill, startedAt: string): Wire {
  if ("object" in skill) return pick(Skill, skill);
  const { agent, id, name, description, input_schema, output_schema } = skill;
  return {
    ...{ id, name, description, input_schema, output_schema },
    ...cameWithServer("skill", startedAt),
    source: agent.name,
    version: agent.version,
    capabilities: [],
    requires_approval: false,
    deprecated: false,
  };
}

export function presentTool(tool: LoadedTool, startedAt: string): Wire {
  return { ...tool, ...cameWithServer("tool", startedAt) };
}

/** What every resource has, of those that are there as long as the server runs. */
export function cameWithServer(object: string, startedAt: string): Wire {
  return { object, created_at: startedAt, updated_at: startedAt, metadata: {} };
}

/** What is sealed is shown to nobody. */
export function presentVault(vault: VaultRecord): Wire {
  return {
    ...pick(Vault, vault),
    source: vault.source ?? null,
    secret_count: vault.secrets.length,
    data_key_version: vault.data_key.version,
    master_key_id: vault.data_key.kid,
  };
}

export function presentSecret(vaultId: string, secret: VaultSecret): Wire {
  const { name, version, created_at, updated_at, metadata } = secret;
  return { object: "vault_secret", vault_id: vaultId, name, version, created_at, updated_at, metadata };
}

export async function presentMessage(message: MessageRecord, viewer: Viewer): Promise<Wire> {
  const { parts, is_replayed: _, ...shown } = presentRecord(message);
  const found = await unsealShown(parts, ownStore(viewer));
  const onlooker = { ...viewer, place: message.id };
  return {
    ...shown,
    parts:
      "erased" in found
        ? [found.erased].flat().map((part) => presentErased(part, onlooker))
        : presentParts(found.value, onlooker),
  };
}

function presentParts(parts: readonly Part[], viewer: Onlooker): unknown[] {
  if (seesInternal(viewer.caller)) return [...parts];
  return parts.map((part) => (part.visibility === "public" ? part : redacted(viewer, part, part)));
}

/** What was erased is described by its plain hash, which receipts know; those who could not see the content are not shown that either. */
export function presentErased(descriptor: JsonValue, viewer: Onlooker): JsonValue {
  if (typeof descriptor !== "object" || descriptor === null || Array.isArray(descriptor)) return descriptor;
  if (descriptor.visibility === "public" || seesInternal(viewer.caller)) return descriptor;
  return { ...descriptor, sha256: hashFor(viewer, descriptor.sha256) };
}

export function seesInternal(caller: Caller): boolean {
  return mayUse(caller, "events:read_internal");
}

/** A viewer of something in a certain place: a message, a state of a memory, an event. */
export interface Onlooker extends Viewer {
  place: string;
}

export function redacted(
  viewer: Onlooker,
  content: unknown,
  { type, visibility }: { type: string; visibility: string },
): Wire {
  return { redacted: true, type, visibility, sha256: hashFor(viewer, content) };
}

function hashFor({ approvals, caller, place }: Onlooker, content: unknown): string {
  return hiddenHash(approvals, caller.tenantId, place, content);
}

/** The answer to a write says which event it was; a read says which is the last. */
export async function presentSession(
  session: SessionRecord,
  viewer: Viewer,
  writtenAt: Position | null = null,
): Promise<Wire> {
  const last = writtenAt ?? (await lastPosition(ownStore(viewer), session.id));
  return {
    memory_ids: [],
    skill_ids: [],
    ...presentSessionFacts(session),
    last_event_id: last === null ? null : eventId(last),
  };
}

/** What a session says of itself, also in events. */
export function presentSessionFacts(session: SessionRecord): Wire {
  const { compactions = [], erasure = null } = session;
  return {
    ...pick(Session, session),
    compactions: compactions.map(presentCompaction),
    erasure,
    transcript: `/v1/sessions/${session.id}/messages`,
  };
}

/** Where in the log the transcript is, is the harness's own business. */
export function presentCompaction({ ranges: _, ...shown }: Compaction): Omit<Compaction, "ranges"> {
  return shown;
}

async function lastPosition(store: TenantStore, sessionId: string): Promise<Position | null> {
  const [last] = await store.events({ sessionId, after: 0, limit: 1, newestFirst: true });
  return last?.position ?? null;
}

export async function presentTruncation(
  { keptTurnCount, removedTurnCount, newTipTurnId, session }: TruncateResult,
  viewer: Viewer,
  writtenAt: Position | null,
): Promise<Wire> {
  return {
    object: "session_truncate_result",
    session_id: session.id,
    kept_turn_count: keptTurnCount,
    removed_turn_count: removedTurnCount,
    new_tip_turn_id: newTipTurnId,
    session: await presentSession(session, viewer, writtenAt),
  };
}

export function presentPermissionRequest(request: PermissionRequestRecord): Wire {
  return { ...pick(PermissionRequest, request), approvers: exchangesOf(request).map(presentExchange) };
}

export function presentProof({ request, artifacts, refusal }: ReadProof): Wire {
  const { id, task_id, session_id, status, response, use } = request;
  return {
    ...{ permission_request_id: id, task_id, session_id, status, artifacts },
    proof: response?.proof ?? null,
    reason: response?.reason ?? null,
    used_at: use?.refusal === null ? use.used_at : null,
    is_valid: refusal === null,
    problem: refusal?.message ?? null,
  };
}

/** The salt and the signature stay with the enforcer: with them, whoever guesses what is asked could check the guess. */
export function presentExchange(exchange: Exchange): Wire {
  const { approver_id, request_id, state, reason, created_at, expires_at } = exchange;
  return { approver_id, request_id, state, reason, created_at, expires_at };
}

/** The receipt of an artifact is that of the task that made it, once that has ended. */
export async function presentArtifact(artifact: ArtifactRecord, viewer: Viewer): Promise<Wire> {
  const { task_id, in_receipt } = artifact;
  const document = task_id === null || !in_receipt ? undefined : await ownStore(viewer).get("task", task_id);
  const task = document?.body as TaskRecord | undefined;
  return { ...presentNewArtifact(artifact), receipt_id: task?.outcome?.receipt_id ?? null };
}

export function presentNewArtifact(artifact: ArtifactRecord): Wire {
  return { branch_id: null, ...pick(Artifact, artifact), receipt_id: null };
}

/** The outcome of a task that has one. */
export async function presentOutcome(
  task: TaskRecord,
  viewer: Viewer & Pick<Kernel, "receipts">,
): Promise<Wire> {
  if (task.outcome === null) throw new Error(`Task ${task.id} has no outcome`);
  const { message_ids, ...shown } = task.outcome;
  const endedAt = task.completed_at ?? task.canceled_at ?? task.updated_at;
  const messages = await Promise.all(message_ids.map((id) => ownStore(viewer).get("message", id)));
  const artifacts = await ownStore(viewer).list({
    kind: "artifact",
    by: { taskId: task.id },
    order: "oldest_first",
    limit: 200,
  });
  return {
    id: outcomeIdOf(task.id),
    object: "outcome",
    created_at: endedAt,
    updated_at: endedAt,
    metadata: {},
    workspace_id: task.workspace_id,
    task_id: task.id,
    ...shown,
    messages: await Promise.all(
      messages.flatMap((document) =>
        document === undefined ? [] : presentMessage(document.body as MessageRecord, viewer),
      ),
    ),
    artifacts: await Promise.all(
      artifacts.map((document) => presentArtifact(document.body as ArtifactRecord, viewer)),
    ),
    failure: task.failure,
    ...(await outcomeFacts(viewer, viewer.caller, task)),
  };
}
