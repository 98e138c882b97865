/**
 * What an approval rests on, for those who check it themselves: each artifact exactly as it was signed, the signatures, and
 * whether they still count. Only of what is decided: until then the salts stay here.
 */

import type { Artifact } from "../../harp/core/artifact.ts";
import { HarpError } from "../../harp/core/harp-error.ts";
import type { Caller } from "../../policy/caller.ts";
import { notFound } from "../core/errors.ts";
import { findVisible, getRecord } from "../core/read.ts";
import type { KernelDeps } from "../core/unit.ts";
import { type ApproverRegistryRecord, approverRegistryId } from "../kinds/approver-registry.ts";
import { exchangesOf } from "../kinds/exchange.ts";
import type { PermissionRequestRecord } from "../kinds/permission-request.ts";
import { noteTaskRead } from "../tasks/read-tasks.ts";
import { artifactFor } from "./artifact.ts";
import { assertOurs, termsFor } from "./registry.ts";
import { type Refusal, reasonAgainstSignatures } from "./use.ts";

export interface ReadProof {
  request: PermissionRequestRecord;
  artifacts: Artifact[];
  /** Why the signatures do not count now; null where they do. */
  refusal: Refusal | null;
}

export async function readProof(deps: KernelDeps, caller: Caller, id: string): Promise<ReadProof> {
  const request = await getRecord(deps, caller, "permission_request", id);
  const task = await findVisible(deps.store, caller, "task", request.task_id);
  // Who may not see the task does not see what it asked.
  if (task === undefined) throw notFound("permission_request", id);
  await noteTaskRead(deps, caller, task);
  const signed = exchangesOf(request).filter(({ decision }) => decision !== null);
  const artifacts =
    request.status === "pending" ? [] : signed.map((exchange) => artifactFor(request, exchange));
  return { request, artifacts, refusal: await refusalOf(deps, caller, request, termsFor(task)) };
}

async function refusalOf(
  deps: KernelDeps,
  { tenantId }: Caller,
  request: PermissionRequestRecord,
  policy: ReturnType<typeof termsFor>,
): Promise<Refusal | null> {
  if (request.status !== "approved" || request.response?.proof === undefined) {
    return { code: "approval_unsigned", message: "No signatures approve it." };
  }
  const document = await deps.store.of(tenantId).get("approver_registry", approverRegistryId(tenantId));
  try {
    const registry = document?.body as ApproverRegistryRecord | undefined;
    if (registry !== undefined) assertOurs(deps, registry);
    const { clock, approvals } = deps;
    const keys = registry?.keys ?? [];
    return reasonAgainstSignatures(request, { keys, policy, nowMs: clock.now(), skewMs: approvals.skewMs });
  } catch (error) {
    if (!(error instanceof HarpError)) throw error;
    return { code: "approval_unverifiable", message: error.message };
  }
}
