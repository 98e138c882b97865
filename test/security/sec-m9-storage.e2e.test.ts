/** SEC-M9: what a tenant stores can be limited, and refusing more leaves a way back. */

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { migrate } from "../../src/store/sqlite/schema.ts";
import { bridle } from "../support/cli.ts";
import { type Answer, Client, errorOf, type Json, until } from "../support/client.ts";
import { startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

const schemaBeforeCounts = 8;

describe("SEC-M9 storage_bytes", () => {
  let server: TestServer;
  let admin: Client;
  let tenant: Client;
  const workspaceId = "workspace_default.tenant_guest";
  before(async () => {
    server = await startServer();
    admin = new Client(server);
    tenant = admin.as((await admin.createKey({ tenant_id: "tenant_guest" })).key);
  });
  after(() => server[Symbol.asyncDispose]());

  const upload = (client: Client, bytes: number, headers = {}) =>
    fetch(`${server.url}/v1/artifacts/upload?workspace_id=${workspaceId}`, {
      method: "POST",
      headers: client.headers({ "content-type": "application/x-test", ...headers }),
      body: new Uint8Array(bytes).fill(bytes % 251),
    }).then(
      async (response): Promise<Answer> => ({
        status: response.status,
        headers: response.headers,
        body: await response.json(),
      }),
    );
  const write = (path: string, content: string) =>
    tenant.call(`/v1/workspaces/${workspaceId}/files?path=${path}`, { method: "PUT", body: { content } });

  test("SEC-M9 log, blobs and files of a tenant are counted, and more than its limit is refused", async () => {
    const quota: Json = (
      await tenant.post("/v1/quotas", { scope: "tenant", limits: { storage_bytes: 500_000 } })
    ).body;
    const usage = async () => (await tenant.get(`/v1/quotas/${quota.id}`)).body.usage;
    const empty = await usage();
    assert.ok(empty.log_bytes > 0);
    assert.deepEqual([empty.blob_bytes, empty.file_bytes], [0, 0]);

    const artifact = await upload(tenant, 200_000);
    assert.equal(artifact.status, 201);
    assert.equal((await write("a.txt", "x".repeat(100_000))).status, 200);
    assert.equal((await write("a.txt", "x".repeat(150_000))).status, 200);
    const used = await usage();
    assert.deepEqual([used.blob_bytes, used.file_bytes], [200_000, 150_000]);
    assert.equal(used.storage_bytes, used.log_bytes + 350_000);

    for (const answer of [await upload(tenant, 200_001), await write("b.txt", "x".repeat(200_000))]) {
      const error = errorOf(answer, 422);
      assert.equal(error.code, "policy_violation");
      assert.deepEqual([error.details.quota_id, error.details.limit], [quota.id, "storage_bytes"]);
    }
    const { stdout } = await bridle(["quota", "show", quota.id, "--key", tenant.key], { server });
    assert.match(stdout, /storage_bytes .* of 500000/);
    assert.match(stdout, /stored: log \d+, blobs 200000, files 150000 bytes/);

    // Beyond the limit nothing is added, deletions and changes of the limit work.
    const memory = await tenant.createMemory({ owner_id: workspaceId, content: "Tea." });
    await tenant.call(`/v1/quotas/${quota.id}`, {
      method: "PATCH",
      body: { limits: { storage_bytes: 1000 } },
    });
    const refused = errorOf(await tenant.post("/v1/sessions", { workspace_id: workspaceId }), 422);
    assert.equal(refused.details.quota_id, quota.id);
    const metadata = { note: "x".repeat(1000) };
    for (const path of [`/v1/quotas/${quota.id}`, "/v1/personas/persona_echo.tenant_guest"]) {
      errorOf(await tenant.call(path, { method: "PATCH", body: { metadata } }), 422);
    }
    assert.match(
      (await tenant.get(`/v1/quotas/${quota.id}`)).body.exhaustion_reason,
      /^storage_bytes: \d+ of 1000/,
    );
    assert.equal((await tenant.call(`/v1/memories/${memory.id}`, { method: "DELETE" })).status, 204);
    assert.equal(
      (await admin.post("/v1/sessions", { workspace_id: "workspace_default" })).status,
      201,
      "others go on",
    );
    assert.equal((await tenant.call(`/v1/quotas/${quota.id}`, { method: "DELETE" })).status, 200);
    assert.equal((await tenant.post("/v1/sessions", { workspace_id: workspaceId })).status, 201);
  });

  test("SEC-M9 the server's administrator limits every tenant, and tenants cannot lift that", async () => {
    const quota: Json = (
      await admin.post("/v1/quotas", { scope: "organization", limits: { storage_bytes: 1_000_000 } })
    ).body;
    const error = errorOf(await upload(tenant, 900_000), 422);
    assert.deepEqual([error.code, error.details.limit], ["policy_violation", "storage_bytes"]);
    assert.equal(error.details.quota_id, undefined);
    assert.equal((await tenant.call(`/v1/quotas/${quota.id}`, { method: "DELETE" })).status, 404);
    assert.equal((await admin.call(`/v1/quotas/${quota.id}`, { method: "DELETE" })).status, 200);
    assert.equal((await upload(tenant, 900_000)).status, 201);
  });

  test("SEC-M9 only tenants have a limit of storage", async () => {
    const answer = await tenant.post("/v1/quotas", { scope: "persona", limits: { storage_bytes: 1 } });
    assert.equal(errorOf(answer, 400).param, "limits");
  });

  test("SEC-M9 erasing a tenant's content gives its room back", async () => {
    const quota: Json = (
      await tenant.post("/v1/quotas", { scope: "tenant", limits: { storage_bytes: 10_000_000 } })
    ).body;
    const usage = async () => (await tenant.get(`/v1/quotas/${quota.id}`)).body.usage;
    assert.ok((await usage()).blob_bytes > 1_000_000);
    assert.equal((await admin.post("/v1/tenants/tenant_guest/erase")).status, 200);
    const after = await until(usage, ({ blob_bytes }) => blob_bytes === 0);
    assert.equal(after.file_bytes, 0);
  });
});

test("SEC-M9 what earlier versions stored is counted when the database is migrated", async () => {
  await using directory = await temporaryDirectory();
  const data = directory.path;
  const [inside, beside] = ["ab".repeat(32), "cd".repeat(32)] as const;
  {
    using db = new DatabaseSync(join(data, "bridle.db"));
    migrate(db, schemaBeforeCounts);
    db.exec(`
      INSERT INTO log (last, first, tenant_id, created_at, events, numbers) VALUES
        (1, 1, 'a', '', '["1234"]', '[]'), (2, 2, 'a', '', '["é"]', '[]'), (3, 3, 'b', '', '[]', '[]');
      INSERT INTO blobs VALUES ('${inside}', x'010203');
      INSERT INTO blob_owners VALUES ('${inside}', 'a'), ('${inside}', 'b'), ('${beside}', 'b');
    `);
  }
  mkdirSync(join(data, "blobs", "cd"), { recursive: true });
  writeFileSync(join(data, "blobs", "cd", beside), Buffer.alloc(1000));
  const store = await openSqliteStore(data);
  const counted = await Promise.all(["a", "b", "c"].map((tenantId) => store.of(tenantId).storedBytes()));
  await store.close();
  assert.deepEqual(counted, [
    { log: 8 + 2 + 6 + 2, blobs: 3 },
    { log: 4, blobs: 1003 },
    { log: 0, blobs: 0 },
  ]);
});
