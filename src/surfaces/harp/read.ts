/**
 * From a text to something a gateway can be asked, the same for a request's body and a WebSocket's frame: JSON that can be
 * read in one way only, of the right shape, of a bearable size, and made at a time that can be.
 */

import { isUtf8 } from "node:buffer";
import { parseTime } from "../../harp/core/times.ts";
import type * as wire from "../../harp/core/wire.ts";
import { noRequestId } from "../../harp/core/wire.ts";
import { refusal } from "../../harp/gateway/refusals.ts";
import { HarnessError } from "../../kernel/core/errors.ts";
import { parseUnambiguousJson } from "../../receipts/strict-json.ts";
import { requireBounded } from "../json-body.ts";
import { harpChecker } from "./check.ts";
import { AckSubmit, AnyEnvelope, ArtifactSubmit, DecisionSubmit } from "./schemas.ts";

/** Two megabytes, written as base64. */
const ciphertextCharsMax = 2_796_203;
const metadataBytesMax = 8 * 1024;
const reasonBytesMax = 2 * 1024;
/** How far ahead of ours a client's clock may be. */
const skewMs = 60_000;

/** JSON is UTF-8; what is something else must not become something that nobody sent. */
export function textOf(body: Buffer): string {
  if (!isUtf8(body)) throw refusal("MalformedJson", "The body is not UTF-8.");
  return body.toString("utf8");
}

export function readJson(text: string): unknown {
  let value: unknown;
  try {
    value = parseUnambiguousJson(text);
  } catch {
    // What exactly is wrong with it may be quoted from it, and it may be a secret.
    throw refusal("MalformedJson", "This is not JSON, or not JSON that can be read in one way only.");
  }
  try {
    requireBounded(value, true);
  } catch (error) {
    if (error instanceof HarnessError) throw refusal("ValidationError", error.message);
    throw error;
  }
  return value;
}

/** The id of the exchange that something is about, as far as it has one, for those who have to refuse it. */
export function requestIdIn(value: unknown): string | null {
  const { requestId }: { requestId?: unknown } = Object(value);
  const isOne = typeof requestId === "string" && requestId !== "" && requestId.length <= 128;
  return isOne && requestId !== noRequestId ? requestId : null;
}

const checkArtifact = harpChecker(ArtifactSubmit);
const checkDecision = harpChecker(DecisionSubmit);
const checkAck = harpChecker(AckSubmit);
const checkAny = harpChecker(AnyEnvelope);

export function readArtifact(value: unknown, nowMs: number): wire.ArtifactSubmit {
  const envelope = checkArtifact(value);
  requireSender(envelope, ["enforcerId"]);
  requireMade(envelope, nowMs);
  const { expiresAt, body } = envelope;
  requireSize(body.ciphertext.data.length, ciphertextCharsMax, "body.ciphertext.data");
  if (body.metadata !== undefined) requireSize(bytesOf(body.metadata), metadataBytesMax, "body.metadata");
  if (expiresAt !== undefined && parseTime(expiresAt) !== parseTime(body.expiresAt)) {
    throw invalid("expiresAt must be the same time as body.expiresAt.", "expiresAt");
  }
  return envelope;
}

export function readDecision(value: unknown, nowMs: number): wire.DecisionSubmit {
  const envelope = checkDecision(value);
  requireSender(envelope, ["approverId"]);
  requireMade(envelope, nowMs);
  const { reason } = envelope.body;
  if (reason !== undefined) requireSize(Buffer.byteLength(reason), reasonBytesMax, "body.reason");
  return envelope;
}

export function readAck(value: unknown, nowMs: number): wire.AckSubmit {
  const envelope = checkAck(value);
  requireSender(envelope, ["enforcerId", "approverId"]);
  requireMade(envelope, nowMs);
  return envelope;
}

/** What may come with a withdrawal: nothing is read from it, but it must not be about something else. */
export function readAbout(value: unknown, requestId: string, nowMs: number): void {
  const envelope = checkAny(value);
  requireMade(envelope, nowMs);
  if (envelope.requestId !== requestId) {
    throw invalid("requestId must be that of the address.", "requestId");
  }
}

function requireSender({ sender }: { sender: wire.Sender }, allowed: readonly (keyof wire.Sender)[]): void {
  if (allowed.some((name) => sender[name] !== undefined)) return;
  throw invalid(`sender must name the ${allowed.join(" or the ")}.`, "sender");
}

function requireMade(
  { createdAt, requestId }: { createdAt: string; requestId: string },
  nowMs: number,
): void {
  if (requestId === noRequestId) throw invalid("requestId must be that of an exchange.", "requestId");
  if ((parseTime(createdAt) ?? Number.POSITIVE_INFINITY) <= nowMs + skewMs) return;
  throw invalid("createdAt is in the future.", "createdAt");
}

function requireSize(size: number, sizeMax: number, param: string): void {
  if (size > sizeMax) throw refusal("PayloadTooLarge", `${param} is larger than ${sizeMax}.`, { param });
}

function bytesOf(value: object): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function invalid(message: string, param: string): Error {
  return refusal("ValidationError", message, { param });
}
