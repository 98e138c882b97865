/**
 * One durable call of a tool.
 *
 * Invariants
 *   T1  A call whose result is recorded is never made again.
 *   T2  A call of something irreversible is on disk before it is made. When the process died in the middle of it, nobody knows
 *       whether it was carried out: the task fails and says so, instead of doing it twice.
 *   T3  What comes after the call was given up, or after the task was over, is recorded as late (`run/late-result.ts`), and nothing else.
 */

import { unseal } from "../../kernel/core/content.ts";
import type { JsonValue } from "../../store/port.ts";
import type { RetryPolicy } from "../../tools/retry.ts";
import { withinBudget } from "../run/budget.ts";
import { AgentFailure } from "../run/failures.ts";
import type { JournalEntry } from "../run/journal.ts";
import type { Permit } from "../run/permits.ts";
import { noteResult, oneCall, outputOf, performRecorded, resultOf } from "../run/recorded-steps.ts";
import type { Attempted } from "../run/recording.ts";
import type { Run } from "../run/run.ts";
import { noRetries } from "../run/step-attempts.ts";
import { announceTool, type ToolCallRequest, toolCallOf } from "../run/tool-events.ts";

export interface ToolStep extends ToolCallRequest {
  attempt: (attempt: number) => Promise<Attempted>;
  retry?: RetryPolicy;
  /** Comes past what was asked in the middle of the call in an earlier run. */
  recallWithin?: () => Promise<void>;
}

/** Gives what the tool gave, or throws what it failed with. Under a permit, using it is the record that the call begins. */
export async function performTool(run: Run, step: ToolStep, permit?: Permit): Promise<JsonValue> {
  const { span, input, attempt, retry = noRetries } = step;
  await withinBudget(run, span.step, oneCall);
  const recorded = await recallCall(run, step, permit);
  await assertSameInput(run, span.step, recorded, input);
  if (recorded?.ended != null) return await outputOf(run, recorded);
  if (permit !== undefined) await run.recording.beforeUsing(span.step);
  const isApproved = permit !== undefined;
  const performed = { begin: () => begin(run, step, permit), attempt, retry, isApproved };
  const before = isAnnounced(run, step, permit) ? {} : { before: announceTool(step) };
  return resultOf(
    await performRecorded(run, span, performed, (result, said) =>
      noteResult(run, span, result, { amounts: oneCall, ...before }, (unit) => ({
        ...said,
        tool_call: toolCallOf(unit, step),
      })),
    ),
  );
}

/** What was asked in the middle of the call stands in the log after its beginning, where that is recorded, and before its end. */
async function recallCall(
  run: Run,
  { span, recallWithin }: ToolStep,
  permit: Permit | undefined,
): Promise<JournalEntry | undefined> {
  const isRecorded = run.recording.journal.has(span.step);
  if (!isRecorded) await recallWithin?.();
  return await run.recording.recall(span.step, async (recorded) => {
    // Nobody needs to answer for what is not tried again.
    const isCutOff = recorded !== undefined && recorded.ended === null;
    if (isCutOff && permit === undefined) await run.stop(outcomeUnknown(span.name));
    if (isRecorded) await recallWithin?.();
  });
}

/** On disk when this resolves, where it matters that it has begun (T2); gives why it must not, if it must not. */
async function begin(
  run: Run,
  step: ToolStep,
  permit: Permit | undefined,
): Promise<{ code: string; message: string } | null> {
  if (permit !== undefined) return await permit.use(step.span);
  if (!isAnnounced(run, step, permit)) return null;
  await run.recording.note((unit, task) =>
    unit.emit(announceTool(step)(unit, task), "span.started", {
      ...step.span,
      tool_call: toolCallOf(unit, step),
    }),
  );
  await run.flush();
  return null;
}

/** With the request for its approval, or with the record that it begins; otherwise with its result. */
function isAnnounced(run: Run, { effect }: ToolStep, permit: Permit | undefined): boolean {
  return permit !== undefined || (effect === "irreversible" && !run.recording.isReplay);
}

function outcomeUnknown(name: string): AgentFailure {
  return new AgentFailure(
    "outcome_unknown",
    `Whether ${name} was carried out is not known: the process ended in the middle of it. It cannot be undone, so it is not ` +
      "tried again. Look for what it did, and submit the task anew if it did not.",
  );
}

async function assertSameInput(
  run: Run,
  key: string,
  recorded: JournalEntry | undefined,
  input: JsonValue,
): Promise<void> {
  const event = recorded?.ended ?? recorded?.begun;
  const isSpan =
    event?.event === "span.completed" || event?.event === "span.failed" || event?.event === "span.started";
  const call = isSpan ? event.payload.tool_call : undefined;
  if (call === undefined) return;
  const given = await unseal(call.input, run.own);
  if (run.isRecordedAs(given, input)) return;
  const attempted = run.redactor.value(input);
  await run.recording.differs(`${key} ${JSON.stringify(given)}`, `${key} ${JSON.stringify(attempted)}`);
}
