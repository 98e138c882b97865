/** What holds when several stores, the server and its connections are less orderly than one process with one file. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Client } from "pg";
import { sharedPostgres, startPostgres } from "../../../test/support/postgres.ts";
import {
  type Batch,
  OnceConflict,
  OutcomeUnknown,
  StoreDamaged,
  type StoredEvent,
  StoreUnavailable,
  VersionConflict,
} from "../port.ts";
import type { WholeStore } from "../whole-store.ts";
import type { DatabasePlace } from "./connect.ts";
import { openPostgresStore } from "./open.ts";

const database = sharedPostgres().then((server) => server.newDatabase());
let schemas = 0;

async function newPlace(): Promise<DatabasePlace> {
  schemas += 1;
  return { url: await database, schema: `nodes_${schemas}` };
}

/** Stores that are closed in the end. */
class Stores implements AsyncDisposable {
  readonly #open: WholeStore[] = [];

  async open(place: DatabasePlace): Promise<WholeStore> {
    const store = await openPostgresStore(place);
    this.#open.push(store);
    return store;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const store of this.#open) await store.close();
  }
}

function change(id: string, version: number, { tenantId = "tenant", text = "" } = {}): Batch {
  return {
    expect: [{ kind: "thing", id, version }],
    events: [
      {
        event: "changed",
        resource: { object: "thing", id },
        ...{ tenantId, workspaceId: null, sessionId: null, taskId: null, actor: null },
        createdAt: "2026-01-01T00:00:00.000Z",
        payload: { text },
      },
    ],
    put: [{ kind: "thing", id, index: { tenantId }, body: { id, version: version + 1 } }],
    blobs: [],
  };
}

async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const giveUpAt = performance.now() + 15_000; !(await condition()); ) {
    if (performance.now() > giveUpAt) assert.fail(`Waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const positionsOf = (events: readonly StoredEvent[]) => events.map(({ position }) => position);
const upTo = (n: number) => Array.from({ length: n }, (_, index) => index + 1);

describe("PostgreSQL store: several stores", () => {
  test("PGS-1, PGS-3 three stores write one log, and no reader passes a late position", async () => {
    await using stores = new Stores();
    const place = await newPlace();
    const nodes = [await stores.open(place), await stores.open(place), await stores.open(place)];
    const heard = nodes.map((node) => {
      const positions: number[] = [];
      node.follow((events) => positions.push(...positionsOf(events)));
      return positions;
    });
    const outside = new Client({
      connectionString: place.url,
      options: `-c search_path=${place.schema} -c bridle.tenant=*`,
    });
    await outside.connect();
    let isDone = false;
    // Sees what is committed at the moment, from a connection that knows of nobody.
    const watched = (async () => {
      let seen = 0;
      while (!isDone) {
        const { rows } = await outside.query<{ n: string; last: string | null }>(
          "SELECT sum(last - first + 1) AS n, max(last) AS last FROM log",
        );
        const [n, last] = [Number(rows[0]?.n ?? 0), Number(rows[0]?.last ?? 0)];
        assert.equal(n, last, "a position is visible and one before it is not");
        assert.ok(last >= seen);
        seen = last;
      }
      return seen;
    })();
    const commits = nodes.map(async (node, n) => {
      const mine: number[] = [];
      for (let round = 0; round < 15; round++) {
        const batches = upTo(1 + (round % 4)).map((m) => change(`${n}-${round}-${m}`, 0));
        for (const events of await Promise.all(batches.map((batch) => node.commit(batch)))) {
          mine.push(...positionsOf(events));
          // Who committed is told after those who follow the log on the same node, of everything up to there.
          assert.ok((heard[n]?.at(-1) ?? 0) >= (mine.at(-1) ?? 0));
        }
      }
      return mine;
    });
    const acknowledged = (await Promise.all(commits)).flat();
    const total = acknowledged.length;
    assert.deepEqual(
      acknowledged.toSorted((a, b) => a - b),
      upTo(total),
    );
    await until(() => heard.every(({ length }) => length >= total), "all followers to hear everything");
    for (const positions of heard) assert.deepEqual(positions, upTo(total));
    isDone = true;
    await watched;
    await outside.end();
  });

  test("PGS-2 of rivals on two stores exactly one wins", async () => {
    await using stores = new Stores();
    const place = await newPlace();
    const [a, b] = [await stores.open(place), await stores.open(place)];
    await a.commit(change("shared", 0));
    for (let version = 1; version <= 10; version++) {
      const outcomes = await Promise.allSettled([a, b].map((node) => node.commit(change("shared", version))));
      const lost = outcomes.filter((outcome) => outcome.status === "rejected");
      assert.equal(lost.length, 1);
      assert.ok(lost[0]?.reason instanceof VersionConflict);
    }
    const once = { key: "key", fingerprint: "f", result: "{}", expiresAt: 1 };
    const keyed = await Promise.allSettled(
      [a, b].map((node, n) => node.commit({ ...change(`keyed-${n}`, 0), once })),
    );
    const [refused] = keyed.filter((outcome) => outcome.status === "rejected");
    assert.ok(refused?.reason instanceof OnceConflict);
    assert.equal((await b.of("tenant").get("thing", "shared"))?.version, 11);
  });

  test("PGS-3 commits are heard of although the listening connection is cut", async () => {
    await using stores = new Stores();
    const place = await newPlace();
    const [a, b] = [await stores.open(place), await stores.open(place)];
    const heard: number[] = [];
    b.follow((events) => heard.push(...positionsOf(events)));
    await a.commit(change("first", 0));
    await until(() => heard.length === 1, "the first commit to be heard of");
    const server = await sharedPostgres();
    await server.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND usename = 'bridle'",
    );
    await a.commit(change("second", 0));
    await until(() => heard.length === 2, "the second commit to be found");
    assert.deepEqual(heard, [1, 2]);
  });

  test("PGS-6 stores that open an empty database together make the tables once", async () => {
    await using stores = new Stores();
    const place = await newPlace();
    const nodes = await Promise.all([stores.open(place), stores.open(place), stores.open(place)]);
    await Promise.all(nodes.map((node, n) => node.commit(change(`by-${n}`, 0))));
    const server = await sharedPostgres();
    await server.query(`UPDATE ${place.schema}.schema_version SET version = 99`, place.url);
    await assert.rejects(
      openPostgresStore(place),
      /has version 99, this Bridle knows up to \d+\. Start the version/,
    );
  });
});

describe("PostgreSQL store: alone", () => {
  test("PGS-10 a store that another one has followed commits nothing more", async () => {
    const place = await newPlace();
    const stopped = Promise.withResolvers<string>();
    const first = await openPostgresStore({ ...place, isSole: true }, { stopped: stopped.resolve });
    await first.commit(change("a", 0));
    await assert.rejects(openPostgresStore({ ...place, isSole: true }), /Another server uses this database/);
    const server = await sharedPostgres();
    await server.query(`UPDATE ${place.schema}.head SET epoch = epoch + 1`, place.url);
    await assert.rejects(first.commit(change("a", 1)), StoreUnavailable);
    assert.equal(await stopped.promise, "another server has taken over this database");
    await first.close();
    const second = await openPostgresStore({ ...place, isSole: true });
    assert.equal((await second.of("tenant").get("thing", "a"))?.version, 1);
    await second.close();
  });

  test("PGS-10 documents in memory are as they are in the database, however reads and commits meet", async () => {
    const place = await newPlace();
    const store = await openPostgresStore({ ...place, isSole: true });
    await store.commit(change("a", 0));
    for (let version = 1; version <= 40; version++) {
      const reads = upTo(3).map(() => store.of("tenant").get("thing", "a"));
      const committed = store.commit(change("a", version));
      const seen = await Promise.all([...reads, committed.then(() => store.of("tenant").get("thing", "a"))]);
      assert.equal(seen.at(-1)?.version, version + 1);
      assert.equal(store.of("tenant").known("thing", "a")?.version ?? version + 1, version + 1);
    }
    const trim = { events: [], documents: [{ kind: "thing", id: "a" }], unlisted: [] };
    const read = store.of("tenant").get("thing", "a");
    await store.commit({ expect: [], events: [], put: [], blobs: [], trim });
    await read;
    assert.equal(await store.of("tenant").get("thing", "a"), undefined);
    await store.close();
  });
});

describe("PostgreSQL store: tenants, damage, partitions", () => {
  test("PGS-4 policies show a connection the rows of its tenant only", async () => {
    await using stores = new Stores();
    const place = await newPlace();
    const store = await stores.open(place);
    for (const tenantId of ["t1", "t2"]) {
      const blobs = [{ tenantId, sha256: tenantId.repeat(32), bytes: Buffer.from(tenantId) }];
      await store.commit({ ...change(`of-${tenantId}`, 0, { tenantId }), blobs });
    }
    const client = new Client({ connectionString: place.url, options: `-c search_path=${place.schema}` });
    await client.connect();
    const seen = async () => {
      const tables = ["log", "documents", "blob_owners", "tenant_bytes"];
      const found = [];
      for (const table of tables) found.push(...(await client.query(`SELECT tenant_id FROM ${table}`)).rows);
      return found.map(({ tenant_id }) => tenant_id);
    };
    assert.deepEqual(await seen(), []);
    await client.query("SET bridle.tenant = 't1'");
    assert.deepEqual(await seen(), ["t1", "t1", "t1", "t1"]);
    const foreign = client.query("INSERT INTO tenant_bytes (tenant_id) VALUES ('t3')");
    await assert.rejects(foreign, /row-level security/);
    assert.deepEqual((await client.query("SELECT * FROM log_0")).rows, []);
    await client.end();
  });

  test("PGS-7 damaged events and content are reported", async () => {
    await using stores = new Stores();
    const place = await newPlace();
    const store = await stores.open(place);
    const staged = await store.stageBlob(pieces(3, 200_000), 1_000_000);
    await staged.keep();
    const { sha256 } = staged;
    await store.commit({ ...change("a", 0), blobs: [{ tenantId: "tenant", sha256, bytes: null }] });
    await staged.discard();
    await store.commit(change("b", 0));
    const server = await sharedPostgres();
    await server.query(
      `UPDATE ${place.schema}.log SET events = replace(events, 'changed', 'chanted') WHERE last = 2`,
      place.url,
    );
    await server.query(
      `UPDATE ${place.schema}.parts SET content = set_byte(content, 5, 9) WHERE number = 1`,
      place.url,
    );
    assert.equal((await store.events({ after: 0, limit: 1 })).length, 1);
    await assert.rejects(store.events({ after: 1, limit: 1 }), StoreDamaged);
    const tenant = store.of("tenant");
    await assert.rejects(tenant.blob(sha256), StoreDamaged);
    const part = await (await tenant.openBlob(sha256))?.read(300_000, 300_010);
    await assert.rejects(collect(part), StoreDamaged);
    const intact = await (await tenant.openBlob(sha256))?.read(10, 20);
    assert.equal((await collect(intact)).length, 10);
  });

  test("PGS-8 the log goes on in the next partition", async () => {
    await using stores = new Stores();
    const place = await newPlace();
    await (await stores.open(place)).commit(change("a", 0));
    const server = await sharedPostgres();
    await server.query(`UPDATE ${place.schema}.head SET position = 9999999`, place.url);
    const store = await stores.open(place);
    await store.commit(change("b", 0));
    await store.commit(change("b", 1));
    assert.deepEqual(positionsOf(await store.events({ after: 0, limit: 9 })), [1, 10_000_000, 10_000_001]);
    const rows = await server.query(`SELECT last::text FROM ${place.schema}.log_1 ORDER BY last`, place.url);
    assert.deepEqual(
      rows.map(({ last }) => last),
      ["10000000", "10000001"],
    );
  });
});

describe("PostgreSQL store: losses", () => {
  test("PGS-5 after cuts and kills, acknowledged commits are there once, refused ones not", async () => {
    await using server = await startPostgres();
    await using stores = new Stores();
    const place = { url: await server.newDatabase(), schema: "bridle" };
    const nodes = [await stores.open(place), await stores.open(place)];
    const kept = new Set<string>();
    const refused = new Set<string>();
    let isDone = false;
    using end = new DisposableStack();
    end.defer(() => {
      isDone = true;
    });
    const load = nodes.flatMap((node, n) =>
      upTo(4).map(async (worker) => {
        for (let round = 0; !isDone; round++) {
          const id = `${n}-${worker}-${round}`;
          const outcome = await Promise.allSettled([node.commit(change(id, 0))]);
          if (outcome[0].status === "fulfilled") kept.add(id);
          else if (outcome[0].reason instanceof StoreUnavailable) refused.add(id);
          else assert.ok(outcome[0].reason instanceof OutcomeUnknown, String(outcome[0].reason));
        }
      }),
    );
    const more = async (what: string) => {
      const before = kept.size;
      await until(() => kept.size > before + 50, `commits after ${what}`);
    };
    await more("the start");
    for (let cut = 1; cut <= 5; cut++) {
      await server.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'bridle'");
      await more(`cut ${cut}`);
    }
    for (let kill = 1; kill <= 2; kill++) {
      await server.kill();
      // Longer than a commit waits for the database: some are refused.
      if (kill === 2) await until(() => refused.size > 0, "a commit to be refused");
      await server.start();
      await more(`kill ${kill}`);
    }
    isDone = true;
    await Promise.all(load);
    const [a] = nodes;
    const events = await a?.events({ after: 0, limit: 1_000_000 });
    const ids = (events ?? []).map(({ resource }) => resource.id);
    assert.equal(new Set(ids).size, ids.length, "nothing is there twice");
    for (const id of kept) assert.ok(ids.includes(id), `${id} was acknowledged`);
    for (const id of refused) assert.ok(!ids.includes(id), `${id} was refused`);
    assert.deepEqual(positionsOf(events ?? []), upTo(ids.length));
  });
});

async function* pieces(count: number, size: number): AsyncGenerator<Uint8Array> {
  for (let n = 0; n < count; n++) yield Buffer.alloc(size, n);
}

async function collect(chunks: AsyncIterable<Uint8Array> | undefined): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks ?? []) all.push(chunk);
  return Buffer.concat(all);
}
