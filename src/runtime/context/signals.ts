/**
 * `ctx.waitFor`: a signal that somebody sends to the task, in the order of arrival for each name. Taking it and its removal from the task are
 * one record, so each signal is given once. Which one it is only the commit decides, so the agent is given it after that (J6).
 */

import { type Content, unseal } from "../../kernel/core/content.ts";
import type { StepSpan } from "../../kernel/core/events.ts";
import { signalPattern } from "../../kernel/tasks/signal-task.ts";
import type { JsonValue } from "../../store/port.ts";
import { checkValue, listProblems } from "../../tools/schema.ts";
import { AgentFailure, WaitExpired } from "../run/failures.ts";
import { outputOf } from "../run/recorded-steps.ts";
import type { Run } from "../run/run.ts";
import { waitMsDefault } from "../run/waits.ts";

export interface WaitForOptions {
  schema?: object | undefined;
  timeoutMs?: number | undefined;
}

export async function waitFor(
  run: Run,
  name: string,
  { schema, timeoutMs = waitMsDefault }: WaitForOptions,
): Promise<unknown> {
  if (!signalPattern.test(name))
    throw new TypeError(
      `${JSON.stringify(name)} cannot be the name of a signal: use letters, digits, dots and dashes.`,
    );
  const span: StepSpan = { step: run.key(`signal:${name}`), kind: "signal", name };
  const payload = await received(run, span, timeoutMs);
  const checked = schema === undefined ? { value: payload } : await checkValue(schema, payload);
  if ("value" in checked) return checked.value;
  throw new AgentFailure(
    "invalid_signal",
    `The signal ${name} does not fit its schema: ${listProblems(checked.problems)}.`,
  );
}

async function received(run: Run, span: StepSpan, timeoutMs: number): Promise<JsonValue> {
  const recorded = await run.recording.recall(span.step);
  const begun = recorded?.begun?.event === "span.started" ? recorded.begun.payload.until : undefined;
  let until = begun === undefined ? null : Date.parse(begun);
  if (recorded?.ended == null && recorded?.arrived != null) await run.recording.give(span.step);
  const ended = recorded?.ended ?? recorded?.arrived ?? null;
  if (ended?.event === "span.failed") throw expired(span, until);
  if (ended !== null) return await outputOf(run, { ended });
  while (true) {
    const taken = run.recording.isReplay ? "nothing" : await take(run, span, until);
    if (taken !== "nothing") {
      await run.recording.give(span.step);
      if (taken === "expired") throw expired(span, until);
      return await unseal(taken, run.own);
    }
    until ??= await begin(run, span, timeoutMs);
    const reason = `waits for the signal ${span.name}`;
    await run.recording.wait({ key: span.step, kind: "signal", reason, until });
  }
}

/** The wait is on the task, so that its end is known after a restart. */
async function begin(run: Run, span: StepSpan, timeoutMs: number): Promise<number> {
  const until = run.kernel.clock.now() + timeoutMs;
  await run.recording.note((unit, task) =>
    unit.emit(task, "span.started", { ...span, until: new Date(until).toISOString() }),
  );
  return until;
}

/** The oldest signal of the name, if there is one; one that came in the last moment counts. */
async function take(
  run: Run,
  span: StepSpan,
  until: number | null,
): Promise<Content<JsonValue> | "expired" | "nothing"> {
  const seen: { taken: Content<JsonValue> | "expired" | "nothing" } = { taken: "nothing" };
  await run.record((unit, task) => {
    const signal = task.signals?.find(({ name }) => name === span.name);
    seen.taken = "nothing";
    if (signal !== undefined) {
      seen.taken = signal.payload;
      const { signal_id } = signal;
      return unit.emit(task, "span.completed", { ...span, signal_id, result: { output: signal.payload } });
    }
    if (until === null || run.kernel.clock.now() < until) return task;
    seen.taken = "expired";
    const { code, message } = expired(span, until);
    return unit.emit(task, "span.failed", { ...span, result: { error: { code, message } } });
  });
  await run.flush();
  return seen.taken;
}

function expired({ name }: StepSpan, until: number | null): WaitExpired {
  return new WaitExpired(`signal ${name}`, new Date(until ?? 0).toISOString());
}
