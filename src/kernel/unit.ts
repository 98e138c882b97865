/**
 * One unit of work: what a command loads, what it emits, and the batch that comes of it.
 *
 * Everything loaded here is expected unchanged at commit, so a decision never rests on something that has moved.
 */

import type { WorkspaceFiles } from "../files/workspace-files.ts";
import type { AdminKeyHolder } from "../policy/admin-key.ts";
import type { Caller } from "../policy/caller.ts";
import type { MasterKeys } from "../policy/master-keys.ts";
import type { Outbound } from "../policy/outbound.ts";
import type { Redactor } from "../policy/redact/redact.ts";
import { SearchBudget, type SearchTexts } from "../policy/redact/search-budget.ts";
import type {
  Batch,
  Blob,
  Rewrite,
  StagedBlob,
  Store,
  StoredDocument,
  TenantStore,
  Trim,
} from "../store/port.ts";
import type { WholeStore } from "../store/whole-store.ts";
import type { AgentDirectory } from "./agents.ts";
import type { ApprovalAccess } from "./approvals/access.ts";
import { isVisible } from "./authorize.ts";
import type { Chance } from "./chance.ts";
import { type Clock, timestamp } from "./clock.ts";
import type { ReplaySecrets } from "./commands/replay-task.ts";
import { type Content, seal } from "./content.ts";
import { HarnessError, notFound } from "./errors.ts";
import { asKernelEvent, type EventKind, type EventPayloads, type KernelEvent } from "./events.ts";
import {
  type AnyRecord,
  changed,
  created,
  indexOf,
  isDeleted,
  type Kind,
  type Records,
  workspaceOf,
} from "./fold.ts";
import type { NewId } from "./ids.ts";
import { comesBefore, type Locks, OutOfTurn, type Release } from "./locks.ts";
import { readLog } from "./log-tail.ts";
import type { Operations } from "./operations.ts";
import type { ReceiptProgress } from "./receipts/follower.ts";
import type { ReplayMark } from "./resources/replay.ts";
import type { HeldStates } from "./shell/held-states.ts";
import type { Issuer } from "./signing.ts";
import type { Tracing } from "./trace.ts";

export interface KernelDeps {
  store: Store;
  clock: Clock;
  chance: Chance;
  newId: NewId;
  agents: AgentDirectory;
  receipts: ReceiptProgress;
  issuer: Issuer;
  redactor: Redactor;
  /** Searches long texts for secrets without holding the event loop. */
  searchTexts: SearchTexts;
  replaySecrets: ReplaySecrets;
  /** What shells said in confidence, while their runs may need it. */
  heldStates: HeldStates;
  /** What runs were given as secrets, for what is said about them outside of any run. */
  seenSecrets: Set<string>;
  locks: Locks;
  adminKey: AdminKeyHolder;
  masterKeys: MasterKeys;
  files: WorkspaceFiles;
  /** The way to addresses that callers and agents chose. */
  outbound: Outbound;
  /** How long what ended is kept; null keeps everything. */
  retainMs: number | null;
  /** Whether every agent has a persona from the start, in every tenant. */
  defaultPersonas: boolean;
  /** When a new key ends that was made without an end; null is never. */
  keyMs: number | null;
  approvals: ApprovalAccess;
  /** Null when nobody exports traces. */
  tracing: Tracing | null;
  operations: Operations;
}

/** They carry what a record is from now on, whether or not there was one. */
const replacingEvents: ReadonlySet<EventKind> = new Set([
  "vendor.bridle.push_config.replaced",
  "vendor.bridle.session.trimmed",
]);

/** The same for those who look after all tenants. */
export interface WholeDeps extends KernelDeps {
  store: WholeStore;
}

interface Tracked {
  record: AnyRecord;
  /** The version on disk, 0 for what this unit creates. */
  version: number;
  dirty: boolean;
}

export class Unit {
  readonly deps: KernelDeps;
  readonly caller: Caller;
  /** One time for everything that happens in this unit. */
  readonly at: string;
  readonly #tracked = new Map<string, Tracked>();
  readonly #events: Batch["events"] = [];
  readonly #audit: Batch["events"] = [];
  readonly #blobs: Blob[] = [];
  readonly #staged: { sha256: string; stagedBytes: number }[] = [];
  readonly #rewrites: Rewrite[] = [];
  readonly #trim: Trim = { events: [], documents: [], unlisted: [] };
  readonly #held = new Map<string, Release>();
  readonly #budget: SearchBudget;
  #redactor: Redactor;
  /** While this is set, what is emitted is the work of a replay and says so. */
  mark: ReplayMark | null = null;

  readonly #isAhead: boolean;

  /** A unit that is ahead builds on commits that are still on their way to the disk; see the store's `getAhead`. */
  constructor(deps: KernelDeps, caller: Caller, { isAhead = false, budget = new SearchBudget() } = {}) {
    this.deps = deps;
    this.caller = caller;
    this.#isAhead = isAhead;
    this.#budget = budget;
    this.#redactor = deps.redactor.within(budget);
    this.at = timestamp(deps.clock.now());
  }

  /** What it takes out of everything that is written. */
  get redactor(): Redactor {
    return this.#redactor;
  }

  set redactor(redactor: Redactor) {
    this.#redactor = redactor.within(this.#budget);
  }

  /** Throws when texts were too long to be searched now; then nothing of this unit may be used. */
  assertSearched(): void {
    if (this.#budget.isExceeded) throw new Error("Texts have to be searched for secrets first.");
  }

  newId(prefix: string): string {
    return this.deps.newId(prefix);
  }

  /** What every new record starts with. */
  envelope<K extends Kind>(object: K, prefix: string): EnvelopeOf<K> {
    return {
      id: this.newId(prefix),
      object,
      tenant_id: this.caller.tenantId,
      created_at: this.at,
      updated_at: this.at,
    };
  }

  /** What a new record remembers of the key that made it. */
  get madeBy(): { created_by_key_id?: string } {
    const { keyId } = this.caller;
    return keyId === undefined ? {} : { created_by_key_id: keyId };
  }

  /** The record, if it exists and the caller may see it. */
  async find<K extends Kind>(kind: K, id: string): Promise<Records[K] | undefined> {
    const record = this.#loaded(kind, id) ?? (await this.findForHarness(kind, id));
    return record === undefined || isDeleted(record) || !isVisible(this.caller, record) ? undefined : record;
  }

  /** The same, for what can come back under the same name. */
  async findEvenDeleted<K extends Kind>(kind: K, id: string): Promise<Records[K] | undefined> {
    const record = this.#loaded(kind, id) ?? (await this.findForHarness(kind, id));
    return record !== undefined && isVisible(this.caller, record) ? record : undefined;
  }

  /** What the caller's tenant has. */
  get own(): TenantStore {
    return this.deps.store.of(this.caller.tenantId);
  }

  /**
   * The record whatever the caller may see of its tenant: for what the harness itself decides by, and never to be shown. Another
   * tenant is named for what a server has for all of them.
   */
  async findForHarness<K extends Kind>(
    kind: K,
    id: string,
    tenantId = this.caller.tenantId,
  ): Promise<Records[K] | undefined> {
    const loaded = this.#loaded(kind, id, tenantId);
    if (loaded !== undefined || this.#tracked.has(id)) return loaded;
    const store = this.deps.store.of(tenantId);
    const document = await (this.#isAhead ? store.getAhead(kind, id) : store.get(kind, id));
    return document === undefined ? undefined : this.#track<K>(document);
  }

  /** The record without waiting, where it is in memory. */
  #loaded<K extends Kind>(kind: K, id: string, tenantId = this.caller.tenantId): Records[K] | undefined {
    const tracked = this.#tracked.get(id);
    if (tracked !== undefined) {
      // Records are tracked under their own kind, by this class only.
      return tracked.record.object === kind ? (tracked.record as Records[K]) : undefined;
    }
    const known = this.deps.store.of(tenantId).known(kind, id);
    return known === undefined ? undefined : this.#track<K>(known);
  }

  #track<K extends Kind>({ id, version, body }: StoredDocument): Records[K] {
    const record = body as Records[K];
    this.#tracked.set(id, { record, version, dirty: false });
    return record;
  }

  async require<K extends Kind>(kind: K, id: string): Promise<Records[K]> {
    const record = await this.find(kind, id);
    if (record === undefined) throw notFound(kind, id);
    return record;
  }

  /** Records a fact about a resource and gives the resource as it is after it. What looks like a secret stays out. */
  emit<R extends AnyRecord, E extends EventKind>(about: R, event: E, payload: EventPayloads[E]): R {
    const typed = this.#append(about, event, this.redactor.value(payload));
    for (const record of created(typed)) this.#create(record, event);

    const current = this.#tracked.get(about.id);
    if (current === undefined)
      throw new Error(`${event} is about ${about.id}, which this unit has not loaded`);
    const after = changed(current.record as R, typed);
    if (after !== current.record) {
      current.record = after;
      current.dirty = true;
    }
    return after;
  }

  /** What exists is not made again, except by the events that carry what becomes of a record, in its tenant. */
  #create(record: AnyRecord, event: EventKind): void {
    const known = this.#tracked.get(record.id);
    const isSame = known?.record.object === record.object && known.record.tenant_id === record.tenant_id;
    if (known !== undefined && !(replacingEvents.has(event) && isSame)) {
      throw new HarnessError("conflict", `${record.id} is in use already.`);
    }
    this.#tracked.set(record.id, { record, version: known?.version ?? 0, dirty: true });
  }

  /** Whether anything was recorded so far. */
  get hasEvents(): boolean {
    return this.#events.length > 0;
  }

  /** All events of a task so far, this unit's own included. */
  async *history(taskId: string): AsyncGenerator<KernelEvent[]> {
    const ahead = this.#isAhead ? this.own.eventsAhead(taskId) : undefined;
    if (ahead !== undefined) yield ahead.filter((event) => event.taskId === taskId).map(asKernelEvent);
    else for await (const events of readLog(this.own, { taskId, after: 0 })) yield events.map(asKernelEvent);
    yield this.#events.filter((event) => event.taskId === taskId).map(asKernelEvent);
  }

  #append(about: Subject, event: EventKind, payload: object): KernelEvent {
    const fact = {
      event,
      resource: { object: about.object, id: about.id },
      tenantId: about.tenant_id,
      workspaceId: workspaceOf(about),
      sessionId: isOwnStream(about.object) ? about.id : (about.session_id ?? null),
      taskId: about.object === "task" ? about.id : (about.task_id ?? null),
      actor: this.caller.actor,
      ...(this.caller.keyId === undefined ? {} : { keyId: this.caller.keyId }),
      createdAt: this.at,
      payload,
      ...(this.mark === null ? {} : { replay: this.mark }),
    };
    (about.object === "audit_log" ? this.#audit : this.#events).push(fact);
    return asKernelEvent(fact);
  }

  /** Appends an event of another log as it was recorded there. It can make new records and change those, no others. */
  adopt(event: KernelEvent): void {
    this.#events.push(event);
    for (const record of created(event)) this.#create(record, event.event);
    const current = this.#tracked.get(event.resource.id);
    if (current === undefined || current.version !== 0 || current.record.object !== event.resource.object) {
      throw new HarnessError(
        "invalid_request",
        `${event.event} is about ${event.resource.id}, which is unknown.`,
      );
    }
    current.record = changed(current.record, event);
  }

  /** The records that this unit makes, as they are now, under the ids that they will be stored under. */
  made(): [id: string, record: AnyRecord][] {
    return [...this.#tracked].flatMap(([id, { record, version }]) => (version === 0 ? [[id, record]] : []));
  }

  /** Appends an event of another task to this one's log, as it was. It changes nothing. */
  copy(to: Records["task"], { event, payload }: KernelEvent, mark: ReplayMark): void {
    this.mark = mark;
    this.#append(to, event, payload);
    this.mark = null;
  }

  /** The same for something that an equal replay brought about before this one. */
  repeat<E extends EventKind>(to: Records["task"], event: E, payload: EventPayloads[E]): void {
    const mark = this.mark;
    if (mark === null) throw new Error(`${event} is repeated outside a replay`);
    this.mark = { ...mark, is_copy: true };
    this.#append(to, event, payload);
    this.mark = mark;
  }

  /** Waits for its turn with this record. It must not have been loaded before. */
  async hold(id: string): Promise<void> {
    if (this.#held.has(id)) return;
    const { locks } = this.deps;
    const isInOrder = ![...this.#held.keys()].some((held) => comesBefore(id, held));
    if (!isInOrder && !locks.isFree(id)) throw new OutOfTurn(this.#held.keys(), id);
    this.#held.set(id, await locks.acquire(id));
  }

  /** After the commit, or when there is none. */
  release(): void {
    for (const release of this.#held.values()) release();
    this.#held.clear();
  }

  /** Whoever decides about this record at the same time has to decide again, although nothing in it changes. */
  touch(record: AnyRecord): void {
    const tracked = this.#tracked.get(record.id);
    if (tracked !== undefined) tracked.dirty = true;
  }

  /** Replaces the content of events on disk, and the records that are folded from them. */
  async rewrite(changes: readonly Rewrite[], records: Iterable<AnyRecord>): Promise<void> {
    this.#rewrites.push(...changes);
    for (const record of records) {
      await this.findForHarness(record.object, record.id, record.tenant_id);
      const tracked = this.#tracked.get(record.id);
      if (tracked === undefined) throw new Error(`${record.id} has events and no document`);
      tracked.record = record;
      tracked.dirty = true;
    }
  }

  /** Removes events and records from the store. What the events were folded into must be told by another event. */
  async trim({
    events,
    documents,
    unlisted,
  }: Trim & { documents: { kind: Kind; id: string }[] }): Promise<void> {
    for (const { kind, id } of documents) {
      // Expected unchanged, like everything that is loaded.
      if ((await this.findForHarness(kind, id)) !== undefined) this.#trim.documents.push({ kind, id });
    }
    this.#trim.events.push(...events);
    this.#trim.unlisted.push(...unlisted);
  }

  seal<T>(value: T): Content<T> {
    return seal(this.redactor.value(value), this.#blobs);
  }

  /** Keeps bytes under their hash, whatever their size. */
  keepBlob(blob: Blob): void {
    this.#blobs.push(blob);
  }

  /** Content that has been staged and kept is the tenant's from here on. */
  keepStaged({ sha256, bytes: stagedBytes }: Pick<StagedBlob, "sha256" | "bytes">): void {
    this.#staged.push({ sha256, stagedBytes });
  }

  batch(): Batch {
    const tracked = [...this.#tracked];
    const { tenantId } = this.caller;
    return {
      expect: tracked.map(([id, { record, version }]) => ({ kind: record.object, id, version })),
      // The last event of a commit is what a caller is told of.
      events: [...this.#audit, ...this.#events],
      put: tracked
        .filter(([, { dirty }]) => dirty)
        .map(([id, { record }]) => ({ kind: record.object, id, index: indexOf(record), body: record })),
      blobs: [
        ...this.#blobs.map(({ sha256, bytes }) => ({ tenantId, sha256, bytes })),
        ...this.#staged.map((staged) => ({ tenantId, ...staged, bytes: null })),
      ],
      ...(this.#rewrites.length === 0 ? {} : { rewrite: this.#rewrites }),
      ...(this.#trim.events.length === 0 ? {} : { trim: this.#trim }),
    };
  }
}

/** An audit log is found in the store as the log of a session is. */
function isOwnStream(object: string): boolean {
  return object === "session" || object === "audit_log";
}

/** What an event says of the resource that it is about. */
interface Subject {
  object: string;
  id: string;
  tenant_id: string;
  workspace_id?: string | null;
  session_id?: string | null;
  task_id?: string | null;
}

export interface EnvelopeOf<K extends Kind> {
  id: string;
  object: K;
  tenant_id: string;
  created_at: string;
  updated_at: string;
}
