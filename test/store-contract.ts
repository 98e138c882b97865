/**
 * What every store behind the port must do, written once. A store's own test file calls this with a way to make a
 * place for its data; a place can be opened, closed and opened again.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import {
  type Batch,
  BatchFailed,
  BlobTooLarge,
  type DocumentIndex,
  type DocumentQuery,
  type EventQuery,
  type NewBlob,
  type NewDocument,
  type NewEvent,
  type NewOnceRecord,
  OnceConflict,
  type RankedQuery,
  type SearchQuery,
  type StoredEvent,
  StoreUnavailable,
  type TenantStore,
  VersionConflict,
} from "../src/store/port.ts";
import type { WholeStore } from "../src/store/whole-store.ts";

export interface StorePlace extends AsyncDisposable {
  open(): Promise<WholeStore>;
}

interface Opened extends AsyncDisposable {
  /** The store as it was first opened. */
  store: WholeStore;
  /** Closes it and opens another on the same data. */
  reopen(): Promise<WholeStore>;
}

export function storeContract(name: string, newPlace: () => Promise<StorePlace>): void {
  async function opened(): Promise<Opened> {
    const place = await newPlace();
    let store = await place.open();
    return {
      store,
      async reopen() {
        await store.close();
        store = await place.open();
        return store;
      },
      async [Symbol.asyncDispose]() {
        await store.close();
        await place[Symbol.asyncDispose]();
      },
    };
  }

  describe(`${name} store: batches`, () => {
    test("STO-1 a batch built on a read ahead never succeeds a rival that failed", async () => {
      // Given two rivals under way for one version, when a third builds on what it can read ahead, then it is never
      // taken for a successor of the one that failed.
      await using at = await opened();
      const { store } = at;
      await store.commit(creation("a"));
      const change = (version: number, side: string) =>
        batch({
          expect: [expectation("a", version)],
          events: [event("a", side)],
          put: [document("a", { body: { side } })],
        });
      const winner = store.commit(change(1, "winner"));
      const loser = store.commit(change(1, "loser"));
      const ahead = store.of("tenant").proposed("thing", "a");
      const third = store.commit(change(ahead?.version ?? 0, "third"));
      const outcomes = await Promise.allSettled([winner, loser, third]);
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ["fulfilled", "rejected", "rejected"],
      );
      assert.deepEqual((await store.get("thing", "a"))?.body, { side: "winner" });
    });

    test("STO-1 documents put several times at once are found as they were left last", async () => {
      // Given documents that are created and changed without waiting, when all is on disk, then each is found by its last state, with its
      // first place and all its versions, also after the store is opened again; a rival creation changes nothing.
      await using at = await opened();
      const { store } = at;
      const change = (version: number, status: string) =>
        batch({
          expect: [expectation("a", version)],
          events: [event("a", status)],
          put: [document("a", { index: { tenantId: "tenant", status }, body: { status } })],
        });
      const outcomes = await Promise.allSettled([
        store.commit(creation("before")),
        store.commit(creation("a")),
        store.commit(change(1, "open")),
        store.commit(creation("a")),
        store.commit(change(2, "closed")),
        store.commit(batch({ expect: [expectation("a", 3)], events: [event("a", "noted")] })),
        store.commit(creation("after")),
      ]);
      assert.deepEqual(
        outcomes.map(({ status }) => status === "fulfilled"),
        [true, true, true, false, true, true, true],
      );
      const assertLeft = async (now: WholeStore) => {
        const found = await now
          .of("tenant")
          .list({ kind: "thing", statuses: ["closed"], order: "oldest_first", limit: 9 });
        assert.deepEqual(
          found.map(({ id, version, born, body }) => ({ id, version, born, body })),
          [{ id: "a", version: 3, born: 2, body: { status: "closed" } }],
        );
        const all = await now.of("tenant").list({ kind: "thing", order: "oldest_first", limit: 9 });
        assert.deepEqual(
          all.map(({ id }) => id),
          ["before", "a", "after"],
        );
        assert.deepEqual(
          (await now.events({ after: 0, limit: 9 })).map(({ resource, sequence }) => [resource.id, sequence]),
          [
            ["before", 1],
            ["a", 1],
            ["a", 2],
            ["a", 3],
            ["a", 4],
            ["after", 1],
          ],
        );
      };
      await assertLeft(store);
      await assertLeft(await at.reopen());
    });

    test("STO-1 a batch built on a pending creation follows it, or fails with it", async () => {
      // Given a creation under way, when a batch builds on it, then it is written after it, or not at all when the
      // creation fails.
      await using at = await opened();
      const { store } = at;
      const successor = (id: string) =>
        batch({
          expect: [expectation(id, 1)],
          events: [event(id, "followed")],
          put: [document(id, { body: { followed: true } })],
        });
      const created = store.commit(creation("a"));
      assert.equal(store.of("tenant").proposed("thing", "a")?.version, 1);
      const followed = store.commit(successor("a"));
      await Promise.all([created, followed]);
      assert.deepEqual((await store.get("thing", "a"))?.body, { followed: true });

      const doomed = batch({ ...creation("b"), expect: [...creation("b").expect, expectation("a", 7)] });
      const outcomes = await Promise.allSettled([store.commit(doomed), store.commit(successor("b"))]);
      for (const outcome of outcomes) assertRejectedWith(outcome, VersionConflict);
      assert.equal(store.of("tenant").proposed("thing", "b"), undefined);
    });

    test("STO-1 of two batches that expect one version exactly one commits", async () => {
      // Given two batches that expect one version, when both commit, then exactly one wins and the other writes nothing.
      await using at = await opened();
      const { store } = at;
      await store.commit(creation("a"));
      const rivals = ["left", "right"].map((side) =>
        batch({
          expect: [expectation("a", 1)],
          events: [event("a", side)],
          put: [document("a", { body: { side } })],
          blobs: [blob(side)],
          once: onceRecord(side),
        }),
      );
      const outcomes = await Promise.allSettled(rivals.map((rival) => store.commit(rival)));

      assert.deepEqual(outcomes.map((outcome) => outcome.status).toSorted(), ["fulfilled", "rejected"]);
      const [won, lost] = outcomes[0]?.status === "fulfilled" ? ["left", "right"] : ["right", "left"];
      assertRejectedWith(
        outcomes.find((outcome) => outcome.status === "rejected"),
        VersionConflict,
      );
      const kept = await store.get("thing", "a");
      assert.deepEqual([kept?.version, kept?.body], [2, { side: won }]);
      assert.deepEqual(namesOf(await allEvents(store)), ["created", won]);
      assert.deepEqual(await store.of("tenant").blob(blob(String(lost)).sha256), undefined);
      assert.deepEqual(await store.once(String(lost)), undefined);
      assert.notEqual(await store.of("tenant").blob(blob(String(won)).sha256), undefined);
      assert.notEqual(await store.once(String(won)), undefined);
    });

    test("STO-1 a batch that expects an existing document absent conflicts and leaves no trace", async () => {
      // Given a document that exists, when a batch expects it not to, then it conflicts and nothing of it is visible.
      await using at = await opened();
      const { store } = at;
      await store.commit(creation("a", { body: { first: true } }));
      const second = batch({
        expect: [expectation("other", 0), expectation("a", 0)],
        events: [event("other", "created"), event("a", "created")],
        put: [document("other"), document("a", { body: { first: false } })],
        blobs: [blob("second")],
        once: onceRecord("second"),
      });

      await assert.rejects(store.commit(second), VersionConflict);
      assert.deepEqual((await store.get("thing", "a"))?.body, { first: true });
      assert.equal(await store.get("thing", "other"), undefined);
      assert.equal(await store.of("tenant").blob(blob("second").sha256), undefined);
      assert.equal(await store.once("second"), undefined);
      assert.equal(await store.head(), 1);
    });

    test("STO-1 expecting an existing document absent conflicts even if only others are put", async () => {
      // Given a document that exists, when a batch that puts only others expects it not to, then it conflicts.
      await using at = await opened();
      const { store } = at;
      await store.commit(creation("a"));
      const onlyIfAbsent = { ...creation("b"), expect: [expectation("a", 0), expectation("b", 0)] };

      await assert.rejects(store.commit(onlyIfAbsent), VersionConflict);
      assert.equal(await store.get("thing", "b"), undefined);
    });

    test("STO-1 given an absent document, when a batch expects a version of it, then it conflicts", async () => {
      await using at = await opened();
      await assert.rejects(
        at.store.commit({ ...creation("b"), expect: [expectation("a", 1)] }),
        VersionConflict,
      );
      assert.equal(await at.store.head(), 0);
    });

    test("STO-1 expecting an old version conflicts, expecting the current one makes the next", async () => {
      // Given a document of version 3, when a batch expects version 2, then it conflicts; expecting 3 it makes version
      // 4.
      await using at = await opened();
      const { store } = at;
      await store.commit(creation("a"));
      await store.commit(change("a", 1));
      await store.commit(change("a", 2));

      await assert.rejects(store.commit(change("a", 2)), VersionConflict);
      await store.commit(change("a", 3));
      assert.equal((await store.get("thing", "a"))?.version, 4);
    });

    test("STO-2 1,000 concurrent batches settle separately with dense, ordered positions", async () => {
      // Given 1,000 batches at once of which many conflict, when they are committed, then each settles alone and
      // positions are dense and in order.
      await using at = await opened();
      const { store } = at;
      for (let n = 0; n < 20; n++) await store.commit(creation(`counter-${n}`));
      const before = await store.head();
      const heard: number[] = [];
      store.follow((events) => heard.push(...events.map((event) => event.position)));

      const outcomes = await Promise.allSettled(crowd().map((rival) => store.commit(rival)));

      const won = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
      const lost = outcomes.filter((outcome) => outcome.status === "rejected");
      assert.equal(outcomes.length, 1000);
      // 700 go alone; of each counter, each pair of twins and each key one wins; 10 cannot be written at all.
      assert.equal(won.length, 700 + 20 + 50 + 25);
      for (const outcome of lost) assertRejectedWith(outcome, VersionConflict, OnceConflict, BatchFailed);
      assert.equal(lost.filter((outcome) => outcome.reason instanceof BatchFailed).length, 10);
      for (const events of won)
        assert.deepEqual(positionsOf(events), range(events[0]?.position, events.length));
      const positions = won.flat().map((event) => event.position);
      assert.deepEqual(
        positions.toSorted((a, b) => a - b),
        range(before + 1, positions.length),
      );
      assert.deepEqual(heard, range(before + 1, positions.length));
      assert.deepEqual(
        await allEvents(store, before),
        won.flat().toSorted((a, b) => a.position - b.position),
      );
    });

    test("STO-2, REL-R3 a large batch is committed whole, and told in order with those around it", async () => {
      // Given a large batch between small ones, with content that it names twice, when they are committed, then followers hear of all
      // events in order before the committers do, and everything is found, also after a reopen.
      await using at = await opened();
      const { store } = at;
      const content = blob("content ".repeat(400_000));
      const small = blob("small");
      const large = largeCreation(3000, [content, small, content]);
      const heard: number[] = [];
      store.follow((events) => heard.push(...positionsOf(events)));
      const committed = await Promise.all(
        [creation("before"), large, creation("after")].map(async (one) => {
          const events = await store.commit(one);
          assert.ok(heard.includes(events.at(-1)?.position ?? 0));
          return events;
        }),
      );

      assert.deepEqual(
        committed.map(({ length }) => length),
        [1, 6000, 1],
      );
      assert.deepEqual(heard, range(1, 6002));
      const reopened = await at.reopen();
      const inOrder = committed.flat().toSorted((a, b) => a.position - b.position);
      assert.deepEqual(await allEvents(reopened), inOrder);
      assert.equal(await reopened.of("tenant").count("thing"), 3002);
      assert.equal((await reopened.get("thing", "large-2999"))?.version, 1);
      for (const { sha256, bytes } of [content, small])
        assert.deepEqual(Buffer.from((await reopened.of("tenant").blob(sha256)) ?? []), bytes);
    });

    test("STO-2, REL-R3 a large batch that is refused leaves nothing, and a close leaves none halfway", async () => {
      // Given a large batch about something that exists, and one that is under way when the store closes, when they are committed, then
      // the first leaves nothing, and of the second there is what its committer was told.
      await using at = await opened();
      await at.store.commit(creation("large-900"));
      await assert.rejects(at.store.commit(largeCreation(1000)), VersionConflict);
      assert.equal(await at.store.of("tenant").count("thing"), 1);
      assert.equal((await allEvents(at.store)).length, 1);

      const [outcome, reopened] = await Promise.all([
        at.store.commit(largeCreation(900)).then(
          (events) => events.length,
          () => 0,
        ),
        at.reopen(),
      ]);
      assert.equal((await allEvents(reopened)).length, 1 + outcome);
    });

    test("STO-2 only the batch about a resource without a document fails, not its neighbour", async () => {
      // Given a batch about a resource that has no document, when it is committed beside a good one, then only it fails.
      await using at = await opened();
      const orphan = batch({ events: [event("nobody", "noticed")] });
      const [failed, good] = await Promise.allSettled([
        at.store.commit(orphan),
        at.store.commit(creation("a")),
      ]);

      assertRejectedWith(failed, BatchFailed);
      assert.equal(good?.status, "fulfilled");
      assert.deepEqual(namesOf(await allEvents(at.store)), ["created"]);
    });

    test("STO-2 batches around a close all settle, and each reported outcome is true", async () => {
      // Given a store that is being closed, when batches come before and after, then each settles and what was said of
      // it is true.
      await using place = await newPlace();
      const store = await place.open();
      await store.commit(creation("in-time"));
      const closing = store.close();
      const late = Promise.allSettled([store.commit(creation("late"))]);
      await closing;
      const [outcome] = await within(late, "the late batch to settle");
      if (outcome.status === "rejected") assertRejectedWith(outcome, StoreUnavailable);
      await assert.rejects(within(store.commit(creation("later")), "a commit after close"), StoreUnavailable);

      const again = await place.open();
      const found = await Promise.all(["in-time", "late", "later"].map((id) => again.get("thing", id)));
      await again.close();
      assert.deepEqual(
        found.map((document) => document !== undefined),
        [true, outcome.status === "fulfilled", false],
      );
    });
  });

  describe(`${name} store: events`, () => {
    test("EVT-3 each resource's sequence counts from 1 and links to its previous event", async () => {
      // Given events about several resources, when they are committed, then each resource's sequence counts from 1 and
      // links to the one before.
      await using at = await opened();
      const { store } = at;
      await store.commit(
        batch({
          events: [
            event("a", "created"),
            event("b", "created"),
            event("a", "changed"),
            event("a", "changed"),
          ],
          put: [document("a"), document("b")],
        }),
      );
      await store.commit(
        batch({ events: [event("b", "changed"), event("a", "changed")], put: [document("b")] }),
      );

      assert.deepEqual(await chainOf(store, "a"), [
        [1, 1, null],
        [3, 2, 1],
        [4, 3, 3],
        [6, 4, 4],
      ]);
      assert.deepEqual(await chainOf(store, "b"), [
        [2, 1, null],
        [5, 2, 2],
      ]);
    });

    test("EVT-3 events without a put keep sequence gapless and version unchanged over a reopen", async () => {
      // Given events about a document that is not put, when the store is reopened in between, then its sequence goes on
      // without gap and its version stays.
      await using at = await opened();
      await at.store.commit(creation("a"));
      await at.store.commit(batch({ events: [event("a", "noticed"), event("a", "noticed")] }));
      const store = await at.reopen();
      await store.commit(batch({ events: [event("a", "noticed")] }));
      await assert.rejects(store.commit(change("a", 7)), VersionConflict);
      await store.commit(change("a", 1));

      assert.deepEqual(
        (await chainOf(store, "a")).map(([, sequence]) => sequence),
        [1, 2, 3, 4, 5],
      );
      assert.deepEqual(
        (await chainOf(store, "a")).map(([, , previous]) => previous),
        [null, 1, 2, 3, 4],
      );
      assert.equal((await store.get("thing", "a"))?.version, 2);
    });

    test("KEY-3 events keep the key they were written with, beside events of the same actor", async () => {
      await using at = await opened();
      await at.store.commit(creation("a"));
      const keys = ["key_1", "key_1", undefined, "key_2"];
      const events = keys.map((keyId) =>
        event("a", "noticed", { actor: "x", ...(keyId === undefined ? {} : { keyId }) }),
      );
      await at.store.commit(batch({ events }));
      const store = await at.reopen();
      const found = await store.events({ after: 1, limit: 10 });
      assert.deepEqual(
        found.map(({ keyId }) => keyId),
        keys,
      );
    });

    test("EVT-4 tenant, session and task ranges return exactly their own events in order", async () => {
      // Given events of tenants, sessions and tasks, when ranges are asked for, then each gives exactly its own in
      // order.
      await using at = await opened();
      const { store } = at;
      await store.commit(creation("a"));
      const places = [
        { tenantId: "t1", workspaceId: "w1", sessionId: "s1", taskId: "k1" },
        { tenantId: "t1", workspaceId: "w1", sessionId: "s1", taskId: null },
        { tenantId: "t1", workspaceId: "w2", sessionId: "s2", taskId: "k2" },
        { tenantId: "t2", workspaceId: "w3", sessionId: "s3", taskId: "k3" },
        { tenantId: "t1", workspaceId: null, sessionId: null, taskId: null },
      ];
      for (let round = 0; round < 4; round++) {
        await store.commit(batch({ events: places.map((place) => event("a", "noticed", place)) }));
      }
      // Position 1 is the creation; place p of round r stands at 2 + 5r + p.
      const at_ = (...ps: number[]) => [0, 1, 2, 3].flatMap((round) => ps.map((p) => 2 + 5 * round + p));
      const found = async ({ tenantId, ...query }: { tenantId?: string } & Partial<EventQuery>) => {
        const events = tenantId === undefined ? store : store.of(tenantId);
        return positionsOf(await events.events({ after: 1, limit: 1000, ...query }));
      };

      assert.deepEqual(await found({}), range(2, 20));
      assert.deepEqual(await found({ tenantId: "t1" }), at_(0, 1, 2, 4));
      assert.deepEqual(await found({ tenantId: "t2" }), at_(3));
      assert.deepEqual(await found({ sessionId: "s1" }), at_(0, 1));
      assert.deepEqual(await found({ taskId: "k1" }), at_(0));
      assert.deepEqual(await found({ taskId: "k3", tenantId: "t1" }), []);
      assert.deepEqual(await found({ taskId: "k1", sessionId: "s1", tenantId: "t1" }), at_(0));
      assert.deepEqual(await found({ tenantId: "t1", workspaceIds: ["w1"] }), at_(0, 1));
      assert.deepEqual(await found({ tenantId: "t1", workspaceIds: [] }), []);
      assert.deepEqual(await found({ sessionId: "s1", after: 7, through: 13 }), [8, 12, 13]);
      assert.deepEqual(await found({ sessionId: "s1", newestFirst: true, limit: 3 }), [18, 17, 13]);
      assert.deepEqual(await found({ newestFirst: true, after: 19, through: 20 }), [20]);
      assert.deepEqual(await found({ after: 4, limit: 3 }), [5, 6, 7]);
      assert.deepEqual(await found({ after: 21 }), []);
    });

    test("EVT-4 pages that are limited by bytes return every event once, and at least one each", async () => {
      await using at = await opened();
      const { store } = at;
      await store.commit(creation("a"));
      for (const size of [10, 5000, 10, 10, 5000])
        await store.commit(
          batch({ events: [event("a", "noticed", { payload: { text: "x".repeat(size) } })] }),
        );
      const found: number[] = [];
      while (true) {
        const after = found.at(-1) ?? 0;
        const page = await store.events({ after, limit: 100, bytesMax: 1000 });
        if (page.length === 0) break;
        found.push(...positionsOf(page));
      }
      assert.deepEqual(found, range(1, 6));
    });

    test("EVT-4 ranges that begin or end inside a batch return exactly their part", async () => {
      // Given many events of one task in one batch, when ranges begin and end anywhere inside it, then each gives
      // exactly its part.
      await using at = await opened();
      const { store } = at;
      const place = { sessionId: "s", taskId: "k" };
      await store.commit(creation("a"));
      await store.commit(batch({ events: range(0, 9).map((n) => event("a", `n${n}`, place)) }));
      await store.commit(batch({ events: [event("a", "last", place), event("a", "elsewhere")] }));
      for (let after = 0; after <= 12; after++) {
        for (let through = after; through <= 12; through++) {
          const inside = range(2, 10).filter((position) => position > after && position <= through);
          const query = { taskId: "k", after, through };
          for (const limit of [1, 2, 5, 50]) {
            assert.deepEqual(positionsOf(await store.events({ ...query, limit })), inside.slice(0, limit));
            assert.deepEqual(
              positionsOf(await store.events({ ...query, limit, newestFirst: true })),
              inside.toReversed().slice(0, limit),
            );
          }
        }
      }
      assert.deepEqual(namesOf(await store.events({ after: 9, limit: 2 })), ["n8", "last"]);
    });

    test("EVT-1 an event with every field set reads back exactly as committed", async () => {
      // Given an event with every field set, when it is read back, then it is what was committed, to the letter.
      await using at = await opened();
      const full = event("a", "created", {
        workspaceId: "w",
        sessionId: "s",
        taskId: "k",
        actor: "somebody",
        payload: {
          text: 'quotes " and \u0000 and 🐎 and\nlines',
          deep: { list: [1, null, true] },
          empty: {},
        },
      });
      const committed = await at.store.commit(batch({ events: [full], put: [document("a")] }));
      assert.deepEqual(committed, [{ ...full, position: 1, sequence: 1, previous: null }]);
      assert.deepEqual(await allEvents(at.store), committed);
      assert.deepEqual(await allEvents(await at.reopen()), committed);
    });

    test("STO-4 a follower hears batches in log order before the committer, until it stops", async () => {
      // Given a follower, when batches are committed, then it hears them in log order, before the committer does, until
      // it stops.
      await using at = await opened();
      const { store } = at;
      const order: string[] = [];
      const stop = store.follow((events) => order.push(...events.map((event) => `heard ${event.position}`)));
      const commit = async (id: string) => {
        const [first] = await store.commit(creation(id));
        order.push(`resolved ${first?.position}`);
      };
      await Promise.all(["a", "b", "c"].map(commit));
      await commit("d");
      await assert.rejects(store.commit(creation("d")), VersionConflict);

      const heard = order.filter((entry) => entry.startsWith("heard"));
      assert.deepEqual(heard, ["heard 1", "heard 2", "heard 3", "heard 4"]);
      for (const position of [1, 2, 3, 4]) {
        assert.ok(order.indexOf(`heard ${position}`) < order.indexOf(`resolved ${position}`), order.join());
      }
      stop();
      await commit("e");
      assert.equal(order.at(-1), "resolved 5");
      assert.ok(!order.includes("heard 5"));
    });

    test("EVT-5 a document read after its newest event is never older than that event", async () => {
      // Given commits under way, when the newest event of a document is read and then the document, then the document is
      // not older than the event.
      await using at = await opened();
      const { store } = at;
      await store.commit(creation("a"));
      for (let version = 1; version <= 100; version++) {
        let underWay = true;
        const committed = store.commit(change("a", version)).then(() => {
          underWay = false;
        });
        while (underWay) {
          const [newest] = await store.events({ after: 0, limit: 1, newestFirst: true });
          const found = await store.get("thing", "a");
          const [event, document] = [newest?.sequence ?? 0, found?.version ?? 0];
          assert.ok(document >= event, `version ${document} was read after event ${event}`);
          await new Promise((resolve) => setImmediate(resolve));
        }
        await committed;
      }
    });

    test("STO-4 a follower that reads in its callback sees the commit it hears of", async () => {
      // Given a follower that reads in its callback, when it hears of a commit, then the store shows that commit.
      await using at = await opened();
      const { store } = at;
      const seen: Promise<unknown>[] = [];
      store.follow(() => seen.push(store.get("thing", "a")));
      await store.commit(creation("a"));
      assert.equal(seen.length, 1);
      assert.notEqual(await seen[0], undefined);
    });
  });

  describe(`${name} store: idempotency records`, () => {
    test("IDM-1 a second batch with a used idempotency key conflicts and writes nothing", async () => {
      // Given an answer under a key, when another batch brings the same key, then it conflicts and writes nothing.
      await using at = await opened();
      const { store } = at;
      const record = onceRecord("key", { result: '{"kept":1}' });
      await store.commit({ ...creation("a"), once: record });

      await assert.rejects(store.commit({ ...creation("b"), once: onceRecord("key") }), OnceConflict);
      assert.equal(await store.get("thing", "b"), undefined);
      assert.deepEqual(await store.once("key"), { ...record, position: 1 });
      assert.equal(await store.once("unknown"), undefined);
    });

    test("IDM-3 of five concurrent batches with one key exactly one commits", async () => {
      // Given five batches with one key, when they are committed at once, then exactly one wins.
      await using at = await opened();
      const rivals = range(1, 5).map((n) => ({ ...creation(`a${n}`), once: onceRecord("key") }));
      const outcomes = await Promise.allSettled(rivals.map((rival) => at.store.commit(rival)));
      assert.equal(outcomes.filter((outcome) => outcome.status === "fulfilled").length, 1);
      for (const outcome of outcomes) {
        if (outcome.status === "rejected") assertRejectedWith(outcome, OnceConflict);
      }
      assert.equal(await at.store.of("tenant").count("thing"), 1);
    });

    test("IDM-4 a kept answer without an event survives a reopen", async () => {
      // Given an answer without an event, when it is committed and the store reopened, then it is kept.
      await using at = await opened();
      await at.store.commit(batch({ once: onceRecord("key") }));
      assert.deepEqual(await (await at.reopen()).once("key"), { ...onceRecord("key"), position: null });
    });

    test("IDM-4 forgetting answers before a time removes only these and frees their keys", async () => {
      // Given answers of several ages, when those before a time are forgotten, then only these are and their keys are
      // free again.
      await using at = await opened();
      const { store } = at;
      for (const [key, expiresAt] of Object.entries({ old: 100, edge: 200, young: 300 })) {
        await store.commit(batch({ once: onceRecord(key, { expiresAt }) }));
      }
      assert.equal(await store.forgetOnce(200), 1);
      assert.equal(await store.once("old"), undefined);
      assert.notEqual(await store.once("edge"), undefined);
      assert.notEqual(await store.once("young"), undefined);
      await store.commit(batch({ once: onceRecord("old") }));
      assert.equal(await store.forgetOnce(50), 0);
    });
  });

  describe(`${name} store: what changes afterwards`, () => {
    /** Four events that one row can hold, about two things. */
    const four = () =>
      batch({
        expect: [expectation("a", 0), expectation("b", 0)],
        events: ["a", "b", "a", "b"].map((id, n) => event(id, `e${n}`, { payload: { n } })),
        put: [document("a"), document("b")],
      });
    const all = (store: WholeStore) => store.events({ after: 0, limit: 100 });

    test("STO-7 rewriting events changes only their content, also after a restart", async () => {
      // Given events on disk, when some are rewritten, then their content is new and everything else is as it was, after
      // a restart too.
      await using at = await opened();
      const before = await at.store.commit(four());
      const rewrite = [
        { position: before[3]?.position ?? 0, payload: { later: true }, replay: { mark: 1 } },
        { position: before[1]?.position ?? 0, payload: { sooner: true } },
      ];
      await at.store.commit(
        batch({ rewrite, expect: [expectation("b", 1)], put: [document("b", { body: { new: 1 } })] }),
      );
      const expected = before.map((found, n) => {
        if (n === 1) return { ...found, payload: { sooner: true } };
        return n === 3 ? { ...found, payload: { later: true }, replay: { mark: 1 } } : found;
      });
      assert.deepEqual(await all(at.store), expected);
      assert.deepEqual((await at.store.get("thing", "b"))?.body, { new: 1 });
      assert.deepEqual(await all(await at.reopen()), expected);
    });

    test("STO-7 rewriting a missing event or on a stale version writes nothing", async () => {
      // Given a rewrite of an event that is not there, or on a version that has moved, when it is committed, then
      // nothing is written.
      await using at = await opened();
      const { store } = at;
      const before = await store.commit(four());
      const rewrite = [{ position: before[0]?.position ?? 0, payload: { lost: true } }];
      await assert.rejects(
        store.commit(batch({ rewrite: [...rewrite, { position: 99, payload: {} }] })),
        BatchFailed,
      );
      await assert.rejects(store.commit(batch({ rewrite, expect: [expectation("a", 7)] })), VersionConflict);
      assert.deepEqual(await all(store), before);
    });

    test("STO-7 removing events and documents keeps the others in place and the head position", async () => {
      // Given events and documents, when some are removed, then the rest keeps its place and the next event follows the
      // head.
      await using at = await opened();
      const { store } = at;
      const before = await store.commit(four());
      const [first = 0, second = 0, , fourth = 0] = positionsOf(before);
      await store.get("thing", "b");
      await store.commit(
        batch({
          expect: [expectation("b", 1), expectation("a", 1)],
          events: [event("a", "trimmed")],
          put: [document("a")],
          trim: { events: [fourth, second], documents: [{ kind: "thing", id: "b" }], unlisted: ["a"] },
        }),
      );
      const left = [before[0], before[2]];
      const assertLeft = async (seen: WholeStore) => {
        const events = await all(seen);
        assert.deepEqual(events.slice(0, 2), left);
        assert.deepEqual(namesOf(events), ["e0", "e2", "trimmed"]);
        assert.deepEqual([events[2]?.position, events[2]?.sequence], [fourth + 1, 3]);
        assert.equal(await seen.get("thing", "b"), undefined);
        assert.notEqual(await seen.get("thing", "a"), undefined);
        const list = { kind: "thing", order: "oldest_first", limit: 9 } as const;
        assert.deepEqual(await seen.of("tenant").list(list), []);
        assert.deepEqual(positionsOf(await seen.events({ after: first, limit: 1 })), [first + 2]);
        assert.equal(await seen.head(), fourth + 1);
      };
      await assertLeft(store);
      await assertLeft(await at.reopen());
    });

    test("STO-9 a document that is part of its first event is found, listed, changed and kept as any other", async () => {
      // Given documents that their first events contain, when they are read, listed, changed, rewritten with their event, or lose
      // that event, then they are what they were made to be, also after a restart.
      await using at = await opened();
      const { store } = at;
      for (const id of ["kept", "changed", "rewritten"]) await store.commit(creationInEvent(id));
      await store.commit(creation("other"));
      const read = async (seen: WholeStore) =>
        (await seen.documents({ afterId: "", limit: 9 })).map(({ id, version, body }) => [id, version, body]);
      const made = (id: string) => ({ id, text: `made as ${id}` });

      const fresh = await at.reopen();
      assert.deepEqual((await fresh.of("tenant").get("thing", "kept"))?.body, made("kept"));
      const list = { kind: "thing", order: "oldest_first", limit: 2 } as const;
      assert.deepEqual(
        (await fresh.of("tenant").list(list)).map(({ body }) => body),
        [made("kept"), made("changed")],
      );
      const events = await fresh.events({ after: 0, limit: 9 });
      await fresh.commit(change("changed", 1, { body: { id: "changed", now: true } }));
      await fresh.commit(
        batch({
          expect: [expectation("rewritten", 1)],
          put: [document("rewritten", { body: { id: "rewritten", text: null } })],
          rewrite: [{ position: events[2]?.position ?? 0, payload: { erased: true } }],
        }),
      );
      await fresh.commit(
        batch({ trim: { events: [events[0]?.position ?? 0], documents: [], unlisted: [] } }),
      );
      const expected = [
        ["changed", 2, { id: "changed", now: true }],
        ["kept", 1, made("kept")],
        ["other", 1, { id: "other" }],
        ["rewritten", 2, { id: "rewritten", text: null }],
      ];
      assert.deepEqual(await read(fresh), expected);
      assert.deepEqual(await read(await at.reopen()), expected);
    });

    test("STO-7 dropping blobs keeps those that an event has mentioned since the caller looked", async () => {
      // Given blobs, when they are dropped, then those that an event mentions since the caller looked stay.
      await using at = await opened();
      const { store } = at;
      const [gone, again] = [blob("gone"), blob("again")];
      const [first] = await store.commit({ ...creation("a"), blobs: [gone, again] });
      await store.commit({
        ...creation("b"),
        events: [event("b", "created", { payload: { blob: again.sha256 } })],
      });
      const request = { sha256s: [gone.sha256, again.sha256], scannedThrough: first?.position ?? 0 };
      assert.deepEqual(await store.dropBlobs(request), { kept: [again.sha256], count: 1, bytes: 4 });
      assert.equal(await store.of("tenant").blob(gone.sha256), undefined);
      assert.notEqual(await store.of("tenant").blob(again.sha256), undefined);
      const later = { ...request, scannedThrough: await store.head() };
      assert.deepEqual(await store.dropBlobs(later), { kept: [], count: 1, bytes: 5 });
    });

    test("STO-7 kept answers that contain a text come in pages and can be rewritten", async () => {
      // Given kept answers, when those with a text are asked for, then they come in pages and can be rewritten.
      await using at = await opened();
      const { store } = at;
      for (const key of ["a", "b", "c"]) {
        await store.commit(batch({ once: onceRecord(key, { result: key === "b" ? "{}" : '{"id":"x_1"}' }) }));
      }
      const first = await store.onceWith({ text: "x_1", afterKey: "", limit: 1 });
      const rest = await store.onceWith({ text: "x_1", afterKey: "a", limit: 9 });
      assert.deepEqual(
        [...first, ...rest].map(({ key }) => key),
        ["a", "c"],
      );
      await store.commit(batch({ rewriteOnce: [{ key: "c", result: '{"gone":1}' }] }));
      assert.equal((await store.once("c"))?.result, '{"gone":1}');
      assert.equal((await store.once("a"))?.result, '{"id":"x_1"}');
      await store.scrub();
      assert.equal((await store.once("c"))?.fingerprint, "fingerprint");
    });

    test("STO-7 given tenants, when they are asked for, then each is named", async () => {
      await using at = await opened();
      const { store } = at;
      for (const id of ["one", "two"])
        await store.commit(creation(id, { kind: "tenant", index: { tenantId: id } }));
      await store.commit(creation("three"));
      assert.deepEqual((await store.tenantIds()).sort(), ["one", "two"]);
    });
  });

  describe(`${name} store: documents`, () => {
    test("RES-5 pages of every index in both orders list each document once by creation", async () => {
      // Given documents in every index, when each is listed in both orders, then the pages give each once, in order of
      // creation.
      await using at = await opened();
      const { store } = at;
      const ids = await plant(store);
      const own = store.of("t0");
      const indexes = [undefined, { workspaceId: "w0" }, { sessionId: "s0" }, { taskId: "k0" }] as const;
      for (const by of indexes) {
        const mine = ids.filter((_, n) => n % 2 === 0);
        assert.deepEqual(await walk(own, { by, order: "oldest_first", limit: 3 }), mine);
        assert.deepEqual(await walk(own, { by, order: "newest_first", limit: 3 }), mine.toReversed());
        assert.deepEqual(await walk(own, { by, order: "newest_first", limit: 100 }), mine.toReversed());
      }
      assert.deepEqual(await walk(own, { by: { taskId: "none" }, order: "oldest_first", limit: 3 }), []);
      assert.deepEqual(await own.list({ kind: "other", order: "oldest_first", limit: 9 }), []);
    });

    test("RES-5 paging breaks ties of documents born in one commit and lists each once", async () => {
      // Given documents born in one commit without events of their own, when they are walked one by one, then ties are
      // broken and each comes once.
      await using at = await opened();
      const { store } = at;
      const ids = range(1, 7).map((n) => `tied-${n}`);
      await store.commit(batch({ events: [], put: ids.map((id) => document(id)) }));
      const own = store.of("tenant");
      assert.deepEqual(await walk(own, { order: "oldest_first", limit: 1 }), ids);
      assert.deepEqual(await walk(own, { order: "newest_first", limit: 2 }), ids.toReversed());
    });

    test("RES-5 listing by birth, status and workspace returns only matching documents", async () => {
      // Given documents, when they are listed by birth, status and workspace, then only the matching ones come.
      await using at = await opened();
      const { store } = at;
      const ids = await plant(store);
      const listed = async (query: Partial<DocumentQuery>) =>
        (
          await store.of("t0").list({
            kind: "thing",
            order: "oldest_first",
            limit: 100,
            ...query,
          })
        ).map((found) => found.id);
      const even = ids.filter((_, n) => n % 2 === 0);
      // Document n was born at position n + 1, and its status is its number modulo three.
      assert.deepEqual(await listed({ bornAfter: 7 }), even.slice(4));
      assert.deepEqual(await listed({ bornThrough: 7 }), even.slice(0, 4));
      assert.deepEqual(await listed({ bornAfter: 3, bornThrough: 7 }), even.slice(2, 4));
      assert.deepEqual(await listed({ bornAfter: 3, bornThrough: 7, order: "newest_first", limit: 1 }), [
        "n-06",
      ]);
      assert.deepEqual(await listed({ statuses: ["0"] }), ["n-00", "n-06", "n-12", "n-18"]);
      assert.deepEqual(await listed({ statuses: ["0", "2"], limit: 3 }), ["n-00", "n-02", "n-06"]);
      assert.deepEqual(await listed({ statuses: [] }), []);
      assert.deepEqual(await listed({ workspaceIds: ["w0"] }), even);
      assert.deepEqual(await listed({ workspaceIds: ["w1", "w9"] }), []);
      await store.commit(creation("everywhere", { index: { tenantId: "t0" } }));
      assert.deepEqual(await listed({ workspaceIds: ["w9"] }), ["everywhere"]);
      assert.deepEqual(await listed({ beyond: { born: 7, id: "n-06" }, limit: 2 }), ["n-08", "n-10"]);
    });

    test("RES-5 a changed status lists a document under the new one only and keeps its birth", async () => {
      // Given a document whose status changes, when it is listed by status, then it is found under the new one only and
      // keeps its birth.
      await using at = await opened();
      const { store } = at;
      await store.commit(creation("a", { index: { status: "open" } }));
      await store.commit(creation("b", { index: { status: "open" } }));
      await store.commit(change("a", 1, { index: { status: "shut" } }));
      const idsOf = async (status: string) =>
        (
          await store.of("tenant").list({
            kind: "thing",
            statuses: [status],
            order: "oldest_first",
            limit: 9,
          })
        ).map(({ id, born }) => [id, born]);
      assert.deepEqual(await idsOf("open"), [["b", 2]]);
      assert.deepEqual(await idsOf("shut"), [["a", 1]]);
    });

    test("OPS-4 documents read the same by id, by list and after reopening", async () => {
      // Given documents created and changed in every way, when they are read by id, by list and after reopening, then
      // they are the same.
      await using at = await opened();
      const { store } = at;
      await store.commit(creation("expected"));
      await store.commit(batch({ events: [event("unexpected", "created")], put: [document("unexpected")] }));
      await store.commit(batch({ put: [document("silent-1"), document("silent-2")] }));
      await store.commit(
        batch({
          events: [event("expected", "noticed")],
          put: [document("along")],
          expect: [expectation("along", 0)],
        }),
      );
      const ids = ["expected", "unexpected", "silent-1", "silent-2", "along"];
      for (const id of ids) await store.commit(change(id, 1, { body: { id, round: 2 } }));
      await store.commit(batch({ put: [document("expected", { body: { id: "expected", round: 3 } })] }));
      const readBack = (from: WholeStore) => Promise.all(ids.map((id) => from.get("thing", id)));
      const found = await readBack(store);

      assert.deepEqual(
        found.map((document) => document?.version),
        [3, 2, 2, 2, 2],
      );
      const listed = await store.of("tenant").list({ kind: "thing", order: "oldest_first", limit: 9 });
      assert.deepEqual(new Set(listed), new Set(found));
      assert.deepEqual(await readBack(await at.reopen()), found);
    });

    test("RES-2 a document is not found under another kind nor counted for another tenant", async () => {
      // Given documents, when one is read by its id under another kind or counted for another tenant, then there is
      // none.
      await using at = await opened();
      const { store } = at;
      await store.commit(creation("a"));
      assert.equal(await store.get("other", "a"), undefined);
      assert.equal(await store.get("thing", "b"), undefined);
      assert.equal(await store.of("tenant").count("thing"), 1);
      assert.equal(await store.of("else").count("thing"), 0);
      assert.equal(await store.of("tenant").count("other"), 0);
      assert.deepEqual(await store.get("thing", "a"), {
        kind: "thing",
        id: "a",
        tenantId: "tenant",
        version: 1,
        born: 1,
        body: { id: "a" },
      });
    });

    test("SEC-C2, SEC-C3, SEC-H2 one tenant finds nothing of another by any id, index, range or hash", async () => {
      // Given two tenants with everything a store holds, when one asks for what the other has, then there is nothing.
      await using at = await opened();
      const { store } = at;
      const index = {
        tenantId: "t1",
        workspaceId: "w",
        sessionId: "s",
        taskId: "k",
        ownerId: "o",
        text: "word",
        rank: 1,
      };
      const content = { ...blob("content"), tenantId: "t1" };
      const place = { tenantId: "t1", workspaceId: "w", sessionId: "s", taskId: "k" };
      const made = { ...creation("a", { index }), events: [event("a", "created", place)], blobs: [content] };
      const committed = store.commit(made);
      assert.equal(store.of("t2").proposed("thing", "a"), undefined);
      assert.deepEqual(store.of("t2").proposedEvents("a") ?? [], []);
      await committed;
      const seenBy = async (tenant: TenantStore) => ({
        get: (await tenant.get("thing", "a"))?.id,
        lists: await Promise.all(
          [undefined, { workspaceId: "w" }, { sessionId: "s" }, { taskId: "k" }, { ownerId: "o" }].map(
            async (by) => (await tenant.list({ kind: "thing", by, order: "oldest_first", limit: 9 })).length,
          ),
        ),
        ranked: (await tenant.ranked({ kind: "thing", limit: 9 })).total,
        ranges: await Promise.all(
          [{}, { sessionId: "s" }, { taskId: "k" }, { workspaceIds: ["w"] }].map(
            async (part) => (await tenant.events({ ...part, after: 0, limit: 9 })).length,
          ),
        ),
        found: (await tenant.search({ kind: "thing", text: "word", limit: 9 })).length,
        count: await tenant.count("thing"),
        blob: Buffer.from((await tenant.blob(content.sha256)) ?? []).toString(),
        opened: (await tenant.openBlob(content.sha256))?.bytes,
      });
      const all = { get: "a", lists: [1, 1, 1, 1, 1], ranked: 1, ranges: [1, 1, 1, 1], found: 1, count: 1 };
      assert.deepEqual(await seenBy(store.of("t1")), { ...all, blob: "content", opened: 7 });
      const nothing = { lists: [0, 0, 0, 0, 0], ranked: 0, ranges: [0, 0, 0, 0], found: 0, count: 0 };
      assert.deepEqual(await seenBy(store.of("t2")), {
        get: undefined,
        ...nothing,
        blob: "",
        opened: undefined,
      });

      // The same content is theirs once they bring it themselves.
      await store.commit({
        ...creation("b", { index: { tenantId: "t2" } }),
        blobs: [{ ...content, tenantId: "t2" }],
      });
      assert.equal((await store.of("t2").openBlob(content.sha256))?.bytes, 7);
    });

    test("SEC-C2 a commit does not move a document to another tenant", async () => {
      await using at = await opened();
      const { store } = at;
      await store.commit(creation("a", { index: { tenantId: "t1" } }));
      await assert.rejects(store.commit(change("a", 1, { index: { tenantId: "t2" } })), BatchFailed);
      assert.equal((await store.of("t1").get("thing", "a"))?.version, 1);
      assert.equal(await store.of("t2").get("thing", "a"), undefined);
    });

    test("STO-6 search ranks documents with all words, matching whole words and prefixes", async () => {
      // Given documents with words, when words are searched for, then those that have all of them are found, best first,
      // by whole words and beginnings.
      await using at = await opened();
      const { store } = at;
      await plantTexts(store, {
        long: `apple ${"filler ".repeat(50)} banana`,
        short: "apple banana",
        begun: "applesauce",
        accents: "Äpfel und Crème",
        none: null,
      });
      assert.deepEqual(await found(store, "apple banana"), ["short", "long"]);
      assert.deepEqual((await found(store, "appl")).sort(), ["begun", "long", "short"]);
      assert.deepEqual(await found(store, "APFEL creme"), ["accents"]);
      assert.deepEqual(await found(store, "apple cherry"), []);
      assert.deepEqual(await found(store, "pple"), []);
    });

    test("STO-6 search treats query syntax as plain words and never fails", async () => {
      // Given a search that reads like a query, when it is made, then every part of it is a word and none an error.
      await using at = await opened();
      const { store } = at;
      await plantTexts(store, { a: "apple or pear", b: "pear", c: 'say "apple"' });
      for (const text of [
        '"',
        "*",
        "(",
        "",
        " ",
        "\u0000",
        "\ud800",
        "-",
        "a:b",
        "^a",
        "NEAR(",
        "'",
        "{",
        "\\",
      ])
        assert.ok(Array.isArray(await found(store, text)), JSON.stringify(text));
      assert.deepEqual(await found(store, "apple OR pear"), ["a"]);
      assert.deepEqual(await found(store, "NOT pear"), []);
      assert.deepEqual(await found(store, '"apple'), ["c", "a"]);
      assert.deepEqual(await found(store, "* ( -"), []);
    });

    test("STO-6 a narrowed search returns only matching documents, each once over its pages", async () => {
      // Given documents of tenants, workspaces, owners and statuses, when a search is narrowed, then it finds only
      // those, and its pages have each once.
      await using at = await opened();
      const { store } = at;
      for (const n of range(0, 24)) {
        const index = {
          tenantId: `t${n % 2}`,
          workspaceId: n % 3 === 0 ? null : `w${n % 3}`,
          ownerId: `o${n % 4}`,
          status: `s${n % 2 === n % 3 ? 0 : 1}`,
          text: `word ${"more ".repeat(n % 5)}`,
        };
        await store.commit(creation(`d${String(n).padStart(2, "0")}`, { index }));
      }
      const count = async (query: Partial<SearchQuery>) => (await found(store, "word", query)).length;
      assert.equal(await count({}), 12);
      assert.deepEqual(await store.of("t2").search({ kind: "thing", text: "word", limit: 9 }), []);
      assert.equal(await count({ kind: "other" }), 0);
      assert.equal(await count({ workspaceIds: ["w1"] }), 8);
      assert.equal(await count({ workspaceIds: [] }), 4);
      assert.equal(await count({ ownerIds: ["o0"] }), 6);
      assert.equal(await count({ ownerIds: ["o1"] }), 0);
      assert.equal(await count({ statuses: ["s0"] }), 4);
      assert.deepEqual(await found(store, "word", { ids: ["d02", "d03"] }), ["d02"]);

      const walked: string[] = [];
      let beyond: SearchQuery["beyond"];
      while (true) {
        const page = await store.of("t0").search({ kind: "thing", text: "word", beyond, limit: 5 });
        walked.push(...page.map(({ id }) => id));
        beyond = page.at(-1);
        if (beyond === undefined) break;
      }
      assert.deepEqual(walked, await found(store, "word"));
      assert.deepEqual(
        (await store.list({ kind: "thing", by: { ownerId: "o2" }, order: "newest_first", limit: 3 })).map(
          ({ id }) => id,
        ),
        ["d22", "d18", "d14"],
      );
    });

    test("STO-8 ranked documents are counted and list by rank with no gap or repeat in pages", async () => {
      // Given documents with ranks, when they are listed, then by rank, in pages that neither miss nor repeat one, and
      // counted.
      await using at = await opened();
      const { store } = at;
      for (const n of range(0, 24)) {
        const index = {
          tenantId: `t${n % 2}`,
          workspaceId: `w${n % 3}`,
          sessionId: `s${n % 4}`,
          status: `on${n % 3}`,
          // Every rank twice or more, so that ids decide.
          rank: 1000 - (n % 5),
          label: `l${n % 6}`,
        };
        await store.commit(creation(`d${String(n).padStart(2, "0")}`, { index }));
      }
      await store.commit(creation("without", { index: { tenantId: "t0" } }));
      const all = range(0, 24)
        .filter((n) => n % 2 === 0)
        .map((n) => ({ n, id: `d${String(n).padStart(2, "0")}`, rank: 1000 - (n % 5) }))
        .sort((a, b) => b.rank - a.rank || (a.id < b.id ? 1 : -1));
      const ask = (more: Partial<RankedQuery> = {}) =>
        store.of("t0").ranked({ kind: "thing", limit: 100, ...more });
      const idsOf = async (more: Partial<RankedQuery>) => {
        const { documents, total } = await ask(more);
        assert.equal(total, documents.length);
        return documents.map(({ id }) => id);
      };
      const expected = (keep: (n: number, rank: number) => boolean) =>
        all.filter(({ n, rank }) => keep(n, rank)).map(({ id }) => id);
      assert.deepEqual(
        await idsOf({}),
        expected(() => true),
      );
      assert.deepEqual(
        await idsOf({ sessionId: "s2" }),
        expected((n) => n % 4 === 2),
      );
      assert.deepEqual(
        await idsOf({ label: "l4" }),
        expected((n) => n % 6 === 4),
      );
      assert.deepEqual(
        await idsOf({ statuses: ["on1", "on2"] }),
        expected((n) => n % 3 !== 0),
      );
      assert.deepEqual(
        await idsOf({ workspaceIds: ["w0"] }),
        expected((n) => n % 3 === 0),
      );
      assert.deepEqual(
        await idsOf({ rankFrom: 998 }),
        expected((_, rank) => rank >= 998),
      );
      assert.deepEqual(
        await idsOf({ sessionId: "s2", rankFrom: 998, workspaceIds: ["w0", "w1"] }),
        expected((n, rank) => n % 4 === 2 && rank >= 998 && n % 3 !== 2),
      );
      const walked: string[] = [];
      let beyond: RankedQuery["beyond"];
      while (true) {
        const { documents, total } = await ask({ beyond, limit: 5 });
        assert.equal(total, all.length);
        walked.push(...documents.map(({ id }) => id));
        beyond = documents.at(-1);
        if (beyond === undefined) break;
      }
      assert.deepEqual(
        walked,
        expected(() => true),
      );
      const index = { tenantId: "t0", sessionId: "s0", rank: 2000, label: "l0" };
      await store.commit(
        batch({
          expect: [expectation("d00", 1)],
          events: [event("d00", "again")],
          put: [document("d00", { index })],
        }),
      );
      assert.equal((await ask({ limit: 1 })).documents[0]?.id, "d00");
    });

    test("STO-6 search finds only the latest words of a document, also after a restart", async () => {
      // Given words that are changed and taken away, when they are searched for, also after a restart, then only the
      // last ones are found.
      await using at = await opened();
      await plantTexts(at.store, { a: "first", b: "first" });
      const index = (text: string | null) => ({ index: { tenantId: "t0", text } });
      await at.store.commit(change("a", 1, index("second")));
      await at.store.commit(change("b", 1, index(null)));
      assert.deepEqual([await found(at.store, "first"), await found(at.store, "second")], [[], ["a"]]);
      const store = await at.reopen();
      assert.deepEqual([await found(store, "first"), await found(store, "second")], [[], ["a"]]);
      const loser = store.commit(change("a", 1, index("third")));
      await assert.rejects(loser, VersionConflict);
      assert.deepEqual(await found(store, "third"), []);
      assert.deepEqual(
        (await store.of("t0").search({ kind: "thing", text: "second", limit: 1 }))[0]?.version,
        2,
      );
    });

    test("RUN-7 documents come due once, in order, and never after their time is removed", async () => {
      // Given documents that are due at times, when windows are asked for, then each document is due once, in order, and
      // not after its time is taken away.
      await using at = await opened();
      const { store } = at;
      const times = { late: 300, early: 100, tied: 200, also: 200, never: null };
      for (const [id, wakeAt] of Object.entries(times))
        await store.commit(creation(id, { index: { wakeAt } }));
      await store.commit(creation("other", { kind: "other", index: { wakeAt: 150 } }));
      const due = async (after: { wakeAt: number; id: string }, through: number, limit = 10) =>
        (await store.due({ kind: "thing", after, through, limit })).map(
          ({ id, wakeAt }) => `${id} ${wakeAt}`,
        );
      const start = { wakeAt: -1, id: "" };

      assert.deepEqual(await due(start, 99), []);
      assert.deepEqual(await due(start, 100), ["early 100"]);
      assert.deepEqual(await due(start, 1000), ["early 100", "also 200", "tied 200", "late 300"]);
      assert.deepEqual(await due(start, 1000, 2), ["early 100", "also 200"]);
      assert.deepEqual(await due({ wakeAt: 200, id: "also" }, 1000), ["tied 200", "late 300"]);
      assert.deepEqual(await due({ wakeAt: 200, id: "tied" }, 299), []);
      await store.commit(change("early", 1, { index: { wakeAt: 400 } }));
      await store.commit(change("late", 1, { index: { wakeAt: null } }));
      assert.deepEqual(await due(start, 1000), ["also 200", "tied 200", "early 400"]);
    });
  });

  describe(`${name} store: blobs and reopening`, () => {
    test("STO-3 the same content in several batches is stored once and whole", async () => {
      // Given the same content in several batches, when they are committed, then each succeeds and the content is there
      // once, whole.
      await using at = await opened();
      const bytes = Buffer.alloc(300_000, "bridle");
      const large = { tenantId: "tenant", sha256: createHash("sha256").update(bytes).digest("hex"), bytes };
      const commits = ["a", "b", "c"].map((id) =>
        at.store.commit({ ...creation(id), blobs: [large, large] }),
      );
      await Promise.all(commits);
      await at.store.commit({ ...creation("d"), blobs: [large, blob("")] });
      const store = await at.reopen();
      assert.deepEqual(Buffer.from((await store.of("tenant").blob(large.sha256)) ?? []), bytes);
      assert.equal((await store.of("tenant").blob(blob("").sha256))?.length, 0);
      assert.equal(await store.of("tenant").blob("0".repeat(64)), undefined);
    });

    test("UPL-4 staged content becomes readable under its hash once a commit speaks of it", async () => {
      // Given content that arrives in pieces, when it is staged and kept, then it is there under its hash once a tenant
      // has it, and not before.
      await using at = await opened();
      const pieces = Array.from({ length: 50 }, (_, n) => Buffer.alloc(1000 + n, `${n} `));
      const whole = Buffer.concat(pieces);
      const staged = await at.store.stageBlob(arriving(pieces), whole.length);
      assert.equal(staged.sha256, createHash("sha256").update(whole).digest("hex"));
      assert.equal(staged.bytes, whole.length);
      assert.equal(await at.store.of("tenant").openBlob(staged.sha256), undefined);
      await staged.keep();
      await staged.keep();
      await staged.discard();
      const again = await at.store.stageBlob(arriving(pieces), whole.length);
      await again.keep();
      assert.equal(await at.store.of("tenant").openBlob(staged.sha256), undefined, "it is nobody's yet");
      const reference = { tenantId: "tenant", sha256: staged.sha256, bytes: null };
      await at.store.commit({ ...creation("a"), blobs: [reference] });
      const store = await at.reopen();
      assert.deepEqual(Buffer.from((await store.of("tenant").blob(staged.sha256)) ?? []), whole);
    });

    test("UPL-4 staging too large content or a failing source is rejected and leaves nothing", async () => {
      // Given content that is too large, or whose source fails, when it is staged, then it is refused and nothing of it
      // is there.
      await using at = await opened();
      const pieces = [Buffer.alloc(10, "a"), Buffer.alloc(10, "b")];
      await assert.rejects(at.store.stageBlob(arriving(pieces), 19), BlobTooLarge);
      const broken = new Error("the source broke");
      await assert.rejects(at.store.stageBlob(arriving(pieces, broken), 100), broken);
      const dropped = await at.store.stageBlob(arriving(pieces), 20);
      await dropped.discard();
      assert.equal(await at.store.of("tenant").blob(dropped.sha256), undefined);
    });

    test("SEC-M9 what a tenant stores is counted in the commit that adds, rewrites or drops it", async () => {
      await using at = await opened();
      const { store } = at;
      const bytesOf = (tenantId: string) => store.of(tenantId).storedBytes();
      assert.deepEqual(await bytesOf("tenant"), { log: 0, blobs: 0 });
      const inside = blob("kept inside");
      const text = "x".repeat(5000);
      const written = await store.commit({
        ...creation("a"),
        events: [event("a", "created", { payload: { text } })],
        blobs: [inside],
      });
      const beside = await store.stageBlob(arriving([Buffer.alloc(70_000)]), 70_000);
      await beside.keep();
      const reference = { tenantId: "tenant", sha256: beside.sha256, bytes: null, stagedBytes: 70_000 };
      await store.commit({ ...creation("b"), blobs: [reference, reference] });
      await beside.discard();
      const before = await bytesOf("tenant");
      assert.ok(before.log > 5000 && before.log < 7000, String(before.log));
      assert.equal(before.blobs, 70_000 + "kept inside".length);
      assert.deepEqual(await bytesOf("t2"), { log: 0, blobs: 0 });

      const [{ position } = { position: 0 }] = written;
      await store.commit(batch({ rewrite: [{ position, payload: { text: "erased" } }] }));
      const after = await bytesOf("tenant");
      assert.ok(before.log - after.log > 4900, "what was replaced no longer counts");
      await store.dropBlobs({ sha256s: [beside.sha256], scannedThrough: await store.head() });
      assert.equal((await bytesOf("tenant")).blobs, "kept inside".length);
      const again = await at.reopen();
      assert.deepEqual(await again.of("tenant").storedBytes(), {
        log: after.log,
        blobs: "kept inside".length,
      });
    });

    test("UPL-2 ranges of content read correctly from inside and beside the database", async () => {
      // Given content in the database and beside it, when parts of it are read, then they are those parts.
      await using at = await opened();
      const { store } = at;
      const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, n) => n % 251));
      const inside = blob("kept inside");
      await store.commit({ ...creation("a"), blobs: [inside] });
      const beside = await store.stageBlob(arriving([bytes]), bytes.length);
      await beside.keep();
      const reference = { tenantId: "tenant", sha256: beside.sha256, bytes: null };
      await store.commit({ ...creation("b"), blobs: [reference] });
      for (const [sha256, content] of [
        [inside.sha256, Buffer.from("kept inside")],
        [beside.sha256, bytes],
      ] as const) {
        const { length } = content;
        for (const [start, end] of [
          [0, length],
          [0, 1],
          [3, 3],
          [length - 1, length],
          [2, length - 2],
        ] as const) {
          const opened = await store.of("tenant").openBlob(sha256);
          assert.equal(opened?.bytes, length);
          const read: Uint8Array[] = [];
          for await (const chunk of (await opened?.read(start, end)) ?? []) read.push(chunk);
          assert.deepEqual(Buffer.concat(read), content.subarray(start, end), `${start} to ${end}`);
        }
        await (await store.of("tenant").openBlob(sha256))?.close();
      }
      assert.equal(await store.of("tenant").openBlob("0".repeat(64)), undefined);
      assert.equal(await store.of("tenant").openBlob("../../bridle.db"), undefined);
    });

    test("VLT-5 documents of all tenants list page by page in order of creation", async () => {
      // Given documents of several tenants, when those of every tenant are listed, then they come in the order of
      // creation, page by page.
      await using at = await opened();
      await plant(at.store);
      const query = { order: "oldest_first" } as const;
      const all = await walk(at.store, { ...query, limit: 100 });
      assert.ok(all.length >= 20);
      assert.deepEqual(await walk(at.store, { ...query, limit: 3 }), all);
    });

    test("CMD-59 lost documents put back in place are as before and continue their events", async () => {
      // Given documents that were lost, when they are put again where they stood, then they are as before, and their
      // next events go on where they were.
      await using at = await opened();
      const { store } = at;
      const parts = { index: { text: "a word" } };
      await store.commit(creation("a", parts));
      await store.commit(creation("b"));
      await store.commit(change("a", 1, parts));
      const before = await everything(store);
      assert.deepEqual(await store.documents({ afterId: "", limit: 1 }), [await store.get("thing", "a")]);
      assert.deepEqual(await store.documents({ afterId: "a", limit: 9 }), [await store.get("thing", "b")]);
      const { version, body, born } = (await store.get("thing", "a")) ?? assert.fail();
      await store.commit(
        batch({ trim: { events: [], documents: [{ kind: "thing", id: "a" }], unlisted: [] } }),
      );
      assert.equal(await store.get("thing", "a"), undefined);

      const regained = { born, sequence: 2, lastEvent: 3 };
      const again = { ...document("a", { ...parts, body: Object(body) }), regained };
      await store.commit(batch({ expect: [expectation("a", 0)], put: [again] }));
      const restored = await everything(store);
      assert.deepEqual({ ...restored, documents: [] }, { ...before, documents: [] });
      assert.deepEqual(await store.get("thing", "a"), {
        ...{ kind: "thing", id: "a", tenantId: "tenant", body, born },
        version: 1,
      });
      assert.equal(version, 2);
      const search = { kind: "thing", text: "word", limit: 9 };
      assert.deepEqual(
        (await store.of("tenant").search(search)).map(({ id }) => id),
        ["a"],
      );
      const [next] = await store.commit(change("a", 1, parts));
      assert.deepEqual([next?.sequence, next?.previous], [3, 3]);
    });

    test("OPS-4 a reopened store has everything and continues at the next position", async () => {
      // Given a store with everything in it, when it is reopened, then all is as before and the log goes on at the next
      // position.
      await using at = await opened();
      assert.equal(await at.store.head(), 0);
      await plant(at.store);
      await at.store.commit({ ...creation("a"), blobs: [blob("kept")], once: onceRecord("kept") });
      await at.store.commit(change("a", 1));
      const before = await everything(at.store);
      const store = await at.reopen();

      assert.deepEqual(await everything(store), before);
      assert.equal(before.head, 22);
      const [next] = await store.commit(creation("b"));
      assert.equal(next?.position, 23);
      assert.equal(await store.head(), 23);
    });
  });
}

function batch(parts: Partial<Batch>): Batch {
  return { expect: [], events: [], put: [], blobs: [], ...parts };
}

function event(id: string, name: string, fields: Partial<NewEvent> = {}): NewEvent {
  return {
    event: name,
    resource: { object: "thing", id },
    tenantId: "tenant",
    workspaceId: null,
    sessionId: null,
    taskId: null,
    actor: null,
    createdAt: "2026-01-01T00:00:00.000Z",
    payload: {},
    ...fields,
  };
}

interface DocumentParts {
  kind?: string;
  index?: Partial<DocumentIndex>;
  body?: object;
}

function document(
  id: string,
  { kind = "thing", index = {}, body = { id } }: DocumentParts = {},
): NewDocument {
  return { kind, id, index: { tenantId: "tenant", ...index }, body };
}

function expectation(id: string, version: number): Batch["expect"][number] {
  return { kind: "thing", id, version };
}

function creation(id: string, parts: DocumentParts = {}): Batch {
  return batch({
    expect: [expectation(id, 0)],
    events: [event(id, "created")],
    put: [document(id, parts)],
  });
}

/** Two events about each of many. */
function largeCreation(count: number, blobs: NewBlob[] = []): Batch {
  const ids = range(0, count).map((n) => `large-${n}`);
  const expect = ids.map((id) => expectation(id, 0));
  const events = ids.flatMap((id) => [event(id, "created"), event(id, "changed")]);
  return { ...batch({ expect, events, put: ids.map((id) => document(id)) }), blobs, isLarge: true };
}

/** The document is in the payload of its first event. */
function creationInEvent(id: string): Batch {
  const body = { id, text: `made as ${id}` };
  const first = event(id, "created", { payload: { unrelated: null, thing: body } });
  return batch({ expect: [expectation(id, 0)], events: [first], put: [document(id, { body })] });
}

function change(id: string, version: number, parts: DocumentParts = {}): Batch {
  return batch({
    expect: [expectation(id, version)],
    events: [event(id, "changed")],
    put: [document(id, parts)],
  });
}

function blob(text: string): NewBlob {
  const sha256 = createHash("sha256").update(text).digest("hex");
  return { tenantId: "tenant", sha256, bytes: Buffer.from(text) };
}

function onceRecord(key: string, fields: Partial<NewOnceRecord> = {}): NewOnceRecord {
  return { key, fingerprint: "fingerprint", result: "{}", expiresAt: 1000, ...fields };
}

/** A thousand batches that arrive together: most alone, some against each other, some that cannot be written. */
function crowd(): Batch[] {
  const alone = range(0, 700).map((n) => ({
    ...creation(`alone-${n}`),
    events: range(0, 1 + (n % 3)).map(() => event(`alone-${n}`, "created")),
  }));
  const counters = range(0, 100).map((n) => change(`counter-${n % 20}`, 1));
  const twins = range(0, 100).map((n) => creation(`twin-${n % 50}`));
  const keyed = range(0, 90).map((n) => ({ ...creation(`keyed-${n}`), once: onceRecord(`key-${n % 25}`) }));
  const orphans = range(0, 10).map((n) => batch({ events: [event(`orphan-${n}`, "noticed")] }));
  const all = [...alone, ...counters, ...twins, ...keyed, ...orphans];
  // Neighbours of every kind meet in one group: the stride has no divisor in common with 1,000.
  return all.map((_, n) => all[(n * 37) % all.length] ?? batch({}));
}

/** Twenty documents, each with a twin in none of its indexes; number n has the status n % 3. */
async function plant(store: WholeStore): Promise<string[]> {
  const ids = range(0, 20).map((n) => `n-${String(n).padStart(2, "0")}`);
  for (const [n, id] of ids.entries()) {
    const half = n % 2;
    const index = {
      tenantId: `t${half}`,
      workspaceId: `w${half}`,
      sessionId: `s${half}`,
      taskId: `k${half}`,
      status: String(n % 3),
    };
    await store.commit(creation(id, { index }));
  }
  return ids;
}

async function plantTexts(store: WholeStore, texts: Record<string, string | null>): Promise<void> {
  for (const [id, text] of Object.entries(texts))
    await store.commit(creation(id, { index: { tenantId: "t0", text } }));
}

async function found(store: WholeStore, text: string, query: Partial<SearchQuery> = {}): Promise<string[]> {
  const documents = await store.of("t0").search({ kind: "thing", text, limit: 100, ...query });
  return documents.map(({ id }) => id);
}

async function walk(
  store: Pick<TenantStore, "list">,
  query: Omit<DocumentQuery, "kind" | "beyond">,
): Promise<string[]> {
  const ids: string[] = [];
  let beyond: DocumentQuery["beyond"];
  while (true) {
    const page = await store.list({ kind: "thing", ...query, beyond });
    assert.ok(page.length <= query.limit);
    ids.push(...page.map((found) => found.id));
    beyond = page.at(-1);
    if (beyond === undefined) return ids;
  }
}

async function allEvents(store: WholeStore, after = 0): Promise<StoredEvent[]> {
  return await store.events({ after, limit: 100_000 });
}

/** Position, sequence and predecessor of each event of a resource. */
async function chainOf(store: WholeStore, id: string): Promise<(number | null)[][]> {
  const events = (await allEvents(store)).filter((found) => found.resource.id === id);
  return events.map(({ position, sequence, previous }) => [position, sequence, previous]);
}

async function everything(store: WholeStore): Promise<{ head: number } & Record<string, unknown>> {
  const kept = await store.of("tenant").blob(blob("kept").sha256);
  return {
    head: await store.head(),
    events: await allEvents(store),
    documents: await Promise.all(["a", "n-00", "n-19"].map((id) => store.get("thing", id))),
    listed: await walk(store, { by: { workspaceId: "w1" }, order: "newest_first", limit: 4 }),
    blob: Buffer.from(kept ?? []).toString(),
    once: await store.once("kept"),
    count: await store.of("t0").count("thing"),
  };
}

function assertRejectedWith(
  outcome: PromiseSettledResult<unknown> | undefined,
  ...kinds: (new (
    message?: string,
  ) => Error)[]
): void {
  assert.equal(outcome?.status, "rejected");
  const reason = outcome?.status === "rejected" ? outcome.reason : undefined;
  assert.ok(
    kinds.some((kind) => reason instanceof kind),
    `expected ${kinds.map((kind) => kind.name).join(" or ")}, found ${reason}`,
  );
}

async function* arriving(pieces: readonly Uint8Array[], failure?: Error): AsyncGenerator<Uint8Array> {
  yield* pieces;
  if (failure !== undefined) throw failure;
}

function namesOf(events: readonly StoredEvent[]): string[] {
  return events.map((found) => found.event);
}

function positionsOf(events: readonly StoredEvent[]): number[] {
  return events.map((found) => found.position);
}

/** `count` whole numbers from `first` on. */
function range(first: number | undefined, count: number): number[] {
  return Array.from({ length: count }, (_, n) => (first ?? 0) + n);
}

const patienceMs = 5000;

/** The promise, or a failure that says what was waited for in vain. */
async function within<T>(promise: Promise<T>, what: string): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`Waited in vain for ${what}`)), patienceMs);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
