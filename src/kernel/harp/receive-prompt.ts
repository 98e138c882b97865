/**
 * Take a prompt that a person sends to an agent: it becomes a message and a task of the session that it names, in one commit
 * with the record that it was delivered. So it is delivered once, however often it comes, at the same time or after a
 * crash; and letter for letter as it was hashed, or not at all.
 */

import { HarpError, type HarpErrorObject } from "../../harp/core/harp-error.ts";
import {
  acceptPrompt,
  type Prompt,
  type PromptAck,
  type PromptOutcome,
  type PromptTarget,
  readPrompt,
} from "../../harp/core/prompt.ts";
import type { Caller } from "../../policy/caller.ts";
import { isVisible } from "../access/authorize.ts";
import { audit } from "../approvals/audit.ts";
import { timestamp } from "../core/clock.ts";
import { type Command, runCommand } from "../core/dispatch.ts";
import { type ErrorCode, HarnessError } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import type { Kernel } from "../kernel.ts";
import { type HarpPromptRecord, harpPromptId } from "../kinds/harp-prompt.ts";
import { textPart } from "../kinds/message.ts";
import type { SessionRecord } from "../kinds/session.ts";
import { recordQuotaRefusal, submitTask } from "../tasks/submit-task.ts";

/** Both are the conversation with the agent; nothing here hands a text to a tool. */
const targets: readonly PromptTarget[] = ["agentChat", "composer"];

export interface ReceivedPrompt {
  /** As it was sent. */
  value: unknown;
  /** Counts the prompt, once however often it is asked, and says how long its sender has to wait; 0 when it is allowed. */
  secondsToWait(sessionId: string | null): number;
}

type Verdict = { ack: PromptAck } | { refused: HarpErrorObject };

/** What is answered to whoever sent it. Throws a `HarpError` for what is no prompt, or not one for here. */
export async function deliverPrompt(
  kernel: Kernel,
  caller: Caller,
  received: ReceivedPrompt,
): Promise<PromptAck> {
  try {
    const { result } = await kernel.dispatch(receivePrompt, caller, received);
    if ("ack" in result) return result.ack;
    const { code, message, details } = result.refused;
    throw new HarpError(code, message, details);
  } catch (error) {
    if (!(error instanceof HarnessError)) throw error;
    if (error.code === "rate_limited") throw tooMany(error);
    if (!deniedBy.has(error.code)) throw error;
    return rejectedBy(error, readPrompt(received.value), timestamp(kernel.clock.now()));
  }
}

/** What a session, a persona or a quota says no with. */
const deniedBy: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "conflict",
  "invalid_request",
  "policy_violation",
  "resource_not_found",
]);

function rejectedBy({ message }: HarnessError, { requestId, promptHash }: Prompt, ackAt: string): PromptAck {
  const details = { code: "HARP_ERR_POLICY_DENY", message };
  return { requestId, promptHash, status: "rejected", ackAt, details };
}

/** Of the tenant's quotas; how often somebody may send is counted before. */
function tooMany({ message, details }: HarnessError): HarpError {
  const { retry_after_seconds: retryAfterSeconds } = details;
  return new HarpError("HARP_PROMPT_ERR_RATE_LIMIT", message, { retryAfterSeconds });
}

const receivePrompt: Command<ReceivedPrompt, Verdict> = {
  name: "receive_prompt",
  scope: "tasks:write",
  decide(unit, { value, secondsToWait }) {
    const prompt = readPrompt(value);
    const { requestId, sessionId } = prompt;
    const session = sessionId === undefined ? undefined : unit.find("session", sessionId);
    const known = unit.findAsSystem("harp_prompt", harpPromptId(unit.caller.tenantId, requestId));
    const wait = () => secondsToWait(session?.id ?? null);
    const outcome = judge(unit, prompt, { session, known, wait });
    if (outcome instanceof HarpError) return { refused: refuse(unit, prompt, outcome, wait) };
    const { ack, deliver } = outcome;
    if (deliver !== null && session !== undefined) {
      return { ack: delivered(ack, handOver(unit, deliver, session)) };
    }
    if (known !== undefined && ack.status === "delivered") return { ack: delivered(ack, known) };
    const code = ack.status === "expired" ? "HARP_ERR_EXPIRED" : "HARP_ERR_POLICY_DENY";
    audit(unit, "prompt.refused", { ...factsOf(prompt), code });
    return { ack };
  },
  async refused(deps, caller, refusal, { value }) {
    await recordQuotaRefusal(deps, caller, refusal);
    if (refusal.code === "service_unavailable") return;
    await runCommand(deps, noteRefusal, caller, { prompt: readPrompt(value) });
  },
};

interface Circumstances {
  session: SessionRecord | undefined;
  known: HarpPromptRecord | undefined;
  wait(): number;
}

function judge(
  unit: Unit,
  prompt: Prompt,
  { session, known, wait }: Circumstances,
): PromptOutcome | HarpError {
  // Of what the caller may not see it does not hear that it is there.
  const isTold = known !== undefined && isVisible(unit.caller, known);
  const refusal = known !== undefined && !isTold ? noSuchSession : whyRefused(unit, prompt, session);
  try {
    return unit.awaited("prompt", () =>
      acceptPrompt(prompt, {
        nowMs: unit.deps.clock.now(),
        skewMs: unit.deps.approvals.skewMs,
        known: isTold ? { promptHash: known.prompt_hash, status: "delivered" } : null,
        targets,
        refuses: () => refusal,
        isRateLimited: () => wait() > 0,
      }),
    );
  } catch (error) {
    if (error instanceof HarpError) return error;
    throw error;
  }
}

const noteRefusal: Command<{ prompt: Prompt }, null> = {
  name: "note_refused_prompt",
  scope: "tasks:write",
  decide(unit, { prompt }) {
    audit(unit, "prompt.refused", { ...factsOf(prompt), code: "HARP_ERR_POLICY_DENY" });
    return null;
  },
};

const noSuchSession = "No session of this name takes prompts from you.";

/** The policy: who may speak to which session, and that the text can be kept as it is. */
function whyRefused(
  unit: Unit,
  { repoRef, text }: Prompt,
  session: SessionRecord | undefined,
): string | null {
  if (session === undefined) return noSuchSession;
  if (session.state !== "ACTIVE") return `The session is ${session.state} and takes no more prompts.`;
  if (repoRef !== undefined && repoRef !== `workspace:${session.workspace_id}`) {
    return "The session does not belong to what repoRef names.";
  }
  const parts = [textPart(text)];
  if (unit.redactor.value(parts) !== parts) {
    return "The text holds what looks like a secret, and would not be kept as it was hashed.";
  }
  return null;
}

function handOver(unit: Unit, prompt: Prompt, session: SessionRecord): HarpPromptRecord {
  const { requestId, promptHash, text } = prompt;
  const task = submitTask.decide(unit, {
    sessionId: session.id,
    input: { message: { role: "user", parts: [textPart(text)] } },
  });
  const record: HarpPromptRecord = {
    ...unit.envelope("harp_prompt", "harp_prompt"),
    id: harpPromptId(unit.caller.tenantId, requestId),
    metadata: {},
    workspace_id: session.workspace_id,
    request_id: requestId,
    prompt_hash: promptHash,
    delivered: { session_id: session.id, task_id: task.id },
  };
  audit(unit, "prompt.delivered", { ...factsOf(prompt), promptHash, taskId: task.id });
  return unit.emit(record, "vendor.bridle.harp_prompt.delivered", { harp_prompt: record });
}

function delivered(ack: PromptAck, record: HarpPromptRecord): PromptAck {
  return { ...ack, status: "delivered", details: { taskId: record.delivered.task_id } };
}

/** A flood is not written down: there would be as much of it on disk as in the air. */
function refuse(unit: Unit, prompt: Prompt, error: HarpError, secondsToWait: () => number): HarpErrorObject {
  if (error.code === "HARP_PROMPT_ERR_RATE_LIMIT") {
    return { ...error.toJSON(), details: { retryAfterSeconds: secondsToWait() } };
  }
  audit(unit, "prompt.refused", { ...factsOf(prompt), code: error.code });
  return error.toJSON();
}

/** Who sent what where, without a word of it. */
function factsOf({ requestId, sessionId, target }: Prompt): Record<string, string | null> {
  return { requestId, sessionId: sessionId ?? null, target };
}
