/**
 * What a decision rests on: everything that was read for it, one time, its names and its turns. A decision is synchronous. Where it
 * asks for something that is not here it is left with `NotLoaded`; what it asked for is loaded, and the command decides again from the
 * start. It comes to the same point with the same time and the same names, so that the second round asks for nothing twice.
 */

import { SearchBudget } from "../../policy/redact/search-budget.ts";
import { nextSlice } from "../../slices.ts";
import type { StoredDocument, TenantStore } from "../../store/port.ts";
import type { Clock } from "./clock.ts";
import { timestamp } from "./clock.ts";
import type { NewId } from "./ids.ts";
import { comesBefore, type Locks, OutOfTurn, type Release } from "./locks.ts";

/** Documents that are read between two turns of the event loop. */
const documentsAtOnce = 200;

export interface DocumentKey {
  tenantId: string;
  kind: string;
  id: string;
  /** Read, and not expected unchanged: it may be older than what the same decision loads. */
  isPeek?: boolean;
}

type Work = () => Promise<unknown>;

/** Everything that a decision lacks at the point that it has come to. Only those who decide again may catch it. */
export class NotLoaded extends Error {
  override name = "NotLoaded";
  readonly documents: readonly DocumentKey[];
  readonly works: ReadonlyMap<string, Work>;

  constructor({ documents = [], works = new Map() }: Partial<Pick<NotLoaded, "documents" | "works">>) {
    super("Not loaded");
    this.documents = documents;
    this.works = works;
  }
}

export interface LoadingDeps {
  store: { of(tenantId: string): Pick<TenantStore, "known" | "getMany" | "proposed"> };
  clock: Clock;
  newId: NewId;
  locks: Locks;
}

export class Loaded {
  /** One time for everything that happens in one commit. */
  readonly at: string;
  /** What it may search for secrets. */
  readonly budget: SearchBudget;
  readonly #deps: LoadingDeps;
  readonly #isAhead: boolean;
  readonly #documents = new Map<string, StoredDocument | undefined>();
  readonly #results = new Map<string, { value: unknown } | { error: unknown }>();
  readonly #held = new Map<string, Release>();
  readonly #ids: { prefix: string; id: string }[] = [];

  /** Who is ahead builds on commits that are still on their way to the disk; see the store's `proposed`. */
  constructor(deps: LoadingDeps, { isAhead = false, budget = new SearchBudget() } = {}) {
    this.#deps = deps;
    this.#isAhead = isAhead;
    this.budget = budget;
    this.at = timestamp(deps.clock.now());
  }

  /** The nth name that the decision gives, the same in every round. */
  id(n: number, prefix: string): string {
    const known = this.#ids[n];
    if (known?.prefix === prefix) return known.id;
    const id = this.#deps.newId(prefix);
    this.#ids[n] = { prefix, id };
    return id;
  }

  document(key: DocumentKey): StoredDocument | undefined {
    if (this.lacks(key)) throw new NotLoaded({ documents: [key] });
    return this.#documents.get(nameOf(key));
  }

  /** Whether it has to be waited for. What is in memory is taken from there. */
  lacks(key: DocumentKey): boolean {
    const name = nameOf(key);
    if (this.#documents.has(name)) return false;
    const store = this.#deps.store.of(key.tenantId);
    const found =
      store.known(key.kind, key.id) ?? (this.#isAhead ? store.proposed(key.kind, key.id) : undefined);
    if (found === undefined) return true;
    this.#documents.set(name, found);
    return false;
  }

  /** What comes of some work, which is done once under its name. What it throws is thrown here. */
  result<T>(name: string, work: () => Promise<T>): T {
    const known = this.#results.get(name);
    if (known === undefined) throw new NotLoaded({ works: new Map([[name, work]]) });
    if ("error" in known) throw known.error;
    // Kept under its name by the same call, which has the same type.
    return known.value as T;
  }

  /** Takes turns with whoever else decides about these, in this order. What was read of them before is read again after a wait. */
  hold(ids: readonly string[]): void {
    const { locks } = this.#deps;
    for (const [index, id] of ids.entries()) {
      if (this.#held.has(id)) continue;
      const isInOrder = ![...this.#held.keys()].some((held) => comesBefore(id, held));
      const release = locks.acquireNow(id);
      if (release !== null) this.#held.set(id, release);
      else if (!isInOrder) throw new OutOfTurn(this.#held.keys(), id);
      else throw new NotLoaded({ works: new Map([[`hold ${id}`, () => this.waitFor(ids.slice(index))]]) });
    }
  }

  async waitFor(ids: readonly string[]): Promise<void> {
    const { locks } = this.#deps;
    for (const id of ids) {
      if (!this.#held.has(id)) this.#held.set(id, await locks.acquire(id));
      for (const name of this.#documents.keys()) if (name.endsWith(` ${id}`)) this.#documents.delete(name);
    }
  }

  /** After the commit, or when there is none. */
  release(): void {
    for (const release of this.#held.values()) release();
    this.#held.clear();
  }

  /** All that is missing, in one read of the store. */
  async load({ documents, works }: Pick<NotLoaded, "documents" | "works">): Promise<void> {
    const reads = [...Map.groupBy(documents, ({ tenantId }) => tenantId)].map(([tenantId, keys]) =>
      this.#read(tenantId, keys),
    );
    const rest = [...works].map(([name, work]) => this.#work(name, work));
    await Promise.all([...reads, ...rest]);
  }

  async #read(tenantId: string, keys: readonly DocumentKey[]): Promise<void> {
    const store = this.#deps.store.of(tenantId);
    for (let first = 0; first < keys.length; first += documentsAtOnce) {
      if (first > 0) await nextSlice();
      const some = keys.slice(first, first + documentsAtOnce);
      const found = await store.getMany(some);
      for (const [index, key] of some.entries()) this.#documents.set(nameOf(key), found[index]);
    }
  }

  async #work(name: string, work: Work): Promise<void> {
    try {
      this.#results.set(name, { value: await work() });
    } catch (error) {
      this.#results.set(name, { error });
    }
  }
}

function nameOf({ tenantId, kind, isPeek = false, id }: DocumentKey): string {
  return `${isPeek ? "peek " : ""}${tenantId} ${kind} ${id}`;
}
