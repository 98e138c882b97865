/** Approvers: pair with them, list them, take them out, and read the audit log of approvals. */

import { Readable } from "node:stream";
import type { ApproverKey } from "../../../harp/core/approver-key.ts";
import { addApprover, revokeApprover } from "../../../kernel/approvals/change-approvers.ts";
import {
  arrivedKey,
  beginPairing,
  listApprovers,
  readAudit,
  readPairing,
} from "../../../kernel/approvals/read-approvers.ts";
import type { ServerFacts } from "../../server-facts.ts";
import { presentPage } from "../lists.ts";
import { jsonLines, type Route, route } from "../route.ts";
import { ListOf } from "../schemas.ts";
import {
  Approver,
  BeginPairingRequest,
  ConfirmPairingRequest,
  Pairing,
  PairingBegun,
} from "../schemas-approvals.ts";

const tag = "Approvals";

function presentApprover(key: ApproverKey) {
  return {
    signer_key_id: key.signerKeyId,
    approver_id: key.approverId,
    state: key.state,
    label: key.label ?? null,
    alg: key.alg,
    ed25519: key.ed25519,
    x25519: key.x25519,
    fingerprint: key.fingerprint,
    device_id: key.deviceId,
    roles: key.roles,
    created_at: key.createdAt,
    not_before: key.notBefore,
    deprecated_at: key.deprecatedAt ?? null,
    accepted_until: key.acceptedUntil ?? null,
    revoked_at: key.revokedAt ?? null,
    pending_until: key.pendingUntil ?? null,
  };
}

async function* lines(records: AsyncIterable<object>): AsyncGenerator<string> {
  for await (const record of records) yield `${JSON.stringify(record)}\n`;
}

function beginPairingRoute(facts: ServerFacts): Route {
  return route({
    method: "POST",
    path: "/v1/approvals/pairings",
    operationId: "beginPairing",
    scope: "approvers:write",
    summary: "Begin to pair with an approver. The code is for them, once, for a few minutes.",
    tag,
    status: 201,
    body: BeginPairingRequest,
    response: PairingBegun,
    async handle(call) {
      const request = { workspaceName: call.body.workspace_name };
      const { code, nonce, expiresAt } = await beginPairing(call.kernel, call.caller, request);
      return { code, nonce, expires_at: expiresAt, gateway_url: facts.gatewayUrl() };
    },
  });
}

const approvers: Route[] = [
  route({
    method: "GET",
    path: "/v1/approvals/pairings/{nonce}",
    operationId: "getPairing",
    scope: "approvers:read",
    summary: "What has become of a pairing, with the fingerprint of the approver's keys once they are there.",
    tag,
    response: Pairing,
    async handle(call) {
      const { nonce, state, expiresAt, approverId, fingerprint } = await readPairing(
        call.kernel,
        call.caller,
        call.param("nonce"),
      );
      return { nonce, state, expires_at: expiresAt, approver_id: approverId ?? null, fingerprint };
    },
  }),
  route({
    method: "POST",
    path: "/v1/approvals/pairings/{nonce}/confirm",
    operationId: "confirmPairing",
    scope: "approvers:write",
    summary:
      "Take the approver's key into the list, after a person compared the fingerprints. It is pending where approvers have to agree.",
    tag,
    status: 201,
    body: ConfirmPairingRequest,
    response: Approver,
    async handle(call) {
      const arrived = await arrivedKey(call.kernel, call.caller, call.param("nonce"));
      const { fingerprint, label, replaces, overlap_ms } = call.body;
      return presentApprover(
        await call.dispatch(addApprover, {
          ...{ ...arrived, fingerprint, label, replaces },
          overlapMs: overlap_ms,
        }),
      );
    },
  }),
  route({
    method: "GET",
    path: "/v1/approvals/approvers",
    operationId: "listApprovers",
    scope: "approvers:read",
    summary: "The keys of all approvers, past ones too.",
    tag,
    response: ListOf(Approver),
    async handle(call) {
      const keys = await listApprovers(call.kernel, call.caller);
      return await presentPage({ data: [...keys], nextCursor: null }, presentApprover);
    },
  }),
  route({
    method: "DELETE",
    path: "/v1/approvals/approvers/{signer_key_id}",
    operationId: "revokeApprover",
    scope: "approvers:write",
    summary:
      "Revoke an approver's key at once, for decisions that were signed before as well; refuse one that is pending.",
    tag,
    response: Approver,
    async handle(call) {
      return presentApprover(
        await call.dispatch(revokeApprover, { signerKeyId: call.param("signer_key_id") }),
      );
    },
  }),
  route({
    method: "GET",
    path: "/v1/approvals/audit",
    operationId: "readApprovalAudit",
    scope: "approvers:read",
    summary: "The audit log of approvals, oldest first, each record with the hash of the one before it.",
    tag,
    produces: jsonLines,
    async handle(call) {
      call.reply.header("Content-Type", jsonLines);
      return Readable.from(lines(readAudit(call.kernel, call.caller)));
    },
  }),
];

export function approvalRoutes(facts: ServerFacts): Route[] {
  return [beginPairingRoute(facts), ...approvers];
}
