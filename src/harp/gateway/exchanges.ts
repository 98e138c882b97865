/**
 * Exchanges in the store: read, changed and forgotten here only. Whoever changes one gives a decision that is made from
 * what is there and written only if that is still there; no answer is given before it is on disk.
 *
 * Time passes for an exchange whether or not somebody looks: whoever reads or changes one that is overdue finds it
 * expired, and one that is past its retention is not there.
 */

import type { Batch, NewBlob, StoredDocument } from "../../store/port.ts";
import { StoreUnavailable, VersionConflict } from "../../store/port.ts";
import type { Ciphertext } from "../core/wire.ts";
import type { GatewayDeps } from "./deps.ts";
import {
  type Exchange,
  type ExchangeRef,
  entriesOf,
  exchangeDocument,
  exchangeId,
  exchangeKind,
  forgottenAt,
  isOverdue,
} from "./records/exchange.ts";
import { stateAfter } from "./records/states.ts";
import { cannotWrite, refusal } from "./refusals.ts";
import { openCiphertext } from "./sealed.ts";
import { timeText } from "./times.ts";
import { Turns } from "./turns.ts";

/** More rivals than this for one exchange at once is a mistake of ours, not bad luck. */
const triesMax = 50;
const eventsPage = 500;

/** What a decision comes to: an answer, and what is to be written before it is given, if anything. */
export interface Change<Result> {
  result: Result;
  write?: {
    next: Exchange;
    /** What happened, in the log: names and ids, nothing that was sealed. */
    event: string;
    actor: string;
    payload?: object;
    blobs?: NewBlob[];
  };
}

export interface Moment {
  nowMs: number;
  /** A time that no other message of this gateway has, in the order in which they are written. */
  stamp(): string;
}

type Listener = (before: Exchange | null, after: Exchange) => void;

export class Exchanges {
  readonly #deps: GatewayDeps;
  readonly #changed: Listener;
  readonly #turns = new Turns();
  #lastStamp = 0;

  /** `changed` hears of every change once it is on disk. */
  constructor(deps: GatewayDeps, changed: Listener) {
    this.#deps = deps;
    this.#changed = changed;
  }

  /** As it is now; null for what is not there, or no longer. */
  async read(ref: ExchangeRef): Promise<Exchange | null> {
    const { now } = this.#deps;
    const exchange = bodyOf(await this.#load(ref));
    if (exchange === null || this.#isForgotten(exchange, now())) return null;
    if (!isOverdue(exchange, now())) return exchange;
    return await this.change(ref, (current) => ({ result: current }));
  }

  /**
   * As it was written last, for what does not change with time. A list can be ahead of what is read by its key, for as long
   * as the commit behind it has not been told: who changes the exchange then still has the turn.
   */
  async stored(ref: ExchangeRef, versionMin: number): Promise<Exchange | null> {
    const stored = await this.#load(ref);
    if (stored === undefined || stored.version >= versionMin) return bodyOf(stored);
    return await this.#turns.take(exchangeId(ref), async () => bodyOf(await this.#load(ref)));
  }

  async change<Result>(
    ref: ExchangeRef,
    decide: (exchange: Exchange | null, moment: Moment) => Change<Result>,
  ): Promise<Result> {
    return await this.#turns.take(exchangeId(ref), async () => {
      for (let attempt = 1; ; attempt++) {
        try {
          const stored = await this.#current(ref);
          const before = bodyOf(stored);
          // From here to the commit nothing is waited for: what is stamped later is written later.
          const moment = this.#moment();
          if (before !== null && isOverdue(before, moment.nowMs)) continue;
          const { result, write } = decide(before, moment);
          if (write !== undefined) await this.#write(stored, write);
          return result;
        } catch (error) {
          if (!(error instanceof VersionConflict || error instanceof StoreUnavailable)) throw error;
          if (error instanceof StoreUnavailable) throw cannotWrite(error);
          if (attempt >= triesMax) throw refusal("ServiceUnavailable", "Too many writers; try again.");
        }
      }
    });
  }

  /** What approvers are to open. */
  async ciphertextOf({ sealed, uid, tenantId }: Exchange): Promise<Ciphertext | null> {
    if ("ciphertext" in sealed) return sealed.ciphertext;
    const bytes = await this.#deps.store.of(tenantId).blob(sealed.sha256);
    // It was forgotten a moment ago.
    return bytes === undefined ? null : openCiphertext(uid, bytes);
  }

  /** Does what time has brought: ends what is overdue, and lets go of everything about what is past its retention. */
  async settle(ref: ExchangeRef): Promise<void> {
    const { now, settings, store } = this.#deps;
    await this.#turns.take(exchangeId(ref), async () => {
      try {
        const stored = await this.#load(ref);
        const exchange = bodyOf(stored);
        if (stored === undefined || exchange === null) return;
        const document = exchangeDocument(exchange, settings.retainMs);
        if ((document.index.wakeAt ?? 0) <= now()) {
          await this.#current(ref);
          return;
        }
        // When it was written, things were kept for less long.
        const { kind, id, version } = stored;
        await store.commit({ expect: [{ kind, id, version }], events: [], put: [document], blobs: [] });
      } catch (error) {
        // It changed meanwhile; if it is still due it is found again.
        if (!(error instanceof VersionConflict)) throw error;
      }
    });
  }

  /** What is there to decide by: not overdue, and not to be forgotten. */
  async #current(ref: ExchangeRef): Promise<StoredDocument | undefined> {
    const { now } = this.#deps;
    const stored = await this.#load(ref);
    const exchange = bodyOf(stored);
    if (stored === undefined || exchange === null) return undefined;
    if (this.#isForgotten(exchange, now())) {
      await this.#remove(stored, exchange);
      return undefined;
    }
    if (!isOverdue(exchange, now())) return stored;
    const next: Exchange = {
      ...exchange,
      state: stateAfter("time_over", exchange.state),
      endedAtMs: exchange.expiresAtMs,
    };
    await this.#write(stored, { next, event: "exchange.expired", actor: "gateway" });
    return await this.#load(ref);
  }

  async #load(ref: ExchangeRef): Promise<StoredDocument | undefined> {
    return await this.#deps.store.of(ref.tenantId).get(exchangeKind, exchangeId(ref));
  }

  #isForgotten(exchange: Exchange, nowMs: number): boolean {
    const at = forgottenAt(exchange, this.#deps.settings.retainMs);
    return at !== null && nowMs >= at;
  }

  #moment(): Moment {
    const nowMs = this.#deps.now();
    return {
      nowMs,
      stamp: () => {
        this.#lastStamp = Math.max(nowMs, this.#lastStamp + 1);
        return timeText(this.#lastStamp);
      },
    };
  }

  async #write(
    stored: StoredDocument | undefined,
    { next, event, actor, payload = {}, blobs = [] }: NonNullable<Change<unknown>["write"]>,
  ): Promise<void> {
    const { store, now, settings } = this.#deps;
    const before = bodyOf(stored);
    const document = exchangeDocument(next, settings.retainMs);
    const version = stored?.version ?? 0;
    const was = before === null ? new Map<string, never>() : entriesOf(before, version);
    const is = entriesOf(next, version + 1);
    const isSame = (id: string) => was.get(id)?.index.status === is.get(id)?.index.status;
    const { tenantId, requestId, state } = next;
    const batch: Batch = {
      expect: [{ kind: document.kind, id: document.id, version }],
      events: [
        {
          event,
          resource: { object: exchangeKind, id: document.id },
          tenantId,
          workspaceId: null,
          sessionId: null,
          // The column by which the events of one exchange are found again when they have to go.
          taskId: document.id,
          actor,
          createdAt: timeText(now()),
          payload: { requestId, state, ...payload },
        },
      ],
      put: [document, ...[...is.values()].filter(({ id }) => !isSame(id))],
      blobs,
      trim: {
        events: [],
        documents: [...was.values()].filter(({ id }) => !is.has(id)).map(({ kind, id }) => ({ kind, id })),
        unlisted: [],
      },
    };
    await store.commit(batch);
    this.#changed(before, next);
  }

  /** Its blob first, so that no crash leaves one behind. */
  async #remove(stored: StoredDocument, exchange: Exchange): Promise<void> {
    const { store } = this.#deps;
    const { id, kind, version } = stored;
    const scannedThrough = await store.head();
    if ("sha256" in exchange.sealed) {
      await store.dropBlobs({ sha256s: [exchange.sealed.sha256], scannedThrough });
    }
    const events = await this.#positionsOf(stored);
    const documents = [{ kind, id }, ...entriesOf(exchange, version).values()].map(({ kind, id }) => ({
      kind,
      id,
    }));
    await store.commit({
      expect: [{ kind, id, version }],
      events: [],
      put: [],
      blobs: [],
      trim: { events, documents, unlisted: [] },
    });
  }

  async #positionsOf({ id, tenantId }: StoredDocument): Promise<number[]> {
    const positions: number[] = [];
    while (true) {
      const after = positions.at(-1) ?? 0;
      const events = await this.#deps.store.of(tenantId).events({ taskId: id, after, limit: eventsPage });
      positions.push(...events.map(({ position }) => position));
      if (events.length < eventsPage) return positions;
    }
  }
}

/** What is in the store was written here. */
function bodyOf(stored: StoredDocument | undefined): Exchange | null {
  return stored === undefined ? null : (stored.body as Exchange);
}
