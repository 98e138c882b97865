/**
 * The approver's side of HARP, for browsers and Node.js: pairs with an enforcer, opens what is asked, and signs what a
 * person decided. It signs only what it opened itself, and nothing that has expired.
 */

import { signDecision, type Verdict } from "../../harp/core/decision.ts";
import {
  anything,
  readDecisionAccepted,
  readExchangeStatus,
  readPairingCompleted,
  readPairingResolved,
} from "../../harp/core/gateway-answers.ts";
import { type GatewayAddress, GatewayClient, orNull } from "../../harp/core/gateway-client.ts";
import { GatewayRefusal } from "../../harp/core/gateway-link.ts";
import { HarpError } from "../../harp/core/harp-error.ts";
import { readInbox } from "../../harp/core/inboxes.ts";
import {
  type ApproverKeys,
  bundleOf,
  fingerprintOf,
  pairingFingerprint,
  readEnforcerBundle,
} from "../../harp/core/keys.ts";
import { type OpenedRequest, openListed, type PendingRequest } from "../../harp/core/requests.ts";
import { isOver } from "../../harp/core/times.ts";
import type {
  AckSubmit,
  DecisionAccepted,
  DecisionSubmit,
  ExchangeStatus,
  PairingComplete,
} from "../../harp/core/wire.ts";
import { backoffMs } from "../../web/backoff.ts";
import { gatewayBackoff, realWaiting, type Waiting } from "./waiting.ts";
import { type Watching, watchInbox } from "./watching.ts";

export type { Artifact, ArtifactType, DecisionTerms, Scope } from "../../harp/core/artifact.ts";
export { GatewayRefusal } from "../../harp/core/gateway-link.ts";
export { HarpError, type HarpErrorCode } from "../../harp/core/harp-error.ts";
export {
  type ApproverKeys,
  type ApproverSecrets,
  decryptSecrets,
  type EncryptedSecrets,
  encryptSecrets,
  exportSecrets,
  fingerprintOf,
  generateApproverKeys,
  importApproverKeys,
  pairingFingerprint,
} from "../../harp/core/keys.ts";
export type { OpenedRequest, PendingRequest, UnopenedRequest } from "../../harp/core/requests.ts";

export interface ApproverOptions extends GatewayAddress {
  approverId: string;
  keys: ApproverKeys;
  /** Milliseconds since 1970. */
  clock?: () => number;
  waiting?: Waiting;
}

export interface DecisionOptions {
  /** A remark for people. The gateway can read it, and change it: it is not signed. */
  reason?: string;
  /** Approve for all that the enforcer offers, where it offers more than one use. */
  useOfferedTerms?: boolean;
}

/** An enforcer that was found by its code. What it says about itself came through the gateway. */
export interface PairingOffer {
  enforcerId: string;
  enforcerLabel: string | null;
  workspaceName: string | null;
  /** Of the enforcer's key; null when it gave none that can be read. */
  enforcerFingerprint: string | null;
  /** Ours: the operator of the enforcer has to see the same. */
  fingerprint: string;
  expiresAt: string;
  complete(): Promise<void>;
}

/** How often a decision is sent when the gateway cannot be reached; sent again it is the same decision. */
const sendsMax = 3;
/** Requests that are remembered as seen; what is older than that has expired long ago. */
const seenMax = 10_000;

export class Approver {
  readonly approverId: string;
  readonly #client: GatewayClient;
  readonly #keys: ApproverKeys;
  readonly #clock: () => number;
  readonly #waiting: Waiting;
  readonly #opened = new WeakSet<OpenedRequest>();

  constructor({ approverId, keys, clock = Date.now, waiting = realWaiting, ...address }: ApproverOptions) {
    this.approverId = approverId;
    this.#client = new GatewayClient(address);
    this.#keys = keys;
    this.#clock = clock;
    this.#waiting = waiting;
  }

  /** What both screens show while pairing. */
  async fingerprint(): Promise<string> {
    const { ed25519, x25519 } = this.#keys;
    return await pairingFingerprint(ed25519.publicKey, x25519.publicKey);
  }

  /** Uses the code up. Nothing is promised before `complete`. */
  async pair(code: string): Promise<PairingOffer> {
    const path = `/v1/pairing/resolve/${encodeURIComponent(code)}`;
    const found = await this.#client.call(path, readPairingResolved);
    return {
      enforcerId: found.enforcerId,
      enforcerLabel: found.enforcerLabel ?? null,
      workspaceName: found.workspaceName ?? null,
      enforcerFingerprint: await enforcerFingerprint(found.publicKey),
      fingerprint: await this.fingerprint(),
      expiresAt: found.expiresAt,
      complete: () => this.#completePairing(found.nonce),
    };
  }

  /** Everything that waits for a decision. */
  async *inbox(): AsyncGenerator<PendingRequest> {
    for await (const listed of readInbox(this.#client, this.#inboxPath)) {
      yield this.#remember(await openListed(listed, this.#keys, { nowMs: this.#clock() }));
    }
  }

  /** What nobody decided in time: to be looked at, or asked for anew, and never to be signed. */
  async *expired(): AsyncGenerator<PendingRequest> {
    for await (const listed of readInbox(this.#client, `${this.#inboxPath}/expired`)) {
      yield await openListed(listed, this.#keys, "before_it_expired");
    }
  }

  /** Null for what does not wait for a decision, or not for this approver's. */
  async get(requestId: string): Promise<PendingRequest | null> {
    for await (const request of this.inbox()) if (request.requestId === requestId) return request;
    return null;
  }

  /** What the gateway says has become of a request; null for what it does not know. */
  async status(requestId: string): Promise<ExchangeStatus["body"] | null> {
    const path = `/v1/exchanges/${encodeURIComponent(requestId)}`;
    return (await orNull(() => this.#client.call(path, readExchangeStatus)))?.body ?? null;
  }

  async approve(request: OpenedRequest, options: DecisionOptions = {}): Promise<DecisionAccepted["body"]> {
    return await this.#decide(request, "allow", options);
  }

  async deny(
    request: OpenedRequest,
    { reason }: Pick<DecisionOptions, "reason"> = {},
  ): Promise<DecisionAccepted["body"]> {
    return await this.#decide(request, "deny", reason === undefined ? {} : { reason });
  }

  /** Requests as they come, each once, those that wait already first. Ends with the signal. */
  async *watch(
    signal: AbortSignal,
    options: Pick<Watching, "onTrouble"> = {},
  ): AsyncGenerator<PendingRequest> {
    const { approverId } = this;
    const watching = { client: this.#client, approverId, waiting: this.#waiting, signal, ...options };
    const seen = new Set<string>();
    for await (const listed of watchInbox(watching)) {
      const opened = `opened ${listed.requestId}`;
      if (seen.has(opened)) continue;
      const request = this.#remember(await openListed(listed, this.#keys, { nowMs: this.#clock() }));
      const name = request.isOpened ? opened : `unopened ${listed.requestId}`;
      if (seen.has(name)) continue;
      seen.add(name);
      for (const oldest of seen) if (seen.size > seenMax) seen.delete(oldest);
      // Not for one that stays closed: another device of this approver may still be waiting for it.
      if (request.isOpened) await this.#acknowledge(request);
      yield request;
    }
  }

  /** Has the enforcer ask again for what has expired, under a new id. Give its id to gateways that do not know it. */
  async refresh(requestId: string, { enforcerId }: { enforcerId?: string } = {}): Promise<void> {
    const name = encodeURIComponent(requestId);
    const path =
      enforcerId === undefined
        ? `/v1/exchanges/${name}/refresh`
        : `/v1/requests/${name}/refresh?enforcerDeviceId=${encodeURIComponent(enforcerId)}`;
    await this.#client.call(path, anything, { method: "POST" });
  }

  /** Takes a request out of the inbox, unsigned: also one that this device cannot open. Other approvers still have it. */
  async dismiss(requestId: string): Promise<void> {
    await this.#client.call(`${this.#inboxPath}/${encodeURIComponent(requestId)}`, anything, {
      method: "DELETE",
    });
  }

  /** Revokes the pairing at the gateway: requests of this enforcer no longer come here. */
  async unpair(enforcerId: string): Promise<void> {
    await this.#client.call("/v1/pairing/revoke", anything, {
      body: { enforcerId },
      method: "POST",
      headers: { "Content-Type": "application/json" },
    });
  }

  get #inboxPath(): string {
    return `/v1/approvers/${encodeURIComponent(this.approverId)}/inbox`;
  }

  #remember(request: PendingRequest): PendingRequest {
    if (request.isOpened) this.#opened.add(Object.freeze(request));
    return request;
  }

  async #decide(
    request: OpenedRequest,
    decision: Verdict,
    options: DecisionOptions,
  ): Promise<DecisionAccepted["body"]> {
    if (isOver(request.artifact.expiresAt, this.#clock())) {
      throw new HarpError("HARP_ERR_EXPIRED", "The request has expired; nothing is signed for it any more.");
    }
    if (!this.#opened.has(request)) {
      throw new HarpError("HARP_ERR_POLICY_DENY", "Only what this approver opened itself is signed.", {
        reason: "not_opened",
      });
    }
    const { artifact, requestId } = request;
    const nowMs = this.#clock();
    const body = await signDecision({ artifact, decision, keys: this.#keys, nowMs, ...options });
    return await this.#send({
      msgType: "decision.submit",
      requestId,
      createdAt: this.#now(),
      sender: { approverId: this.approverId },
      body,
    });
  }

  async #send(envelope: DecisionSubmit): Promise<DecisionAccepted["body"]> {
    for (let failures = 0; ; failures++) {
      try {
        return (await this.#client.call("/v1/decisions", readDecisionAccepted, { body: envelope })).body;
      } catch (error) {
        const isWorthATry = error instanceof GatewayRefusal && error.isRetryable && failures + 1 < sendsMax;
        if (!isWorthATry) throw error;
        await this.#waiting.pause(backoffMs(gatewayBackoff, failures + 1, this.#waiting.random));
      }
    }
  }

  /** So that it is not pushed again. It stays in the inbox, and if this is lost it is only pushed once more. */
  async #acknowledge({ requestId, msgId }: OpenedRequest): Promise<void> {
    const at = this.#now();
    const body: AckSubmit = {
      msgType: "ack.submit",
      requestId,
      createdAt: at,
      sender: { approverId: this.approverId },
      body: { msgId, status: "received", ackAt: at },
    };
    try {
      await this.#client.call("/v1/acks", anything, { body });
    } catch (error) {
      if (!(error instanceof GatewayRefusal)) throw error;
    }
  }

  async #completePairing(nonce: string): Promise<void> {
    const body: PairingComplete = {
      nonce,
      approverId: this.approverId,
      publicKey: bundleOf(this.#keys),
    };
    await this.#client.call("/v1/pairing/complete", readPairingCompleted, { body });
  }

  #now(): string {
    return new Date(this.#clock()).toISOString();
  }
}

/** Of other vendors' enforcers the key may be anything; it says nothing then. */
async function enforcerFingerprint(bundle: string | undefined): Promise<string | null> {
  if (bundle === undefined) return null;
  try {
    return await fingerprintOf(readEnforcerBundle(bundle).x25519);
  } catch (error) {
    if (error instanceof HarpError) return null;
    throw error;
  }
}
