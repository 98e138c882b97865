/**
 * The way of a request, the same over every transport: read, negotiated, taken by the kernel; then its run is followed
 * until it has ended, needs somebody, or the time is over; then the response is settled, once, and told.
 */

import type { Logger } from "pino";
import { HarnessError, notFound } from "../../kernel/core/errors.ts";
import { asRecorded, type RecordedEvent } from "../../kernel/core/events.ts";
import { followLog, readLog } from "../../kernel/core/log-tail.ts";
import { findVisible } from "../../kernel/core/read.ts";
import type { TraceContext } from "../../kernel/core/trace.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { type ShellLinkRecord, shellLinkIdOf, type ToldTurn } from "../../kernel/kinds/shell-link.ts";
import { answerShellTurn } from "../../kernel/openharness/answer-shell-turn.ts";
import { protectedMax, protectedValues } from "../../kernel/openharness/protected-values.ts";
import { type TakenTurn, takeShellTurn } from "../../kernel/openharness/take-shell-turn.ts";
import type { Caller } from "../../policy/caller.ts";
import type { Redactor } from "../../policy/redact/redact.ts";
import { refusalOf, type ServerFacts } from "../server-facts.ts";
import { capability, type Negotiated, negotiate } from "./capabilities.ts";
import { toWireError, type WireError } from "./errors.ts";
import { type ReadTurn, readMessage, readTurn } from "./read-request.ts";
import { type Echo, echoOf, errorResponse, runResponse } from "./response.ts";
import { RunView, type Told } from "./view/run-view.ts";
import type { ActionDirective, ResponseMessage } from "./wire.ts";

/** How long a run that has something for the shell may go on before the shell is told, for what belongs to it. */
const settleMs = 250;

export interface EngineOptions {
  kernel: Kernel;
  facts: ServerFacts;
  logger: Logger;
  /** Aborted when the server stops. */
  stopped: AbortSignal;
  /** How long a shell is kept waiting for its response. */
  waitMs: number;
  /** How long a run can be continued after a response. */
  continuationMs: number;
}

/** A message that has arrived, over whatever transport. */
export interface Arrival {
  value: unknown;
  correlationHeader: string | null;
  trace: TraceContext | null;
  /** Aborted when the shell has gone away. */
  gone: AbortSignal;
}

/** A part of a stream; the response message comes after the last of them. */
export type Frame = { stream_id: string; sequence: number; request_id?: string } & (
  | { type: "directive"; action_directive: ActionDirective }
  | { type: "progress"; progress: { message: string; percent?: number } }
);

/** A request on its way: what is known of it so far goes into whatever is said about it. */
export interface Exchange {
  arrival: Arrival;
  echo: Echo;
  denials: Negotiated["denials"];
  redactor: Redactor;
  startedAt: number;
}

/** A request that was taken. */
export interface Taken extends TakenTurn {
  exchange: Exchange;
  caller: Caller;
  /** What the shell asks for; null when it leaves that as it was. */
  asked: readonly string[] | null;
  /** Whether the shell wants it as a stream. */
  isStreamed: boolean;
}

export class Engine {
  readonly #options: EngineOptions;

  constructor(options: EngineOptions) {
    this.#options = options;
  }

  open(arrival: Arrival): Exchange {
    const { clock, redactor } = this.#options.kernel;
    const echo = echoOf(arrival.value, arrival.correlationHeader);
    return { arrival, echo, denials: [], redactor, startedAt: clock.now() };
  }

  /** Refused before anything is recorded; from here on there is a run. */
  async take(exchange: Exchange, caller: Caller): Promise<Taken> {
    const { kernel, facts } = this.#options;
    const { value, trace } = exchange.arrival;
    const refusal = refusalOf(facts);
    if (refusal !== null) throw refusal;
    const message = readMessage(value);
    const turn = readTurn(message);
    this.#protect(exchange, turn);
    const { granted, denials } = negotiate(turn.capabilities ?? [], caller);
    exchange.denials = denials;
    const { request_id: requestId } = message;
    const { result } = await kernel.dispatch(
      takeShellTurn,
      caller,
      { ...turn, trace, newTaskId: kernel.newId("task") },
      requestId === undefined ? undefined : { key: requestId, target: "openharness", body: value },
    );
    return {
      ...result,
      exchange,
      caller,
      asked: turn.capabilities,
      isStreamed: granted.has(capability.streaming),
    };
  }

  /** An error may quote what it refuses. */
  #protect(exchange: Exchange, { environment }: ReadTurn): void {
    if (environment?.tier !== "secret") return;
    const values = protectedValues(environment.state, "", this.#options.kernel.clock.now());
    exchange.redactor = exchange.redactor.with(values.slice(0, protectedMax));
  }

  /** What becomes of it, as it comes, and last the response. */
  async *follow(taken: Taken): AsyncGenerator<Frame, ResponseMessage> {
    const link = await this.#linkOf(taken);
    const isSettled = link.told !== null && link.told.turn >= taken.turn;
    const told = isSettled ? await this.#settledTurn(taken) : null;
    const after = told?.after ?? link.told?.through ?? 0;
    const view = await this.#viewOf(taken, after);
    const pages = told === null ? this.#live(taken, view) : this.#settled(taken, told);
    const frames = new Frames(taken);
    // What the request itself has closed is not told again, so nothing is told before it.
    let held: Told[] | null = [];
    for await (const events of pages) {
      for (const event of events) {
        const news = view.fold(event);
        if (held === null) for (const one of news) yield* await frames.of(one);
        else held.push(...news);
        if (held === null || view.turn < taken.turn) continue;
        const stillOpen = view.open.filter(({ position }) => position <= after).map((item) => ({ item }));
        for (const one of [...stillOpen, ...held]) yield* await frames.of(one);
        held = null;
      }
    }
    if (told !== null) return await this.#respond(taken, view, { ...link, told });
    const answered = await this.#settle(taken, view);
    const isOurs = answered.told?.turn === taken.turn && answered.told.through === view.position;
    if (isOurs) return await this.#respond(taken, view, answered);
    // It was more than a response holds; or somebody else was waiting for the same turn, and saw another moment of it.
    return await this.response({ ...taken, isStreamed: false });
  }

  /** The response alone, for those who do not want to hear how it comes. */
  async response(taken: Taken): Promise<ResponseMessage> {
    const frames = this.follow(taken);
    let next = await frames.next();
    while (next.done !== true) next = await frames.next();
    return next.value;
  }

  /** How an error is said; what was our fault is in the log. */
  fail(
    error: unknown,
    exchange: Exchange | null,
    requestId: string,
    echo: Exchange["echo"] = exchange?.echo ?? { requestId: null, correlationId: null },
  ): WireError & { message: ResponseMessage } {
    const { kernel, logger } = this.#options;
    const said = toWireError(error, exchange?.redactor ?? kernel.redactor);
    if (!said.unexpected)
      return { ...said, message: errorResponse(echo, exchange?.denials ?? [], said.error) };
    const { requestId: shellRequestId, correlationId } = echo;
    const about = { request_id: requestId, shell_request_id: shellRequestId, correlation_id: correlationId };
    logger.error({ event: "http.failed", err: error, ...about }, "A request failed");
    // Over a WebSocket there is no header to say it in.
    const found = { ...said.error, details: { ...said.error.details, server_request_id: requestId } };
    return { ...said, message: errorResponse(echo, exchange?.denials ?? [], found) };
  }

  async #linkOf({ caller, task_id: taskId }: Taken): Promise<ShellLinkRecord> {
    const link = await findVisible(this.#options.kernel.store, caller, "shell_link", shellLinkIdOf(taskId));
    if (link === undefined) throw notFound("run", taskId);
    return link;
  }

  async #viewOf({ caller, task_id: taskId }: Taken, after: number): Promise<RunView> {
    const { store } = this.#options.kernel;
    const task = await findVisible(store, caller, "task", taskId);
    if (task === undefined) throw notFound("run", taskId);
    return new RunView(task, { store: store.of(caller.tenantId), caller, after });
  }

  /** The response that this turn was given before. */
  async #settledTurn({ caller, task_id: taskId, turn }: Taken): Promise<ToldTurn> {
    for await (const events of readLog(this.#options.kernel.store.of(caller.tenantId), {
      taskId,
      after: 0,
    })) {
      for (const event of events.map(asRecorded)) {
        const isAnswer = event.event === "vendor.bridle.shell_link.turn_answered";
        if (isAnswer && event.payload.told.turn === turn) return event.payload.told;
      }
    }
    throw notFound("run", taskId);
  }

  async *#settled(
    { caller, task_id: taskId }: Taken,
    { through }: ToldTurn,
  ): AsyncGenerator<RecordedEvent[]> {
    for await (const events of readLog(this.#options.kernel.store.of(caller.tenantId), {
      taskId,
      after: 0,
    })) {
      yield events.filter(({ position }) => position <= through).map(asRecorded);
      if ((events.at(-1)?.position ?? 0) >= through) return;
    }
  }

  /** The events of the run, until there is something to answer or the time is over. */
  async *#live(
    { caller, task_id: taskId, turn, exchange }: Taken,
    view: RunView,
  ): AsyncGenerator<RecordedEvent[]> {
    const { kernel, stopped, waitMs } = this.#options;
    const { gone } = exchange.arrival;
    const over = new AbortController();
    const deadline = setTimeout(() => over.abort(), waitMs);
    let settling: NodeJS.Timeout | undefined;
    const signal = AbortSignal.any([gone, stopped, over.signal]);
    try {
      for await (const events of followLog(
        kernel.store.of(caller.tenantId),
        kernel.tail,
        { taskId, after: 0 },
        signal,
      )) {
        yield events.map(asRecorded);
        // Before its own turn everything is history.
        const rest = view.turn < turn ? "no" : view.rest();
        if (rest === "now") return;
        if (rest === "soon") settling ??= setTimeout(() => over.abort(), settleMs);
        else clearTimeout(settling);
        if (rest === "no") settling = undefined;
      }
    } finally {
      clearTimeout(deadline);
      clearTimeout(settling);
    }
    if (stopped.aborted) {
      throw new HarnessError("service_unavailable", "The engine is stopping; send the same request again.");
    }
    if (gone.aborted) throw new HarnessError("client_closed_request", "The shell has gone away.");
  }

  async #settle({ caller, task_id: taskId, turn, exchange }: Taken, view: RunView): Promise<ShellLinkRecord> {
    const { kernel, continuationMs } = this.#options;
    const { through } = view;
    // Where there is more to tell than a response holds, what is open comes with the rest.
    const isWhole = through === view.position;
    const { result } = await kernel.dispatch(answerShellTurn, caller, {
      taskId,
      turn,
      through,
      asked: isWhole ? view.openCalls : [],
      question: isWhole ? view.question : null,
      continueMs: isWhole && view.isOver ? null : continuationMs,
      latencyMs: Math.max(0, Math.round(kernel.clock.now() - exchange.startedAt)),
    });
    return result;
  }

  async #respond(
    { exchange, caller, asked, not_taken: notTaken }: Taken,
    view: RunView,
    link: ShellLinkRecord,
  ): Promise<ResponseMessage> {
    if (link.told === null) throw new Error(`${link.id} was answered without an answer`);
    const { denials } = negotiate(asked ?? view.asked, caller);
    exchange.denials = denials;
    return await runResponse(exchange.echo, denials, view, { link, told: link.told, notTaken });
  }
}

/** The frames of one stream, numbered from 1. */
class Frames {
  readonly #common: Pick<Frame, "stream_id" | "request_id">;
  readonly #isStreamed: boolean;
  #sequence = 0;

  constructor({ task_id, turn, exchange, isStreamed }: Taken) {
    const { requestId } = exchange.echo;
    this.#isStreamed = isStreamed;
    this.#common = {
      stream_id: `${task_id}:${turn}`,
      ...(requestId === null ? {} : { request_id: requestId }),
    };
  }

  async of(told: Told): Promise<Frame[]> {
    if (!this.#isStreamed) return [];
    if ("progress" in told) return [this.#next({ type: "progress", progress: told.progress })];
    const directive = await told.item.directive();
    return directive === null ? [] : [this.#next({ type: "directive", action_directive: directive })];
  }

  #next(
    body:
      | { type: "directive"; action_directive: ActionDirective }
      | { type: "progress"; progress: { message: string; percent?: number } },
  ): Frame {
    this.#sequence += 1;
    return { ...body, ...this.#common, sequence: this.#sequence };
  }
}
