/** After an I/O error in a commit the answer says what is true: written, not written, or unknown. */

import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { CommitWatch } from "../../src/store/commit-queue.ts";
import { type Batch, OutcomeUnknown, StoreUnavailable } from "../../src/store/port.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import type { WholeStore } from "../../src/store/whole-store.ts";
import { Client, errorOf, until } from "../support/client.ts";
import { startServer, temporaryDirectory } from "../support/server.ts";

function creation(id: string): Batch {
  const index = { tenantId: "tenant" };
  const at = { workspaceId: null, sessionId: null, taskId: null, actor: null };
  const createdAt = new Date(0).toISOString();
  return {
    expect: [{ kind: "thing", id, version: 0 }],
    events: [
      { event: "created", resource: { object: "thing", id }, ...index, ...at, createdAt, payload: {} },
    ],
    put: [{ kind: "thing", id, index, body: { id } }],
    blobs: [],
  };
}

/** Runs something that starts a writer, with fail points that are on while a file exists. */
async function withFailPoints<T>(points: readonly string[], file: string, act: () => Promise<T>): Promise<T> {
  process.env.BRIDLE_FAIL_POINT = points.map((point) => `${point}:EIO:${file}`).join(",");
  try {
    return await act();
  } finally {
    delete process.env.BRIDLE_FAIL_POINT;
  }
}

interface Faulty extends AsyncDisposable {
  store: WholeStore;
  isFailing(on: boolean): void;
  reopened(): Promise<WholeStore>;
}

/** A store whose thread is started, with a first document. */
async function faultyStore(points: readonly string[], watch: CommitWatch = {}): Promise<Faulty> {
  const directory = await temporaryDirectory();
  const file = join(directory.path, "failing");
  let store = await withFailPoints(points, file, async () => {
    const opened = await openSqliteStore(directory.path, watch);
    await opened.commit(creation("first"));
    return opened;
  });
  return {
    store,
    isFailing: (on) => (on ? writeFileSync(file, "") : rmSync(file)),
    async reopened() {
      await store.close();
      store = await openSqliteStore(directory.path);
      return store;
    },
    async [Symbol.asyncDispose]() {
      await store.close();
      await directory[Symbol.asyncDispose]();
    },
  };
}

test("REL-R8 a commit that failed and is not on disk is reported as not applied", async () => {
  await using faulty = await faultyStore(["commit.syncing"]);
  const { store } = faulty;
  faulty.isFailing(true);
  await assert.rejects(store.commit(creation("lost")), StoreUnavailable);
  assert.equal(await store.get("thing", "lost"), undefined);
  faulty.isFailing(false);
  const [event] = await store.commit(creation("next"));
  assert.equal(event?.position, 2);
  const again = await faulty.reopened();
  assert.equal(await again.get("thing", "lost"), undefined);
  assert.notEqual(await again.get("thing", "next"), undefined);
});

test("REL-R8 a commit that reported an error and is on disk is acknowledged, with its group", async () => {
  await using faulty = await faultyStore(["commit.durable"]);
  const { store } = faulty;
  const heard: number[] = [];
  store.follow((events) => heard.push(...events.map(({ position }) => position)));
  faulty.isFailing(true);
  await Promise.all(["a", "b", "c"].map((id) => store.commit(creation(id))));
  faulty.isFailing(false);
  await store.commit(creation("next"));
  assert.deepEqual(heard, [2, 3, 4, 5]);
  assert.notEqual(await (await faulty.reopened()).get("thing", "a"), undefined);
});

test("REL-R8 the outcome is unknown while the database cannot be reopened, and known afterwards", async () => {
  await using faulty = await faultyStore(["commit.syncing", "database.opened"]);
  const { store } = faulty;
  faulty.isFailing(true);
  await assert.rejects(store.commit(creation("unsure")), OutcomeUnknown);
  // Nothing has begun: this one was not applied, for certain.
  await assert.rejects(store.commit(creation("refused")), StoreUnavailable);
  faulty.isFailing(false);
  const [event] = await store.commit(creation("unsure"));
  assert.equal(event?.position, 2);
});

test("REL-R8 a commit of unknown outcome that is on disk stops the store, and is there after a restart", async () => {
  const reasons: string[] = [];
  const watch = { stopped: (reason: string) => reasons.push(reason) };
  await using faulty = await faultyStore(["commit.durable", "database.opened"], watch);
  faulty.isFailing(true);
  await assert.rejects(faulty.store.commit(creation("unsure")), OutcomeUnknown);
  faulty.isFailing(false);
  await assert.rejects(faulty.store.commit(creation("next")), StoreUnavailable);
  assert.match(String(reasons[0]), /a restart/);
  const again = await faulty.reopened();
  assert.notEqual(await again.get("thing", "unsure"), undefined);
  assert.equal(await again.get("thing", "next"), undefined);
});

test("REL-R8 a request of unknown outcome says so and can be repeated under its idempotency key", async () => {
  await using directory = await temporaryDirectory();
  const file = join(directory.path, "failing");
  const points = ["commit.syncing", "database.opened"];
  await using server = await withFailPoints(points, file, () => startServer());
  const client = new Client(server);
  const create = () =>
    client.post("/v1/sessions", { workspace_id: "workspace_default" }, { "idempotency-key": "once" });
  writeFileSync(file, "");
  const { code, message } = errorOf(await create(), 500);
  assert.equal(code, "write_outcome_unknown");
  assert.match(message, /may or may not have been applied/);
  rmSync(file);
  await until(create, ({ status }) => status === 201);
  assert.equal((await client.listAll("/v1/sessions")).length, 1);
});
