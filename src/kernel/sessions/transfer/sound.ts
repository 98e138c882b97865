/** What must hold of a log before anything is made of it: one session's, in the form of its kinds, over, and whole. */

import { redactLong } from "../../../policy/redact/search-budget.ts";
import { nextSlice } from "../../../slices.ts";
import type { NewEvent } from "../../../store/port.ts";
import { asKernelEvent, type EventKind, type KernelEvent, terminalEvents } from "../../core/events.ts";
import { created } from "../../core/fold.ts";
import type { KernelDeps } from "../../core/unit.ts";
import type { TaskRecord } from "../../kinds/task.ts";
import { contentIn, type LogBundle } from "./bundle.ts";
import { wrongIn, wrongInMark } from "./payloads.ts";
import { assertAsReceipted } from "./receipted.ts";
import { asWritten, refused } from "./refused.ts";

/** What a session's log may hold. Nothing else gets in by this door: no keys, no personas, no tenants. */
const importable: ReadonlySet<string> = new Set<EventKind>([
  "session.created",
  "vendor.bridle.session.updated",
  "session.closed",
  "session.message_appended",
  "session.thread_forked",
  "session.thread_merged",
  "session.replayed",
  "user.message",
  "agent.message",
  "vendor.bridle.message",
  "artifact.created",
  "artifact.updated",
  "task.submitted",
  "task.started",
  "task.status_changed",
  "task.input_required",
  "task.auth_required",
  "task.completed",
  "task.failed",
  "task.canceled",
  "user.input_submitted",
  "user.cancel_requested",
  "user.tool_confirmation",
  "tool.approval_required",
  "tool.approved",
  "tool.denied",
  "vendor.bridle.approval.requested",
  "vendor.bridle.approval.submitted",
  "vendor.bridle.approval.delayed",
  "vendor.bridle.approval.decided",
  "vendor.bridle.approval.closed",
  "vendor.bridle.approval.settled",
  "vendor.bridle.approval.used",
  "agent.handoff",
  "vendor.bridle.handoff.created",
  "vendor.bridle.handoff.updated",
  "artifact.linked",
  "artifact.redacted",
  "agent.tool_use",
  "agent.mcp_tool_use",
  "agent.tool_result",
  "tool.requested",
  "tool.completed",
  "tool.failed",
  "agent.memory_read",
  "agent.memory_write",
  "vendor.bridle.quota.exhausted",
  "vendor.bridle.quota.granted",
  "span.started",
  "span.updated",
  "span.completed",
  "span.failed",
  "vendor.bridle.signal.received",
  "vendor.bridle.step.attempt_failed",
  "vendor.bridle.step.late_result",
  "vendor.bridle.receipt.requested",
  "receipt.issued",
  "receipt.verified",
  "receipt.verification_failed",
  "vendor.bridle.receipt.imported",
  "replay.started",
  "replay.completed",
  "replay.failed",
]);

type CleanDeps = Pick<KernelDeps, "redactor" | "searchTexts">;

export async function assertSound(deps: CleanDeps, bundle: LogBundle): Promise<void> {
  const { events } = bundle;
  const each = async (check: (event: NewEvent) => void) => {
    for (const event of events) {
      await nextSlice();
      check(event);
    }
  };
  await each((event) => assertBelongs(event, bundle));
  const replays = new Set<string>();
  const sessions: KernelEvent[] = [];
  await each((event) => {
    const typed = asKernelEvent(event);
    if (typed.event === "task.submitted" && hasCopies(typed.payload.task)) replays.add(typed.resource.id);
    if (typed.event === "session.created") sessions.push(typed);
  });
  assertOneSession(sessions, bundle);
  await each((event) => assertCopied(event, replays));
  const state = new Map<string, "open" | "ended">();
  await each((event) => assertInTurn(event, state));
  const open = [...state].find(([, at]) => at === "open");
  if (open !== undefined) throw refused(`Task ${open[0]} has not ended.`);
  await assertClean(deps, bundle);
  await assertContent(bundle, each);
  await assertAsReceipted(bundle);
}

function assertBelongs(event: NewEvent, { header }: LogBundle): void {
  if (event.event === "session.truncated") {
    throw refused("The session was truncated; its transcript cannot be moved to another log.");
  }
  if (event.event === "session.compacted") {
    throw refused("The session was compacted; its transcript cannot be moved to another log.");
  }
  if (!importable.has(event.event)) {
    throw refused(`It has an event ${event.event}, which is no part of a session's log.`);
  }
  const wrong = wrongIn(event.event, event.payload) ?? wrongInMark(event.replay);
  if (wrong !== null)
    throw refused(`It has an event ${event.event} with ${wrong || "a payload"} not of its kind.`);
  const { tenantId, workspaceId, sessionId, taskId, resource } = event;
  const isOurs =
    tenantId === header.tenant_id && workspaceId === header.workspace.id && sessionId === header.session_id;
  if (!isOurs) throw refused(`It has an event of another session, ${sessionId}.`);
  // An event is about what it makes. What an approver decided is about the request, and makes a mark beside it.
  const [made] = created(asKernelEvent(event));
  const isAbout =
    made === undefined || event.event === "vendor.bridle.approval.decided" || made.id === resource.id;
  if (!isAbout) throw refused(`It has an event ${event.event} about something else than it makes.`);
  if (taskId !== null && resource.object === "task" && resource.id !== taskId) {
    throw refused(`It has an event of task ${taskId} about another, ${resource.id}.`);
  }
}

/** Only replays and retries copy events; elsewhere a copy would be an event that counts for nothing. */
function assertCopied({ event, replay, taskId }: NewEvent, replays: ReadonlySet<string>): void {
  if (replay === undefined || replays.has(taskId ?? "")) return;
  throw refused(`It has a copied event ${event} outside of a replay.`);
}

function hasCopies({ replay, retry_of }: TaskRecord): boolean {
  return replay !== null || retry_of !== undefined;
}

function assertOneSession(sessions: readonly KernelEvent[], { header }: LogBundle): void {
  const [only] = sessions;
  if (
    sessions.length !== 1 ||
    only?.event !== "session.created" ||
    only.payload.session.id !== header.session_id
  ) {
    throw refused(`It must begin with the session ${header.session_id} and no other.`);
  }
  if (only.payload.session.parent_session_id !== null) {
    throw refused("The session is a fork; its transcript begins in another session's log.");
  }
}

/** A task that goes on elsewhere must not go on here as well: one beginning, one end, and nothing moves after it. */
function assertInTurn({ event, resource, taskId }: NewEvent, state: Map<string, "open" | "ended">): void {
  if (event === "task.submitted") {
    if (state.has(resource.id)) throw refused(`Task ${resource.id} is submitted twice.`);
    state.set(resource.id, "open");
  } else if (
    taskId !== null &&
    state.get(taskId) === "ended" &&
    !/^(?:vendor\.bridle\.)?receipt\./.test(event) &&
    event !== "artifact.created" &&
    !event.startsWith("vendor.bridle.handoff.") &&
    event !== "vendor.bridle.approval.settled"
  ) {
    throw refused(`Task ${taskId} goes on after its end.`);
  } else if (terminalEvents.has(event)) state.set(resource.id, "ended");
}

/** Taking something out would break what the receipts say; so it is not taken in. */
async function assertClean(deps: CleanDeps, { events, blobs }: LogBundle): Promise<void> {
  // Each has a budget of its own: a decision that is made again for each text would not end.
  const isClean = (value: unknown) =>
    redactLong(deps.searchTexts, deps.redactor, (redactor) => redactor.value(value) === value);
  const dirty = () => refused("It holds what looks like a credential.");
  for (const { payload, actor, resource } of events) {
    await nextSlice();
    if (!(await isClean([payload, actor, resource.id]))) throw dirty();
  }
  for (const { bytes } of blobs) {
    for (const text of textsOf(bytes)) {
      await nextSlice();
      if (!(await isClean(text))) throw dirty();
    }
  }
}

/** Content is searched in pieces, each of which begins well before the end of the one before: further than a credential is long. */
const searchedAtOnce = 512 * 1024;
const overlap = 128 * 1024;

function* textsOf(bytes: Uint8Array): Generator<string> {
  const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let start = 0, end = 0; end < content.length; start = spaceAfter(content, end - overlap)) {
    end = Math.min(start + searchedAtOnce, content.length);
    yield content.toString("utf8", start, end);
  }
}

/** A piece that began in the middle of a word could look like the beginning of a credential. */
function spaceAfter(bytes: Uint8Array, from: number): number {
  const found = bytes.subarray(from, from + overlap / 2).findIndex((byte) => byte <= 0x20);
  return found === -1 ? from : from + found;
}

/** A message is parsed whole for whoever reads it. */
const messageBytesMax = 4 * 1024 * 1024;
const messages: ReadonlySet<string> = new Set<EventKind>([
  "user.message",
  "agent.message",
  "vendor.bridle.message",
]);

/** All content that events speak of, as long as they say, and no other. */
async function assertContent(
  { blobs }: LogBundle,
  each: (check: (event: NewEvent) => void) => Promise<void>,
): Promise<void> {
  const kept = new Map(blobs.map(({ sha256, bytes }) => [sha256, bytes.length]));
  const spokenOf = new Set<string>();
  await each((event) => {
    for (const { blob, bytes } of asWritten(event, () => contentIn(event))) {
      const length = kept.get(blob);
      if (length === undefined) throw refused(`The content ${blob}, of which an event speaks, is missing.`);
      if (bytes !== undefined && bytes !== length) throw refused(`The content ${blob} has ${length} bytes.`);
      if (messages.has(event.event) && length > messageBytesMax)
        throw refused(`A message has more than ${messageBytesMax} bytes.`);
      spokenOf.add(blob);
    }
  });
  const idle = blobs.find(({ sha256 }) => !spokenOf.has(sha256));
  if (idle !== undefined) throw refused(`It has the content ${idle.sha256}, of which no event speaks.`);
}
