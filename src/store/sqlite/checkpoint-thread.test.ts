import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { until } from "../../../test/support/client.ts";
import { temporaryDirectory } from "../../../test/support/server.ts";
import type { Batch } from "../port.ts";
import { openSqliteStore } from "./open.ts";

/** Fewer pages than those after which a commit copies the log itself. */
const pagesBefore = 4000;

function batchOf(n: number): Batch {
  const [id, createdAt] = [`thing_${n}`, "2026-01-01T00:00:00.000Z"];
  const place = { tenantId: "tenant_a", workspaceId: null, sessionId: null, taskId: null };
  const event = {
    ...place,
    event: "thing.created",
    resource: { object: "thing", id },
    actor: null,
    createdAt,
  };
  return {
    expect: [{ kind: "thing", id, version: 0 }],
    events: [{ ...event, payload: { text: "x".repeat(20_000) } }],
    put: [{ kind: "thing", id, index: { tenantId: "tenant_a" }, body: { id } }],
    blobs: [],
  };
}

test("STO-11 what is committed is copied to the database beside the commits, and nothing is lost", async () => {
  await using directory = await temporaryDirectory();
  const store = await openSqliteStore(directory.path);
  using watcher = new DatabaseSync(join(directory.path, "bridle.db"));
  watcher.exec("PRAGMA user_version");
  const walPages = () => {
    const { log, checkpointed } = watcher.prepare("PRAGMA wal_checkpoint(NOOP)").get() ?? {};
    return { log: Number(log), copied: Number(checkpointed) };
  };
  const batches = Array.from({ length: 400 }, (_, n) => batchOf(n));
  await Promise.all(batches.map((batch) => store.commit(batch)));
  await until(
    async () => walPages(),
    (pages) => pages.copied > 400,
  );
  const { log, copied } = walPages();
  assert.ok(log < pagesBefore, `${log} pages in the log, ${copied} of them copied`);
  await store.commit(batchOf(batches.length));
  await store.close();
  const again = await openSqliteStore(directory.path);
  assert.equal(await again.of("tenant_a").count("thing"), batches.length + 1);
  await again.close();
});
