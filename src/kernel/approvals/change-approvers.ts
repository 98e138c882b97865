/** Who may approve: take a paired key into the list once a person compared fingerprints, and take one out at once. */

import type { ApproverKey } from "../../harp/core/approver-key.ts";
import { encodeBase64url } from "../../harp/core/base64url.ts";
import { HarpError } from "../../harp/core/harp-error.ts";
import { type ApproverBundle, pairingFingerprint, readApproverBundle } from "../../harp/core/keys.ts";
import { audited } from "../audit/record.ts";
import { timestamp } from "../core/clock.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError, notFound } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import { audit } from "./audit.ts";
import { type Consent, consentToKey } from "./consent.ts";
import { assertIndependent } from "./independence.ts";
import { deprecated, requestChange, settleChange } from "./policy-changes.ts";
import { approverKeysMax, approverRole, changeKeys, findRegistry, requireManager } from "./registry.ts";

/** How long a key that is replaced still counts, unless said: requests that are open were sealed for it. */
const overlapMsDefault = 24 * 60 * 60 * 1000;
const overlapMsMax = 30 * 24 * 60 * 60 * 1000;

export interface AddApprover {
  approverId: string;
  /** As it came through the gateway, which nobody trusts: the fingerprint is what a person compared. */
  bundle: string;
  fingerprint: string;
  label?: string | undefined;
  /** The key that this one takes the place of. */
  replaces?: string | undefined;
  overlapMs?: number | undefined;
}

export const addApprover: Command<AddApprover, ApproverKey> = {
  name: "add_approver",
  scope: "approvers:write",
  audit: (_, key) =>
    audited("approver.add", approverOf(key), { approver_id: key.approverId, fingerprint: key.fingerprint }),
  decide(unit, request) {
    requireManager(unit.caller);
    const { approverId, replaces, overlapMs = overlapMsDefault, label } = request;
    const { bundle, fingerprint } = unit.awaited("bundle", () => readBundle(request.bundle));
    if (fingerprint !== request.fingerprint) {
      throw new HarnessError(
        "conflict",
        "The fingerprint is not that of the key which arrived. Do not confirm: start again, and look who is in between.",
        { param: "fingerprint" },
      );
    }
    const key: ApproverKey = {
      signerKeyId: bundle.signerKeyId,
      approverId,
      alg: "Ed25519",
      ed25519: encodeBase64url(bundle.ed25519),
      x25519: encodeBase64url(bundle.x25519),
      deviceId: bundle.deviceId,
      fingerprint,
      state: "active",
      roles: [approverRole],
      notBefore: unit.at,
      createdAt: bundle.createdAt,
      ...(label === undefined ? {} : { label }),
    };
    assertIndependent(unit, approverId);
    const keys = findRegistry(unit)?.keys ?? [];
    assertNew(keys, key.signerKeyId);
    if (replaces !== undefined) assertReplaceable(keys, replaces, approverId);
    const overlap = Math.min(overlapMs, overlapMsMax);
    const consent = consentToKey(unit, keys, approverId);
    if (consent !== null) return waitForConsent(unit, key, consent, { replaces, overlap });
    const until = timestamp(unit.deps.clock.now() + overlap);
    changeKeys(unit, (known) => [
      ...known.map((other) => (other.signerKeyId === replaces ? deprecated(other, unit.at, until) : other)),
      key,
    ]);
    audit(unit, "key.provisioned", { signerKeyId: key.signerKeyId, approverId, fingerprint });
    if (replaces !== undefined) audit(unit, "key.deprecated", { signerKeyId: replaces, approverId });
    return key;
  },
};

function approverOf({ signerKeyId }: ApproverKey): { object: string; id: string } {
  return { object: "approver_key", id: signerKeyId };
}

/** Until the approvers have agreed, or the time has passed in which they can refuse, the key counts for nothing. */
function waitForConsent(
  unit: Unit,
  key: ApproverKey,
  consent: Consent,
  { replaces, overlap }: { replaces: string | undefined; overlap: number },
): ApproverKey {
  const { signerKeyId: signer_key_id, approverId, fingerprint, ed25519, x25519, deviceId } = key;
  const change = requestChange(
    unit,
    { kind: "approver_key", signer_key_id, replaces: replaces ?? null, overlap_ms: overlap },
    consent,
    {
      action: `Let another key approve as ${approverId}`,
      details: {
        approver_id: approverId,
        fingerprint,
        signer_key_id,
        ed25519,
        x25519,
        device_id: deviceId,
        replaces: replaces ?? null,
        confirmed_by: unit.caller.actor,
      },
    },
  );
  const pending: ApproverKey = {
    ...key,
    state: "pending",
    pendingUntil: change.effective_at,
    changeId: change.id,
  };
  changeKeys(unit, (known) => [...known, pending]);
  audit(unit, "key.pending", { signerKeyId: signer_key_id, approverId, fingerprint });
  return pending;
}

async function readBundle(text: string): Promise<{ bundle: ApproverBundle; fingerprint: string }> {
  try {
    const bundle = await readApproverBundle(text);
    return { bundle, fingerprint: await pairingFingerprint(bundle.ed25519, bundle.x25519) };
  } catch (error) {
    if (!(error instanceof HarpError)) throw error;
    throw new HarnessError("invalid_request", `What the approver sent is no key: ${error.message}`);
  }
}

function assertNew(keys: readonly ApproverKey[], signerKeyId: string): void {
  if (keys.length >= approverKeysMax) {
    throw new HarnessError("conflict", `A tenant has at most ${approverKeysMax} approver keys.`);
  }
  const known = keys.find((key) => key.signerKeyId === signerKeyId);
  if (known === undefined) return;
  throw new HarnessError("conflict", `The key ${signerKeyId} is known already; it is ${known.state}.`, {
    details: { signer_key_id: signerKeyId, state: known.state },
  });
}

function assertReplaceable(keys: readonly ApproverKey[], signerKeyId: string, approverId: string): void {
  const found = keys.find((key) => key.signerKeyId === signerKeyId && key.approverId === approverId);
  if (found === undefined) throw notFound("approver key", signerKeyId);
  if (found.state === "revoked") {
    throw new HarnessError("conflict", `The key ${signerKeyId} is revoked; there is nothing to replace.`, {
      param: "replaces",
    });
  }
}

export const revokeApprover: Command<{ signerKeyId: string }, ApproverKey> = {
  name: "revoke_approver",
  scope: "approvers:write",
  audit: (_, key) => audited("approver.revoke", approverOf(key), { approver_id: key.approverId }),
  isAllowedWithoutRoom: true,
  decide(unit, { signerKeyId }) {
    requireManager(unit.caller);
    const found = findRegistry(unit)?.keys.find((key) => key.signerKeyId === signerKeyId);
    if (found?.state === "pending") return refusePending(unit, found);
    const keys = changeKeys(unit, (known) =>
      known.map(
        (key): ApproverKey =>
          key.signerKeyId === signerKeyId && key.state !== "revoked"
            ? { ...key, state: "revoked", revokedAt: unit.at }
            : key,
      ),
    );
    const revoked = keys.find((key) => key.signerKeyId === signerKeyId);
    if (revoked === undefined) throw notFound("approver key", signerKeyId);
    audit(unit, "key.revoked", { signerKeyId, approverId: revoked.approverId });
    return revoked;
  },
};

/** A key that still waits for consent is refused by an administrator as well. */
function refusePending(unit: Unit, key: ApproverKey): ApproverKey {
  const change = unit.require("policy_change", key.changeId ?? "");
  const { actor } = unit.caller;
  settleChange(unit, change, { decision: "denied", reason: null, decided_by: actor });
  return { ...key, state: "revoked", revokedAt: unit.at };
}
