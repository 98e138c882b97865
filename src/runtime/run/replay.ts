/**
 * A run that repeats another task's run: recovery under another name. The agent's code runs from the top and is given
 * what the source's log has, or what the request put in its place; nothing it does reaches the world.
 *
 * Invariants
 *   P1  No step's code runs, nobody is asked, nothing is waited for, unless the request allowed that kind of step to
 *       be live; what the log cannot supply ends the replay, naming it.
 *   P2  Each event of the source is copied to the replay's log at the moment the code has come as far, marked as a copy.
 *   P3  Without changes the code must do what it did. With substitutions its output may differ: it is then the
 *       replay's own, and kept apart from the conversation.
 */

import { unseal } from "../../kernel/core/content.ts";
import {
  asRecorded,
  type EventKind,
  type EventPayloads,
  eventId,
  type KernelEvent,
  type RecordedEvent,
  type ToolCallInput,
} from "../../kernel/core/events.ts";
import { readLog } from "../../kernel/core/log-tail.ts";
import { type Part, textPart } from "../../kernel/kinds/message.ts";
import {
  actingKinds,
  type ReplayMark,
  type ReplayPlan,
  type Substitution,
} from "../../kernel/kinds/replay.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { recordedHash, substituted } from "../../kernel/replay/substitute.ts";
import { stepMark } from "../../kernel/tasks/steps.ts";
import { nameIn } from "../../kernel/workspaces/ensure-tenant.ts";
import { placeholder } from "../../policy/redact/kinds.ts";
import { hashOf } from "../../receipts/canonical.ts";
import type { JsonValue, TenantStore } from "../../store/port.ts";
import { ReplayDependencyUnavailable } from "./failures.ts";
import { Journal, type JournalEntry } from "./journal.ts";
import type { Change } from "./record-run.ts";
import { type Attempted, type RecallWithin, Run, type RunOptions } from "./run.ts";
import { isToolEnding, toolEnding } from "./tool-events.ts";
import type { Arrival, Wait } from "./waits.ts";

export interface ReplayOptions extends RunOptions {
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

export class Replay extends Run {
  readonly source: TaskRecord;
  readonly #plan: ReplayPlan;
  readonly #substitutions: Record<string, Substitution>;
  readonly #secrets: ReplayOptions["secrets"];
  readonly #endings = new Map<string, Ending>();
  readonly #answers = new Map<string, JsonValue>();
  /** Records that the code has come to and that wait for those before them. */
  readonly #reached = new Set<RecordedEvent>();
  /** Steps that code which took another way had not asked for when their turn came. It may ask later. */
  readonly #missed = new Set<string>();
  /** What live steps gave before a crash. */
  readonly #own: ReadonlyMap<string, RecordedEvent>;
  readonly #isExact: boolean;
  /** Whether the code has come past an approval, given then or put in its place now. */
  #isApproved = false;
  /** Until the checkpoint is passed, the past is restored without being told again. */
  #restoring: boolean;
  #emitted: number;
  replayedEvents = 0;
  substitutedSteps = 0;

  constructor({ source, plan, substitutions, secrets, before, ...options }: ReplayOptions) {
    super(options);
    this.source = source;
    this.#plan = plan;
    this.#substitutions = substitutions;
    this.#secrets = secrets;
    this.#restoring = plan.checkpoint !== null;
    this.#emitted = before.emitted;
    this.#own = before.own;
    const given = secrets === "stand_in" ? 0 : secrets.size;
    this.#isExact = Object.keys(substitutions).length + given + plan.allow_live.length === 0;
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

  override get isReplay(): boolean {
    return true;
  }

  /** Equal replays make artifacts of equal names; their receipts list them. */
  override artifactId(step: string): string {
    const hash = hashOf([this.#plan.segment, step]).slice("sha256:".length, 33);
    return nameIn(this.task.tenant_id, `artifact_replay_${hash}`);
  }

  override get knownQuotaIds(): readonly string[] {
    return this.source.quota_ids;
  }

  override get actsAs(): string {
    return this.source.retry_of?.first_task_id ?? this.source.id;
  }

  /** What a replay does live is not what its source did. */
  override idempotencyKey(step: string): string {
    return `${this.task.id}:${step}`;
  }

  /** Whether the code may do something else than it did: only when it was given something else (P3). */
  override get isExact(): boolean {
    return this.#isExact;
  }

  override async recall(key: string, within?: RecallWithin): Promise<JournalEntry | undefined> {
    const entry = await this.recallBegun(key);
    await within?.(entry);
    if (entry?.ended != null && !this.#own.has(key)) await this.turnOf(key);
    return entry;
  }

  override async recallBegun(key: string): Promise<JournalEntry | undefined> {
    const recorded = await this.takeRecorded(key);
    if (key.startsWith("approve:")) this.#isApproved = true;
    if (recorded === undefined) return await this.#unrecorded(key);
    const isCheckpoint = key === this.#plan.checkpoint;
    // Questions are checkpoints before their answer; other steps are checkpoints once they have ended.
    if (isCheckpoint && recorded.begun !== null) this.#passCheckpoint(recorded.begun);
    else if (recorded.begun !== null) this.#copy(recorded.begun);
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
      this.#copy(recorded.arrived);
      return;
    }
    recorded.ended = recorded.arrived;
    this.#missed.add(key);
  }

  override async turnOf(key: string): Promise<void> {
    // What the log has no ending of has no turn either, and what comes late has missed its own.
    const hasTurn = this.#endings.get(key)?.recorded !== null && !this.#missed.delete(key);
    if (hasTurn) await super.turnOf(key);
    else await this.onTurn(key);
  }

  /** The disk is waited for here and nowhere else, so that branches side by side stay in step. */
  protected override async onTurn(key: string): Promise<void> {
    if (!isCompared(key)) await this.#copyEnding(key);
    await this.keepUp();
  }

  /** What the code says and makes is told again once it has turned out to be the same. */
  override async repeat(key: string): Promise<void> {
    await this.#copyEnding(key);
  }

  protected override async leftOut(recorded: string, attempted: string): Promise<void> {
    if (this.isExact) return await super.leftOut(recorded, attempted);
    this.#missed.add(recorded);
    this.journal.given();
  }

  override async differs(recorded: string, attempted: string): Promise<void> {
    if (this.isExact) await super.differs(recorded, attempted);
  }

  override async assertNothingLeft(): Promise<void> {
    if (this.isExact) await super.assertNothingLeft();
  }

  /** What the replay itself brings about: other words than before, or the result of a live step. */
  override async note(change: Change): Promise<void> {
    if (this.#isEmitted()) return;
    await this.record((unit, task) => {
      unit.mark = this.ownMark();
      const after = change(unit, task);
      unit.mark = null;
      return after;
    });
  }

  override async answerParts(messageId: string): Promise<Part[]> {
    const given = this.#answers.get(messageId);
    if (given === undefined) return await super.answerParts(messageId);
    return [
      typeof given === "string" ? textPart(given) : { type: "json", value: given, visibility: "public" },
    ];
  }

  override async readSecret(key: string, read: () => Promise<Attempted>): Promise<Attempted> {
    if (this.#secrets === "stand_in") return { output: placeholder("secret") };
    const given = this.#secrets.get(key);
    if (given !== undefined) return { output: given };
    if (this.#plan.allow_live.includes("secret")) return await super.readSecret(key, read);
    return await this.unavailable(key, "a secret is never in the log; give it as an override");
  }

  override anew(key: string): { own: JournalEntry | undefined } | null {
    return this.#isLive(kindOf(key)) ? { own: this.#ownResult(key) } : null;
  }

  override async resume(key: string): Promise<void> {
    await this.holds(() => false);
    if (!this.#isLive(kindOf(key))) await this.unavailable(key, "the source ended in the middle of it");
  }

  /** What a host would do now has no place in the story of what it did then. */
  override async beforeAsking(whom: "host" | "remote agent", key: string): Promise<void> {
    await this.unavailable(key, `a replay asks no ${whom}; give its answer as an override`);
  }

  /**
   * An approval is good for one time, and that was the source's; what was overridden was never approved at all. It may have been
   * under way when it lost a race; only when nothing else happens is it missed.
   */
  override async beforeUsing(key: string): Promise<void> {
    await this.holds(() => false);
    await this.unavailable(key, usedUp);
  }

  /** Perhaps the code does not need it: it lost a race then, and will lose it again. */
  override async wait({ key, reason }: Wait): Promise<Arrival> {
    await this.holds(() => false);
    return await this.unavailable(key, `the source ended while it waited (${reason})`);
  }

  override async give(turn: string): Promise<void> {
    await this.holds(() => false);
    return await this.unavailable(turn, "the source ended before its code was told of it");
  }

  /** Everything that came after the last step: the result, if it is the same. */
  async repeatRest(): Promise<void> {
    const rest = this.journal.rest;
    if (this.isExact) this.#copyInOrder(...rest);
    else for (const event of rest) this.#emit(event, event);
  }

  async unavailable(key: string, why?: string): Promise<never> {
    return await this.stop(new ReplayDependencyUnavailable(this.source.id, { kind: kindOf(key), key }, why));
  }

  /** The code asks for a step that the source never took, or whose result it never saw. */
  async #unrecorded(key: string): Promise<JournalEntry | undefined> {
    const kind = kindOf(key);
    if (!this.isExact && (outputKinds.has(kind) || this.#isLive(kind))) return this.#ownResult(key);
    if (this.isExact) await this.othersCatchUp(key);
    // It may have been running when it lost a race; only when nothing else happens is it missed.
    await this.holds(() => false);
    if (!this.isExact) return await this.unavailable(key, this.#isUsedUp(kind) ? usedUp : undefined);
    if (endedByItself(this.source)) return await this.diverged("the end", key);
    return await this.unavailable(key, `the source was ${this.source.status} before`);
  }

  /** A live step that was recorded before a crash is not called again. */
  #ownResult(key: string): JournalEntry | undefined {
    const ended = this.#own.get(key);
    if (ended === undefined) return undefined;
    this.#isEmitted();
    return { begun: null, ended, arrived: null, isBegunGiven: false };
  }

  #isLive(kind: string): boolean {
    return this.#plan.allow_live.some((live) => live === kind) && !this.#isUsedUp(kind);
  }

  /** What an approval came before is not done again, nor for the first time when the approval is an override. */
  #isUsedUp(kind: string): boolean {
    return this.#isApproved && actingKinds.has(kind);
  }

  #passCheckpoint(at: RecordedEvent): void {
    this.journal.takeBeside(at);
    this.journal.dropThrough(at.position);
    this.#restoring = false;
  }

  async #copyEnding(key: string): Promise<void> {
    const ending = this.#endings.get(key);
    if (ending === undefined) return;
    this.#endings.delete(key);
    const { recorded, given } = ending;
    if (key === this.#plan.checkpoint && recorded !== null && this.#restoring) {
      return this.#passCheckpoint(recorded);
    }
    const change = await this.#changeAt(key, recorded);
    if (change !== null) this.substitutedSteps += 1;
    this.#copy(recorded, given, change ?? {});
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
      before_sha256: recorded === null ? null : await recordedHash(recorded, this.own),
      after_sha256: sha256,
      ...(reason === null ? {} : { reason }),
      ...(artifact_id === null ? {} : { artifact_id }),
      ...(event_id === undefined ? {} : { event_id }),
    };
  }

  /** A record of the source, and before it what stood beside it in the log. */
  #copy(
    recorded: RecordedEvent | null,
    given: KernelEvent | null = recorded,
    change: Partial<ReplayMark> = {},
  ): void {
    if (this.isExact && recorded !== null) {
      this.#copyInOrder(recorded);
      return;
    }
    const beside = recorded === null ? [] : this.journal.takeBeside(recorded);
    if (recorded !== null) this.journal.dropThrough(recorded.position);
    if (this.#restoring) return;
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
      for (const event of this.journal.takeBeside(record)) this.#reached.add(event);
      this.#reached.add(record);
    }
    if (this.#restoring) return;
    for (let next = this.journal.firstUntold; next !== undefined; next = this.journal.firstUntold) {
      if (!this.#reached.delete(next)) return;
      this.journal.told();
      this.#emit(next, next);
    }
  }

  #emit(event: KernelEvent, original: RecordedEvent | null, change: Partial<ReplayMark> = {}): void {
    if (this.#isEmitted()) return;
    const mark: ReplayMark = { ...this.#mark(original), ...change };
    this.enqueue((unit, task) => {
      unit.copy(task, event, mark);
      return task;
    });
  }

  /** A replay that was interrupted starts from the top; what it had emitted by then is in the log. */
  #isEmitted(): boolean {
    this.replayedEvents += 1;
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
      source_task_id: this.source.id,
      mode: this.#plan.mode,
      original_event_id: original === null ? null : eventId(original.position),
    };
  }
}

/** A replay, ready to run: with its source, what is substituted, and where an earlier attempt had come to. */
export async function openReplay(
  { kernel, world, isDraining }: Pick<RunOptions, "kernel" | "world" | "isDraining">,
  task: TaskRecord,
  plan: ReplayPlan,
  agentName: string,
): Promise<Replay> {
  const store = kernel.store.of(task.tenant_id);
  const document = await store.get("task", plan.source_task_id);
  if (document === undefined) throw new Error(`Task ${plan.source_task_id} is replayed but missing`);
  return new Replay({
    kernel,
    ...(world === undefined ? {} : { world }),
    task,
    journal: await Journal.of(store, plan.source_task_id, isTold),
    agentName,
    isDraining,
    source: document.body as TaskRecord,
    plan,
    substitutions: await unseal(plan.substitutions, store),
    secrets: kernel.replaySecrets.of(task.id),
    before: await readEmitted(store, task),
  });
}

async function readEmitted(
  store: TenantStore,
  { id: taskId, status }: TaskRecord,
): Promise<ReplayOptions["before"]> {
  const own = new Map<string, RecordedEvent>();
  let emitted = 0;
  if (status === "SUBMITTED") return { emitted, own };
  for await (const events of readLog(store, { taskId, after: 0 })) {
    for (const event of events.map(asRecorded)) {
      if (event.replay === undefined || (!event.replay.is_copy && beside.has(event.event))) continue;
      emitted += 1;
      const mark = event.replay.is_copy ? null : stepMark(event);
      if (mark !== null && !outputKinds.has(kindOf(mark.key))) own.set(mark.key, event);
    }
  }
  return { emitted, own };
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

/** What the code puts out, as opposed to what it depends on. */
const outputKinds: ReadonlySet<string> = new Set(["say", "artifact", "progress", "checkpoint", "directive"]);

function kindOf(key: string): string {
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

/** Of what a live step emits, these are in the commit of its record. */
const beside: ReadonlySet<string> = new Set<EventKind>([
  "agent.memory_read",
  "agent.memory_write",
  "agent.tool_use",
  "agent.mcp_tool_use",
  "agent.tool_result",
  "tool.requested",
  "tool.completed",
  "tool.failed",
]);

const told: ReadonlySet<string> = new Set<EventKind>([
  "vendor.bridle.signal.received",
  "vendor.bridle.step.attempt_failed",
  "user.message",
  "agent.message",
  "vendor.bridle.message",
  "tool.approval_required",
  "tool.approved",
  "tool.denied",
  "artifact.created",
  "agent.handoff",
]);

/** What of the source's other events a replay tells again; its own life a replay lives itself. */
export function isTold({ event, payload }: KernelEvent): boolean {
  return told.has(event) || beside.has(event) || (event === "span.updated" && payload.given !== undefined);
}
