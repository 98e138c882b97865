/**
 * The journal of a run: what the log says about each step, by its key.
 *
 * A step can have begun (a question was asked, a child was spawned) and can have ended (an answer, a result). On
 * re-execution the code takes its steps out again; what is left over when it asks for something new shows that the
 * code has changed. What was taken is forgotten.
 */

import { asRecorded, type EventPayloads, type RecordedEvent } from "../../kernel/core/events.ts";
import { readLog } from "../../kernel/core/log-tail.ts";
import { stepMark } from "../../kernel/tasks/steps.ts";
import type { Position, TenantStore } from "../../store/port.ts";

export interface JournalEntry {
  begun: RecordedEvent | null;
  /** The ending that the agent was given. */
  ended: RecordedEvent | null;
  /** The ending that is in the log and had not been given when the log ended. */
  arrived: RecordedEvent | null;
  /** Of a step that goes on beside the code: whether the agent was told that it had begun. */
  isBegunGiven: boolean;
}

export class Journal {
  /** What the code has not asked for yet, in the order in which it was first recorded. */
  readonly #entries = new Map<string, Pick<JournalEntry, "begun" | "ended">>();
  /** What the agent was given and has not been given again, in that order: names of steps, see `begunTurn`. */
  readonly #turns: string[] = [];
  /** Those turns of which the log says apart when they were. */
  readonly #told = new Set<string>();
  /** What stood in the log before a record of a step without being one itself: said, decided, approved. */
  readonly #beside = new WeakMap<RecordedEvent, RecordedEvent[]>();
  /** The last attempt at each step that failed and was to be repeated. */
  readonly #attempts = new Map<string, EventPayloads["vendor.bridle.step.attempt_failed"]>();
  #unclaimed: RecordedEvent[] = [];
  /** What a replay will tell and has not told yet, in log order. */
  readonly #untold: RecordedEvent[] = [];
  readonly #isTold: (event: RecordedEvent) => boolean;

  /** `isTold` says which events beside the records of steps are of interest; none to a run of its own. */
  constructor(isTold: (event: RecordedEvent) => boolean = () => false) {
    this.#isTold = isTold;
  }

  /**
   * Reads all of it before the code runs. Reading lets others have their turn of the event loop; in the middle of a run, that
   * would change which of two branches goes on first.
   */
  static async of(
    store: TenantStore,
    taskId: string,
    isTold?: (event: RecordedEvent) => boolean,
  ): Promise<Journal> {
    const journal = new Journal(isTold);
    for await (const events of readLog(store, { taskId, after: 0 })) {
      for (const event of events) journal.#add(asRecorded(event));
    }
    return journal;
  }

  /** What was recorded of a step, once. */
  take(key: string): JournalEntry | undefined {
    const isToldApart = isGivenLater(key, this.#entries.get(key));
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    if (entry === undefined) return undefined;
    const isGiven = !isToldApart || this.#told.delete(key);
    return {
      begun: entry.begun,
      ended: isGiven ? entry.ended : null,
      arrived: isGiven ? null : entry.ended,
      isBegunGiven: this.#told.delete(begunTurn(key)),
    };
  }

  /** The last attempt at a step, if it failed and was to be repeated. */
  attemptFailed(key: string): EventPayloads["vendor.bridle.step.attempt_failed"] | undefined {
    return this.#attempts.get(key);
  }

  /** Whether a recorded step has not been asked for yet. */
  has(turn: string): boolean {
    return this.#entries.has(turn.endsWith(begunSuffix) ? turn.slice(0, -begunSuffix.length) : turn);
  }

  /** The step whose result comes next: results are given again in the order in which they came. */
  get nextTurn(): string | undefined {
    return this.#turns[0];
  }

  /** The next result has been given. */
  given(): void {
    this.#turns.shift();
  }

  /** The earliest recorded step that the code has not asked for. */
  get firstLeft(): string | undefined {
    return this.#entries.keys().next().value;
  }

  /** What came before a record since the last one, once. */
  takeBeside(record: RecordedEvent): RecordedEvent[] {
    const beside = this.#beside.get(record) ?? [];
    this.#beside.delete(record);
    return beside;
  }

  /** What came after the last record of a step. */
  get rest(): readonly RecordedEvent[] {
    return this.#unclaimed;
  }

  get firstUntold(): RecordedEvent | undefined {
    return this.#untold[0];
  }

  told(): void {
    this.#untold.shift();
  }

  dropThrough(position: Position): void {
    while (this.#untold[0] !== undefined && this.#untold[0].position <= position) this.#untold.shift();
  }

  #add(event: RecordedEvent): void {
    if (event.event === "span.updated" && event.payload.given !== undefined) {
      this.#turns.push(event.payload.given);
      this.#told.add(event.payload.given);
    }
    if (event.event === "vendor.bridle.step.attempt_failed")
      this.#attempts.set(event.payload.step, event.payload);
    const mark = stepMark(event);
    // A failed attempt is no record of a step: the code is not told of it.
    if ((mark === null || mark.phase === "attempted") && !this.#isTold(event)) return;
    this.#untold.push(event);
    if (mark === null || mark.phase === "attempted") {
      this.#unclaimed.push(event);
      return;
    }
    const entry = this.#entries.get(mark.key) ?? { begun: null, ended: null };
    entry[mark.phase] = event;
    if (mark.phase === "ended" && !isGivenLater(mark.key, entry)) this.#turns.push(mark.key);
    this.#entries.set(mark.key, entry);
    if (this.#unclaimed.length > 0) this.#beside.set(event, this.#unclaimed);
    this.#unclaimed = [];
  }
}

const begunSuffix = ":begun";

/** A step that goes on beside the code gives something twice: when it has begun, and when it has ended. */
export function begunTurn(key: string): string {
  return key + begunSuffix;
}

/** What only a commit decides, or somebody outside, is given after it was recorded; the log says when (J6 in `run.ts`). */
function isGivenLater(key: string, entry: Pick<JournalEntry, "begun"> | undefined): boolean {
  // A host that is asked is outside; a step of the agent's own code about a host is not, and has no beginning.
  // The same goes for a remote agent: what the persona did not let happen has no beginning.
  return (
    /^(?:ask|approve|spawn|signal):/.test(key) || (/^(?:host|handoff):/.test(key) && entry?.begun != null)
  );
}
