/**
 * `ctx.handoff`: work for another agent. A persona or an agent that is loaded here gets a child task. A remote agent gets a
 * message, and is followed outside of the run (`follower.ts`) until it has something to say: a result, or a question.
 *
 * A conversation with a remote goes in turns, each a step of its own that begins with what is said to it and ends with
 * what it came to. In between, its questions are asked here as steps that end with an answer, or with the remote going on
 * without one. So all of it is in the log, in order, and is repeated from there like any other step.
 */

import { sha256Hex, unseal } from "../../kernel/core/content.ts";
import type { EventPayloads, KernelEvent, StepSpan } from "../../kernel/core/events.ts";
import { abandonHandoff, awaitRemote, createHandoff } from "../../kernel/handoffs/handoffs.ts";
import type { HandoffRecord, Outgoing } from "../../kernel/kinds/handoff.ts";
import type { Part } from "../../kernel/kinds/message.ts";
import type { PersonaRecord } from "../../kernel/kinds/persona.ts";
import type { PendingRequest, TaskRecord } from "../../kernel/kinds/task.ts";
import { requireCapability, requireRemoteHandoff } from "../../kernel/personas/persona-policy.ts";
import { settle } from "../../kernel/quotas/ledger.ts";
import { moveTask } from "../../kernel/tasks/tasks.ts";
import type { JsonValue } from "../../store/port.ts";
import type { HandoffOptions, HandoffRequest, HandoffResult } from "../agents/agent.ts";
import { spawn } from "../context/children.ts";
import { type EffectSpan, underAutonomy } from "../context/effects.ts";
import { withinBudget } from "../run/budget.ts";
import { AgentFailure, RemoteTooSlow } from "../run/failures.ts";
import { never } from "../run/promises.ts";
import { allowed, oneCall, outputOf } from "../run/recorded-steps.ts";
import type { Run } from "../run/run.ts";
import { waitMsDefault } from "../run/waits.ts";
import { checkRemote, partsOf, type RemoteTerms } from "./request.ts";

/** What a turn can end with beside a result. */
export type Turn =
  | HandoffResult
  | { status: "INPUT_REQUIRED" | "AUTH_REQUIRED"; summary: string }
  | { status: "WORKING" };

export async function handOff(run: Run, request: HandoffRequest): Promise<HandoffResult> {
  if ("url" in request) return await withinOpen(run, () => toRemote(run, request));
  const personaId = "persona" in request ? request.persona : await personaOf(run, request.agent);
  const child = await spawn(run, { personaId, input: request.input });
  return { ...(await child.result()), context_id: run.task.session_id, artifacts: [] };
}

const personasMax = 1000;

/** The oldest persona that the agent fills. One that nobody fills is refused like any other that is not there. */
async function personaOf({ own }: Run, agent: string): Promise<string> {
  const personas = await own.list({
    kind: "persona",
    order: "oldest_first",
    limit: personasMax,
  });
  const found = personas.find(({ body }) => (body as PersonaRecord).entry_workflow === agent);
  return found?.id ?? `persona_${agent}`;
}

async function toRemote(
  run: Run,
  request: HandoffOptions & { url: string; input: HandoffRequest["input"] },
): Promise<HandoffResult> {
  const terms = checkRemote(request, run.redactor);
  const parts = partsOf(request.input);
  const span: EffectSpan = { step: run.key(`handoff:${terms.label}`), kind: "handoff", name: terms.url };
  await allowed(run, span, () => {
    requireRemoteHandoff(run.task, terms.url);
    const { name } = terms.credentials ?? {};
    if (name !== undefined) requireCapability(run.task, "secrets", `secret:${name}`);
  });
  const tier = run.task.policy.autonomy_tier;
  const effect = { intent: { url: terms.url, input: parts }, simulate: simulated(tier, terms.url) };
  const { output } = await underAutonomy(run, span, effect, () =>
    new Conversation(run, span, terms, request.expiresInMs ?? waitMsDefault).hold(parts),
  );
  // Made above, by the follower in this very shape, or by whoever overrides it in a replay.
  return output as HandoffResult;
}

function simulated(tier: TaskRecord["policy"]["autonomy_tier"], url: string): JsonValue {
  return {
    task_id: null,
    context_id: null,
    status: tier === "suggest" ? "PROPOSED" : "SIMULATED",
    summary: `Nothing was sent to ${url}.`,
    output: null,
    artifacts: [],
  };
}

/** Remote agents that one run can wait for at once: its task names them all. */
const openMax = 100;
const openIn = new WeakMap<Run, number>();

async function withinOpen<T>(run: Run, work: () => Promise<T>): Promise<T> {
  const open = openIn.get(run) ?? 0;
  if (open >= openMax) {
    const message = `A task can wait for at most ${openMax} remote agents at once.`;
    throw new AgentFailure("too_many_handoffs", message);
  }
  openIn.set(run, open + 1);
  try {
    return await work();
  } finally {
    openIn.set(run, (openIn.get(run) ?? 1) - 1);
  }
}

/** What a step waits with: its own name, and how long the whole hand-off may take. */
interface Waiting {
  step: string;
  handoffId: string;
  expiresAt: string;
}

class Conversation {
  readonly #run: Run;
  readonly #span: StepSpan;
  readonly #terms: RemoteTerms;
  readonly #expiresInMs: number;

  constructor(run: Run, span: StepSpan, terms: RemoteTerms, expiresInMs: number) {
    this.#run = run;
    this.#span = span;
    this.#terms = terms;
    this.#expiresInMs = expiresInMs;
  }

  async hold(parts: Part[]): Promise<JsonValue> {
    const { step } = this.#span;
    await withinBudget(this.#run, step, oneCall);
    const first = await this.#begin(parts);
    let turn = await this.#turnOf(first.event, first);
    for (let n = 2; isOpen(turn); n++) {
      const waiting = { ...first, step: `${step}:${n}` };
      if (turn.status === "WORKING") {
        turn = await this.#say(waiting, null);
        continue;
      }
      const answer = await this.#ask({ ...first, step: `ask:${step}:${n}` }, turn);
      turn = Array.isArray(answer) ? await this.#say(waiting, answer) : answer;
    }
    return turn;
  }

  /** The first turn makes the hand-off. */
  async #begin(parts: Part[]): Promise<Waiting & { event: KernelEvent | null }> {
    const run = this.#run;
    const { step } = this.#span;
    const recorded = await run.recording.recall(step);
    const begun = begunTurn(recorded?.begun ?? null);
    if (begun !== null) {
      await this.#assertSame(step, begun.message, parts);
      const { handoff_id: handoffId, expires_at: expiresAt } = begun;
      return { step, handoffId, expiresAt, event: recorded?.ended ?? null };
    }
    // Overridden in a replay of a run that never came to wait.
    if (recorded?.ended != null) return { step, handoffId: "", expiresAt: "", event: recorded.ended };
    await run.recording.beforeAsking("remote agent", step);
    const handoffId = run.kernel.newId("handoff");
    const expiresAt = new Date(run.kernel.clock.now() + this.#expiresInMs).toISOString();
    const message_id = messageIdOf(run, step);
    const { url, credentials, trust } = this.#terms;
    await run.recording.note((unit, task) => {
      const outgoing = { message_id, parts: unit.seal(parts) };
      const handoff = { handoff_id: handoffId, message: outgoing, expires_at: expiresAt };
      createHandoff(unit, task, {
        id: handoffId,
        first_step: step,
        url,
        credentials,
        trust,
        expires_at: expiresAt,
        outgoing,
      });
      return unit.emit(task, "span.started", { ...this.#span, handoff });
    });
    return { step, handoffId, expiresAt, event: null };
  }

  /** Another turn: an answer is sent, or the remote is only waited for. */
  async #say(waiting: Waiting, parts: Part[] | null): Promise<Turn> {
    const run = this.#run;
    const { step, handoffId, expiresAt } = waiting;
    const recorded = await run.recording.recall(step);
    const begun = begunTurn(recorded?.begun ?? null);
    if (begun !== null) await this.#assertSame(step, begun.message, parts);
    else if (recorded?.ended == null) {
      await run.recording.beforeAsking("remote agent", step);
      await run.recording.note((unit, task) => {
        const message: Outgoing | null =
          parts === null ? null : { message_id: messageIdOf(run, step), parts: unit.seal(parts) };
        awaitRemote(unit, handoffId, { step, outgoing: message });
        const handoff = { handoff_id: handoffId, message, expires_at: expiresAt };
        return unit.emit(task, "span.started", { ...this.#span, step, handoff });
      });
    }
    return await this.#turnOf(recorded?.ended ?? null, waiting);
  }

  async #turnOf(recorded: KernelEvent | null, waiting: Waiting): Promise<Turn> {
    const reason = `waits for the remote agent at ${this.#terms.url}`;
    const ended = recorded ?? (await this.#await(waiting, { kind: "remote", reason }));
    return (await outputOf(this.#run, { ended })) as Turn;
  }

  /** The remote's question becomes the task's own. Gives what a person answers, or what the remote did without an answer. */
  async #ask(
    waiting: Waiting,
    { status, summary: prompt }: Extract<Turn, { status: "INPUT_REQUIRED" | "AUTH_REQUIRED" }>,
  ): Promise<Part[] | Turn> {
    const run = this.#run;
    const { step, handoffId, expiresAt } = waiting;
    const recorded = await run.recording.recall(step);
    const inquire = async () => {
      if (recorded?.begun == null) {
        const request: PendingRequest = {
          kind: "input",
          step,
          prompt,
          schema: null,
          permission_request_id: null,
          expires_at: expiresAt,
        };
        const event = status === "INPUT_REQUIRED" ? "task.input_required" : "task.auth_required";
        await run.recording.note((unit, task) => {
          awaitRemote(unit, handoffId, { step });
          return unit.emit(moveTask(unit, task, status, prompt), event, { request });
        });
      }
      return await this.#await(waiting, { kind: "person", reason: prompt });
    };
    const ended = recorded?.ended ?? (await run.questions.ask(step, inquire));
    if (ended.event === "user.input_submitted")
      return await run.recording.answerParts(ended.payload.message_id);
    return (await outputOf(run, { ended })) as Turn;
  }

  /** Waits until the remote, or a person, has ended the step; when time runs out, the run ends it itself. */
  async #await(waiting: Waiting, wait: { kind: "remote" | "person"; reason: string }): Promise<KernelEvent> {
    const run = this.#run;
    const { step, handoffId, expiresAt } = waiting;
    const arrival = await run.recording.wait({ ...wait, key: step, until: Date.parse(expiresAt) });
    if (arrival !== "elapsed") return arrival;
    const expired = new RemoteTooSlow(this.#terms.url, expiresAt);
    const { code, message } = expired;
    const seen = { isOpen: true };
    await run.recording.note((unit, task) => {
      // What came in the last moment counts.
      const handoff = unit.find("handoff", handoffId);
      seen.isOpen = isWaitedFor(handoff, task, waiting);
      if (!seen.isOpen) return task;
      if (step === this.#span.step) settle(unit, task, step, oneCall);
      const isPending = task.pending?.step === step;
      const ended = { handoff_id: handoffId, is_over: true };
      const result = { error: { code, message } };
      const failed = unit.emit(task, "span.failed", { ...this.#span, step, result, handoff: ended });
      abandonHandoff(unit, handoffId);
      return isPending ? moveTask(unit, failed, "WORKING", "the remote agent took too long") : failed;
    });
    await run.flush();
    if (seen.isOpen) {
      await run.recording.give(step);
      throw expired;
    }
    const late = await run.recording.wait({ ...wait, key: step, until: null });
    return late === "elapsed" ? await never() : late;
  }

  /** What is said again must be what was said. */
  async #assertSame(step: string, said: Outgoing | null, parts: Part[] | null): Promise<void> {
    const run = this.#run;
    const recorded = said === null ? null : await unseal(said.parts, run.own);
    if (run.isRecordedAs(recorded, parts)) return;
    const attempted = run.redactor.value(parts);
    await run.recording.differs(
      `${step} ${JSON.stringify(recorded)}`,
      `${step} ${JSON.stringify(attempted)}`,
    );
  }
}

function isOpen(turn: Turn): turn is Exclude<Turn, HandoffResult> {
  return turn?.status === "WORKING" || turn?.status === "INPUT_REQUIRED" || turn?.status === "AUTH_REQUIRED";
}

function isWaitedFor(handoff: HandoffRecord | undefined, task: TaskRecord, { step }: Waiting): boolean {
  if (handoff?.status !== "open" || handoff.step !== step) return false;
  return !step.startsWith("ask:") || task.pending?.step === step;
}

function begunTurn(begun: KernelEvent | null): NonNullable<EventPayloads["span.started"]["handoff"]> | null {
  return begun?.event === "span.started" ? (begun.payload.handoff ?? null) : null;
}

/** The same whenever the step is repeated, so that a remote can recognize what it was sent before. */
function messageIdOf(run: Run, step: string): string {
  return `handoff-${sha256Hex(`${run.task.id}:${step}`).slice(0, 40)}`;
}
