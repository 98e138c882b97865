/**
 * One unit of work: what a command loads, what it emits, and the batch that comes of it.
 *
 * Everything loaded here is expected unchanged at commit, so a decision never rests on something that has moved.
 */

import type { Caller } from "../policy/caller.ts";
import type { Batch, NewBlob, Store } from "../store/port.ts";
import type { AgentDirectory } from "./agents.ts";
import { isVisible } from "./authorize.ts";
import { type Clock, timestamp } from "./clock.ts";
import { type Content, seal } from "./content.ts";
import { notFound } from "./errors.ts";
import { asKernelEvent, type EventKind, type EventPayloads } from "./events.ts";
import { type AnyRecord, changed, created, indexOf, type Kind, type Records, workspaceOf } from "./fold.ts";
import type { NewId } from "./ids.ts";

export interface KernelDeps {
  store: Store;
  clock: Clock;
  newId: NewId;
  agents: AgentDirectory;
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
  readonly #blobs: NewBlob[] = [];

  readonly #isAhead: boolean;

  /** A unit that is ahead builds on commits that are still on their way to the disk; see the store's `getAhead`. */
  constructor(deps: KernelDeps, caller: Caller, { isAhead = false } = {}) {
    this.deps = deps;
    this.caller = caller;
    this.#isAhead = isAhead;
    this.at = timestamp(deps.clock.now());
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

  /** The record, if it exists and the caller may see it. */
  async find<K extends Kind>(kind: K, id: string): Promise<Records[K] | undefined> {
    const known = this.#tracked.get(id);
    // Records are tracked under their own kind, by this class only.
    if (known !== undefined) return known.record.object === kind ? (known.record as Records[K]) : undefined;
    const { store } = this.deps;
    const document = await (this.#isAhead ? store.getAhead(kind, id) : store.get(kind, id));
    if (document === undefined) return undefined;
    const record = document.body as Records[K];
    if (!isVisible(this.caller, record)) return undefined;
    this.#tracked.set(id, { record, version: document.version, dirty: false });
    return record;
  }

  async require<K extends Kind>(kind: K, id: string): Promise<Records[K]> {
    const record = await this.find(kind, id);
    if (record === undefined) throw notFound(kind, id);
    return record;
  }

  /** Records a fact about a resource and gives the resource as it is after it. */
  emit<R extends AnyRecord, E extends EventKind>(about: R, event: E, payload: EventPayloads[E]): R {
    const fact = {
      event,
      resource: { object: about.object, id: about.id },
      tenantId: about.tenant_id,
      workspaceId: workspaceOf(about),
      sessionId: about.object === "session" ? about.id : "session_id" in about ? about.session_id : null,
      taskId: about.object === "task" ? about.id : "task_id" in about ? about.task_id : null,
      actor: this.caller.actor,
      createdAt: this.at,
      payload,
    };
    this.#events.push(fact);
    const typed = asKernelEvent(fact);
    for (const record of created(typed)) this.#tracked.set(record.id, { record, version: 0, dirty: true });

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

  seal<T>(value: T): Content<T> {
    return seal(value, this.#blobs);
  }

  /** Keeps bytes under their hash, whatever their size. */
  keepBlob(blob: NewBlob): void {
    this.#blobs.push(blob);
  }

  batch(): Batch {
    const tracked = [...this.#tracked];
    return {
      expect: tracked.map(([id, { record, version }]) => ({ kind: record.object, id, version })),
      events: this.#events,
      put: tracked
        .filter(([, { dirty }]) => dirty)
        .map(([id, { record }]) => ({ kind: record.object, id, index: indexOf(record), body: record })),
      blobs: this.#blobs,
    };
  }
}

export interface EnvelopeOf<K extends Kind> {
  id: string;
  object: K;
  tenant_id: string;
  created_at: string;
  updated_at: string;
}
