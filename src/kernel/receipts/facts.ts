/**
 * What the log says about one task, gathered event by event for its receipt. Takes memory for what a receipt lists, which
 * is bounded, however long the run was; everything else goes into one hash.
 *
 * That hash, the material `event_log`, is over one line of canonical JSON for the submission, the start, what the agent
 * said and every record of a step: all that running it again needs, and comes to. Positions are left out, so that a copy of the log has the same.
 */

import { createHash } from "node:crypto";
import { redactedKindsIn } from "../../policy/redact/kinds.ts";
import { hashOf } from "../../receipts/canonical.ts";
import type {
  Approval,
  ArtifactRef,
  FileWrite,
  Redaction,
  ReplayMaterial,
  ToolCall,
} from "../../receipts/schema.ts";
import { canonicalJson } from "../../web/canonical-json.ts";
import type { Content } from "../core/content.ts";
import type { EventPayloads, KernelEvent, StepSpan } from "../core/events.ts";
import { hashWellFormed } from "../core/well-formed.ts";
import type { ArtifactRecord } from "../kinds/artifact.ts";
import type { PermissionRequestRecord } from "../kinds/permission-request.ts";
import { type Amounts, plus } from "../kinds/quota.ts";
import type { StepResult } from "../kinds/task.ts";
import { stepMark } from "../tasks/steps.ts";
import { EgressFacts } from "./egress-facts.ts";
import { HandoffFacts } from "./handoff-facts.ts";
import { ModelFacts } from "./model-facts.ts";

/** What is listed one by one; the rest is counted, and the hash of the log covers all of it. */
const listedMax = 100;

const materialKinds: Partial<Record<StepSpan["kind"], ReplayMaterial["kind"]>> = {
  llm: "llm_provider_response",
  mcp: "mcp_tool_return",
  tool: "host_fact",
  host: "host_fact",
  step: "host_fact",
  effect: "host_fact",
  file: "host_fact",
  file_read: "host_fact",
  file_list: "host_fact",
  handoff: "host_fact",
};

/** Those that count as calls of a tool; the others only look, or are counted in another way. */
const toolKinds: ReadonlySet<StepSpan["kind"]> = new Set([
  "step",
  "mcp",
  "tool",
  "host",
  "effect",
  "file",
  "handoff",
]);

export class TaskFacts {
  readonly #log = createHash("sha256");
  #lines = 0;
  readonly #messages = new Map<string, string>();
  readonly #requests = new Map<string, PermissionRequestRecord>();
  readonly #artifacts = new Map<string, ArtifactRef>();
  readonly handoffs = new HandoffFacts();
  readonly #redacted = new Set<string>();
  readonly approvals: Approval[] = [];
  /** Who submitted the task, and with which API key. */
  submittedBy: { actor: string | null; key_id?: string } | null = null;
  readonly materials: ReplayMaterial[] = [];
  readonly toolCalls: ToolCall[] = [];
  /** What a replay really did, where the request allowed it. */
  readonly liveCalls: ToolCall[] = [];
  readonly fileWrites: FileWrite[] = [];
  readonly egress = new EgressFacts();
  /** The same of what a replay really did. */
  readonly liveEgress = new EgressFacts();
  toolCallCount = 0;
  #fileWriteCount = 0;
  /** What was counted against the budget, beside calls and time. */
  spent: Amounts = {};
  /** The limits that the run came to. */
  readonly exhausted: { quota_id: string; limit: string; reason: string }[] = [];
  #materialCount = 0;
  #artifactCount = 0;
  #approvalCount = 0;
  #isReplay = false;
  usesSecrets = false;
  readonly models = new ModelFacts();
  /** What models were really asked in a replay, and used then. */
  readonly liveModels = new ModelFacts();
  liveSpent: Amounts = {};

  add(event: KernelEvent): void {
    this.#addToLog(event);
    if (event.event === "task.submitted") this.#isReplay ||= event.payload.task.replay !== null;
    // What a retry took over was done by the task that it retries, and is in the receipt of that one.
    if (event.replay?.is_copy === true && !this.#isReplay) return;
    this.handoffs.add(event);
    switch (event.event) {
      case "span.completed":
      case "span.failed":
        this.#addStep(event.payload, event.replay?.is_copy === false);
        break;
      case "vendor.bridle.step.attempt_failed":
        this.egress.add(event.payload);
        break;
      case "task.submitted":
        this.submittedBy = { actor: event.actor, ...keyIn(event) };
        break;
      case "vendor.bridle.quota.exhausted": {
        const { quota_id, limit, reason } = event.payload;
        if (this.exhausted.length < listedMax) this.exhausted.push({ quota_id, limit, reason });
        break;
      }
      case "artifact.created":
        this.#addArtifact(event.payload.artifact);
        break;
      case "artifact.updated":
        this.#completeArtifact(event.payload.artifact_id, event.payload.completed);
        break;
      case "tool.approval_required":
        this.#requests.set(event.payload.permission_request.id, event.payload.permission_request);
        break;
      case "tool.approved":
      case "tool.denied":
        this.#decide(event.resource.id, event.payload.response, event);
        break;
    }
  }

  get logHash(): string {
    return `sha256:${this.#log.copy().digest("hex")}`;
  }

  get logLines(): number {
    return this.#lines;
  }

  get artifacts(): ArtifactRef[] {
    return [...this.#artifacts.values()];
  }

  /** What the receipt leaves out, and why. */
  get redactions(): Redaction[] {
    const proof_hash = this.logHash;
    const unlisted = (field: string, count: number): Redaction[] =>
      count <= listedMax
        ? []
        : [{ field, reason: `${count - listedMax} more are in the event log only`, proof_hash }];
    return [
      { field: "/replay_input/materials/0/content", reason: "kept in the event log", proof_hash },
      ...[...this.#redacted].map((kind) => ({
        field: "/replay_input/materials/0/content",
        reason: `${kind}: removed before it was recorded`,
      })),
      ...unlisted("/replay_input/materials", this.#materialCount),
      ...unlisted("/side_effects/fs_writes", this.#fileWriteCount),
      ...unlisted("/side_effects/network_egress", this.egress.count),
      ...unlisted("/side_effects/tool_calls", this.toolCallCount),
      ...unlisted("/side_effects/a2a_handoffs", this.handoffs.count),
      ...unlisted("/final_artifacts", this.#artifactCount),
      ...unlisted("/approvals", this.#approvalCount),
    ];
  }

  #addToLog(event: KernelEvent): void {
    if (event.event === "user.message") {
      const { id, parts } = event.payload.message;
      this.#messages.set(id, contentHash(parts));
      this.noteRedactions(JSON.stringify(parts));
    }
    if (!isLogged(event)) return;
    const entry = {
      event: event.event,
      payload: event.payload,
      actor: event.actor,
      created_at: event.createdAt,
      message_sha256: this.#referredMessage(event),
    };
    const line = hashWellFormed(entry, canonicalJson);
    this.#log.update(`${line}\n`);
    this.#lines += 1;
    this.noteRedactions(line);
  }

  /** Input and answers are named by the id of their message; what it said belongs to the log too. */
  #referredMessage(event: KernelEvent): string | undefined {
    const id =
      event.event === "user.input_submitted"
        ? event.payload.message_id
        : event.event === "task.submitted" && "message_id" in event.payload.task.input
          ? event.payload.task.input.message_id
          : undefined;
    const hash = id === undefined ? undefined : this.#messages.get(id);
    if (id !== undefined) this.#messages.delete(id);
    return hash;
  }

  /** Kinds of things that were taken out of a text that the receipt is about. */
  noteRedactions(text: string): void {
    for (const kind of redactedKindsIn(text)) this.#redacted.add(kind);
  }

  #addStep(span: EventPayloads["span.completed"], isLive: boolean): void {
    if (span.kind === "secret") this.usesSecrets = true;
    if (span.kind === "file" && span.simulated === undefined) this.#addFileWrite(span.result);
    if (span.spent !== undefined) this.spent = plus(this.spent, span.spent);
    this.models.add(span);
    this.egress.add(span);
    if (isLive) {
      this.liveEgress.add(span);
      this.liveModels.add(span);
      this.liveSpent = plus(this.liveSpent, span.spent ?? {});
    }
    const kind = materialKinds[span.kind];
    if (kind === undefined) return;
    const sha256 = resultHash(span.result);
    this.#materialCount += 1;
    if (this.materials.length < listedMax) {
      this.materials.push({ kind, id: span.step, sha256, metadata: { step_kind: span.kind } });
    }
    // A remote agent that asks back is still the same call.
    if (!toolKinds.has(span.kind) || span.handoff?.is_over === false) return;
    if (span.simulated === undefined) this.toolCallCount += 1;
    const call = toolCallOf(span, sha256);
    if (this.toolCalls.length < listedMax) this.toolCalls.push(call);
    if (isLive && this.liveCalls.length < listedMax) this.liveCalls.push(call);
  }

  #addFileWrite(result: StepResult): void {
    const write = fileWriteOf(result);
    if (write === null) return;
    this.#fileWriteCount += 1;
    if (this.fileWrites.length < listedMax) this.fileWrites.push(write);
  }

  #addArtifact({ id, kind, uri, sha256 }: ArtifactRecord): void {
    this.#artifactCount += 1;
    if (this.#artifacts.size >= listedMax) return;
    const hash = sha256 === null ? {} : { sha256: prefixed(sha256) };
    this.#artifacts.set(id, { artifact_id: id, kind, uri: uri || `artifact://${id}`, ...hash });
  }

  #completeArtifact(id: string, completed: { sha256: string } | null): void {
    const artifact = this.#artifacts.get(id);
    if (artifact === undefined || completed === null) return;
    this.#artifacts.set(id, { ...artifact, sha256: prefixed(completed.sha256) });
  }

  #decide(requestId: string, response: EventPayloads["tool.approved"]["response"], by: Credential): void {
    const request = this.#requests.get(requestId);
    if (request === undefined) return;
    this.#requests.delete(requestId);
    this.#approvalCount += 1;
    if (this.approvals.length < listedMax) this.approvals.push(approvalOf(request, response, by));
  }
}

/** A call that the persona's autonomy did not let happen is listed as what it is. */
function toolCallOf(span: EventPayloads["span.completed"], output_hash: string): ToolCall {
  const tool = span.kind === "file" ? "files.write" : span.name || span.step;
  const given = span.tool_call === undefined ? {} : { input_hash: contentHash(span.tool_call.input) };
  const call = { tool, call_id: span.step, output_hash, ...given };
  if (span.simulated === undefined)
    return { ...call, status: "error" in span.result ? "failed" : "succeeded" };
  const { tier, intent, artifact_id } = span.simulated;
  const proposal = artifact_id === null ? {} : { proposal_artifact_id: artifact_id };
  const metadata = { autonomy_tier: tier, ...proposal };
  return { ...call, status: "canceled", input_hash: contentHash(intent), metadata };
}

/** The submission, the start, what the run said and gave, and every record of a step. */
function isLogged(event: KernelEvent): boolean {
  const isOwn = event.event === "task.submitted" || event.event === "task.started";
  return isOwn || event.event === "agent.message" || stepMark(event) !== null;
}

/** Who wrote an event or asks for it to be written. */
type Credential = Pick<KernelEvent, "actor" | "keyId">;

function keyIn({ keyId }: Credential): { key_id?: string } {
  return keyId === undefined ? {} : { key_id: keyId };
}

/** The key stands where the protocol's schema of receipts is open: the members of an approval are not. */
export function approvalOf(
  { id, action, request }: PermissionRequestRecord,
  response: EventPayloads["tool.approved"]["response"],
  by: Credential,
): Approval {
  const approved = response.decision === "approved";
  const { proof } = response;
  // A request that was withdrawn is not the decision of whoever canceled the task.
  const key = response.decided_by === by.actor ? keyIn(by) : {};
  return {
    approval_id: id,
    actor: response.decided_by,
    action: typeof action === "string" && action !== "" ? action : "unnamed",
    decision: response.decision,
    decided_at: response.decided_at,
    quorum_proof:
      proof === undefined
        ? { required: 1, satisfied: approved ? 1 : 0, ...key }
        : { required: proof.quorum, satisfied: approved ? proof.decisions.length : 0, harp: proof },
    // What was asked and what was answered, so that neither can be told differently later.
    evidence_hash: hashWellFormed({ request, response }, hashOf),
  };
}

/** What a step says that it wrote; nothing when it failed, or only would have. */
function fileWriteOf(result: StepResult): FileWrite | null {
  if ("error" in result || !("inline" in result.output)) return null;
  const output = result.output.inline;
  if (typeof output !== "object" || output === null || Array.isArray(output)) return null;
  const { path, sha256, before_sha256 = null } = output;
  if (typeof path !== "string" || typeof sha256 !== "string") return null;
  const before = typeof before_sha256 === "string" ? prefixed(before_sha256) : null;
  return {
    path,
    operation: before === null ? "create" : "modify",
    before_sha256: before,
    after_sha256: prefixed(sha256),
  };
}

export function resultHash(result: StepResult): string {
  return "error" in result ? hashWellFormed(result.error, hashOf) : contentHash(result.output);
}

/** Large content has its hash already: over its JSON as it was stored. */
export function contentHash(content: Content<unknown>): string {
  if ("erased" in content) return `sha256:${content.sha256}`;
  return "blob" in content ? `sha256:${content.blob}` : hashWellFormed(content.inline, hashOf);
}

function prefixed(sha256: string): string {
  return sha256.startsWith("sha256:") ? sha256 : `sha256:${sha256}`;
}
