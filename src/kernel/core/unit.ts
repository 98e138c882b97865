/**
 * One unit of work: what a command decides by, what it emits, and the batch that comes of it. Nothing here waits: what is not
 * loaded yet throws `NotLoaded`, and the command is decided again when it is there (`loaded.ts`).
 *
 * Everything found here is expected unchanged at commit, so a decision never rests on something that has moved.
 */

import type { WorkspaceFiles } from "../../files/workspace-files.ts";
import type { AdminKeyHolder } from "../../policy/admin-key.ts";
import type { Caller } from "../../policy/caller.ts";
import type { MasterKeys } from "../../policy/master-keys.ts";
import type { OperatorSecrets } from "../../policy/operator-secrets.ts";
import type { Outbound } from "../../policy/outbound.ts";
import type { Redactor } from "../../policy/redact/redact.ts";
import type { SearchTexts } from "../../policy/redact/search-budget.ts";
import type {
  Batch,
  Blob,
  DocumentQuery,
  EventQuery,
  NewDocument,
  NewEvent,
  Position,
  Rewrite,
  StagedBlob,
  Store,
  StoredDocument,
  StoredEvent,
  TenantStore,
  Trim,
} from "../../store/port.ts";
import type { WholeStore } from "../../store/whole-store.ts";
import { isVisible } from "../access/authorize.ts";
import type { ApprovalAccess } from "../approvals/access.ts";
import type { ReplayMark } from "../kinds/replay.ts";
import type { HeldStates } from "../openharness/held-states.ts";
import type { Operations } from "../operations.ts";
import type { AgentDirectory } from "../personas/agents.ts";
import type { ReceiptProgress } from "../receipts/follower.ts";
import type { Issuer } from "../receipts/signing.ts";
import type { ReplaySecrets } from "../replay/replay-task.ts";
import type { Clock } from "./clock.ts";
import { type Content, seal, unseal } from "./content.ts";
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
import { Loaded, NotLoaded } from "./loaded.ts";
import type { Locks } from "./locks.ts";
import { readLog } from "./log-tail.ts";
import type { Random } from "./random.ts";
import type { Tracing } from "./trace.ts";

export interface KernelDeps {
  store: Store;
  clock: Clock;
  chance: Random;
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
  /** What the operator offers as vaults beside those in the log. */
  operatorSecrets: OperatorSecrets;
  files: WorkspaceFiles;
  /** Texts that personas can name, by their names. */
  contextPacks: ReadonlyMap<string, string>;
  /** The way to addresses that callers and agents chose. */
  outbound: Outbound;
  /** How long what ended is kept; null keeps everything. */
  retainMs: number | null;
  /** Whether every agent has a persona from the start, in every tenant. */
  defaultPersonas: boolean;
  /** Who is spoken to where no agent is named and no persona. */
  defaultAgent: string;
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

/** A part of a commit, of any size. */
export type Adopted = Pick<Batch, "events" | "expect" | "put">;

interface Tracked {
  record: AnyRecord;
  /** The version on disk, 0 for what this unit creates. */
  version: number;
  dirty: boolean;
}

/** A document by its kind and id, of the caller's tenant unless another is named. */
export interface RecordKey {
  kind: Kind;
  id: string;
  tenantId?: string;
}

export class Unit {
  readonly deps: KernelDeps;
  readonly caller: Caller;
  readonly #loaded: Loaded;
  readonly #tracked = new Map<string, Tracked>();
  readonly #events: Batch["events"] = [];
  readonly #audit: Batch["events"] = [];
  readonly #blobs: Blob[] = [];
  readonly #staged: { sha256: string; stagedBytes: number }[] = [];
  readonly #rewrites: Rewrite[] = [];
  readonly #trim: Trim = { events: [], documents: [], unlisted: [] };
  readonly #beforeCommit: (() => void)[] = [];
  #adopted: Adopted | null = null;
  #idCount = 0;
  #redactor: Redactor;
  /** While this is set, what is emitted is the work of a replay and says so. */
  mark: ReplayMark | null = null;

  constructor(deps: KernelDeps, caller: Caller, loaded = new Loaded(deps)) {
    this.deps = deps;
    this.caller = caller;
    this.#loaded = loaded;
    this.#redactor = deps.redactor.within(loaded.budget);
  }

  /** One time for everything that happens in this unit. */
  get at(): string {
    return this.#loaded.at;
  }

  /** What it takes out of everything that is written. */
  get redactor(): Redactor {
    return this.#redactor;
  }

  set redactor(redactor: Redactor) {
    this.#redactor = redactor.within(this.#loaded.budget);
  }

  newId(prefix: string): string {
    return this.#loaded.id(this.#idCount++, prefix);
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
  find<K extends Kind>(kind: K, id: string): Records[K] | undefined {
    const record = this.findIncludingDeleted(kind, id);
    return record === undefined || isDeleted(record) ? undefined : record;
  }

  /** The same, for what can come back under the same name. */
  findIncludingDeleted<K extends Kind>(kind: K, id: string): Records[K] | undefined {
    const record = this.findAsSystem(kind, id);
    return record !== undefined && isVisible(this.caller, record) ? record : undefined;
  }

  require<K extends Kind>(kind: K, id: string): Records[K] {
    const record = this.find(kind, id);
    if (record === undefined) throw notFound(kind, id);
    return record;
  }

  requireAll<K extends Kind>(kind: K, ids: readonly string[]): Records[K][] {
    this.prefetch(ids.map((id) => ({ kind, id })));
    return ids.map((id) => this.require(kind, id));
  }

  /** Those of them that there are. */
  findAll<K extends Kind>(kind: K, ids: readonly string[]): Records[K][] {
    this.prefetch(ids.map((id) => ({ kind, id })));
    return ids.flatMap((id) => this.find(kind, id) ?? []);
  }

  /**
   * The record whatever the caller may see of its tenant: for what the harness itself decides by, and never to be shown. Another
   * tenant is named for what a server has for all of them.
   */
  findAsSystem<K extends Kind>(kind: K, id: string, tenantId = this.caller.tenantId): Records[K] | undefined {
    const tracked = this.#tracked.get(id);
    if (tracked !== undefined) {
      // Records are tracked under their own kind, by this class only.
      return tracked.record.object === kind ? (tracked.record as Records[K]) : undefined;
    }
    const document = this.#loaded.document({ tenantId, kind, id });
    if (document === undefined) return undefined;
    const record = document.body as Records[K];
    this.#tracked.set(id, { record, version: document.version, dirty: false });
    return record;
  }

  /** The record as it is or was a moment ago: that it changes meanwhile is no reason to decide again. */
  peek<K extends Kind>(kind: K, id: string, tenantId = this.caller.tenantId): Records[K] | undefined {
    const document = this.#loaded.document({ tenantId, kind, id, isPeek: true });
    return document?.body as Records[K] | undefined;
  }

  /** Has all of these read at once, before they are asked for one by one. */
  prefetch(keys: readonly RecordKey[], { isPeek = false } = {}): void {
    const { tenantId } = this.caller;
    const documents = keys
      .filter(({ id }) => isPeek || !this.#tracked.has(id))
      .map((key) => ({ tenantId, ...key, isPeek }))
      .filter((key) => this.#loaded.lacks(key));
    if (documents.length > 0) throw new NotLoaded({ documents });
  }

  /**
   * What comes of something that takes time, done once for this decision under its name: a read that is no single document, or a
   * check of a signature. The name says all that it depends on.
   */
  awaited<T>(name: string, work: () => Promise<T>): T {
    return this.#loaded.result(name, work);
  }

  list(query: DocumentQuery): StoredDocument[] {
    return this.awaited(`list ${JSON.stringify(query)}`, () => this.own.list(query));
  }

  events(query: EventQuery): StoredEvent[] {
    return this.awaited(`events ${JSON.stringify(query)}`, () => this.own.events(query));
  }

  /** The last position on disk. */
  head(): Position {
    return this.awaited("head", () => this.deps.store.head());
  }

  unseal<T>(content: Content<T>): T {
    if ("inline" in content) return content.inline;
    return this.awaited(`content ${JSON.stringify(content)}`, () => unseal(content, this.own));
  }

  /** What the caller's tenant has, for what is awaited. */
  get own(): TenantStore {
    return this.deps.store.of(this.caller.tenantId);
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
      throw inUse(record.id);
    }
    this.#tracked.set(record.id, { record, version: known?.version ?? 0, dirty: true });
  }

  /** Whether anything was recorded so far. */
  get hasEvents(): boolean {
    return this.#events.length > 0 || this.#adopted !== null;
  }

  /** All events of a task so far, this unit's own included: for what is awaited. */
  history(taskId: string): AsyncGenerator<KernelEvent[]> {
    const isOfTask = (event: NewEvent) => event.taskId === taskId;
    return historyOf(this.own, taskId, this.#events.filter(isOfTask).map(asKernelEvent));
  }

  #append(about: Subject, event: EventKind, payload: object): KernelEvent {
    const fact = this.fact(about, event, payload);
    (about.object === "audit_log" ? this.#audit : this.#events).push(fact);
    return asKernelEvent(fact);
  }

  /** What this unit would record; for those who fold it themselves. */
  fact(about: Subject, event: EventKind, payload: object): NewEvent {
    return {
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
  }

  /** Takes over what was prepared beside the decision: a whole log of events and the new records that they make. */
  adopt(adopted: Adopted): void {
    const known = adopted.put.find(({ id }) => this.#tracked.has(id));
    if (known !== undefined) throw inUse(known.id);
    this.#adopted = adopted;
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

  /** Takes turns with everybody else who holds these, in this order, until the commit. */
  hold(...ids: string[]): void {
    this.#loaded.hold(ids);
  }

  /** What has to be done in memory once this is decided and searched, right before it is committed. */
  beforeCommit(act: () => void): void {
    this.#beforeCommit.push(act);
  }

  /** Whoever decides about this record at the same time has to decide again, although nothing in it changes. */
  touch(record: AnyRecord): void {
    const tracked = this.#tracked.get(record.id);
    if (tracked !== undefined) tracked.dirty = true;
  }

  /** Replaces the content of events on disk, and the records that are folded from them. */
  rewrite(changes: readonly Rewrite[], records: readonly AnyRecord[]): void {
    this.#rewrites.push(...changes);
    this.prefetch(records.map(({ object: kind, id, tenant_id: tenantId }) => ({ kind, id, tenantId })));
    for (const record of records) {
      this.findAsSystem(record.object, record.id, record.tenant_id);
      const tracked = this.#tracked.get(record.id);
      if (tracked === undefined) throw new Error(`${record.id} has events and no document`);
      tracked.record = record;
      tracked.dirty = true;
    }
  }

  /** Removes events and records from the store. What the events were folded into must be told by another event. */
  trim({ events, documents, unlisted }: Trim & { documents: { kind: Kind; id: string }[] }): void {
    this.prefetch(documents);
    for (const { kind, id } of documents) {
      // Expected unchanged, like everything that is loaded.
      if (this.findAsSystem(kind, id) !== undefined) this.#trim.documents.push({ kind, id });
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

  /** Throws when texts were too long to be searched now; then nothing of this unit may be used. Otherwise it is about to be committed. */
  settle(): void {
    if (this.#loaded.budget.isExceeded) throw new Error("Texts have to be searched for secrets first.");
    for (const act of this.#beforeCommit) act();
  }

  /** What it comes to, to be committed at once. */
  batch(): Batch {
    const tracked = [...this.#tracked];
    const { tenantId } = this.caller;
    const { expect = [], events = [], put = [] } = this.#adopted ?? {};
    return {
      expect: [
        ...tracked.map(([id, { record, version }]) => ({ kind: record.object, id, version })),
        ...expect,
      ],
      // The last event of a commit is what a caller is told of.
      events: [...this.#audit, ...this.#events, ...events],
      put: [
        ...tracked.filter(([, { dirty }]) => dirty).map(([id, { record }]) => documentOf(id, record)),
        ...put,
      ],
      blobs: [
        ...this.#blobs.map(({ sha256, bytes }) => ({ tenantId, sha256, bytes })),
        ...this.#staged.map((staged) => ({ tenantId, ...staged, bytes: null })),
      ],
      ...(this.#rewrites.length === 0 ? {} : { rewrite: this.#rewrites }),
      ...(this.#trim.events.length === 0 ? {} : { trim: this.#trim }),
      ...(this.#adopted === null ? {} : { isLarge: true }),
    };
  }
}

/** A record as the store takes it. */
export function documentOf(id: string, record: AnyRecord): NewDocument {
  return { kind: record.object, id, index: indexOf(record), body: record };
}

function inUse(id: string): HarnessError {
  return new HarnessError("conflict", `${id} is in use already.`);
}

async function* historyOf(
  store: TenantStore,
  taskId: string,
  own: KernelEvent[],
): AsyncGenerator<KernelEvent[]> {
  const proposed = store.proposedEvents(taskId)?.filter((event) => event.taskId === taskId);
  if (proposed !== undefined) yield proposed.map(asKernelEvent);
  else for await (const events of readLog(store, { taskId, after: 0 })) yield events.map(asKernelEvent);
  yield own;
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
