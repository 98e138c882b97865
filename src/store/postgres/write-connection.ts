/**
 * The connection that commits. It is made again when it is lost, at growing intervals. A server that is alone on its database holds a
 * lock with this connection, and its commits check that nobody has taken over since.
 */

import type { Client } from "pg";
import { StoreUnavailable } from "../port.ts";
import { connect, type DatabasePlace, databaseFaultOf } from "./connect.ts";
import { DatabaseUnusable } from "./database-unusable.ts";

const pauseMsFirst = 50;
const pauseMsMax = 1000;

/** Another server writes to the database, and this one must not. */
export class WriterFenced extends Error {
  override name = "WriterFenced";
}

/** Another server holds the database now. It may be the rest of a connection that this server has lost. */
export class DatabaseHeld extends Error {
  override name = "DatabaseHeld";
  readonly fault = "database held by another server";
}

export interface WriteConnectionOptions {
  place: DatabasePlace;
  /** Prepares a new connection: takes what it must hold. Throws `WriterFenced`. */
  prepare(client: Client): Promise<void>;
  /** The epoch that commits must find; null when others may write too. */
  epoch(): number | null;
  onFenced(reason: string): void;
  /** The connection ended by itself. */
  onLost(): void;
}

export class WriteConnection {
  readonly #options: WriteConnectionOptions;
  #client: Client | null = null;
  #connecting: Promise<Client> | null = null;
  #isClosed = false;

  constructor(options: WriteConnectionOptions) {
    this.#options = options;
  }

  /** Waits for a connection until a time of `performance.now()`. Throws `StoreUnavailable`. */
  async ready(giveUpAt: number): Promise<Client> {
    for (let pauseMs = pauseMsFirst; ; pauseMs = Math.min(pauseMs * 2, pauseMsMax)) {
      if (this.#client !== null) return this.#client;
      try {
        this.#connecting ??= this.#connect();
        return await this.#connecting;
      } catch (error) {
        if (error instanceof WriterFenced) this.#options.onFenced(error.message);
        const isHopeless =
          error instanceof WriterFenced || error instanceof DatabaseUnusable || this.#isClosed;
        if (isHopeless || performance.now() + pauseMs > giveUpAt) throw unavailable(error);
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      } finally {
        this.#connecting = null;
      }
    }
  }

  /** Its errors can be told before its end. */
  lost(client: Client): void {
    if (this.#client === client) this.#client = null;
    client.end().catch(() => {});
  }

  /** Throws `StoreUnavailable` when another server has taken over. */
  assertOwn(epoch: number): void {
    const mine = this.#options.epoch();
    if (mine === null || mine === epoch) return;
    const reason = "another server has taken over this database";
    this.#options.onFenced(reason);
    throw new StoreUnavailable(reason, { fault: reason });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#client?.end().catch(() => {});
  }

  async #connect(): Promise<Client> {
    const client = await connect(this.#options.place);
    try {
      await this.#options.prepare(client);
    } catch (error) {
      await client.end().catch(() => {});
      throw error;
    }
    // An error ends a connection, but not before its last queries were told.
    client.once("end", () => {
      if (this.#client === client) this.#client = null;
      if (!this.#isClosed) this.#options.onLost();
    });
    this.#client = client;
    return client;
  }
}

function unavailable(error: unknown): StoreUnavailable {
  const fault = error instanceof DatabaseHeld ? error.fault : faultOf(error);
  return new StoreUnavailable(`Cannot use the database (${fault})`, { fault, cause: error });
}

function faultOf(error: unknown): string {
  return databaseFaultOf(error) ?? (error instanceof Error ? error.message : String(error));
}
