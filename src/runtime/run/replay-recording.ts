/**
 * The recording of a run that repeats another task's run: recovery under another name. The agent's code runs from the top and is given
 * what the source's log has, or what the request put in its place; nothing it does reaches the world.
 *
 * Invariants
 *   P1  No step's code runs, nobody is asked, nothing is waited for, unless the request allowed that kind of step to
 *       be live; what the log cannot supply ends the replay, naming it.
 *   P2  Each event of the source is copied to the replay's log at the moment the code has come as far, marked as a copy.
 *   P3  Without changes the code must do what it did. With substitutions its output may differ: it is then the
 *       replay's own, and kept apart from the conversation.
 */

import type { EventPayloads, KernelEvent, RecordedEvent } from "../../kernel/core/events.ts";
import { type Part, textPart } from "../../kernel/kinds/message.ts";
import {
  actingKinds,
  type ReplayMark,
  type ReplayPlan,
  type Substitution,
} from "../../kernel/kinds/replay.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { recordedHash, substituted } from "../../kernel/replay/substitute.ts";
import { nameIn } from "../../kernel/workspaces/ensure-tenant.ts";
import { placeholder } from "../../policy/redact/kinds.ts";
import { hashOf } from "../../receipts/canonical.ts";
import type { JsonValue } from "../../store/port.ts";
import { ReplayDependencyUnavailable } from "./failures.ts";
import type { Journal, JournalEntry } from "./journal.ts";
import { LiveRecording } from "./live-recording.ts";
import { Recall, type TurnOptions } from "./recall.ts";
import type { Change } from "./record-run.ts";
import type { Attempted, RecallWithin, Recording } from "./recording.ts";
import { Retelling } from "./retelling.ts";
import type { Run } from "./run.ts";
import type { Wait } from "./waits.ts";

export interface ReplayOptions {
  journal: Journal;
  source: TaskRecord;
  plan: ReplayPlan;
  substitutions: Record<string, Substitution>;
  /** Secrets that came with the request, by step; or what stands for them in the log, where nothing secret can be used. */
  secrets: ReadonlyMap<string, JsonValue> | "stand_in";
  /** What the replay had emitted before a crash: the number of events, and the results of live steps among them. */
  before: { emitted: number; own: ReadonlyMap<string, RecordedEvent> };
}

/** A recorded ending that waits for its turn, and what the agent gets in its place. */
interface Ending {
  recorded: RecordedEvent | null;
  given: KernelEvent;
}

const usedUp = "it needs an approval, and a replay can neither give nor use one";

export class ReplayRecording implements Recording {
  readonly isReplay = true;
  /** Whether the code must do what it did: unless it was given something else (P3). */
  readonly isExact: boolean;
  readonly source: TaskRecord;
  readonly journal: Journal;
  readonly #run: Run;
  /** What the run would do by itself, where the replay does the same. */
  readonly #live: LiveRecording;
  readonly #recall: Recall;
  readonly #retelling: Retelling;
  readonly #plan: ReplayPlan;
  readonly #substitutions: Record<string, Substitution>;
  readonly #secrets: ReplayOptions["secrets"];
  readonly #endings = new Map<string, Ending>();
  readonly #answers = new Map<string, JsonValue>();
  /** Steps that code which took another way had not asked for when their turn came. It may ask later. */
  readonly #missed = new Set<string>();
  /** What live steps gave before a crash. */
  readonly #own: ReadonlyMap<string, RecordedEvent>;
  readonly #turn: TurnOptions = {
    before: (key) => this.#beforeTurn(key),
    leftOut: (recorded, attempted) => this.#leftOut(recorded, attempted),
  };
  /** Whether the code has come past an approval, given then or put in its place now. */
  #isApproved = false;
  substitutedSteps = 0;

  constructor(run: Run, { journal, source, plan, substitutions, secrets, before }: ReplayOptions) {
    const given = secrets === "stand_in" ? 0 : secrets.size;
    this.isExact = Object.keys(substitutions).length + given + plan.allow_live.length === 0;
    this.source = source;
    this.journal = journal;
    this.#run = run;
    this.#live = new LiveRecording(run, journal);
    this.#recall = new Recall({ journal, activity: run.activity, stop: (error) => run.stop(error) });
    const { isExact } = this;
    this.#retelling = new Retelling({ run, journal, plan, source, isExact, emitted: before.emitted });
    this.#plan = plan;
    this.#substitutions = substitutions;
    this.#secrets = secrets;
    this.#own = before.own;
  }

  get replayedEvents(): number {
    return this.#retelling.count;
  }

  startedPayload(): EventPayloads["replay.started"] {
    const { source_task_id, mode, secret_overrides } = this.#plan;
    const keys = Object.values(this.#substitutions).map(({ override_key }) => override_key);
    return {
      source_task_id,
      mode,
      override_keys: [...new Set([...keys, ...Object.values(secret_overrides)])],
    };
  }

  /** Equal replays make artifacts of equal names; their receipts list them. */
  artifactId(step: string): string {
    const hash = hashOf([this.#plan.segment, step]).slice("sha256:".length, 33);
    return nameIn(this.#run.task.tenant_id, `artifact_replay_${hash}`);
  }

  get knownQuotaIds(): readonly string[] {
    return this.source.quota_ids;
  }

  get actsAs(): string {
    return this.source.retry_of?.first_task_id ?? this.source.id;
  }

  /** What a replay does live is not what its source did. */
  idempotencyKey(step: string): string {
    return `${this.#run.task.id}:${step}`;
  }

  async recall(key: string, within?: RecallWithin): Promise<JournalEntry | undefined> {
    const entry = await this.recallBegun(key);
    await within?.(entry);
    if (entry?.ended != null && !this.#own.has(key)) await this.turnOf(key);
    return entry;
  }

  async recallBegun(key: string): Promise<JournalEntry | undefined> {
    const recorded = this.#recall.take(key);
    if (key.startsWith("approve:")) this.#isApproved = true;
    if (recorded === undefined) return await this.#unrecorded(key);
    const isCheckpoint = key === this.#plan.checkpoint;
    // Questions are checkpoints before their answer; other steps are checkpoints once they have ended.
    if (isCheckpoint && recorded.begun !== null) this.#retelling.passCheckpoint(recorded.begun);
    else if (recorded.begun !== null) this.#retelling.copy(recorded.begun);
    if (recorded.arrived !== null) this.#reachUngiven(key, recorded);
    const substitution = this.#substitutions[key];
    if (substitution === undefined) {
      if (recorded.ended !== null)
        this.#endings.set(key, { recorded: recorded.ended, given: recorded.ended });
      return recorded;
    }
    const base = recorded.ended ?? recorded.begun;
    if (base === null) throw new Error(`Step ${key} is in the journal without a record`);
    const given = substituted(key, substitution.value, base);
    if (given.event === "user.input_submitted")
      this.#answers.set(given.payload.message_id, substitution.value);
    this.#endings.set(key, { recorded: recorded.ended, given });
    return { ...recorded, ended: { ...given, position: base.position } };
  }

  /** What came too late for the source came all the same; code that takes another way may have use for it. */
  #reachUngiven(key: string, recorded: JournalEntry): void {
    if (this.isExact) {
      this.#retelling.copy(recorded.arrived);
      return;
    }
    recorded.ended = recorded.arrived;
    this.#missed.add(key);
  }

  async turnOf(key: string): Promise<void> {
    // What the log has no ending of has no turn either, and what comes late has missed its own.
    const hasTurn = this.#endings.get(key)?.recorded !== null && !this.#missed.delete(key);
    if (hasTurn) await this.#recall.turnOf(key, this.#turn);
    else await this.#beforeTurn(key);
  }

  /** The disk is waited for here and nowhere else, so that branches side by side stay in step. */
  async #beforeTurn(key: string): Promise<void> {
    if (!isCompared(key)) await this.#copyEnding(key);
    await this.#run.keepUp();
  }

  /** What the code says and makes is told again once it has turned out to be the same. */
  async repeat(key: string): Promise<void> {
    await this.#copyEnding(key);
  }

  async #leftOut(recorded: string, attempted: string): Promise<void> {
    if (this.isExact) await this.#recall.diverged(recorded, attempted);
    this.#missed.add(recorded);
    this.journal.given();
  }

  async differs(recorded: string, attempted: string): Promise<void> {
    if (this.isExact) await this.#recall.diverged(recorded, attempted);
  }

  assertNothingLeft(): Promise<void> | null {
    return this.isExact ? this.#recall.assertNothingLeft() : null;
  }

  /** What the replay itself brings about: other words than before, or the result of a live step. */
  async note(change: Change): Promise<void> {
    if (this.#retelling.isEmitted()) return;
    await this.#run.record((unit, task) => {
      unit.mark = this.ownMark();
      const after = change(unit, task);
      unit.mark = null;
      return after;
    });
  }

  async answerParts(messageId: string): Promise<Part[]> {
    const given = this.#answers.get(messageId);
    if (given === undefined) return await this.#live.answerParts(messageId);
    return [
      typeof given === "string" ? textPart(given) : { type: "json", value: given, visibility: "public" },
    ];
  }

  async readSecret(key: string, read: () => Promise<Attempted>): Promise<Attempted> {
    if (this.#secrets === "stand_in") return { output: placeholder("secret") };
    const given = this.#secrets.get(key);
    if (given !== undefined) return { output: given };
    if (this.#plan.allow_live.includes("secret")) return await this.#live.readSecret(key, read);
    return await this.#unavailable(key, "a secret is never in the log; give it as an override");
  }

  anew(key: string): { own: JournalEntry | undefined } | null {
    return this.#isLive(kindOf(key)) ? { own: this.#ownResult(key) } : null;
  }

  async resume(key: string): Promise<void> {
    await this.#run.activity.holds(() => false);
    if (!this.#isLive(kindOf(key))) await this.#unavailable(key, "the source ended in the middle of it");
  }

  /** What a host would do now has no place in the story of what it did then. */
  async beforeAsking(whom: "host" | "remote agent", key: string): Promise<void> {
    await this.#unavailable(key, `a replay asks no ${whom}; give its answer as an override`);
  }

  /**
   * An approval is good for one time, and that was the source's; what was overridden was never approved at all. It may have been
   * under way when it lost a race; only when nothing else happens is it missed.
   */
  async beforeUsing(key: string): Promise<void> {
    await this.#run.activity.holds(() => false);
    await this.#unavailable(key, usedUp);
  }

  /** Perhaps the code does not need it: it lost a race then, and will lose it again. */
  async wait({ key, reason }: Wait): Promise<never> {
    await this.#run.activity.holds(() => false);
    return await this.#unavailable(key, `the source ended while it waited (${reason})`);
  }

  async give(turn: string): Promise<never> {
    await this.#run.activity.holds(() => false);
    return await this.#unavailable(turn, "the source ended before its code was told of it");
  }

  /** Everything that came after the last step: the result, if it is the same. */
  repeatRest(): void {
    this.#retelling.repeatRest();
  }

  /** On what came out of the replay itself. */
  ownMark(): ReplayMark {
    return this.#retelling.ownMark();
  }

  async #unavailable(key: string, why?: string): Promise<never> {
    return await this.#run.stop(
      new ReplayDependencyUnavailable(this.source.id, { kind: kindOf(key), key }, why),
    );
  }

  /** The code asks for a step that the source never took, or whose result it never saw. */
  async #unrecorded(key: string): Promise<JournalEntry | undefined> {
    const kind = kindOf(key);
    if (!this.isExact && (outputKinds.has(kind) || this.#isLive(kind))) return this.#ownResult(key);
    if (this.isExact) await this.#recall.othersCatchUp(key);
    // It may have been running when it lost a race; only when nothing else happens is it missed.
    await this.#run.activity.holds(() => false);
    if (!this.isExact) return await this.#unavailable(key, this.#isUsedUp(kind) ? usedUp : undefined);
    if (endedByItself(this.source)) return await this.#recall.diverged("the end", key);
    return await this.#unavailable(key, `the source was ${this.source.status} before`);
  }

  /** A live step that was recorded before a crash is not called again. */
  #ownResult(key: string): JournalEntry | undefined {
    const ended = this.#own.get(key);
    if (ended === undefined) return undefined;
    this.#retelling.isEmitted();
    return { begun: null, ended, arrived: null, isBegunGiven: false };
  }

  #isLive(kind: string): boolean {
    return this.#plan.allow_live.some((live) => live === kind) && !this.#isUsedUp(kind);
  }

  /** What an approval came before is not done again, nor for the first time when the approval is an override. */
  #isUsedUp(kind: string): boolean {
    return this.#isApproved && actingKinds.has(kind);
  }

  async #copyEnding(key: string): Promise<void> {
    const ending = this.#endings.get(key);
    if (ending === undefined) return;
    this.#endings.delete(key);
    const { recorded, given } = ending;
    if (key === this.#plan.checkpoint && recorded !== null && this.#retelling.isRestoring) {
      return this.#retelling.passCheckpoint(recorded);
    }
    const change = await this.#changeAt(key, recorded);
    if (change !== null) this.substitutedSteps += 1;
    this.#retelling.copy(recorded, given, change ?? {});
  }

  /** What the mark of a step says when something was put in its place. */
  async #changeAt(key: string, recorded: RecordedEvent | null): Promise<Partial<ReplayMark> | null> {
    const secret = this.#plan.secret_overrides[key];
    if (secret !== undefined) return { override_key: secret, before_sha256: null, after_sha256: null };
    const substitution = this.#substitutions[key];
    if (substitution === undefined) return null;
    const { override_key, sha256, reason, artifact_id, event_id } = substitution;
    return {
      override_key,
      before_sha256: recorded === null ? null : await recordedHash(recorded, this.#run.own),
      after_sha256: sha256,
      ...(reason === null ? {} : { reason }),
      ...(artifact_id === null ? {} : { artifact_id }),
      ...(event_id === undefined ? {} : { event_id }),
    };
  }
}

/** What the code puts out, as opposed to what it depends on. */
export const outputKinds: ReadonlySet<string> = new Set([
  "say",
  "artifact",
  "progress",
  "checkpoint",
  "directive",
]);

export function kindOf(key: string): string {
  return key.slice(0, key.indexOf(":"));
}

/** Their content has to be compared before it is known whether it is told again. */
function isCompared(key: string): boolean {
  return key.startsWith("say:") || key.startsWith("artifact:");
}

/** Ended because its code returned or threw, not because somebody or something stopped it. */
export function endedByItself({ status, failure }: TaskRecord): boolean {
  return status === "COMPLETED" || (status === "FAILED" && failure !== null);
}
