/**
 * Carries out the directives of one response. Who embeds the shell says what can be done (handlers by action type) and who
 * may be asked (the approver); what is missing here is not done.
 *
 * Invariants
 *   X1  Only a registered handler is ever called, and only for its own action type.
 *   X2  A directive that asks for approval, or is above the shell's limit of risk, begins after a yes and in no other way.
 *   X3  A directive begins before its deadline or not at all.
 *   X4  Every directive has exactly one outcome, whatever handlers and approvers do.
 */

import { Semaphore } from "../../web/semaphore.ts";
import { type Directive, fallbackText, isAbove, type RiskTier } from "./directive.ts";
import { type Outcome, type OutcomeStatus, reasonOf, resultOf } from "./outcome.ts";
import { approvalOf } from "./profile.ts";
import { type Limit, limitAt, now, unlessAborted } from "./time.ts";

/** More of them at once help nobody; the others wait for a place. */
const parallelMax = 16;

export interface HandlerContext {
  /** Aborted when the deadline passes or the turn is given up. */
  readonly signal: AbortSignal;
}

/** Carries out directives of one action type. What it returns, if it is JSON, is reported to the engine. */
export type Handler = (directive: Directive, context: HandlerContext) => unknown;

export interface ApprovalContext extends HandlerContext {
  /** Why the person is asked: the engine wants their decision, the directive needs their yes, or it is above the limit of risk. */
  readonly why: "requested" | "required" | "risk";
}

/** Asks the person. Only `true` is a yes. */
export type Approver = (directive: Directive, context: ApprovalContext) => boolean | Promise<boolean>;

export interface ExecutionSettings {
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly approve: Approver | undefined;
  /** The highest tier that runs without asking. */
  readonly riskLimit: RiskTier;
  /** How long a handler may take for a directive without a deadline. */
  readonly handlerMsMax: number;
}

/** What is told while directives are carried out. None of these may throw. */
export interface ExecutionListener {
  /** A text for the person, in the place of what is not carried out here. */
  onNotice(text: string, directive: Directive): void;
  onUnknown(directive: Directive): void;
  /** The handler is about to be called. */
  onBegin(directive: Directive): void;
  onOutcome(outcome: Outcome): void;
}

type Ending = Omit<Outcome, "directive">;

export class Execution {
  readonly #settings: ExecutionSettings;
  readonly #listener: ExecutionListener;
  readonly #signal: AbortSignal;
  readonly #outcomes: Promise<Outcome>[] = [];
  /** Settled when the last sequential directive has its outcome, and with it everything before that one. */
  #before: Promise<unknown> = Promise.resolve();
  /** The parallel ones after that. */
  #group: Promise<unknown>[] = [];
  readonly #places = new Semaphore(parallelMax);
  /** A person is asked one thing at a time. */
  readonly #questions = new Semaphore(1);

  constructor(settings: ExecutionSettings, listener: ExecutionListener, signal: AbortSignal) {
    this.#settings = settings;
    this.#listener = listener;
    this.#signal = signal;
  }

  /** Takes the next directive; it begins when its turn comes. */
  take(directive: Directive): void {
    const receivedAt = now();
    const run = () => this.#places.run(() => this.#outcomeOf(directive, receivedAt));
    const isParallel = directive.execution === "parallel";
    const turn = isParallel ? this.#before : Promise.all([this.#before, ...this.#group]);
    const outcome = turn.then(run);
    this.#outcomes.push(outcome);
    if (isParallel) {
      this.#group.push(outcome);
    } else {
      this.#before = outcome;
      this.#group = [];
    }
  }

  /** Every outcome, in the order of the directives. */
  finished(): Promise<Outcome[]> {
    return Promise.all(this.#outcomes);
  }

  async #outcomeOf(directive: Directive, receivedAt: number): Promise<Outcome> {
    const limit = limitAt(receivedAt + (directive.deadlineMs ?? Number.POSITIVE_INFINITY), this.#signal);
    const ending = await this.#runCommand(directive, limit);
    limit.stop();
    const outcome = { directive, ...ending };
    this.#listener.onOutcome(outcome);
    return outcome;
  }

  async #runCommand(directive: Directive, limit: Limit): Promise<Ending> {
    const tooLate = endedBy(limit, false);
    if (tooLate !== null) return tooLate;
    if (directive.actionType === "noop") return { status: "succeeded", wasBegun: false };
    if (directive.actionType === "request_approval") return await this.#decide(directive, limit);
    const handler = this.#settings.handlers.get(directive.actionType);
    if (handler === undefined) return this.#skip(directive);
    const why = this.#whyAsk(directive);
    const answer = why === null ? true : await this.#ask(directive, why, limit);
    const ended = endedBy(limit, false);
    if (ended !== null) return ended;
    if (answer !== true) return { status: "denied", wasBegun: false, ...answer };
    return await this.#call(handler, directive, limit);
  }

  /** The decision is what the engine asks for; there is nothing else to carry out. */
  async #decide(directive: Directive, limit: Limit): Promise<Ending> {
    if (approvalOf(directive).isElsewhere) {
      this.#showFallback(directive);
      return { status: "elsewhere", wasBegun: false };
    }
    const answer = await this.#ask(directive, "requested", limit);
    const ended = endedBy(limit, false);
    if (ended !== null) return ended;
    const decided =
      answer === true ? { status: "succeeded" as const } : { status: "denied" as const, ...answer };
    return { ...decided, wasBegun: false };
  }

  #skip(directive: Directive): Ending {
    this.#showFallback(directive);
    this.#listener.onUnknown(directive);
    return { status: "unknown_action_type", wasBegun: false };
  }

  #showFallback(directive: Directive): void {
    const text = fallbackText(directive);
    if (text !== undefined) this.#listener.onNotice(text, directive);
  }

  #whyAsk({ requiresUserApproval, riskTier }: Directive): "required" | "risk" | null {
    if (requiresUserApproval) return "required";
    return isAbove(riskTier, this.#settings.riskLimit) ? "risk" : null;
  }

  /** True for a yes; otherwise why not, where there is more to say than no. */
  async #ask(
    directive: Directive,
    why: ApprovalContext["why"],
    limit: Limit,
  ): Promise<true | { reason?: string }> {
    const { approve } = this.#settings;
    if (approve === undefined) return { reason: "This shell has nobody to ask." };
    return await this.#questions.run(async () => {
      if (limit.hasEnded()) return {};
      const { signal } = limit;
      try {
        const asked = (async () => await approve(directive, { signal, why }))();
        return (await unlessAborted(asked, signal)) === true ? true : {};
      } catch (error) {
        return { reason: reasonOf(error) };
      }
    });
  }

  async #call(handler: Handler, directive: Directive, limit: Limit): Promise<Ending> {
    // A directive without a deadline has the shell's patience.
    const patienceMs =
      directive.deadlineMs === undefined ? this.#settings.handlerMsMax : Number.POSITIVE_INFINITY;
    const patience = limitAt(now() + patienceMs, limit.signal);
    const { signal } = patience;
    this.#listener.onBegin(directive);
    try {
      const called = (async () => await handler(directive, { signal }))();
      const value = await unlessAborted(called, signal);
      const ended = endedBy(limit, true) ?? endedBy(patience, true);
      if (ended !== null) return ended;
      const result = resultOf(value);
      return { status: "succeeded", wasBegun: true, ...(result === undefined ? {} : { result }) };
    } catch (error) {
      return endedBy(limit, true) ?? { status: "failed", wasBegun: true, reason: reasonOf(error) };
    } finally {
      patience.stop();
    }
  }
}

function endedBy(limit: Limit, wasBegun: boolean): Ending | null {
  if (!limit.hasEnded()) return null;
  const status: OutcomeStatus = limit.isOver ? "timed_out" : "canceled";
  return { status, wasBegun };
}
