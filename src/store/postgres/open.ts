/** The PostgreSQL store: one connection that commits, several that read, and those who follow the log. */

import { randomUUID } from "node:crypto";
import type { Client } from "pg";
import { type CommitObserver, CommitQueue, type CommitWatch } from "../commit-queue.ts";
import { copyMarker } from "../copying.ts";
import type { Position } from "../port.ts";
import type { WholeStore } from "../whole-store.ts";
import { CachedDocuments } from "./cached-documents.ts";
import { connect, type DatabasePlace } from "./connect.ts";
import { Contents } from "./contents.ts";
import { DatabaseUnusable } from "./database-unusable.ts";
import { PostgresGroupWriter } from "./group-writer.ts";
import * as log from "./log-statements.ts";
import { channelOf, LogTail } from "./log-tail.ts";
import { migrate } from "./migrate.ts";
import { assertUsable, openProblem, placeInWords } from "./open-problems.ts";
import { ReadPool } from "./read-pool.ts";
import { Reader } from "./reader.ts";
import { Room } from "./room.ts";
import { SoleServer } from "./sole-server.ts";
import { storeOf } from "./store.ts";
import { WriteConnection } from "./write-connection.ts";
import { notify } from "./write-statements.ts";

export interface PostgresOptions extends DatabasePlace {
  /** Nobody else writes: another server is refused, documents are kept in memory. */
  isSole?: boolean;
  /** Connections that read at the same time. */
  readersMax?: number;
  /** Connections that the server needs in all. */
  connectionsNeeded?: number;
}

const readersMaxDefault = 8;
const openMsMax = 10_000;
/** A commit is acknowledged when it is on disk, whatever the server's default is; stricter settings stay. */
const neverAsynchronous =
  "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'";

export async function openPostgresStore(
  options: PostgresOptions,
  watch: CommitWatch = {},
): Promise<WholeStore> {
  try {
    return await open(options, watch);
  } catch (error) {
    throw openProblem(causeOf(error), options);
  }
}

/** What a connection could not be made for, if that is why the store was not opened. */
function causeOf(error: unknown): unknown {
  const isWrapped = error instanceof Error && error.name === "StoreUnavailable" && error.cause !== undefined;
  return isWrapped ? error.cause : error;
}

async function open(options: PostgresOptions, watch: CommitWatch): Promise<WholeStore> {
  const { isSole = false, readersMax = readersMaxDefault } = options;
  const place = { url: options.url, schema: options.schema };
  const position = await prepare(options);
  await using opened = new AsyncDisposableStack();
  const writerId = randomUUID();
  const pool = new ReadPool(place, readersMax, (fault) => queue.reportFault(fault));
  opened.defer(() => pool.close());
  const reader = new Reader(pool);
  const contents = new Contents(pool);
  const tail = new LogTail({ place, reader, writerId, position });
  opened.defer(() => tail.close());
  const room = new Room(place);
  const sole = isSole ? new SoleServer(place.schema) : null;
  const connection = new WriteConnection({
    place,
    async prepare(client) {
      await client.query(neverAsynchronous);
      await sole?.hold(client);
    },
    epoch: () => sole?.epoch ?? null,
    onFenced: (reason) => queue.stop(reason),
    onLost: () => void noticeLoss(),
  });
  const writer = new PostgresGroupWriter({
    connection,
    writerId,
    makeRoom: () => room.makeAfter(tail.told),
    tellUpTo: (through) => tail.tellUpTo(through),
    notification: (through) => (isSole ? null : notify(channelOf(place), `${writerId} ${through}`)),
  });
  const cache = isSole ? new CachedDocuments() : null;
  const observer: CommitObserver = {
    committed: (batch, events, rows) => cache?.committed(batch, events, rows),
    committedLarge: (batch) => cache?.forget(batch),
    outcomeUnknown: () => cache?.clear(),
    groupCommitted: (events) => tail.tell(events),
  };
  const bodyText = ({ body }: { body: object }) => JSON.stringify(body);
  const queue = new CommitQueue({ writer, bodyText, observer, watch });
  opened.defer(() => queue.close());
  const noticeLoss = async () => {
    const fault = await writer.probe();
    if (fault !== null) queue.reportFault(fault);
  };
  await connection.ready(performance.now() + openMsMax);
  await contents.sweep();
  if (!isSole) await tail.followOthers();
  const owned = opened.move();
  return storeOf({ reader, contents, tail, queue, pool, cache, close: () => owned.disposeAsync() });
}

/** What was not copied to its end is not what it was copied from. */
async function assertWhole(client: Client, place: DatabasePlace): Promise<void> {
  const { rows } = await client.query(log.cursorOf(copyMarker));
  if (rows.length === 0) return;
  throw new DatabaseUnusable(
    `PostgreSQL at ${placeInWords(place)} holds an unfinished copy. Finish it by repeating "bridle copy".`,
  );
}

/** Brings the tables up to date, and gives the end of the log. */
async function prepare({ connectionsNeeded = 0, ...place }: PostgresOptions): Promise<Position> {
  const client: Client = await connect(place);
  try {
    await assertUsable(client, place, connectionsNeeded);
    await migrate(client, place.schema);
    await assertWhole(client, place);
    return Number((await client.query<{ position: number }>(log.head)).rows[0]?.position ?? 0);
  } finally {
    await client.end();
  }
}
