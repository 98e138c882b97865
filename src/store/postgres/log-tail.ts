/**
 * Tells those who follow the log of commits, in log order: this node's own as they are made, and those of other nodes as they are
 * found. A notification says that there is something to find; looking now and then finds what a lost one was about.
 */

import type { Client } from "pg";
import type { CommitListener, Position, StoredEvent } from "../port.ts";
import { connect, type DatabasePlace } from "./connect.ts";
import type { Reader } from "./reader.ts";

/** Events that are read at once. */
const pageMax = 500;
const lookEveryMs = 1000;
const listenAgainMs = 1000;

export interface LogTailOptions {
  place: DatabasePlace;
  reader: Reader;
  /** Notifications that begin with it are about commits of this node. */
  writerId: string;
  /** Where the log ends now. */
  position: Position;
}

export class LogTail {
  readonly #options: LogTailOptions;
  readonly #listeners = new Set<CommitListener>();
  #told: Position;
  #looking: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #listening: Client | null = null;
  #isClosed = false;

  constructor(options: LogTailOptions) {
    this.#options = options;
    this.#told = options.position;
  }

  /** The last position that listeners know of. Nobody is shown more: whoever sees an event must find what it changed. */
  get told(): Position {
    return this.#told;
  }

  follow(listener: CommitListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Events without a gap; those that were told already are left out. */
  tell(events: readonly StoredEvent[]): void {
    const news = events.filter(({ position }) => position > this.#told);
    const last = news.at(-1);
    if (last === undefined) return;
    this.#told = last.position;
    for (const listener of this.#listeners) listener(news);
  }

  /** Tells everything up to a position that is committed. */
  async tellUpTo(position: Position): Promise<void> {
    while (this.#told < position) {
      const before = this.#told;
      await this.#tellNext(position);
      // What is not there has been removed since.
      if (this.#told === before) this.#told = position;
    }
  }

  /** From here on, commits of other nodes are looked for. */
  async followOthers(): Promise<void> {
    await this.#listen();
    this.#schedule();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#listeners.clear();
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#looking;
    await this.#listening?.end().catch(() => {});
  }

  async #tellNext(through?: Position): Promise<number> {
    const query = { after: this.#told, limit: pageMax, ...(through === undefined ? {} : { through }) };
    const events = await this.#options.reader.events(null, query);
    this.tell(events);
    return events.length;
  }

  #look(): Promise<void> {
    this.#looking ??= this.#lookNow().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #lookNow(): Promise<void> {
    try {
      while (!this.#isClosed && (await this.#tellNext()) === pageMax);
    } catch {
      // The database is away; the next look finds what this one did not.
    }
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#look().then(() => this.#schedule()), lookEveryMs).unref();
  }

  async #listen(): Promise<void> {
    const { place, writerId } = this.#options;
    const client = await connect(place);
    this.#listening = client;
    client.on("notification", ({ payload = "" }) => {
      if (!payload.startsWith(writerId)) void this.#look();
    });
    client.once("end", () => {
      if (!this.#isClosed) setTimeout(() => void this.#listenAgain(), listenAgainMs).unref();
    });
    await client.query(`LISTEN ${channelOf(place)}`);
  }

  async #listenAgain(): Promise<void> {
    if (this.#isClosed) return;
    await this.#listen().catch(() => {
      setTimeout(() => void this.#listenAgain(), listenAgainMs).unref();
    });
  }
}

/** Commits to one schema are notified on one channel. */
export function channelOf({ schema }: DatabasePlace): string {
  return `bridle_${schema}`;
}
