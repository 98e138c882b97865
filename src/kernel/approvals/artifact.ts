/**
 * What approvers are shown: an artifact that says all of what is going to be done. It is kept nowhere. It is made from the
 * permission request whenever it is needed, so that what is compared at the end is what the server itself holds then.
 */

import {
  type Artifact,
  type ArtifactType,
  type DecisionTerms,
  readArtifact,
  saltedArtifact,
} from "../../harp/core/artifact.ts";
import { canonicalBytes } from "../../harp/core/canonical.ts";
import { sha256Of } from "../../receipts/canonical.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import { canonicalJson } from "../../web/canonical-json.ts";
import { sha256Hex } from "../core/content.ts";
import type { KernelDeps } from "../core/unit.ts";
import { hashWellFormed } from "../core/well-formed.ts";
import type { Exchange } from "../kinds/exchange.ts";
import type { PermissionRequestRecord } from "../kinds/permission-request.ts";
import type { PolicyChangeRecord } from "../kinds/policy-change.ts";
import type { ApprovalSubject } from "./subjects.ts";

/** What kind of thing is to be done, as far as approvers are told apart by it. */
export type ApprovalKind = "approve" | "effect" | "tool" | "mcp" | "file" | "host" | "handoff";

const reviewTypes: Record<ApprovalKind, ArtifactType> = {
  approve: "checkpoint.review",
  effect: "command.review",
  tool: "command.review",
  mcp: "command.review",
  file: "patch.review",
  host: "command.review",
  handoff: "task.review",
};

/** What is to be done, to the last byte and with its secrets. */
export interface Intent {
  taskId: string;
  step: string;
  kind: ApprovalKind;
  action: string;
  payload: JsonValue;
  risk: string;
}

/**
 * The same for the same intent, and told apart from every other one by nobody but this server. Approvals wait for weeks, over
 * upgrades: whoever changes the form of an intent must still recognize bindings of the form before (REL-R10).
 */
export function bindingOf({ approvals }: Pick<KernelDeps, "approvals">, intent: Intent): string {
  return approvals.mac("binding", hashWellFormed(intent, canonicalJson));
}

/** For those who answer without a gateway: the hash of what they were shown. */
export function artifactHashOf(shown: JsonObject, binding: string): string {
  return hashWellFormed({ ...shown, binding }, (value) => sha256Of(canonicalJson(value))).slice(
    "sha256:".length,
  );
}

type Terms = Pick<Exchange, "request_id" | "salt" | "created_at" | "expires_at">;

export function artifactFor(subject: ApprovalSubject, terms: Terms): Artifact {
  return subject.object === "policy_change"
    ? artifactForChange(subject, terms)
    : artifactForTask(subject, terms);
}

function finished(draft: Parameters<typeof saltedArtifact>[0]): Artifact {
  const salted = saltedArtifact(draft);
  return readArtifact({ ...salted, artifactHash: sha256Hex(canonicalBytes(salted)) });
}

/** What it would change, and for which server's tenant: nothing else can be signed with it. */
function artifactForChange(
  { id, tenant_id, action, details }: PolicyChangeRecord,
  exchange: Terms,
): Artifact {
  return finished({
    requestId: exchange.request_id,
    artifactType: "plan.review",
    repoRef: `tenant:${tenant_id}`,
    createdAt: exchange.created_at,
    expiresAt: exchange.expires_at,
    payload: { action: text(action), risk: "high", details: text(details), change: id },
    extensions: { gwProfile: { salt: exchange.salt } },
  });
}

function artifactForTask(request: PermissionRequestRecord, exchange: Terms): Artifact {
  const { action, payload = null, risk = "medium", kind = "approve", offer } = request.request;
  return finished({
    requestId: exchange.request_id,
    sessionId: request.session_id,
    artifactType: reviewTypes[isKind(kind) ? kind : "approve"],
    repoRef: `workspace:${request.workspace_id}`,
    createdAt: exchange.created_at,
    expiresAt: exchange.expires_at,
    payload: {
      action: text(action),
      risk: text(risk),
      // As text: JSON of agents has numbers that have no canonical form here.
      details: text(JSON.stringify(payload, null, 2)),
      task: request.task_id,
      step: text(request.step),
      binding: request.binding ?? "",
    },
    extensions: { gwProfile: { salt: exchange.salt, ...offered(request, exchange, offer) } },
  });
}

/** More than one use, until the request expires: an approver may sign for that, or for one use. */
function offered(
  { session_id: sessionId }: PermissionRequestRecord,
  { expires_at: expiresAt }: Terms,
  offer: unknown,
): { decisionTerms?: DecisionTerms } {
  if (offer === "timebox") return { decisionTerms: { scope: "timebox", expiresAt } };
  return offer === "session" ? { decisionTerms: { scope: "session", expiresAt, sessionId } } : {};
}

function isKind(kind: unknown): kind is ApprovalKind {
  return typeof kind === "string" && Object.hasOwn(reviewTypes, kind);
}

function text(value: unknown): string {
  return (typeof value === "string" ? value : JSON.stringify(value)).toWellFormed();
}
