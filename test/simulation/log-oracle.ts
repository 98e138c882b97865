/** What must hold of the log after every write, whatever happened: it sees each event once, in order, before any process hears of it. */

import assert from "node:assert/strict";
import { asKernelEvent, type KernelEvent, terminalEvents } from "../../src/kernel/core/events.ts";
import { alsoChanged, changed, created } from "../../src/kernel/core/fold.ts";
import type { TaskRecord } from "../../src/kernel/kinds/task.ts";
import { mayMove } from "../../src/kernel/tasks/lifecycle.ts";
import { stepMark } from "../../src/kernel/tasks/steps.ts";
import type { StoredEvent } from "../../src/store/port.ts";

export class LogOracle {
  readonly events: StoredEvent[] = [];
  readonly tasks = new Map<string, TaskRecord>();
  readonly #heads = new Map<string, { sequence: number; position: number }>();
  readonly #recorded = new Set<string>();
  readonly #ended = new Set<string>();
  readonly #receipted = new Set<string>();

  /** Whether the result of a step is on disk. */
  isRecorded(taskId: string, key: string): boolean {
    return this.#recorded.has(`${taskId} ${key}`);
  }

  take(events: readonly StoredEvent[]): void {
    for (const event of events) this.#take(event);
  }

  #take(stored: StoredEvent): void {
    const { position, sequence, previous, resource } = stored;
    assert.equal(position, this.events.length + 1, "positions are dense");
    const head = this.#heads.get(resource.id);
    assert.equal(sequence, (head?.sequence ?? 0) + 1, `the sequence of ${resource.id} has no gap`);
    assert.equal(previous, head?.position ?? null, `${resource.id} is linked to its event before`);
    this.#heads.set(resource.id, { sequence, position });
    this.events.push(stored);
    const event = asKernelEvent(stored);
    this.#followTasks(event);
    this.#followSteps(event);
    this.#followReceipts(event);
  }

  #followTasks(event: KernelEvent): void {
    for (const record of created(event)) if (record.object === "task") this.tasks.set(record.id, record);
    for (const id of [event.resource.id, ...alsoChanged(event)]) {
      const before = this.tasks.get(id);
      if (before === undefined) continue;
      const after = changed(before, event);
      assert.equal(after.object, "task");
      if (after.object !== "task") continue;
      const isMove = after.status !== before.status;
      if (isMove)
        assert.ok(mayMove(before.status, after.status), `${id}: ${before.status} → ${after.status}`);
      if (event.resource.id === id && terminalEvents.has(event.event)) {
        assert.ok(!this.#ended.has(id), `${id} ends once`);
        this.#ended.add(id);
      }
      this.tasks.set(id, after);
    }
  }

  #followSteps(event: KernelEvent): void {
    const mark = stepMark(event);
    if (mark?.phase !== "ended" || event.taskId === null) return;
    const key = `${event.taskId} ${mark.key}`;
    const isResult = event.event === "span.completed" || event.event === "span.failed";
    assert.ok(!isResult || !this.#recorded.has(key), `${key} is recorded once`);
    this.#recorded.add(key);
  }

  #followReceipts(event: KernelEvent): void {
    if (event.event !== "receipt.issued") return;
    assert.ok(!this.#receipted.has(event.resource.id), `${event.resource.id} is issued once`);
    this.#receipted.add(event.resource.id);
  }
}
