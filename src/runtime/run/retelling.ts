/** What a replay writes to its own log: the events of its source, in order, each at the moment the code has come as far (P2). */

import {
  eventId,
  type KernelEvent,
  type RecordedEvent,
  type ToolCallInput,
} from "../../kernel/core/events.ts";
import type { ReplayMark, ReplayPlan } from "../../kernel/kinds/replay.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import type { Journal } from "./journal.ts";
import type { Run } from "./run.ts";
import { isToolEnding, toolEnding } from "./tool-events.ts";

export interface RetellingOptions {
  run: Pick<Run, "enqueue">;
  journal: Journal;
  plan: ReplayPlan;
  source: TaskRecord;
  isExact: boolean;
  /** The number of events that the replay had emitted before a crash. */
  emitted: number;
}

export class Retelling {
  readonly #run: RetellingOptions["run"];
  readonly #journal: Journal;
  readonly #plan: ReplayPlan;
  readonly #source: TaskRecord;
  readonly #isExact: boolean;
  /** Records that the code has come to and that wait for those before them. */
  readonly #reached = new Set<RecordedEvent>();
  #emitted: number;
  /** Until the checkpoint is passed, the past is restored without being told again. */
  isRestoring: boolean;
  /** Events told so far, in this life of the replay and before. */
  count = 0;

  constructor({ run, journal, plan, source, isExact, emitted }: RetellingOptions) {
    this.#run = run;
    this.#journal = journal;
    this.#plan = plan;
    this.#source = source;
    this.#isExact = isExact;
    this.#emitted = emitted;
    this.isRestoring = plan.checkpoint !== null;
  }

  passCheckpoint(at: RecordedEvent): void {
    this.#journal.takeBeside(at);
    this.#journal.dropThrough(at.position);
    this.isRestoring = false;
  }

  /** Everything that came after the last step: the result, if it is the same. */
  repeatRest(): void {
    const { rest } = this.#journal;
    if (this.#isExact) this.#copyInOrder(...rest);
    else for (const event of rest) this.#emit(event, event);
  }

  /** A record of the source, and before it what stood beside it in the log. */
  copy(
    recorded: RecordedEvent | null,
    given: KernelEvent | null = recorded,
    change: Partial<ReplayMark> = {},
  ): void {
    if (this.#isExact && recorded !== null) {
      this.#copyInOrder(recorded);
      return;
    }
    const beside = recorded === null ? [] : this.#journal.takeBeside(recorded);
    if (recorded !== null) this.#journal.dropThrough(recorded.position);
    if (this.isRestoring) return;
    for (const event of beside) if (!isReplaced(event, given, change)) this.#emit(event, event);
    if (given !== null) this.#emitGiven(given, recorded, change);
  }

  /** What stands in the place of a tool's result is told as its result. */
  #emitGiven(given: KernelEvent, recorded: RecordedEvent | null, change: Partial<ReplayMark>): void {
    const tool_call = recorded === null ? undefined : toolCallIn(recorded);
    if (given.event === "span.completed" && tool_call !== undefined && change.override_key !== undefined) {
      for (const ending of toolEnding({ ...given.payload, tool_call })) {
        this.#emit({ ...given, ...ending }, null);
      }
    }
    this.#emit(given, recorded, change);
  }

  /** Branches that run side by side come to their records in any order; they are told in the source's. */
  #copyInOrder(...records: RecordedEvent[]): void {
    for (const record of records) {
      for (const event of this.#journal.takeBeside(record)) this.#reached.add(event);
      this.#reached.add(record);
    }
    if (this.isRestoring) return;
    for (let next = this.#journal.firstUntold; next !== undefined; next = this.#journal.firstUntold) {
      if (!this.#reached.delete(next)) return;
      this.#journal.told();
      this.#emit(next, next);
    }
  }

  #emit(event: KernelEvent, original: RecordedEvent | null, change: Partial<ReplayMark> = {}): void {
    if (this.isEmitted()) return;
    const mark: ReplayMark = { ...this.#mark(original), ...change };
    this.#run.enqueue((unit, task) => {
      unit.copy(task, event, mark);
      return task;
    });
  }

  /** A replay that was interrupted starts from the top; what it had emitted by then is in the log. */
  isEmitted(): boolean {
    this.count += 1;
    if (this.#emitted === 0) return false;
    this.#emitted -= 1;
    return true;
  }

  /** On what came out of the replay itself. */
  ownMark(): ReplayMark {
    return { ...this.#mark(null), is_copy: false };
  }

  #mark(original: RecordedEvent | null): ReplayMark {
    return {
      is_copy: true,
      source_task_id: this.#source.id,
      mode: this.#plan.mode,
      original_event_id: original === null ? null : eventId(original.position),
    };
  }
}

function toolCallIn(recorded: RecordedEvent): ToolCallInput | undefined {
  const isEnding = recorded.event === "span.completed" || recorded.event === "span.failed";
  return isEnding ? recorded.payload.tool_call : undefined;
}

/** Whether it says how a tool call ended that ends in another way now. */
function isReplaced(
  event: RecordedEvent,
  given: KernelEvent | null,
  { override_key }: Partial<ReplayMark>,
): boolean {
  const isEnding = given?.event === "span.completed" || given?.event === "span.failed";
  return override_key !== undefined && isEnding && isToolEnding(event, given.payload.step);
}
