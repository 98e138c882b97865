/**
 * What a retry takes over from the log of a task that failed or was canceled: the records of all steps up to the one that is done again. A
 * cut through the log is what a crash at that moment would have left, so the run goes on from it like from a crash.
 */

import type { Position, TenantStore } from "../../store/port.ts";
import { HarnessError } from "../core/errors.ts";
import { asRecorded, type RecordedEvent } from "../core/events.ts";
import { readLog } from "../core/log-tail.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { type StepMark, stepMark } from "../tasks/steps.ts";

/** A longer log is not copied in one commit. */
const eventsMax = 10_000;

export interface RetryPlan {
  /** The step that is done again first; null when all that was recorded is kept. */
  step: string | null;
  /** In the order of the log. */
  events: RecordedEvent[];
}

interface Marked {
  event: RecordedEvent;
  mark: StepMark;
}

export async function planRetry(store: TenantStore, source: TaskRecord, from?: string): Promise<RetryPlan> {
  const events: RecordedEvent[] = [];
  for await (const page of readLog(store, { taskId: source.id, after: 0 })) {
    for (const event of page.map(asRecorded)) if (isOfRun(event)) events.push(event);
    if (events.length > eventsMax) {
      const message = `Task ${source.id} recorded more than ${eventsMax} events, too many to take over. Submit it again.`;
      throw new HarnessError("policy_violation", message);
    }
  }
  const marked = events.flatMap((event) => {
    const mark = stepMark(event);
    return mark === null ? [] : [{ event, mark }];
  });
  const first = from === undefined ? failedStep(source, marked) : requireStep(source, marked, from);
  // What had begun when a task was canceled need not be in the log, and it may rest on an approval all the same.
  const cut = first === null ? cutAtApproval(marked, Number.POSITIVE_INFINITY) : cutAt(marked, first);
  const before = cut?.before ?? Number.POSITIVE_INFINITY;
  const dropped = new Set([...openSteps(marked, before), ...(cut === null ? [] : [cut.step])]);
  const kept = events.filter((event) => event.position < before && !dropped.has(stepOf(event)));
  assertNotIrreversible(source, marked, new Set(kept), from);
  return { step: cut?.step ?? null, events: kept };
}

/** The records of steps, and when their results were given. */
function isOfRun(event: RecordedEvent): boolean {
  return stepMark(event) !== null || (event.event === "span.updated" && event.payload.given !== undefined);
}

function stepOf(event: RecordedEvent): string {
  if (event.event === "span.updated" && event.payload.given !== undefined)
    return event.payload.given.replace(/:begun$/, "");
  return stepMark(event)?.key ?? "";
}

/** The last step that failed with what the task failed with; none when the agent's code failed between steps. */
function failedStep({ failure }: TaskRecord, marked: readonly Marked[]): string | null {
  const last = marked.findLast(({ event }) => {
    if (event.event !== "span.failed" || !("error" in event.payload.result)) return false;
    const { code, message } = event.payload.result.error;
    return code === failure?.code && message === failure.message;
  });
  return last?.mark.key ?? null;
}

function requireStep({ id }: TaskRecord, marked: readonly Marked[], from: string): string {
  if (marked.some(({ mark }) => mark.key === from)) return from;
  const known = [...new Set(marked.map(({ mark }) => mark.key))].slice(-20);
  throw new HarnessError("invalid_request", `Task ${id} recorded no step of that name.`, {
    param: "from_step",
    details: { steps: known },
  });
}

/**
 * Everything before the end of the step is kept. An approval that the step may rest on is asked for again: one that no completed
 * side effect came after.
 */
function cutAt(marked: readonly Marked[], step: string): Cut {
  const end = marked.find(({ mark }) => mark.key === step && mark.phase === "ended");
  const begin = marked.find(({ mark }) => mark.key === step);
  const before = (end ?? begin)?.event.position ?? 0;
  return cutAtApproval(marked, before) ?? { step, before };
}

interface Cut {
  step: string;
  before: Position;
}

/** The first approval before a position that no completed side effect came after. */
function cutAtApproval(marked: readonly Marked[], before: Position): Cut | null {
  let approval: Marked | null = null;
  for (const one of marked) {
    if (one.event.position >= before) break;
    if (one.event.event === "task.auth_required") approval ??= one;
    else if (approval !== null && isDone(one, approval)) approval = null;
  }
  return approval === null ? null : { step: approval.mark.key, before: approval.event.position };
}

const actingKinds: ReadonlySet<string> = new Set(["effect", "tool", "mcp", "host", "handoff", "file"]);

/** What only reads uses up no approval but its own. */
function isDone({ event }: Marked, { event: asked }: Marked): boolean {
  if (event.event !== "span.completed" || !actingKinds.has(event.payload.kind)) return false;
  if (event.payload.tool_call?.effect !== "none") return true;
  return asked.event === "task.auth_required" && asked.payload.request.prompt === event.payload.name;
}

/** What nobody waits for in the new task: it is asked for again. */
function openSteps(marked: readonly Marked[], before: Position): string[] {
  const open = new Set<string>();
  for (const { event, mark } of marked) {
    if (event.position >= before) break;
    if (mark.phase === "begun") open.add(mark.key);
    else if (mark.phase === "ended") open.delete(mark.key);
  }
  return [...open];
}

/** A call that cannot be undone is done again only if the request names it. */
function assertNotIrreversible(
  { id }: TaskRecord,
  marked: readonly Marked[],
  kept: ReadonlySet<RecordedEvent>,
  from: string | undefined,
): void {
  const again = marked.find(
    ({ event, mark }) => !kept.has(event) && mark.key !== from && isIrreversible(event),
  );
  if (again === undefined) return;
  const { key } = again.mark;
  throw new HarnessError(
    "policy_violation",
    `The retry of ${id} would repeat ${key}, which cannot be undone. Look whether it was carried out. If it was not, name it as the step to retry from.`,
    { details: { step: key } },
  );
}

function isIrreversible(event: RecordedEvent): boolean {
  const isSpan =
    event.event === "span.started" || event.event === "span.completed" || event.event === "span.failed";
  return isSpan && event.payload.tool_call?.effect === "irreversible";
}
