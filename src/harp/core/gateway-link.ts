/**
 * What an enforcer needs of a gateway, wherever that is: in the same process, or somewhere on the network. Whatever a
 * gateway says, it is never a reason to execute anything: only a signature is.
 */

import type {
  ArtifactAccepted,
  ArtifactSubmit,
  DecisionDeliver,
  ExchangeStatus,
  PairingInitiate,
  PairingInitiated,
  PairingStatus,
  RefreshRequest,
} from "./wire.ts";

export interface GatewayLink {
  readonly enforcerId: string;
  submit(envelope: ArtifactSubmit): Promise<ArtifactAccepted>;
  /** Takes a request back, as far as it was not decided. */
  withdraw(requestId: string): Promise<void>;
  /** Null for what the gateway does not know (any more). */
  status(requestId: string): Promise<ExchangeStatus | null>;
  acknowledge(requestId: string, msgId: string, status: "received" | "processed"): Promise<void>;
  /**
   * Decisions that were not acknowledged, then whatever comes, until the signal. A message can come more than once. Ends
   * by throwing when the gateway cannot be reached; whoever reads it comes back later.
   */
  messages(signal: AbortSignal): AsyncIterable<DecisionDeliver | RefreshRequest>;
  initiatePairing(request: Omit<PairingInitiate, "enforcerId">): Promise<PairingInitiated>;
  pairing(nonce: string): Promise<PairingStatus | null>;
}

/** A gateway said no, in its own words: `AlreadyExistsConflict`, `NoApproverAvailable`, … */
export class GatewayRefusal extends Error {
  override name = "GatewayRefusal";
  readonly code: string;
  /** The status that it has, or would have, over HTTP. */
  readonly status: number;
  readonly isRetryable: boolean;
  readonly details: Record<string, unknown>;

  constructor(
    code: string,
    status: number,
    message: string,
    { isRetryable = false, details = {} }: { isRetryable?: boolean; details?: Record<string, unknown> } = {},
  ) {
    super(message);
    this.code = code;
    this.status = status;
    this.isRetryable = isRetryable;
    this.details = details;
  }
}
