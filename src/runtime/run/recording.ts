/** What a run has of its past, and what it does where it has none: the run of a task has its own past, a replay that of another task. */

import type { KernelEvent } from "../../kernel/core/events.ts";
import type { Part } from "../../kernel/kinds/message.ts";
import type { JsonValue } from "../../store/port.ts";
import type { Journal, JournalEntry } from "./journal.ts";
import type { Change } from "./record-run.ts";
import type { Arrival, Wait } from "./waits.ts";

/** What the code of a step gave, or failed with: `thrown` is the error itself, which is not written down as it is. */
export type Attempted =
  | { output: JsonValue }
  | { error: { code: string; message: string }; thrown?: unknown };

/** The same as it is written down. */
export type Recorded = { output: JsonValue } | { error: { code: string; message: string }; stack?: string };

export type RecallWithin = (entry: JournalEntry | undefined) => Promise<void>;

export interface Recording {
  /** What the log has of each step. */
  readonly journal: Journal;
  readonly isReplay: boolean;
  /** Whether the code must do what it did. */
  readonly isExact: boolean;
  /** The task that the agent believes it works on. */
  readonly actsAs: string;
  /** The quotas that the run has counted against, or was made to ask about. */
  readonly knownQuotaIds: readonly string[];
  /** The name of an artifact, where it must not be left to chance. */
  artifactId(step: string): string | undefined;
  /** The same on every attempt of a step, and nowhere else: for services that can recognize a repeated call. */
  idempotencyKey(step: string): string;
  /**
   * What the journal has for a step. Nothing recorded, but other steps left over: either they belong to a branch of
   * the code that runs beside this one and will ask for them in this turn, or the code has changed. What was recorded in
   * the middle of the step is come past by `within`, before the step's own ending.
   */
  recall(key: string, within?: RecallWithin): Promise<JournalEntry | undefined>;
  /** The same for a step that goes on beside the code: its ending has a turn of its own, later. */
  recallBegun(key: string): Promise<JournalEntry | undefined>;
  /** Resolves when it is the turn of a recorded result. */
  turnOf(key: string): Promise<void>;
  /** The code does at a recorded step what it did then. */
  repeat(key: string): Promise<void>;
  /** What the code does at a recorded step is not what it did then. */
  differs(recorded: string, attempted: string): Promise<void>;
  /** Whether a recorded step that is given something else now is done anew; with what it gave, when that is known already. */
  anew(key: string): { own: JournalEntry | undefined } | null;
  /** A step that had begun when an earlier run was cut off is done again: after all that was recorded meanwhile. */
  resume(key: string): Promise<void>;
  /** Before somebody outside is asked for something that nobody was asked for yet. */
  beforeAsking(whom: "host" | "remote agent", key: string): Promise<void>;
  /** Before an approval is used for something that is done now. */
  beforeUsing(key: string): Promise<void>;
  /** Records what the agent did or was given. It is given when this resolves, without waiting for the disk (J1, J6). */
  note(change: Change): Promise<void>;
  /** What is in the log already is given now, and the log says so (J6). */
  give(turn: string): Promise<void>;
  /** Waits for an event from outside the run, or for a time. What has to be settled before it is given comes first. */
  wait(wait: Wait, beforeGiving?: (event: KernelEvent) => Promise<void>): Promise<Arrival>;
  /** What a person answered. */
  answerParts(messageId: string): Promise<Part[]>;
  /** Secrets are in no journal: they are read each time. */
  readSecret(key: string, read: () => Promise<Attempted>): Promise<Attempted>;
  /** After the function returned: steps it never asked for again are a divergence too. To be awaited if there is something to wait for. */
  assertNothingLeft(): Promise<void> | null;
}
