/** The PostgreSQL store: one connection that commits, several that read, and those who follow the log. */

import { randomUUID } from "node:crypto";
import type { Client } from "pg";
import { type CommitObserver, CommitQueue, type CommitWatch } from "../commit-queue.ts";
import type { EventQuery, Position, TenantStore } from "../port.ts";
import { ofTenant, tenantViews, type WholeStore } from "../whole-store.ts";
import { connect, type DatabasePlace } from "./connect.ts";
import { Contents } from "./contents.ts";
import { PostgresGroupWriter } from "./group-writer.ts";
import * as log from "./log-statements.ts";
import { channelOf, LogTail } from "./log-tail.ts";
import { makePartitions, migrate } from "./migrate.ts";
import { ReadPool } from "./read-pool.ts";
import { Reader } from "./reader.ts";
import { WriteConnection } from "./write-connection.ts";
import { notify } from "./write-statements.ts";

/** Connections that read at the same time. */
const readersMax = 8;
/** Positions for which there is room before they are needed. */
const roomPositions = 1_000_000;

export async function openPostgresStore(place: DatabasePlace, watch: CommitWatch = {}): Promise<WholeStore> {
  const client = await connect(place);
  let position: Position;
  try {
    await migrate(client, place.schema);
    position = Number((await client.query<{ position: number }>(log.head)).rows[0]?.position ?? 0);
  } finally {
    await client.end();
  }
  const writerId = randomUUID();
  const pool = new ReadPool(place, readersMax);
  const reader = new Reader(pool);
  const contents = new Contents(pool);
  const tail = new LogTail({ place, reader, writerId, position });
  const room = new Room(place);
  const connection = new WriteConnection({
    place,
    prepare: async () => {},
    epoch: () => null,
    onFenced: (reason) => queue.stop(reason),
  });
  const writer = new PostgresGroupWriter({
    connection,
    writerId,
    makeRoom: () => room.makeAfter(tail.told),
    tellUpTo: (through) => tail.tellUpTo(through),
    notification: (through) => notify(channelOf(place), `${writerId} ${through}`),
  });
  const observer: CommitObserver = {
    committed() {},
    outcomeUnknown() {},
    groupCommitted: (events) => tail.tell(events),
  };
  const bodyText = ({ body }: { body: object }) => JSON.stringify(body);
  const queue = new CommitQueue({ writer, bodyText, observer, watch });
  await contents.sweep();
  await tail.followOthers();
  return storeOf({ reader, contents, tail, queue, pool });
}

interface Parts {
  reader: Reader;
  contents: Contents;
  tail: LogTail;
  queue: CommitQueue;
  pool: ReadPool;
}

function storeOf({ reader, contents, tail, queue, pool }: Parts): WholeStore {
  /** Whoever is shown an event finds that those who follow the log here have heard of it. */
  const events = async (tenantId: string | null, query: EventQuery) => {
    const found = await reader.events(tenantId, query);
    await tail.tellUpTo(Math.max(0, found.at(0)?.position ?? 0, found.at(-1)?.position ?? 0));
    return found;
  };
  const viewOf = (tenantId: string): TenantStore => ({
    tenantId,
    get: (kind, id) => reader.get(tenantId, kind, id),
    getMany: (keys) => reader.getMany(tenantId, keys),
    known: () => undefined,
    proposed(kind, id) {
      const document = queue.ahead.document(id);
      return document?.kind === kind ? ofTenant(tenantId, document) : undefined;
    },
    proposedEvents: (id) => queue.ahead.events(id)?.filter((event) => event.tenantId === tenantId),
    list: (query) => reader.list(tenantId, query),
    ranked: (query) => reader.ranked(tenantId, query),
    search: (query) => reader.search(tenantId, query),
    count: (kind) => reader.count(tenantId, kind),
    events: (query) => events(tenantId, query),
    storedBytes: () => reader.storedBytes(tenantId),
    blob: (sha256) => contents.blob(tenantId, sha256),
    openBlob: (sha256) => contents.open(tenantId, sha256),
  });
  return {
    of: tenantViews(viewOf),
    commit: (batch) => queue.commit(batch),
    get: (kind, id) => reader.get(null, kind, id),
    list: (query) => reader.list(null, query),
    due: (query) => reader.due(query),
    documents: (query) => reader.documents(query),
    cursor: (name) => reader.cursor(name),
    tenantIds: () => reader.tenantIds(),
    events: (query) => events(null, query),
    stageBlob: (source, bytesMax) => contents.stage(source, bytesMax),
    once: (key) => reader.once(key),
    onceWith: (query) => reader.onceWith(query),
    async forgetOnce(before) {
      queue.assertOpen();
      return await pool.change(log.forgetOnce(before));
    },
    async dropBlobs({ sha256s, scannedThrough }) {
      queue.assertOpen();
      return await contents.drop(sha256s, scannedThrough);
    },
    async scrub() {
      queue.assertOpen();
      await pool.outside(async (client) => {
        await client.query("VACUUM log, documents, texts, once, blobs, parts");
      });
    },
    head: async () => tail.told,
    writeFault: () => queue.writeFault,
    // The disk is the database's.
    shortage: () => null,
    follow: (listener) => tail.follow(listener),
    async close() {
      await queue.close();
      await tail.close();
      await pool.close();
    },
  };
}

/** There is a partition for every position before it is written to. */
class Room {
  readonly #place: DatabasePlace;
  #through: Position = -1;

  constructor(place: DatabasePlace) {
    this.#place = place;
  }

  async makeAfter(position: Position): Promise<void> {
    if (position + roomPositions <= this.#through) return;
    const client: Client = await connect(this.#place);
    try {
      const range = { from: position, through: position + 2 * roomPositions };
      this.#through = await makePartitions(client, this.#place.schema, range);
    } finally {
      await client.end();
    }
  }
}
