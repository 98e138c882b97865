/**
 * Commits groups of batches, each group in one transaction of two round trips. The first one locks the head of the log and reads the
 * state that the group is about; the second one sends all changes with the COMMIT. Nobody else commits in between, so each batch is
 * decided in memory, alone, and nothing has to be taken back.
 *
 * When the connection is lost, a group that was not committed is written again on the next one. Whether a COMMIT without an answer was
 * executed is read from the mark that the transaction itself has left.
 */

import type { Client } from "pg";
import type { BatchResult, BatchRows } from "../batch-rows.ts";
import type { GroupWriter } from "../commit-queue.ts";
import { failPoint } from "../fail-point.ts";
import { checkedRow, type Row } from "../log-rows.ts";
import { OutcomeUnknown, type Position, StoreUnavailable } from "../port.ts";
import {
  databaseFaultOf,
  isConnectionLost,
  isRetryable,
  rowsOf,
  type Statement,
  sqlStateOf,
} from "./connect.ts";
import { GroupChanges, type Head } from "./group-changes.ts";
import type { WriteConnection } from "./write-connection.ts";
import * as sql from "./write-statements.ts";

export interface GroupWriterParts {
  connection: WriteConnection;
  writerId: string;
  /** Makes sure that there is a place for the next events. */
  makeRoom(): Promise<void>;
  /** After a commit, before anybody is told: events that others have committed before `first` are to be told first. */
  tellUpTo(position: Position): Promise<void>;
  /** Sent after each commit, for those who follow the log elsewhere; null when there is nobody. */
  notification(position: Position): Statement | null;
}

/** How long a group waits for a database that is away. */
const patienceMs = 3000;

/** The transaction was sent with its COMMIT, and there was no answer. */
class Unanswered extends Error {
  readonly results: BatchResult[];

  constructor(results: BatchResult[], cause: unknown) {
    super("The COMMIT was not answered", { cause });
    this.results = results;
  }
}

export class PostgresGroupWriter implements GroupWriter {
  readonly #parts: GroupWriterParts;
  #group = 0;

  constructor(parts: GroupWriterParts) {
    this.#parts = parts;
  }

  async write(batches: BatchRows[]): Promise<BatchResult[]> {
    const results = await this.#patiently(batches);
    const first = results.find((result) => "ok" in result && result.ok.sequences.length > 0);
    if (first !== undefined && "ok" in first) await this.#tellBefore(first.ok.first);
    return results;
  }

  /** It is committed: a database that is away now must not make a refusal of it. */
  async #tellBefore(first: Position): Promise<void> {
    try {
      await this.#parts.tellUpTo(first - 1);
    } catch (error) {
      throw new OutcomeUnknown("What was committed before cannot be read now", { cause: error });
    }
  }

  async probe(): Promise<string | null> {
    try {
      const client = await this.#parts.connection.ready(performance.now() + patienceMs);
      await client.query(sql.markSeen(this.#parts.writerId));
      return null;
    } catch (error) {
      // Within a transaction that has failed: whoever wrote that knows why.
      if (sqlStateOf(error) === "25P02") return null;
      return databaseFaultOf(error) ?? messageOf(error);
    }
  }

  async close(): Promise<void> {
    await this.#parts.connection.close();
  }

  async #patiently(batches: BatchRows[]): Promise<BatchResult[]> {
    const giveUpAt = performance.now() + patienceMs;
    while (true) {
      try {
        return await this.#attempt(batches, giveUpAt);
      } catch (error) {
        if (error instanceof Unanswered) {
          const known = await this.#outcome(error, giveUpAt);
          if (known !== null) return known;
        } else if (!isConnectionLost(error) && !isRetryable(error)) return await this.#failed(batches, error);
        if (performance.now() > giveUpAt) return await this.#failed(batches, error);
      }
    }
  }

  async #attempt(batches: BatchRows[], giveUpAt: number): Promise<BatchResult[]> {
    const { connection, makeRoom } = this.#parts;
    await makeRoom();
    const client = await connection.ready(giveUpAt);
    try {
      return await this.#transaction(client, batches);
    } catch (error) {
      if (error instanceof Unanswered || isConnectionLost(error)) connection.lost(client);
      throw error;
    }
  }

  /** One of the batches may be at fault; then the others are written without it. */
  async #failed(batches: BatchRows[], error: unknown): Promise<BatchResult[]> {
    const cause = error instanceof Unanswered ? error.cause : error;
    const fault = cause instanceof StoreUnavailable ? cause.fault : databaseFaultOf(cause);
    const isOwn = fault === null && !isRetryable(cause);
    if (!isOwn || batches.length === 1) {
      const about = isRetryable(cause) ? "database overloaded" : fault;
      return batches.map(() => ({ failed: messageOf(cause), fault: about }));
    }
    const results: BatchResult[] = [];
    for (const batch of batches) results.push(...(await this.#patiently([batch])));
    return results;
  }

  async #transaction(client: Client, batches: BatchRows[]): Promise<BatchResult[]> {
    failPoint("commit.begun");
    const changes = new GroupChanges(await this.#state(client, batches));
    const results = batches.map((batch) => changes.add(batch));
    if (!results.some((result) => "ok" in result)) {
      await client.query(sql.rollback);
      return results;
    }
    const group = ++this.#group;
    const statements = [...sql.changeStatements(changes), sql.markGroup(this.#parts.writerId, group)];
    const sent = statements.map((one) => client.query(one));
    failPoint("commit.written");
    const committed = client.query(sql.commit);
    failPoint("commit.syncing");
    const notification = this.#parts.notification(changes.position);
    // A hint only: who misses it looks at the log by itself.
    if (notification !== null) client.query(notification).catch(() => {});
    const [outcome, ...others] = await Promise.allSettled([committed, ...sent]);
    const failure = others.find((one) => one.status === "rejected");
    if (failure !== undefined && !isConnectionLost(failure.reason)) throw failure.reason;
    if (outcome.status === "rejected") throw new Unanswered(results, outcome.reason);
    // What failed within is rolled back by COMMIT.
    if (outcome.value.command !== "COMMIT") throw new Error("The transaction was rolled back");
    failPoint("commit.durable");
    return results;
  }

  async #state(client: Client, batches: BatchRows[]) {
    const { connection } = this.#parts;
    const wanted = sql.stateStatements(batches);
    const rowsFor = async (one: Statement | undefined): Promise<Row[]> =>
      one === undefined ? [] : rowsOf(await client.query(one));
    try {
      const [, [head], heads, keys, cursors, rows] = await Promise.all([
        client.query(sql.begin),
        rowsFor(sql.lockHead),
        rowsFor(wanted.heads),
        rowsFor(wanted.onceKeys),
        rowsFor(wanted.cursors),
        rowsFor(wanted.rows),
      ]);
      connection.assertOwn(Number(head?.epoch));
      return {
        position: Number(head?.position),
        heads: new Map(heads.map((row) => [String(row.id), toHead(row)])),
        onceKeys: new Set(keys.map(({ key }) => String(key))),
        cursors: new Map(cursors.map(({ name, position }) => [String(name), Number(position)])),
        rows: uniqueRows(rows),
      };
    } catch (error) {
      if (!isConnectionLost(error)) await client.query(sql.rollback).catch(() => {});
      throw error;
    }
  }

  /** What became of a group whose COMMIT was not answered: its results, or null if it was not committed. */
  async #outcome({ results, cause }: Unanswered, giveUpAt: number): Promise<BatchResult[] | null> {
    const instead = (result: BatchResult) => results.map((one) => ("ok" in one ? result : one));
    const group = this.#group;
    try {
      const client = await this.#parts.connection.ready(giveUpAt);
      // The lost transaction holds the lock until it is over, one way or the other.
      const [, , found] = await Promise.all([
        client.query(sql.begin),
        client.query(sql.lockHead),
        client.query(sql.lastGroup(this.#parts.writerId)),
        client.query(sql.rollback),
      ]);
      return Number(rowsOf(found)[0]?.groups) === group ? results : null;
    } catch {
      return instead({
        unknown: messageOf(cause),
        fault: databaseFaultOf(cause) ?? "database unreachable",
      });
    }
  }
}

function toHead(row: Row): Head {
  return {
    tenantId: String(row.tenant_id),
    version: Number(row.version),
    sequence: Number(row.sequence),
    lastEvent: row.last_event === null ? null : Number(row.last_event),
  };
}

/** A row is found once for each position in it. */
function uniqueRows(rows: readonly Row[]) {
  return [...new Map(rows.map((row) => [Number(row.last), row])).values()].map((row) =>
    checkedRow(row, "The database"),
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
