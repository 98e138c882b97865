/** What a receipt is about, read from the log, and its draft. */

import type { Receipt } from "../../receipts/schema.ts";
import { nextSlice } from "../../slices.ts";
import type { Position, TenantStore } from "../../store/port.ts";
import { asRecorded, findPosition, type RecordedEvent } from "../core/events.ts";
import { changed, created } from "../core/fold.ts";
import type { PermissionRequestRecord } from "../kinds/permission-request.ts";
import type { TaskRecord } from "../kinds/task.ts";
import type { PendingReceipt } from "./chains.ts";
import { draftApprovalReceipt, draftTaskReceipt } from "./drafts.ts";
import {
  type Decided,
  type DueReceipt,
  type Ended,
  endingOf,
  isDecided,
  isEnded,
  isRequested,
  type Requested,
} from "./due.ts";
import { TaskFacts } from "./facts.ts";
import { draftReplayReceipt } from "./replay-receipt.ts";
import { type RequestedSubject, SubjectFacts } from "./subjects.ts";

/** The task as it was when it ended or when somebody decided, and what its log says. */
export type Run = { due: DueReceipt; task: TaskRecord } & (
  | { about: "end"; event: Ended; facts: TaskFacts }
  | { about: "decision"; event: Decided }
  | { about: "subject"; event: Requested; facts: SubjectFacts }
  | { about: "unreadable"; problem: string }
);

/** What is read from disk at once. */
const page = { limit: 200, bytesMax: 256 * 1024 };

export async function readRun(store: TenantStore, due: DueReceipt): Promise<Run> {
  switch (due.kind) {
    case "ended":
      return await readEnded(store, due);
    case "decided":
      return await readDecision(store, due);
    case "requested":
      return await readSubject(store, due);
  }
}

async function readEnded(store: TenantStore, due: DueReceipt): Promise<Run> {
  const facts = new TaskFacts();
  let task: TaskRecord | undefined;
  let event: RecordedEvent | undefined;
  for await (const events of historyOf(store, due.taskId, due.position)) {
    for (event of events) {
      facts.add(event);
      task = afterEvent(task, event, due.taskId);
    }
  }
  if (task === undefined || event === undefined || !isEnded(event))
    throw new Error(`The log of ${due.taskId} does not have its beginning and its end`);
  facts.noteRedactions(JSON.stringify(event.payload));
  return { due, task, about: "end", event, facts };
}

function afterEvent(task: TaskRecord | undefined, event: RecordedEvent, id: string): TaskRecord | undefined {
  if (task !== undefined) return event.resource.id === id ? changed(task, event) : task;
  return created(event).find((record): record is TaskRecord => record.object === "task" && record.id === id);
}

/** What was asked for is known from the event that asks; the log up to there has the rest. */
async function readSubject(store: TenantStore, due: DueReceipt): Promise<Run> {
  const event = await readOne(store, due);
  if (event === undefined || !isRequested(event)) throw new Error(`Event ${due.position} asks for nothing`);
  const { subject } = event.payload;
  const facts = new SubjectFacts(subject);
  for await (const events of subjectHistory(store, due, subject)) for (const each of events) facts.add(each);
  if (facts.isEmpty) throw new Error(`Nothing in the log is about ${subject.id}`);
  return { due, task: await requireTask(store, due), about: "subject", event, facts };
}

/** The events among which those about the subject are. */
async function* subjectHistory(
  store: TenantStore,
  due: DueReceipt,
  { object, id }: RequestedSubject,
): AsyncGenerator<RecordedEvent[]> {
  const position = object === "event" ? findPosition(id) : null;
  if (position === null) {
    yield* historyOf(store, due.taskId, due.position - 1);
    return;
  }
  const event = await readOne(store, { position });
  if (event?.taskId === due.taskId) yield [event];
}

async function readOne(
  store: TenantStore,
  { position }: Pick<DueReceipt, "position">,
): Promise<RecordedEvent | undefined> {
  const [stored] = await store.events({ after: position - 1, through: position, limit: 1 });
  return stored === undefined ? undefined : asRecorded(stored);
}

async function readDecision(store: TenantStore, due: DueReceipt): Promise<Run> {
  const event = await readOne(store, due);
  if (event === undefined || !isDecided(event)) throw new Error(`Event ${due.position} is no decision`);
  return { due, task: await requireTask(store, due), about: "decision", event };
}

/** For a log that cannot be read: the receipt says so, with what the task's document says. */
export async function readUnreadable(store: TenantStore, due: DueReceipt, error: unknown): Promise<Run> {
  const problem = error instanceof Error ? error.message : String(error);
  return { due, task: await requireTask(store, due), about: "unreadable", problem: problem.slice(0, 500) };
}

async function requireTask(store: TenantStore, { taskId }: DueReceipt): Promise<TaskRecord> {
  const document = await store.get("task", taskId);
  if (document === undefined) throw new Error(`${taskId} has a receipt and is not there`);
  return document.body as TaskRecord;
}

/** The draft, and what it hangs on. */
export async function draftOf(
  store: TenantStore,
  run: Run,
): Promise<Pick<PendingReceipt, "draft" | "after">> {
  const { due, task } = run;
  const { receiptId } = due;
  if (run.about === "unreadable") return { draft: unreadableDraft(run), after: null };
  if (run.about === "decision") {
    const request = await requestOf(store, run.event.resource.id);
    return { draft: draftApprovalReceipt(receiptId, task, request, run.event), after: null };
  }
  if (run.about === "subject") {
    return { draft: run.facts.draft(receiptId, task, run.event.createdAt), after: null };
  }
  const { event, facts } = run;
  const ending = endingOf(event);
  if (task.replay !== null) {
    const history = historyOf(store, task.id, due.position);
    const replay = { task, plan: task.replay, ending, history };
    const { draft, previousHash } = await draftReplayReceipt(store, receiptId, replay);
    return { draft, after: { previousHash } };
  }
  const { createdAt: at, payload } = event;
  return {
    draft: draftTaskReceipt({ receiptId, task, ending, facts, at, budget: payload.budget }),
    after: null,
  };
}

/** The events of a task up to a position. */
async function* historyOf(
  store: TenantStore,
  taskId: string,
  through: Position,
): AsyncGenerator<RecordedEvent[]> {
  let after = 0;
  while (true) {
    const events = await store.events({ taskId, after, through, ...page });
    if (events.length > 0) yield events.map(asRecorded);
    after = events.at(-1)?.position ?? through;
    if (after >= through) return;
    await nextSlice();
  }
}

async function requestOf(store: TenantStore, id: string): Promise<PermissionRequestRecord> {
  const document = await store.get("permission_request", id);
  if (document === undefined) throw new Error(`${id} was decided and is not there`);
  return document.body as PermissionRequestRecord;
}

function unreadableDraft({ due, task, problem }: Extract<Run, { about: "unreadable" }>) {
  const { status, failure } = task;
  const isOver = status === "COMPLETED" || status === "FAILED" || status === "CANCELED";
  const draft = draftTaskReceipt({
    receiptId: due.receiptId,
    task,
    ending: { status: isOver ? status : "FAILED", failure },
    facts: new TaskFacts(),
    at: task.completed_at ?? task.canceled_at ?? task.updated_at,
  });
  const replay_input: Receipt["replay_input"] = {
    determinism: "unavailable",
    materials: [],
    unavailable_reason: `The log of the task could not be read: ${problem}`,
  };
  return { ...draft, replay_input, redactions: [] };
}
