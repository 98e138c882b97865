/** An enforcer submits an artifact: an exchange begins, and a request for approval is filed for everybody it goes to. */

import { parseTime } from "../core/times.ts";
import type { ArtifactAccepted, ArtifactSubmit } from "../core/wire.ts";
import type { Change, Moment } from "./exchanges.ts";
import type { Gateway } from "./gateway.ts";
import { shownMetadata } from "./metadata.ts";
import { actorOf, type Mailbox, mailboxFor, type Principal } from "./principal.ts";
import { type Exchange, hashOf } from "./records/exchange.ts";
import { stateAfter } from "./records/states.ts";
import { refusal } from "./refusals.ts";
import { chooseApprovers } from "./routing.ts";
import { seal } from "./sealed.ts";

/** What is longer is no id of an exchange. */
const idCharsMax = 128;

/** The same artifact again is the same exchange, whatever has become of it; that is looked at before anything else. */
export async function submitArtifact(
  gateway: Gateway,
  principal: Principal,
  envelope: ArtifactSubmit,
): Promise<ArtifactAccepted> {
  const { deps, exchanges, envelopes, approvers } = gateway;
  const enforcer = mailboxFor(principal, { role: "enforcer", id: envelope.sender.enforcerId ?? "" });
  await gateway.heardFrom(enforcer);
  const { tenantId } = enforcer;
  const ref = { tenantId, requestId: envelope.requestId };

  const existing = await exchanges.read(ref);
  if (existing !== null) return envelopes.artifactAccepted(sameExchange(existing, enforcer, envelope), true);
  requireTime(envelope, deps.now(), deps.settings.lifetimeMsMax);
  const chosen = await chooseApprovers(deps, approvers, enforcer, envelope);

  return await exchanges.change(ref, (current, moment): Change<ArtifactAccepted> => {
    if (current !== null) {
      return { result: envelopes.artifactAccepted(sameExchange(current, enforcer, envelope), true) };
    }
    requireTime(envelope, moment.nowMs, deps.settings.lifetimeMsMax);
    const { exchange, blobs } = begin(gateway, enforcer, envelope, chosen, moment);
    const payload = {
      enforcerId: enforcer.id,
      artifactHash: exchange.artifactHash,
      approvers: chosen.length,
    };
    return {
      result: envelopes.artifactAccepted(exchange, false),
      write: { next: exchange, event: "exchange.submitted", actor: actorOf(enforcer), payload, blobs },
    };
  });
}

/** Throws for another artifact, or another enforcer's. */
function sameExchange(exchange: Exchange, enforcer: Mailbox, { body }: ArtifactSubmit): Exchange {
  const isSame = exchange.enforcerId === enforcer.id && hashOf(exchange) === hashOf(body);
  stateAfter(isSame ? "artifact_same" : "artifact_other", exchange.state);
  return exchange;
}

function requireTime({ createdAt, body }: ArtifactSubmit, nowMs: number, lifetimeMsMax: number): void {
  const [createdAtMs, expiresAtMs] = [parseTime(createdAt) ?? nowMs, parseTime(body.expiresAt) ?? 0];
  if (nowMs > expiresAtMs) throw refusal("ArtifactExpired", "The artifact has expired already.");
  if (createdAtMs > expiresAtMs) {
    throw refusal("ValidationError", "The artifact expires before it was made.", { param: "body.expiresAt" });
  }
  if (expiresAtMs - nowMs > lifetimeMsMax) {
    const hours = Math.floor(lifetimeMsMax / 3_600_000);
    throw refusal("ExpiryTooFar", `An artifact may be pending for ${hours} hours at most.`, {
      lifetimeMsMax,
    });
  }
}

function begin(
  { deps }: Gateway,
  { tenantId, id: enforcerId }: Mailbox,
  { requestId, trace, body }: ArtifactSubmit,
  chosen: readonly string[],
  { stamp }: Moment,
) {
  const { artifactType, artifactHash, ciphertext, metadata, expiresAt } = body;
  const uid = deps.newId("exchange");
  const { sealed, blobs } = seal(uid, ciphertext);
  const refreshOf = trace?.refreshOf;
  const exchange: Exchange = {
    ...{ uid, tenantId, requestId, enforcerId },
    state: stateAfter("artifact_same", "none"),
    ...{ artifactType, artifactHash, sealed },
    metadata: shownMetadata(metadata, deps.settings.strippedMetadata),
    refreshOf: typeof refreshOf === "string" && refreshOf.length <= idCharsMax ? refreshOf : null,
    createdAt: stamp(),
    expiresAt,
    expiresAtMs: parseTime(expiresAt) ?? 0,
    approvers: chosen.map((approverId) => ({
      approverId,
      msgId: deps.newId("msg"),
      acked: null,
      isDismissed: false,
    })),
    decision: null,
    endedAtMs: null,
  };
  return { exchange, blobs: blobs.map((blob) => ({ ...blob, tenantId: exchange.tenantId })) };
}
