/** Runs that could not be written to the database: each is tried again later, and in the end its task fails. */

import type { Logger } from "pino";
import { runCommand } from "../../kernel/core/dispatch.ts";
import { isTransient } from "../../kernel/core/errors.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { endTask } from "../../kernel/tasks/tasks.ts";
import { systemCaller } from "../../policy/caller.ts";
import { backoffMs } from "../../web/backoff.ts";
import { recordRun, Superseded } from "../run/record-run.ts";

/** A run repeats the step that it was in, so what does not fail because of the disk is not tried often. */
const ownTriesMax = 3;
/** The cap is for disks that fail for longer. */
const backoff = { firstMs: 2000, mostMs: 30_000 };

export interface CrashedRunsOptions {
  kernel: Kernel;
  logger: Logger;
  /** What a line in the log says about a task. */
  about(task: TaskRecord): object;
  retry(task: TaskRecord): void;
}

export class CrashedRuns {
  readonly #options: CrashedRunsOptions;
  readonly #counts = new Map<string, number>();

  constructor(options: CrashedRunsOptions) {
    this.#options = options;
  }

  /** The first crash leaves a line with its cause; the next ones, of a disk that stays full, would say the same. */
  add(task: TaskRecord, error: unknown): void {
    const count = (this.#counts.get(task.id) ?? 0) + 1;
    this.#counts.set(task.id, count);
    if (!isTransient(error) && count >= ownTriesMax) {
      void this.#fail(task, error);
      return;
    }
    if (count === 1) {
      this.#report("run.not_recorded", task, error, "A run could not be written to the database; retrying");
    }
    after(backoffMs(backoff, count), () => this.#options.retry(task));
  }

  /** The run came further, or the task has ended. */
  forget(taskId: string): void {
    this.#counts.delete(taskId);
  }

  async #fail(task: TaskRecord, cause: unknown): Promise<void> {
    try {
      await failTask(this.#options.kernel, task);
      this.forget(task.id);
      this.#report("run.failed", task, cause, "A task failed: its run cannot be written to the database");
    } catch (error) {
      if (isTransient(error)) return after(backoff.mostMs, () => void this.#fail(task, cause));
      this.#report("run.stuck", task, error, "A task cannot be ended; retrying at the next start");
    }
  }

  #report(event: string, task: TaskRecord, err: unknown, sentence: string): void {
    this.#options.logger.error({ event, err, ...this.#options.about(task) }, sentence);
  }
}

function after(ms: number, act: () => void): void {
  setTimeout(act, ms).unref();
}

async function failTask(kernel: Kernel, task: TaskRecord): Promise<void> {
  const failure = {
    code: "internal_error",
    message: "What the run did cannot be written to the database. The server's log has the cause.",
  };
  try {
    await runCommand(kernel, recordRun, systemCaller(task.tenant_id), {
      taskId: task.id,
      parentId: task.parent_step === null ? null : task.parent_task_id,
      changes: [(unit, current) => endTask(unit, current, { status: "FAILED", failure })],
      redactor: kernel.redactor,
    });
  } catch (error) {
    if (!(error instanceof Superseded)) throw error;
  }
}
