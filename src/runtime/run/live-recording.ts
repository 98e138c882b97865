/** The recording of a task's own run: after a crash or a wait it goes on from what is in the log, and what is new is appended to it. */

import { unseal } from "../../kernel/core/content.ts";
import type { KernelEvent } from "../../kernel/core/events.ts";
import { getRecord } from "../../kernel/core/read.ts";
import type { Part } from "../../kernel/kinds/message.ts";
import type { Journal, JournalEntry } from "./journal.ts";
import { never } from "./promises.ts";
import { Recall } from "./recall.ts";
import type { Change } from "./record-run.ts";
import type { Attempted, RecallWithin, Recording } from "./recording.ts";
import type { Run } from "./run.ts";
import type { Arrival, Wait } from "./waits.ts";

export class LiveRecording implements Recording {
  readonly isReplay = false;
  readonly isExact = true;
  readonly journal: Journal;
  readonly #run: Run;
  readonly #recall: Recall;

  constructor(run: Run, journal: Journal) {
    this.#run = run;
    this.journal = journal;
    this.#recall = new Recall({ journal, activity: run.activity, stop: (error) => run.stop(error) });
  }

  get actsAs(): string {
    const { task } = this.#run;
    return task.retry_of?.first_task_id ?? task.id;
  }

  get knownQuotaIds(): readonly string[] {
    return this.#run.task.quota_ids;
  }

  artifactId(): undefined {
    return undefined;
  }

  idempotencyKey(step: string): string {
    return `${this.actsAs}:${step}`;
  }

  async recall(key: string, within?: RecallWithin): Promise<JournalEntry | undefined> {
    const entry = await this.recallBegun(key);
    await within?.(entry);
    if (entry !== undefined && entry.ended !== null) await this.turnOf(key);
    return entry;
  }

  async recallBegun(key: string): Promise<JournalEntry | undefined> {
    const entry = this.#recall.take(key);
    if (entry === undefined) await this.#recall.othersCatchUp(key);
    else if (entry.arrived !== null) this.#run.waits.arrived.set(key, entry.arrived);
    return entry;
  }

  async turnOf(key: string): Promise<void> {
    await this.#recall.turnOf(key, {
      leftOut: (recorded, attempted) => this.#recall.diverged(recorded, attempted),
    });
  }

  async repeat(): Promise<void> {}

  async differs(recorded: string, attempted: string): Promise<void> {
    await this.#recall.diverged(recorded, attempted);
  }

  anew(): null {
    return null;
  }

  async resume(key: string): Promise<void> {
    await this.#recall.othersCatchUp(key);
  }

  async beforeAsking(): Promise<void> {}

  async beforeUsing(): Promise<void> {}

  async note(change: Change): Promise<void> {
    await this.#run.keepUp();
    await this.#run.activity.takeTurn();
    if (this.#run.isOver) return await never();
    this.#run.enqueue(change);
  }

  async give(turn: string): Promise<void> {
    await this.#recall.othersCatchUp(turn);
    await this.#run.activity.takeTurn();
    if (this.#run.isOver) return await never();
    this.#run.enqueue((unit, task) => unit.emit(task, "span.updated", { given: turn }));
  }

  async wait(wait: Wait, beforeGiving?: (event: KernelEvent) => Promise<void>): Promise<Arrival> {
    const event = this.#run.waits.arrived.get(wait.key) ?? (await this.#run.arrival(wait));
    // A time may have been over before this run had come here; what was given before it still is.
    if (event === "elapsed") {
      await this.#recall.othersCatchUp(wait.key);
      return event;
    }
    await beforeGiving?.(event);
    await this.give(wait.key);
    return event;
  }

  async answerParts(messageId: string): Promise<Part[]> {
    const { kernel, caller, own } = this.#run;
    const message = await getRecord(kernel, caller, "message", messageId);
    return await unseal(message.parts, own);
  }

  async readSecret(_key: string, read: () => Promise<Attempted>): Promise<Attempted> {
    return await this.#run.perform(read);
  }

  assertNothingLeft(): Promise<void> | null {
    return this.#recall.assertNothingLeft();
  }
}
