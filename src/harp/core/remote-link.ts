/** An enforcer's link to a gateway somewhere on the network. */

import { withoutPrefix } from "./canonical.ts";
import {
  anything,
  readArtifactAccepted,
  readDecisionDeliver,
  readExchangeStatus,
  readPairingInitiated,
  readPairingStatus,
  readRefreshRequest,
} from "./gateway-answers.ts";
import { type GatewayAddress, GatewayClient, orNull, parsed } from "./gateway-client.ts";
import { type GatewayLink, GatewayRefusal } from "./gateway-link.ts";
import { HarpError } from "./harp-error.ts";
import { readInbox } from "./inboxes.ts";
import type { AckSubmit, ArtifactSubmit, DecisionDeliver, PairingInitiate, RefreshRequest } from "./wire.ts";

export interface RemoteLinkOptions extends GatewayAddress {
  enforcerId: string;
  /** What approvers are shown while pairing, unless a pairing says otherwise. */
  enforcerLabel?: string;
}

export function remoteLink(options: RemoteLinkOptions): GatewayLink {
  const { enforcerId, enforcerLabel } = options;
  const client = new GatewayClient(options);
  const exchange = (requestId: string) => `/v1/exchanges/${encodeURIComponent(requestId)}`;
  return {
    enforcerId,
    async submit(envelope) {
      const headers = { "Idempotency-Key": idempotencyKey(envelope) };
      return await client.call("/v1/artifacts", readArtifactAccepted, { body: envelope, headers });
    },
    async withdraw(requestId) {
      await client.call(`${exchange(requestId)}/withdraw`, anything, { method: "POST" });
    },
    async status(requestId) {
      return await orNull(() => client.call(exchange(requestId), readExchangeStatus));
    },
    async acknowledge(requestId, msgId, status) {
      const at = new Date().toISOString();
      const body: AckSubmit = {
        msgType: "ack.submit",
        requestId,
        createdAt: at,
        sender: { enforcerId },
        body: { msgId, status, ackAt: at },
      };
      await client.call("/v1/acks", anything, { body });
    },
    messages: (signal) => messages(client, enforcerId, signal),
    async initiatePairing(request) {
      const body: PairingInitiate = {
        enforcerId,
        ...(enforcerLabel === undefined ? {} : { enforcerLabel }),
        ...request,
      };
      return await client.call("/v1/pairing/initiate", readPairingInitiated, { body });
    },
    async pairing(nonce) {
      const path = `/v1/pairing/${encodeURIComponent(nonce)}/status`;
      return await orNull(() => client.call(path, readPairingStatus));
    },
  };
}

/** Those that wait first, in case the stream brings only what is new; it brings them again, if it does. */
async function* messages(
  client: GatewayClient,
  enforcerId: string,
  signal: AbortSignal,
): AsyncGenerator<DecisionDeliver | RefreshRequest> {
  try {
    const me = encodeURIComponent(enforcerId);
    for await (const { envelope } of readInbox(client, `/v1/enforcers/${me}/inbox`, signal)) {
      const message = readMessage("decision.deliver", envelope);
      if (message !== null) yield message;
    }
    for await (const { event, data } of client.events(`/v1/sse/enforcers/${me}`, signal)) {
      const message = readMessage(event, parsed(data));
      if (message !== null) yield message;
    }
  } catch (error) {
    if (signal.aborted) return;
    throw error;
  }
  if (signal.aborted) return;
  throw new GatewayRefusal("Unreachable", 503, "The gateway ended the stream.", { isRetryable: true });
}

/** Null for what is neither; one message that makes no sense must not keep the others from coming. */
function readMessage(event: string, value: unknown): DecisionDeliver | RefreshRequest | null {
  try {
    if (event === "decision.deliver") return readDecisionDeliver(value, "message");
    return event === "refresh.request" ? readRefreshRequest(value, "message") : null;
  } catch (error) {
    if (error instanceof HarpError) return null;
    throw error;
  }
}

/** The same for the same artifact, however often it is sent. */
function idempotencyKey({ requestId, body }: ArtifactSubmit): string {
  // An id can have characters that no header can.
  const name = /^[\x21-\x7e]+$/.test(requestId) ? requestId : encodeURIComponent(requestId);
  return `${name}:${withoutPrefix(body.artifactHash)}`;
}
