/** The state of a conversation while it goes on. Each change is told at once: what depends on it comes after. */

import type { Directive } from "./directive.ts";
import { interruptedReport, type Outcome, type Report, reportOf } from "./outcome.ts";
import { approvalOf } from "./profile.ts";
import type { Continuation, ResponseMessage } from "./response.ts";
import { newState, rememberedMax, type ShellState } from "./state.ts";

/** So many reports go with one request; what is left out stays open at the engine and goes with the next. */
const reportsMax = 50;

export class Memory {
  #state: ShellState;
  /** Whether the pending request has something in it that must not be kept. */
  #isPendingSecret = false;
  readonly #onChange: (state: ShellState) => void;

  constructor(state: ShellState, onChange: (state: ShellState) => void) {
    this.#state = structuredClone(state);
    this.#onChange = onChange;
  }

  /** A copy, fit to be kept. */
  get state(): ShellState {
    const { pending, ...rest } = structuredClone(this.#state);
    return pending === undefined || this.#isPendingSecret ? rest : { ...rest, pending };
  }

  get sessionId(): string {
    return this.#state.session_id;
  }

  get conversationId(): string | undefined {
    return this.#state.conversation_id;
  }

  get continuation(): Continuation | undefined {
    return this.#state.continuation;
  }

  get pending(): ShellState["pending"] {
    return this.#state.pending;
  }

  replace(state: ShellState): void {
    this.#state = structuredClone(state);
    this.#isPendingSecret = false;
    this.#changed();
  }

  /** Forgets the run that is open, and stays in the conversation. */
  leaveRun(): void {
    this.replace(newState(this.#state.session_id, this.#state.conversation_id));
  }

  sending(pending: NonNullable<ShellState["pending"]>, isSecret: boolean): void {
    this.#state.pending = pending;
    this.#isPendingSecret = isSecret;
    this.#changed();
  }

  /** The engine has answered what is pending. */
  answered({ error, continuation }: ResponseMessage, isRunOver: boolean): void {
    const told = new Set(this.#state.pending?.told);
    // What may be different the next time can still be sent again.
    if (error?.retryable !== true) delete this.#state.pending;
    if (continuation !== undefined) this.#state.continuation = continuation;
    if (isRunOver) {
      delete this.#state.continuation;
      Object.assign(this.#state, { begun: [], reports: [] });
    } else if (error === undefined) {
      this.#drop(({ id }) => told.has(id));
    } else if (!error.retryable) {
      // A decision that was refused will be asked for again; what was done stays done, and to be told.
      this.#drop(({ id, report }) => told.has(id) && report.list === "approvals");
    }
    this.#changed();
  }

  /** Whether a directive was begun before, here or in an earlier process; the engine hears of it if it does not know. */
  wasBegun({ id, expectsOutcome }: Directive): boolean {
    if (id === undefined || !this.#state.begun.includes(id)) return false;
    const isTold = this.#state.reports.some((entry) => entry.id === id);
    if (expectsOutcome && !isTold) this.#put(id, interruptedReport(id));
    return true;
  }

  begin({ id, actionType }: Directive): void {
    // A text that is shown again does no harm; a question that is not would never be answered.
    if (id === undefined || actionType === "render_message" || !this.#isOpen) return;
    this.#state.begun = [...this.#state.begun, id].slice(-rememberedMax);
    this.#changed();
  }

  ended(outcome: Outcome): void {
    const report = reportOf(outcome);
    const id = outcome.directive.id ?? approvalOf(outcome.directive).requestId;
    if (report !== null && id !== undefined && this.#isOpen) this.#put(id, report);
  }

  /** What the engine has to be told next. */
  reports(): { id: string; report: Report }[] {
    return this.#state.reports.slice(0, reportsMax);
  }

  /** A run that is over has nobody who waits for reports. */
  get #isOpen(): boolean {
    return this.#state.pending !== undefined || this.#state.continuation !== undefined;
  }

  #put(id: string, report: Report): void {
    this.#drop((entry) => entry.id === id);
    this.#state.reports.push({ id, report });
    this.#changed();
  }

  #drop(isOver: (entry: { id: string; report: Report }) => boolean): void {
    this.#state.reports = this.#state.reports.filter((entry) => !isOver(entry));
  }

  #changed(): void {
    this.#onChange(this.state);
  }
}
