/**
 * `ctx.host`: something that only a host can do. The call is on disk before any host hears of it, and nothing but an
 * answer that is on disk ends it, so neither a crash nor a host that vanishes loses or doubles it. Which host is asked is
 * none of the run's business: it waits, out of memory if need be, until the log has the answer.
 */

import { unseal } from "../../kernel/core/content.ts";
import type { EventPayloads, KernelEvent, StepSpan } from "../../kernel/core/events.ts";
import { hostCallsMax } from "../../kernel/kinds/task.ts";
import { requireCapability } from "../../kernel/personas/persona-policy.ts";
import { settle } from "../../kernel/quotas/ledger.ts";
import { callIdOf, capabilityPattern } from "../../kernel/tasks/host-calls.ts";
import type { JsonValue } from "../../store/port.ts";
import type { ApprovalRequest, HostOptions } from "../agents/agent.ts";
import { withinBudget } from "../run/budget.ts";
import { AgentFailure, NobodyServed } from "../run/failures.ts";
import type { JournalEntry } from "../run/journal.ts";
import { jsonCopy } from "../run/json.ts";
import { never } from "../run/promises.ts";
import { allowed, oneCall, outputOf } from "../run/recorded-steps.ts";
import type { Run } from "../run/run.ts";
import { waitMsDefault } from "../run/waits.ts";
import { type EffectSpan, underAutonomy } from "./effects.ts";

type Begun = NonNullable<EventPayloads["span.started"]["host_call"]>;

const isCapability = new RegExp(capabilityPattern);

export async function hostCall(
  run: Run,
  capability: string,
  given: JsonValue,
  { expiresInMs = waitMsDefault, readOnly = false, risk }: HostOptions & Pick<ApprovalRequest, "risk">,
): Promise<JsonValue> {
  if (!isCapability.test(capability)) {
    throw new AgentFailure("invalid_capability", "A capability is a short name such as clipboard.read.");
  }
  const span: EffectSpan = { step: run.key(`host:${capability}`), kind: "host", name: capability };
  if (run.hostCallsOpen >= hostCallsMax) {
    throw new AgentFailure(
      "too_many_host_calls",
      `A task can wait for at most ${hostCallsMax} host calls at once.`,
    );
  }
  const input = jsonCopy(given);
  const ask = () => served(run, span, input, expiresInMs);
  run.hostCallsOpen += 1;
  try {
    await allowed(run, span, () => requireCapability(run.task, capability));
    if (readOnly) return await ask();
    const effect = { intent: { capability, input }, simulate: null, ...(risk === undefined ? {} : { risk }) };
    return (await underAutonomy(run, span, effect, ask)).output;
  } finally {
    run.hostCallsOpen -= 1;
  }
}

async function served(run: Run, span: StepSpan, input: JsonValue, expiresInMs: number): Promise<JsonValue> {
  await withinBudget(run, span.step, oneCall);
  const recorded = await run.recording.recall(span.step);
  const begun = begunCall(recorded);
  if (begun !== null) await assertSameInput(run, span, begun, input);
  if (recorded?.ended != null) return await outputOf(run, recorded);
  const call = begun ?? (await begin(run, span, input, expiresInMs));
  return await outputOf(run, { ended: await awaitHost(run, span, call) });
}

function begunCall(recorded: JournalEntry | undefined): Begun | null {
  const begun = recorded?.begun;
  return begun?.event === "span.started" ? (begun.payload.host_call ?? null) : null;
}

async function assertSameInput(run: Run, { step }: StepSpan, begun: Begun, input: JsonValue): Promise<void> {
  const asked = await unseal(begun.input, run.own);
  if (run.isRecordedAs(asked, input)) return;
  const attempted = run.redactor.value(input);
  await run.recording.differs(`${step} ${JSON.stringify(asked)}`, `${step} ${JSON.stringify(attempted)}`);
}

async function begin(run: Run, span: StepSpan, input: JsonValue, expiresInMs: number): Promise<Begun> {
  await run.recording.beforeAsking("host", span.step);
  const expires_at = new Date(run.kernel.clock.now() + expiresInMs).toISOString();
  const call: Begun = { call_id: callIdOf(run.task.id, span.step), input: { inline: input }, expires_at };
  await run.recording.note((unit, task) =>
    unit.emit(task, "span.started", { ...span, host_call: { ...call, input: unit.seal(input) } }),
  );
  return call;
}

/** Waits for the answer of a host, until the call expires. */
async function awaitHost(run: Run, span: StepSpan, { call_id, expires_at }: Begun): Promise<KernelEvent> {
  const wait = {
    key: span.step,
    kind: "host",
    reason: `waits for a host that can do ${span.name}`,
  } as const;
  const answer = await run.recording.wait({ ...wait, until: Date.parse(expires_at) });
  if (answer !== "elapsed") return answer;
  const expired = new NobodyServed(span.name, expires_at);
  const { code, message } = expired;
  const seen = { isOpen: true };
  await run.recording.note((unit, task) => {
    // An answer that was accepted in the last moment counts.
    seen.isOpen = task.host_calls?.some((call) => call.call_id === call_id) ?? false;
    if (!seen.isOpen) return task;
    settle(unit, task, span.step, oneCall);
    return unit.emit(task, "span.failed", { ...span, result: { error: { code, message } } });
  });
  await run.flush();
  if (seen.isOpen) {
    await run.recording.give(span.step);
    throw expired;
  }
  const late = await run.recording.wait({ ...wait, until: null });
  return late === "elapsed" ? await never() : late;
}
