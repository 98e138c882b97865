/** A conversation with an engine: intents there, directives back, outcomes there again, until it is the person's turn. */

import { pause } from "../../web/pause.ts";
import type { Directive } from "./directive.ts";
import { shellError } from "./errors.ts";
import { Execution, type ExecutionListener, type Handler } from "./execution.ts";
import { type Json, type JsonObject, member } from "./json.ts";
import { Memory } from "./memory.ts";
import { type Diagnostic, type Settings, type ShellOptions, settingsOf } from "./options.ts";
import type { Outcome } from "./outcome.ts";
import { responseProfile, vendor } from "./profile.ts";
import {
  type Attachment,
  type EnvironmentState,
  type Intent,
  newId,
  requestBody,
  type Wish,
} from "./request.ts";
import type { CapabilityDenial, ResponseMessage } from "./response.ts";
import { withRetries } from "./retry.ts";
import { newState, type ShellState } from "./state.ts";
import { now } from "./time.ts";
import { Told } from "./told.ts";
import { exchange, type StreamListener } from "./transport.ts";
import { awaitsOf, isRunOver, questionOf, type Turn } from "./turn.ts";

/** Rounds with the engine in one turn; at 25 seconds each a turn waits for hours before it gives the run back as open. */
const roundsMax = 1000;
/** An engine that works on should keep us waiting itself. One that answers at once is asked again after a pause, which grows. */
const paceMsMin = 500;
const paceMsMax = 15_000;
const outcomesMax = 10_000;

export interface SendOptions {
  attachments?: readonly Attachment[];
  /** Gives up waiting. The run goes on without us, and `resume` comes back to it. */
  signal?: AbortSignal;
}

/** What the engine has said of itself. */
export interface EngineFacts {
  readonly protocolVersion: string;
  readonly supportedProtocolVersions: readonly string[];
  readonly capabilities: JsonObject;
  readonly denials: readonly CapabilityDenial[];
}

export class Shell {
  readonly #options: ShellOptions;
  readonly #settings: Settings;
  readonly #memory: Memory;
  readonly #told = new Told();
  #environment: EnvironmentState | undefined;
  #engine: EngineFacts | undefined;
  #isBusy = false;

  constructor(options: ShellOptions) {
    this.#options = options;
    const settings = settingsOf(options);
    this.#settings = { ...settings, handlers: this.#withOwn(settings.handlers) };
    const state = options.state ?? newState(options.sessionId ?? newId("sess"), options.conversationId);
    this.#memory = new Memory(state, (changed) => this.#tell(() => options.onStateChange?.(changed)));
  }

  /** Everything that another shell needs to go on with this conversation. */
  get state(): ShellState {
    return this.#memory.state;
  }

  /** Whether there is a run, or a request, that `resume` can come back to. */
  get isOpen(): boolean {
    return this.#memory.continuation !== undefined || this.#memory.pending !== undefined;
  }

  /** Undefined until the first response. */
  get engine(): EngineFacts | undefined {
    return this.#engine;
  }

  /**
   * Sends what the person wants; with a run open, it answers that run's question. A run whose answer was given up on, and
   * not come back to with `resume`, is left to itself: this is a new one then.
   */
  async send(intent: Intent, { attachments = [], signal }: SendOptions = {}): Promise<Turn> {
    return await this.#turn(signal, async () => {
      if (this.#memory.pending !== undefined) this.#memory.leaveRun();
      this.#environment = await this.#options.environment?.();
      return { intent, attachments };
    });
  }

  /** Answers a question by its id, with any JSON that its schema wants. */
  async answer(questionId: string, value: Json, { signal }: SendOptions = {}): Promise<Turn> {
    return await this.#turn(signal, async () => {
      this.#requireRun();
      return { answers: [{ question_id: questionId, value }] };
    });
  }

  /** Comes back to the run that is open: a request without an answer is sent again as it was, or else the run is waited for. */
  async resume({ signal }: SendOptions = {}): Promise<Turn> {
    return await this.#turn(signal, async () => {
      this.#told.forgetQuestions();
      if (this.#memory.pending !== undefined) return null;
      this.#requireRun();
      return {};
    });
  }

  /** Ends the run that is open. What it asks for in the meantime is not carried out any more. */
  async cancel(reason?: string, { signal }: SendOptions = {}): Promise<Turn> {
    return await this.#turn(signal, async (given) => {
      // A request that is on its way has used up the way back; its answer has the next one.
      if (this.#memory.pending !== undefined) await this.#exchange(() => undefined, given);
      this.#requireRun();
      return { cancel: reason === undefined ? {} : { reason } };
    });
  }

  /** Leaves the conversation and begins another. An open run is not ended by this, only left. */
  startAnew(sessionId = newId("sess"), conversationId?: string): void {
    this.#requireIdle();
    this.#told.clear();
    this.#memory.replace(newState(sessionId, conversationId));
  }

  /** Null as a wish is to send again what is pending. */
  async #turn(
    signal: AbortSignal = new AbortController().signal,
    wishOf: (signal: AbortSignal) => Promise<Wish | null>,
  ): Promise<Turn> {
    this.#requireIdle();
    this.#isBusy = true;
    try {
      const wish = await wishOf(signal);
      if (wish !== null) this.#prepare(wish);
      return await this.#rounds(signal);
    } finally {
      this.#isBusy = false;
    }
  }

  #requireIdle(): void {
    if (this.#isBusy)
      throw shellError("busy", "This shell waits for the engine already: one turn at a time.");
  }

  #requireRun(): void {
    if (this.#memory.pending === undefined && this.#memory.continuation !== undefined) return;
    throw shellError("invalid_argument", "There is no open run.");
  }

  async #rounds(signal: AbortSignal): Promise<Turn> {
    const outcomes: Outcome[] = [];
    let paceMs = paceMsMin;
    for (let round = 1; ; round++) {
      const startedAt = now();
      const response = await this.#round(outcomes, signal);
      requireNotCanceled(signal);
      const mustTell = this.#memory.reports().length > 0;
      const awaits = response.continuation === undefined ? null : awaitsOf(response);
      const isOurTurn = awaits === "engine" || mustTell;
      if (response.error !== undefined || awaits === null || !isOurTurn || round >= roundsMax) {
        return turnOf(response, outcomes, awaits);
      }
      // What the engine waits to hear is told at once; just asking again can wait.
      if (!mustTell) {
        await pause(paceMs - (now() - startedAt), signal);
        requireNotCanceled(signal);
        paceMs = Math.min(paceMs * 2, paceMsMax);
      }
      this.#prepare({});
    }
  }

  /** Makes the next request and remembers it, before it is sent. */
  #prepare(wish: Wish): void {
    const { continuation, sessionId, conversationId } = this.#memory;
    const { identity, auth, taskHint } = this.#options;
    const { capabilities } = this.#settings;
    const reports = continuation === undefined ? [] : this.#memory.reports();
    const environment = this.#environment;
    const requestId = newId("req");
    const body = requestBody(
      { sessionId, conversationId, capabilities, identity, auth, taskHint },
      { ...wish, continuation, environment, reports: reports.map(({ report }) => report) },
      requestId,
    );
    this.#environment = undefined;
    this.#memory.sending(
      { request_id: requestId, body, told: reports.map(({ id }) => id) },
      environment?.privacy_tier === "secret",
    );
  }

  /** Sends what is pending and carries out what comes back, from the first frame on. */
  async #round(outcomes: Outcome[], signal: AbortSignal): Promise<ResponseMessage> {
    const execution = new Execution(this.#settings, this.#listener(), signal);
    // Without an id, a directive is known again by its place in the response.
    let taken = 0;
    const take = (directive: Directive, index: number) => {
      const isKnown = directive.id === undefined ? index < taken : this.#told.has(directive.id);
      taken = Math.max(taken, index + 1);
      if (isKnown) return;
      this.#told.add(directive);
      if (!this.#memory.wasBegun(directive)) execution.take(directive);
    };
    try {
      const response = await this.#exchange(take, signal);
      response.directives.forEach(take);
      return response;
    } finally {
      // Also when the line broke: nothing is carried out behind the back of whoever waits for the turn.
      outcomes.push(...(await execution.finished()));
      outcomes.splice(0, outcomes.length - outcomesMax);
    }
  }

  async #exchange(take: StreamListener["onDirective"], signal: AbortSignal): Promise<ResponseMessage> {
    const { pending } = this.#memory;
    if (pending === undefined) throw shellError("invalid_argument", "There is nothing to send.");
    const listener = { onDirective: take, onProgress: (progress: JsonObject) => this.#progress(progress) };
    const response = await withRetries(
      () => exchange(this.#settings, pending, listener, signal),
      this.#settings.retry,
      signal,
      ({ message }, delayMs) =>
        this.#diagnose({ code: "retry", message: `${message} Trying again in ${Math.ceil(delayMs)} ms.` }),
    );
    this.#engine = {
      protocolVersion: response.protocolVersion,
      supportedProtocolVersions: response.supportedProtocolVersions,
      capabilities: response.supportedCapabilities ?? {},
      denials: response.capabilityDenials,
    };
    this.#memory.answered(response, isRunOver(response));
    return response;
  }

  #listener(): ExecutionListener {
    return {
      onNotice: (text, directive) => this.#tell(() => this.#options.onNotice?.(text, directive)),
      onUnknown: ({ actionType }) =>
        this.#diagnose({
          code: "unknown_action_type",
          message: "There is no handler for this action type; nothing was done.",
          actionType,
        }),
      onBegin: (directive) => this.#memory.begin(directive),
      onOutcome: (outcome) => {
        const { id } = outcome.directive;
        // What was given up before it began is still to be done when it is told again.
        if (outcome.status === "canceled" && !outcome.wasBegun && id !== undefined) this.#told.forget(id);
        this.#memory.ended(outcome);
      },
    };
  }

  /** What the profile defines and every shell can do, unless the program does it in its own way. */
  #withOwn(handlers: ReadonlyMap<string, Handler>): Map<string, Handler> {
    const { environment } = this.#options;
    const own: [string, Handler][] = [[`${vendor}.progress`, ({ payload }) => this.#progress(payload)]];
    if (environment !== undefined) {
      const tell: Handler = async () => {
        this.#environment = await environment();
      };
      own.push([`${vendor}.environment.request`, tell]);
    }
    return new Map([...own, ...handlers]);
  }

  #progress(progress: JsonObject): void {
    const [message, percent] = [member(progress, "message"), member(progress, "percent")];
    this.#tell(() =>
      this.#options.onProgress?.({
        message: typeof message === "string" ? message : undefined,
        percent: typeof percent === "number" ? Math.min(100, Math.max(0, percent)) : undefined,
      }),
    );
  }

  #diagnose(diagnostic: Diagnostic): void {
    this.#tell(() => this.#options.onDiagnostic?.(diagnostic));
  }

  /** A listener that throws has a mistake of its own, which must not change what is carried out. */
  #tell(call: () => void): void {
    try {
      call();
    } catch {
      // It is the program's own code, which can catch its own errors; there is nobody else to tell.
    }
  }
}

function turnOf(response: ResponseMessage, outcomes: readonly Outcome[], awaits: Turn["awaits"]): Turn {
  const { runId, receiptId, notTaken } = responseProfile(response.raw);
  const status = response.error !== undefined ? "failed" : awaits === null ? "completed" : "open";
  return {
    status,
    awaits: status === "open" ? awaits : null,
    question: status === "open" ? questionOf(response.directives) : undefined,
    outcomes,
    error: response.error,
    notTaken,
    runId,
    receiptId,
  };
}

function requireNotCanceled(signal: AbortSignal): void {
  if (signal.aborted) throw shellError("canceled", "The turn was given up.");
}
