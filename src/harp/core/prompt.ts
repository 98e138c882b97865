/** HARP-PROMPT: a text that a person sends to an agent, delivered once and exactly as it was hashed. */

import { bareHashForm, canonicalBytes, sha256Hex } from "./canonical.ts";
import { HarpError } from "./harp-error.ts";
import {
  closed,
  id,
  isObject,
  malformed,
  matching,
  object,
  oneOf,
  only,
  type Reader,
  text,
  time,
} from "./read.ts";
import { isExpired, isFromTheFuture, skewMsDefault } from "./times.ts";

export const promptTargets = ["agentChat", "composer", "tool", "other"] as const;
export type PromptTarget = (typeof promptTargets)[number];

export interface Prompt {
  requestId: string;
  sessionId?: string;
  repoRef?: string;
  artifactType: "prompt.send";
  createdAt: string;
  target: PromptTarget;
  text: string;
  metadata?: Record<string, unknown>;
  promptHashAlg: "SHA-256";
  /** Bare hex. */
  promptHash: string;
  extensions?: Record<string, unknown>;
}

const promptStatuses = ["queued", "delivered", "rejected", "expired", "error"] as const;
export type PromptStatus = (typeof promptStatuses)[number];

export interface PromptAck {
  requestId: string;
  promptHash: string;
  status: PromptStatus;
  ackAt: string;
  details?: Record<string, unknown>;
}

/** Of the canonical form. */
export const promptBytesMax = 256 * 1024;

const hash = matching(bareHashForm, "64 lowercase hex digits");

const readPromptFields: Reader<Prompt> = closed(
  {
    requestId: id,
    artifactType: oneOf(["prompt.send"], "HARP_ERR_UNSUPPORTED"),
    createdAt: time,
    target: oneOf(promptTargets, "HARP_PROMPT_ERR_TARGET_UNSUPPORTED"),
    text: nonEmpty,
    promptHashAlg: only("SHA-256"),
    promptHash: hash,
  },
  { sessionId: id, repoRef: text, metadata: object, extensions: object },
);

const readAckFields: Reader<PromptAck> = closed(
  { requestId: id, promptHash: hash, status: oneOf(promptStatuses), ackAt: time },
  { details: object },
);

export function readPrompt(value: unknown): Prompt {
  const prompt = readPromptFields(value, "prompt");
  expiryOf(prompt);
  return prompt;
}

export function readPromptAck(value: unknown): PromptAck {
  return readAckFields(value, "ack");
}

/** Always computed, whatever hash the prompt says it has. */
export async function promptHashOf(prompt: Omit<Prompt, "promptHash"> | Prompt): Promise<string> {
  return await sha256Hex(canonicalBytes(withoutHash(prompt)));
}

export interface PromptContext {
  nowMs: number;
  skewMs?: number;
  /** What was answered to this request id before, if it came before. */
  known: Pick<PromptAck, "promptHash" | "status"> | null;
  targets: readonly PromptTarget[];
  /** The policy's word: why this prompt is rejected, or null. Default: everything is allowed. */
  refuses?(prompt: Prompt): string | null;
  /** True when its device, repository or session has sent too much. */
  isRateLimited?(prompt: Prompt): boolean;
}

export interface PromptOutcome {
  ack: PromptAck;
  /** To be handed to the agent, or null when there is nothing to hand over (any more). */
  deliver: Prompt | null;
}

/** What becomes of a prompt that arrives. Throws what is an error of the sender; everything else is an ack. */
export async function acceptPrompt(value: unknown, context: PromptContext): Promise<PromptOutcome> {
  const { nowMs, skewMs = skewMsDefault, known } = context;
  const prompt = readPrompt(value);
  const bytes = canonicalBytes(withoutHash(prompt));
  if (bytes.length > promptBytesMax) {
    throw new HarpError("HARP_PROMPT_ERR_TOO_LARGE", `A prompt has at most ${promptBytesMax} bytes.`);
  }
  if ((await sha256Hex(bytes)) !== prompt.promptHash) {
    throw new HarpError("HARP_ERR_HASH_MISMATCH", "The prompt is not the one that its hash was made of.");
  }
  const answer = (status: PromptStatus, details?: Record<string, unknown>): PromptAck => ({
    requestId: prompt.requestId,
    promptHash: prompt.promptHash,
    status,
    ackAt: new Date(nowMs).toISOString(),
    ...(details !== undefined && { details }),
  });
  // Before all else that could be said now: whoever lost our answer has to hear the same one.
  if (known !== null) {
    if (known.promptHash === prompt.promptHash) return { ack: answer(known.status), deliver: null };
    throw new HarpError("HARP_ERR_HASH_MISMATCH", "Another prompt came under the same request id.");
  }
  assertAcceptable(prompt, context, skewMs);
  const expiresAt = expiryOf(prompt);
  if (expiresAt !== null && isExpired(expiresAt, nowMs, skewMs))
    return { ack: answer("expired"), deliver: null };
  const refusal = context.refuses?.(prompt) ?? null;
  if (refusal !== null) {
    return { ack: answer("rejected", { code: "HARP_ERR_POLICY_DENY", message: refusal }), deliver: null };
  }
  return { ack: answer("queued"), deliver: prompt };
}

function assertAcceptable(prompt: Prompt, context: PromptContext, skewMs: number): void {
  if (isFromTheFuture(prompt.createdAt, context.nowMs, skewMs)) {
    throw new HarpError("HARP_ERR_EXPIRED", "The prompt was made in the future.", { reason: "future_dated" });
  }
  if (!context.targets.includes(prompt.target)) {
    throw new HarpError(
      "HARP_PROMPT_ERR_TARGET_UNSUPPORTED",
      `Nothing here takes prompts for ${prompt.target}.`,
    );
  }
  if (context.isRateLimited?.(prompt) === true) {
    throw new HarpError("HARP_PROMPT_ERR_RATE_LIMIT", "Too many prompts; try again later.");
  }
}

/** `extensions.harpPrompt.expiresAt`, where it is there; a prompt that says it expires has to say when. */
function expiryOf({ extensions }: Prompt): string | null {
  const ours = extensions?.harpPrompt;
  if (!isObject(ours) || !Object.hasOwn(ours, "expiresAt")) return null;
  return time(ours.expiresAt, "prompt.extensions.harpPrompt.expiresAt");
}

function withoutHash(prompt: Omit<Prompt, "promptHash"> | Prompt): Partial<Prompt> {
  const hashed: Partial<Prompt> = { ...prompt };
  delete hashed.promptHash;
  return hashed;
}

function nonEmpty(value: unknown, at: string): string {
  const found = text(value, at);
  if (found === "") throw malformed(`${at} is empty`);
  return found;
}
