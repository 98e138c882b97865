/**
 * Plays a rehearsal to its end. Whenever all runs wait, somebody acts: a person answers, a host does what it was asked to do, or time
 * jumps to where something is due. When nobody has anything to do, it is over.
 */

import { respondPermissionRequest } from "../kernel/approvals/respond-permission-request.ts";
import { unseal } from "../kernel/core/content.ts";
import type { Command } from "../kernel/core/dispatch.ts";
import { HarnessError } from "../kernel/core/errors.ts";
import { getRecord } from "../kernel/core/read.ts";
import { type MessageInput, type Part, textPart } from "../kernel/kinds/message.ts";
import type { HostCall, PendingRequest, TaskRecord } from "../kernel/kinds/task.ts";
import { type AppendTaskMessage, appendTaskMessage } from "../kernel/tasks/append-task-message.ts";
import { isFinal } from "../kernel/tasks/lifecycle.ts";
import { submitHostResult } from "../kernel/tasks/submit-host-result.ts";
import type { Caller } from "../policy/caller.ts";
import { endOfTurn } from "../runtime/run/promises.ts";
import type { JsonValue } from "../store/port.ts";
import { RehearsalError } from "./failure.ts";
import {
  type Answer,
  type ApprovalAsked,
  type Decision,
  type Hosts,
  nobody,
  type People,
  Prompter,
  type Question,
} from "./people.ts";
import type { Life, Stage } from "./stage.ts";

/** What a run waits for that nobody in the rehearsal gives. */
export interface Waiting {
  kind: "answer" | "approval" | "host" | "agent";
  /** The question, the action, the capability, or the sentence of the task. */
  what: string;
  step: string;
  until: string;
}

export interface Cast {
  people: People;
  hosts: Hosts;
  /** How long it may take by the clock on the wall. */
  timeoutMs: number;
  /** The process has died, and nothing runs. */
  onCrash(): void;
}

/** Turns of the event loop without any news after which nothing more comes by itself. */
const stillTurns = 3;
/** Turns after which it is something slow that is waited for. */
const busyTurns = 200;
const tasksMax = 1000;
/** Greater than every id. */
const afterAll = "\u{10ffff}";

export class Play {
  readonly #stage: Stage;
  readonly #cast: Cast;
  readonly #person: Caller;
  readonly #answers: Prompter<Question, Answer>;
  readonly #approvals: Prompter<ApprovalAsked, Decision>;
  /** What nobody will answer, by task and step. Those that were said to be left alone may expire. */
  readonly #open = new Map<string, "expires" | "unforeseen">();
  #life: Life;

  constructor(stage: Stage, life: Life, cast: Cast) {
    this.#stage = stage;
    this.#life = life;
    this.#cast = cast;
    this.#person = { ...stage.system, actor: "person" };
    this.#answers = new Prompter(cast.people.answers ?? [], ({ question }) => question);
    this.#approvals = new Prompter(cast.people.approvals ?? [], ({ action }) => action);
  }

  /** The life that is being led now. */
  get life(): Life {
    return this.#life;
  }

  /** Until the task has ended, or waits for what nobody gives. */
  async toTheEnd(taskId: string): Promise<Waiting | null> {
    const startedAt = performance.now();
    while (true) {
      const state = await this.#stillness(taskId, startedAt);
      if (state === "over") return null;
      if (state === "killed") await this.#beginAgain();
      else if (!(await this.#act())) return await this.#waitsFor();
    }
  }

  async #stillness(taskId: string, startedAt: number): Promise<"over" | "killed" | "still"> {
    const { kernel, runtime, killed } = this.#life;
    let isKilled = false;
    void killed.then(() => {
      isKilled = true;
    });
    let still = 0;
    for (let turns = 0; still < stillTurns; turns++) {
      await (turns < busyTurns ? endOfTurn() : aMoment());
      if (isKilled) return "killed";
      const document = await kernel.store.of(this.#stage.system.tenantId).get("task", taskId);
      const task = document?.body as TaskRecord | undefined;
      const { isCaughtUp } = kernel.receipts;
      if (task !== undefined && isFinal(task.status) && isCaughtUp) return "over";
      still = runtime.isQuiet && isCaughtUp ? still + 1 : 0;
      if (performance.now() - startedAt > this.#cast.timeoutMs) {
        const what = this.#stage.problems.map((problem) => `\n  ${problem}`).join("");
        throw new RehearsalError(`There is no end to it after ${this.#cast.timeoutMs} ms.${what}`);
      }
    }
    return "still";
  }

  async #beginAgain(): Promise<void> {
    await this.#life.end();
    this.#cast.onCrash();
    this.#life = await this.#stage.begin();
  }

  async #act(): Promise<boolean> {
    const tasks = await this.#openTasks();
    for (const task of tasks) {
      if (task.pending !== null && (await this.#answer(task, task.pending))) return true;
      for (const call of task.host_calls ?? []) if (await this.#serve(task, call)) return true;
    }
    return await this.#letTimePass(tasks);
  }

  async #openTasks(): Promise<TaskRecord[]> {
    const own = this.#life.kernel.store.of(this.#stage.system.tenantId);
    const found = await own.list({ kind: "task", order: "oldest_first", limit: tasksMax });
    return found.map(({ body }) => body as TaskRecord).filter(({ status }) => !isFinal(status));
  }

  async #answer(task: TaskRecord, pending: PendingRequest): Promise<boolean> {
    if (this.#open.has(nameOf(task, pending))) return false;
    return pending.kind === "input" ? await this.#reply(task, pending) : await this.#decide(task, pending);
  }

  async #reply(task: TaskRecord, pending: PendingRequest): Promise<boolean> {
    const { step, prompt: question, schema } = pending;
    const answer = this.#answers.next({ step, question, schema });
    if (answer === undefined || answer === nobody) return this.#leaveOpen(task, pending, answer);
    const isText = typeof answer === "string" && (schema === null || schema.type === "string");
    const part: Part = isText ? textPart(answer) : { type: "json", value: answer, visibility: "public" };
    const message: MessageInput = { role: "user", parts: [part] };
    const request: AppendTaskMessage = { taskId: task.id, kind: "input", message };
    return await this.#do(appendTaskMessage, request, `answer ${JSON.stringify(answer)} to "${question}"`);
  }

  async #decide(task: TaskRecord, pending: PendingRequest): Promise<boolean> {
    const requestId = pending.permission_request_id ?? "";
    const { request } = await getRecord(this.#life.kernel, this.#person, "permission_request", requestId);
    const { payload = null, risk = "medium" } = request;
    const { step, prompt: action } = pending;
    const decision = this.#approvals.next({ step, action, payload, risk: String(risk) });
    if (decision === undefined || decision === nobody) return this.#leaveOpen(task, pending, decision);
    const { approved, reason = null } = typeof decision === "boolean" ? { approved: decision } : decision;
    const answer = { requestId, approved, reason };
    return await this.#do(respondPermissionRequest, answer, `decision about "${action}"`);
  }

  async #serve(task: TaskRecord, call: HostCall): Promise<boolean> {
    if (this.#open.has(nameOf(task, call))) return false;
    const serve = this.#cast.hosts[call.capability];
    if (serve === undefined) return this.#leaveOpen(task, call, undefined);
    const result = await attempt(serve, await unseal(call.input, this.#life.kernel.store.of(task.tenant_id)));
    if (result === nobody) return this.#leaveOpen(task, call, nobody);
    const answer = { sessionId: task.session_id, callId: call.call_id, result };
    return await this.#do(submitHostResult, answer, `result of ${call.capability}`);
  }

  #leaveOpen(task: TaskRecord, asked: { step: string }, why: typeof nobody | undefined): false {
    this.#open.set(nameOf(task, asked), why === nobody ? "expires" : "unforeseen");
    return false;
  }

  /** Whoever acts may act on a process that dies of it; then it is done all the same. */
  async #do<Request, Result>(
    command: Command<Request, Result>,
    request: Request,
    what: string,
  ): Promise<true> {
    const { kernel, killed } = this.#life;
    try {
      await Promise.race([kernel.dispatch(command, this.#person, request), killed]);
      return true;
    } catch (error) {
      if (!(error instanceof HarnessError)) throw error;
      throw new RehearsalError(`The scripted ${what} is not taken: ${error.message}`, { cause: error });
    }
  }

  /** Jumps to what is due next, but not beyond the end of what somebody should have answered. */
  async #letTimePass(tasks: readonly TaskRecord[]): Promise<boolean> {
    const { clock } = this.#stage;
    const { kernel, runtime } = this.#life;
    const query = { kind: "task", after: { wakeAt: clock.now(), id: afterAll }, limit: 1 };
    const [due] = await kernel.store.due({ ...query, through: Number.MAX_SAFE_INTEGER });
    const next = Math.min(
      clock.nextTimer ?? Number.POSITIVE_INFINITY,
      due?.wakeAt ?? Number.POSITIVE_INFINITY,
    );
    const limits = this.#unforeseen(tasks).map(({ until }) => Date.parse(until));
    if (next === Number.POSITIVE_INFINITY || next >= Math.min(...limits)) return false;
    clock.moveTo(next);
    await runtime.sweep();
    return true;
  }

  async #waitsFor(): Promise<Waiting> {
    const [first] = this.#unforeseen(await this.#openTasks());
    if (first !== undefined) return first;
    throw new RehearsalError("Nothing happens any more, and nobody is asked for anything.");
  }

  #unforeseen(tasks: readonly TaskRecord[]): Waiting[] {
    return tasks.flatMap((task): Waiting[] => {
      const { pending, parked } = task;
      const isOpen = (asked: { step: string }) => this.#open.get(nameOf(task, asked)) === "unforeseen";
      const asked: Waiting[] =
        pending === null || !isOpen(pending)
          ? []
          : [{ kind: pending.kind === "input" ? "answer" : "approval", ...shownOf(pending) }];
      const calls = (task.host_calls ?? []).filter(isOpen).map((call): Waiting => {
        return { kind: "host", what: call.capability, step: call.step, until: call.expires_at };
      });
      // There is no network here, so nobody tells what a remote agent has come to.
      const [remote] = task.handoff_ids ?? [];
      const away: Waiting[] =
        remote === undefined || parked?.until == null
          ? []
          : [{ kind: "agent", what: parked.reason, step: "handoff", until: parked.until }];
      return [...asked, ...calls, ...away];
    });
  }
}

function shownOf({ prompt, step, expires_at }: PendingRequest): Omit<Waiting, "kind"> {
  return { what: prompt, step, until: expires_at };
}

function nameOf({ id }: TaskRecord, { step }: { step: string }): string {
  return `${id} ${step}`;
}

async function attempt(
  serve: Hosts[string],
  input: JsonValue,
): Promise<{ output: JsonValue } | { error: { code: string; message: string } } | typeof nobody> {
  try {
    const output = await serve(input);
    return output === nobody ? nobody : { output };
  } catch (error) {
    return {
      error: { code: "host_failed", message: error instanceof Error ? error.message : String(error) },
    };
  }
}

function aMoment(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}
