/**
 * An approval on its way to being used. What runs code uses it right before, with the record that the step has begun: a run
 * that finds this record and no result knows that the code may have run, and never runs it again. Where what follows is
 * itself one record (a question to a host, the next step of the agent), it is used before the agent hears of the approval.
 */

import { type Refusal, useApproval, usedUp } from "../../kernel/approvals/use.ts";
import type { StepSpan } from "../../kernel/core/events.ts";
import { getRecord } from "../../kernel/core/read.ts";
import type { JsonValue } from "../../store/port.ts";
import { ApprovalRefused } from "./failures.ts";
import type { Run } from "./run.ts";

export class Permit {
  readonly #run: Run;
  readonly #requestId: () => string;
  readonly #binding: string;
  /** What was approved in place of what was asked for. */
  modifiedInput: JsonValue | undefined;

  /** The name of the request is known once it is recorded. */
  constructor(run: Run, requestId: () => string, binding: string) {
    this.#run = run;
    this.#requestId = requestId;
    this.#binding = binding;
  }

  /** Records that the step begins, or why it must not. It is on disk when this resolves. */
  async use(span: StepSpan): Promise<Refusal | null> {
    const seen: { refusal: Refusal | null } = { refusal: null };
    await this.#run.recording.note((unit, task) => {
      seen.refusal = useApproval(unit, task, this.#requestId(), this.#binding);
      return seen.refusal === null ? unit.emit(task, "span.started", span) : task;
    });
    await this.#run.flush();
    return seen.refusal;
  }

  /** Uses it, unless an earlier run has. */
  async consume(): Promise<void> {
    await this.#run.record((unit, task) => {
      const { use } = unit.require("permission_request", this.#requestId());
      if (use === undefined) useApproval(unit, task, this.#requestId(), this.#binding);
      return unit.require("task", task.id);
    });
    await this.#run.flush();
  }

  /** What became of it when it was consumed. */
  async assertConsumed(): Promise<void> {
    const { kernel, caller } = this.#run;
    const request = await getRecord(kernel, caller, "permission_request", this.#requestId());
    const refusal = request.use === undefined ? usedUp(request) : request.use.refusal;
    if (refusal !== null) throw new ApprovalRefused(refusal.code, refusal.message);
  }
}
