/** An enforcer of another vendor, on a gateway of ours: it pairs, asks, and checks what it gets as the protocol says. */

import assert from "node:assert/strict";
import { type ApproverKey, pendingKeyOf } from "../../src/harp/core/approver-key.ts";
import { type Artifact, finishArtifact } from "../../src/harp/core/artifact.ts";
import { decodeBase64url } from "../../src/harp/core/base64url.ts";
import { withPrefix } from "../../src/harp/core/canonical.ts";
import type { Decision } from "../../src/harp/core/decision.ts";
import { checkDecision } from "../../src/harp/core/enforcement.ts";
import type { GatewayLink } from "../../src/harp/core/gateway-link.ts";
import { newEnforcerBundle, readApproverBundle } from "../../src/harp/core/keys.ts";
import { remoteLink } from "../../src/harp/core/remote-link.ts";
import { sealArtifact } from "../../src/harp/core/seal.ts";
import type { Metadata, PairingInitiated } from "../../src/harp/core/wire.ts";
import { until } from "./client.ts";

export interface Asking {
  requestId?: string;
  payload?: Record<string, unknown>;
  /** What else is in the artifact. */
  artifact?: Partial<Artifact>;
  metadata?: Metadata;
  lifeMs?: number;
  /** Sealed to these instead of the approver. */
  sealedTo?: Uint8Array[];
}

const lifeMsDefault = 60 * 60_000;
let asked = 0;

export class ForeignEnforcer {
  readonly link: GatewayLink;
  key: ApproverKey | null = null;
  #routingToken = "";

  constructor(options: { url: string; key: string; enforcerId: string }) {
    this.link = remoteLink(options);
  }

  async invite(): Promise<PairingInitiated> {
    const { bundle } = await newEnforcerBundle(new Date());
    return await this.link.initiatePairing({
      enforcerLabel: "Other\u001b[2J vendor",
      workspaceName: "air\u202elock",
      publicKey: bundle,
    });
  }

  /** Takes the key that arrived, as an operator does who compared fingerprints. */
  async admit({ nonce }: PairingInitiated): Promise<ApproverKey> {
    const status = await until(
      () => this.link.pairing(nonce),
      (found) => found?.state === "completed",
    );
    assert.ok(status?.publicKey !== undefined && status.approverId !== undefined);
    this.#routingToken = status.routingToken ?? "";
    const { approverId } = status;
    const owner = { approverId, roles: ["approver"], notBefore: new Date(0).toISOString() };
    const pending = await pendingKeyOf(await readApproverBundle(status.publicKey), owner);
    this.key = { ...pending, state: "active" };
    return this.key;
  }

  async ask(asking: Asking = {}): Promise<Artifact> {
    asked += 1;
    const now = Date.now();
    const artifact = await finishArtifact({
      requestId: asking.requestId ?? `req-${asked}-${crypto.randomUUID()}`,
      artifactType: "command.review",
      repoRef: "repo:other/vendor",
      createdAt: new Date(now).toISOString(),
      expiresAt: new Date(now + (asking.lifeMs ?? lifeMsDefault)).toISOString(),
      payload: asking.payload ?? { action: "publish", risk: "high", details: "all of it" },
      ...asking.artifact,
    });
    const recipients = asking.sealedTo ?? [decodeBase64url(this.key?.x25519 ?? "")];
    await this.link.submit({
      msgType: "artifact.submit",
      requestId: artifact.requestId,
      createdAt: new Date().toISOString(),
      sender: { enforcerId: this.link.enforcerId },
      body: {
        artifactType: "core.artifact",
        artifactHash: withPrefix(artifact.artifactHash),
        ciphertext: await sealArtifact(artifact, recipients),
        metadata: { routingToken: this.#routingToken, ...asking.metadata },
        expiresAt: artifact.expiresAt,
      },
    });
    return artifact;
  }

  /** The decision about what was asked, once it is there, if it holds. */
  async decisionOn(artifact: Artifact): Promise<{ decision: Decision; reason: string | undefined }> {
    const status = await until(
      () => this.link.status(artifact.requestId),
      (found) => found?.body.decision !== undefined,
    );
    const body = status?.body.decision;
    const decision = await checkDecision(
      { requestId: artifact.requestId, body },
      {
        artifact,
        hashNow: artifact.artifactHash,
        state: "AWAITING_DECISION",
        nowMs: Date.now(),
        keyOf: (signerKeyId) => (signerKeyId === this.key?.signerKeyId ? this.key : undefined),
        isUsed: () => false,
        mayApprove: () => true,
        liveSessionId: artifact.sessionId ?? null,
      },
    );
    return { decision, reason: body?.reason };
  }
}
