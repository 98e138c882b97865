/** One decision through the server: a task of its `gate` agent, from the question to a verdict that is verified here. */

import { setTimeout as delay } from "node:timers/promises";
import type { GateInput } from "../../agents/gate.ts";
import { isRecord } from "../../sdk/client/errors.ts";
import { isFinal, type Message, type Task } from "../../sdk/client/index.ts";
import type { Remote } from "../remote.ts";
import { oneLine } from "../terminal/text.ts";
import { Denied, gateExit } from "./denial.ts";
import { type PermissionProof, verifySigned } from "./verify.ts";

export interface Approved {
  taskId: string;
  /** Null where the policy allowed it without asking. */
  proof: PermissionProof | null;
}

export interface Asking {
  remote: Remote;
  input: GateInput;
  sessionId?: string;
  signal: AbortSignal;
  /** Told once the server has it. */
  onSubmitted?(taskId: string): void;
  /** Told once somebody has been asked. */
  onAsked?(approvers: readonly string[]): void;
}

/** How long it may take until the server has asked somebody, on a busy machine too. */
const askedMsMax = 10_000;

/** Throws `Denied` for everything that is not a verified yes. */
export async function decide(asking: Asking): Promise<Approved> {
  const { remote, input, sessionId, signal, onSubmitted } = asking;
  const { tasks } = remote.client;
  const submitted = await tasks.submit({
    agent: "gate",
    input,
    signal,
    ...(sessionId === undefined ? {} : { sessionId }),
  });
  try {
    onSubmitted?.(submitted.id);
    return await follow(asking, submitted.id);
  } catch (error) {
    // Nobody is to sign what nobody waits for any more.
    await tasks.cancel(submitted.id, { reason: "the gate gave up" }).catch(() => null);
    throw error;
  }
}

async function follow(asking: Asking, taskId: string): Promise<Approved> {
  const { remote, input, signal } = asking;
  const { tasks } = remote.client;
  const first = await tasks.wait(taskId, { signal, timeoutMs: 60_000 });
  const requestId = permissionOf(first);
  if (first.status === "AUTH_REQUIRED") await requireAsked(asking, first);
  const task = first.status === "AUTH_REQUIRED" ? await untilDecided(asking, first) : first;
  await requireApproved(remote, task);
  // The server records it; what the policy here denies nobody there allows.
  if (input.decision === "deny") throw deniedByPolicy();
  if (input.decision === "allow") return { taskId, proof: null };
  if (requestId === null)
    throw new Denied("The server approved it without asking anybody, so it is not done.");
  const proof = await proofOf(remote, requestId);
  await verifySigned(proof, input, Date.now());
  return { taskId, proof };
}

export async function proofOf(remote: Remote, requestId: string): Promise<PermissionProof> {
  return await remote.json<PermissionProof>(
    "GET",
    `/v1/permission-requests/${encodeURIComponent(requestId)}/proof`,
  );
}

function permissionOf({ waiting_for }: Task): string | null {
  return waiting_for?.permission_request_id ?? null;
}

/** Nobody there is another answer than nobody answered. */
async function requireAsked({ remote, signal, onAsked }: Asking, { id, waiting_for }: Task): Promise<void> {
  if (waiting_for?.signature_required !== true) {
    throw new Denied(
      "The persona of the gate agent takes answers without a signature. Set its approval_policy to { channel: harp }.",
      gateExit.failed,
    );
  }
  const until = Date.now() + askedMsMax;
  while (Date.now() < until) {
    const { items } = await remote.client.approvals.list({ taskId: id, signal });
    const approvers = items.flatMap((request) => request.approvers.map(({ approver_id }) => approver_id));
    if (approvers.length > 0 || items.some(({ status }) => status !== "pending")) return onAsked?.(approvers);
    await delay(100, undefined, { signal });
  }
  throw new Denied(
    "Nobody can approve it: no approver is paired with this server. Run `bridle pair`.",
    gateExit.noApprover,
  );
}

async function untilDecided({ remote, signal }: Asking, { id }: Task): Promise<Task> {
  const { tasks } = remote.client;
  for await (const { event } of tasks.events(id, { signal })) {
    if (!["task.input_required", "task.completed", "task.failed", "task.canceled"].includes(event)) continue;
    const task = await tasks.get(id, { signal });
    if (isFinal(task) || task.status === "INPUT_REQUIRED") return task;
  }
  return await tasks.get(id, { signal });
}

/** What the agent came to, or that it goes on to the next question, which is as good as a yes. */
async function requireApproved(remote: Remote, task: Task): Promise<void> {
  if (!isFinal(task)) return;
  const output = await outputOf(remote, task);
  if (output.verdict === "approved") return;
  if (output.verdict === "expired") {
    throw new Denied(
      "Nobody decided in time. Ask again, or give approvers longer with --wait.",
      gateExit.expired,
    );
  }
  if (output.by === "policy") throw deniedByPolicy();
  const why =
    typeof output.reason === "string" ? output.reason : (task.failure?.message ?? "It was not approved.");
  throw new Denied(oneLine(why));
}

function deniedByPolicy(): Denied {
  return new Denied("The policy denies it. `bridle gate check` says which rule.");
}

const askedPauseMs = 20;
const questionMsMax = 30_000;

/** A command can be faster than the agent is with its next question, which is told by a member of its answer. */
export async function answerOnceAsked(
  { client: { tasks } }: Remote,
  taskId: string,
  member: string,
  answer: object,
): Promise<void> {
  for (const until = Date.now() + questionMsMax; Date.now() < until; await delay(askedPauseMs)) {
    const { waiting_for } = await tasks.get(taskId);
    if (!asksFor(waiting_for?.schema, member)) continue;
    await tasks.answer(taskId, answer);
    return;
  }
  throw new Denied(`The task ${taskId} does not ask any more.`, gateExit.failed);
}

export function asksFor(schema: unknown, member: string): boolean {
  return isRecord(schema) && isRecord(schema.properties) && member in schema.properties;
}

export async function outputOf(remote: Remote, { outcome_id }: Task): Promise<Record<string, unknown>> {
  if (outcome_id === null) return {};
  const { messages } = await remote.json<{ messages: Message[] }>(
    "GET",
    `/v1/outcomes/${encodeURIComponent(outcome_id)}`,
  );
  const parts = messages.flatMap((message) => ("parts" in message ? message.parts : []));
  const found = parts.flatMap((part) => ("value" in part && isRecord(part.value) ? [part.value] : []));
  return found.at(-1) ?? {};
}
