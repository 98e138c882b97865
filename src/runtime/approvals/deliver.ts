/** One permission request or policy change, seen to once: whoever has to be asked is asked, and what is over is taken back from the gateway. */

import { decodeBase64url } from "../../harp/core/base64url.ts";
import { type GatewayLink, GatewayRefusal } from "../../harp/core/gateway-link.ts";
import { HarpError } from "../../harp/core/harp-error.ts";
import { coreArtifactType, sealArtifact } from "../../harp/core/seal.ts";
import type { ArtifactSubmit } from "../../harp/core/wire.ts";
import { artifactFor } from "../../kernel/approvals/artifact.ts";
import { askApprovers, type ExchangeNote, noteExchange } from "../../kernel/approvals/open-exchanges.ts";
import { termsFor } from "../../kernel/approvals/registry.ts";
import { denyUndeliverable } from "../../kernel/approvals/respond-permission-request.ts";
import {
  type ApprovalSubject,
  type AskedPolicies,
  askedApprovers,
  policiesOfChange,
} from "../../kernel/approvals/subjects.ts";
import { timestamp } from "../../kernel/core/clock.ts";
import { runCommand } from "../../kernel/core/dispatch.ts";
import { findVisible } from "../../kernel/core/read.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { approverRegistryId } from "../../kernel/kinds/approver-registry.ts";
import { type Exchange, exchangesOf } from "../../kernel/kinds/exchange.ts";
import { systemCaller } from "../../policy/caller.ts";

/** The gateway cannot be reached, or is too busy; it is tried again. */
export class GatewayAway extends Error {
  override name = "GatewayAway";
}

/** Without a gateway nobody can be asked; a change still ends in time. */
export async function deliverRequests(
  kernel: Kernel,
  link: GatewayLink | null,
  record: ApprovalSubject,
): Promise<void> {
  const system = systemCaller(record.tenant_id);
  const request = await runCommand(kernel, askApprovers, system, { subjectId: record.id });
  if (request === null || link === null) return;
  for (const exchange of exchangesOf(request)) {
    if (exchange.state === "CREATED") await submit(kernel, link, request, exchange);
    else if (exchange.state === "EXPIRED" && !exchange.is_settled)
      await withdraw(kernel, link, request, exchange);
  }
}

async function submit(
  kernel: Kernel,
  link: GatewayLink,
  request: ApprovalSubject,
  exchange: Exchange,
): Promise<void> {
  const note = (noted: ExchangeNote) => noteOf(kernel, request, exchange, noted);
  try {
    const envelope = await seal(kernel, link, request, exchange);
    if (envelope === null) return await note({ note: "closed", reason: "no longer an approver" });
    await link.submit(envelope);
    await note({ note: "submitted" });
  } catch (error) {
    const problem = problemOf(error);
    if (problem === null) throw error;
    await note({ note: "delayed", problem });
    if (error instanceof GatewayRefusal && error.isRetryable)
      throw new GatewayAway(problem, { cause: error });
    // It was taken back there, or never can be taken: nobody will decide it.
    await runCommand(kernel, denyUndeliverable, systemCaller(request.tenant_id), {
      requestId: request.id,
      problem,
    });
  }
}

async function policiesOf(kernel: Kernel, request: ApprovalSubject): Promise<AskedPolicies> {
  if (request.object === "policy_change") return policiesOfChange(request);
  const system = systemCaller(request.tenant_id);
  const task = await findVisible(kernel.store, system, "task", request.task_id);
  return [task && termsFor(task)];
}

/** Sealed for the keys that the approver has now; null when there are none left. */
async function seal(
  kernel: Kernel,
  { enforcerId }: GatewayLink,
  request: ApprovalSubject,
  exchange: Exchange,
): Promise<ArtifactSubmit | null> {
  const system = systemCaller(request.tenant_id);
  const registry = await findVisible(
    kernel.store,
    system,
    "approver_registry",
    approverRegistryId(request.tenant_id),
  );
  const now = kernel.clock.now();
  const policies = await policiesOf(kernel, request);
  const keys = askedApprovers(registry?.keys ?? [], policies, now).get(exchange.approver_id);
  if (keys === undefined) return null;
  const artifact = await artifactFor(request, exchange);
  const recipients = keys.map(({ x25519 }) => decodeBase64url(x25519));
  return {
    msgType: "artifact.submit",
    requestId: exchange.request_id,
    createdAt: timestamp(now),
    sender: { enforcerId },
    recipient: { approverId: exchange.approver_id },
    body: {
      artifactType: coreArtifactType,
      artifactHash: `sha256:${artifact.artifactHash}`,
      ciphertext: await sealArtifact(artifact, recipients),
      metadata: { enforcerLabel: kernel.approvals.enforcerLabel },
      expiresAt: exchange.expires_at,
    },
  };
}

/** What the gateway does not know any more, or what was decided meanwhile, needs no taking back. */
async function withdraw(
  kernel: Kernel,
  link: GatewayLink,
  request: ApprovalSubject,
  exchange: Exchange,
): Promise<void> {
  try {
    await link.withdraw(exchange.request_id);
  } catch (error) {
    if (!(error instanceof GatewayRefusal)) throw error;
    if (error.isRetryable) throw new GatewayAway(error.message, { cause: error });
  }
  await noteOf(kernel, request, exchange, { note: "settled" });
}

async function noteOf(
  kernel: Kernel,
  { tenant_id }: ApprovalSubject,
  { request_id: requestId }: Exchange,
  noted: ExchangeNote,
): Promise<void> {
  await runCommand(kernel, noteExchange, systemCaller(tenant_id), { requestId, ...noted });
}

function problemOf(error: unknown): string | null {
  if (error instanceof GatewayRefusal) return `${error.code}: ${error.message}`;
  return error instanceof HarpError ? `${error.code}: ${error.message}` : null;
}
