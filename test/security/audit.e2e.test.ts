/** The audit log: what it records, who reads it, and that a change to it shows. */

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { exportAudit, verifyAudit } from "../../src/kernel/audit/read-audit.ts";
import { systemCaller } from "../../src/policy/caller.ts";
import { type AuditRecord, verifyAuditLog } from "../../src/receipts/audit-record.ts";
import { createClient } from "../../src/sdk/client/index.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { bridle, succeeded } from "../support/cli.ts";
import { Client, errorOf, isFinal, type Json, until } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import {
  adminKey,
  startProcess,
  startServer,
  type TestServer,
  temporaryDirectory,
} from "../support/server.ts";
import { openStream, take } from "../support/sse.ts";

let server: TestServer;
let admin: Client;
before(async () => {
  server = await startServer();
  admin = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

const recorded = "vendor.bridle.audit.recorded";

/** All events of the caller's tenant. */
async function eventsOf(client: Client): Promise<Json[]> {
  const events: Json[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const after: string = cursor === "" ? "" : `&after_event_id=${cursor}`;
    const { body } = await client.get(`/v1/events?limit=100${after}`);
    events.push(...body.data);
    cursor = body.page.next_cursor;
  }
  return events;
}

/** The lines of a file. */
async function linesOf(client: Client, path: string): Promise<string[]> {
  const response = await fetch(client.url + path, { headers: client.headers() });
  assert.equal(response.headers.get("content-type"), "application/jsonl");
  return (await response.text()).split("\n").slice(0, -1);
}

async function recordsOf(client: Client): Promise<AuditRecord[]> {
  const lines = await linesOf(client, "/v1/audit/export");
  return lines.map((line) => JSON.parse(line));
}

test("AUD-1 a new key is recorded: who made it, from where, and what it may do", async () => {
  const maker = await admin.createKey({ actor: "ann", scopes: ["api_keys:write", "sessions:read"] });
  const made = await admin.as(maker.key).createKey({ name: "child", scopes: ["sessions:read"] });
  const record = (await recordsOf(admin)).at(-1);
  assert.deepEqual(
    { ...record, hash: "", previous_hash: "", index: 0, created_at: "" },
    {
      object: "audit_record",
      ...{ index: 0, tenant_id: "tenant_default", created_at: "", action: "api_key.create" },
      ...{ outcome: "success", actor: "ann", key_id: maker.id, address: "127.0.0.1" },
      resource: { object: "api_key", id: made.id },
      details: {
        ...{ name: "child", actor: "tester", scopes: ["sessions:read"], tenant_id: "tenant_default" },
        ...{ workspace_ids: null, expires_at: made.expires_at },
      },
      ...{ previous_hash: "", hash: "" },
    },
  );
  assert.ok(!JSON.stringify(record).includes(made.key));
});

test("AUD-1 secrets are recorded by name, and what changed nothing is not recorded", async () => {
  const { body: vault } = await admin.post("/v1/vaults", { provider: "local", capabilities: ["write"] });
  const value = "correct horse battery staple";
  await admin.call(`/v1/vaults/${vault.id}/secrets/TOKEN`, { method: "PUT", body: { value } });
  const key = await admin.createKey();
  await admin.call(`/v1/api-keys/${key.id}`, { method: "DELETE" });
  const records = await recordsOf(admin);
  const actions = records.slice(-4).map(({ action }) => action);
  assert.deepEqual(actions, ["vault.create", "secret.set", "api_key.create", "api_key.revoke"]);
  assert.deepEqual(records.at(-3)?.details, { name: "TOKEN", version: 1 });
  assert.ok(!JSON.stringify(records).includes("horse"));
  await admin.call(`/v1/api-keys/${key.id}`, { method: "DELETE" });
  await admin.sessionWithTurns("hello");
  assert.equal((await recordsOf(admin)).length, records.length);
});

test("AUD-5 a key that the administrator makes for a tenant is in the audit logs of both", async () => {
  const key = await admin.createKey({ tenant_id: "tenant_other" });
  const inside = (await recordsOf(admin.as(key.key))).at(-1);
  const own = (await recordsOf(admin)).at(-1);
  assert.deepEqual([inside?.resource?.id, inside?.actor], [key.id, "admin"]);
  assert.equal(inside?.details.actor_tenant_id, "tenant_default");
  assert.deepEqual([own?.resource?.id, own?.details.tenant_id], [key.id, "tenant_other"]);
  assert.deepEqual((await verifyAuditLog(await recordsOf(admin.as(key.key)))).valid, true);
});

test("AUD-6 who may read events and not the audit log sees none of its records", async () => {
  const reader = admin.as((await admin.createKey({ scopes: ["events:read"] })).key);
  const events = await eventsOf(admin);
  const record = events.findLast(({ event }) => event === recorded);
  assert.ok(record !== undefined);
  assert.ok(!(await eventsOf(reader)).some(({ event }) => event === recorded));
  errorOf(await reader.get(`/v1/events/${record.id}`), 403);
});

test("AUD-6 the audit log needs its own scope, for the whole tenant, everywhere", async () => {
  const scopes = ["events:read", "events:read_internal", "api_keys:read"];
  const reader = admin.as((await admin.createKey({ scopes })).key);
  const bound = { scopes: ["audit:read"], workspace_ids: ["workspace_default"] };
  const boundReader = admin.as((await admin.createKey(bound)).key);
  for (const path of ["", "/stream", "/export", "/verify"]) {
    const refused = errorOf(await reader.get(`/v1/audit${path}`), 403);
    assert.equal(refused.details.required_scope, "audit:read");
    errorOf(await boundReader.get(`/v1/audit${path}`), 403);
  }
  const auditor = admin.as((await admin.createKey({ scopes: ["audit:read"] })).key);
  assert.equal((await auditor.get("/v1/audit/verify")).body.valid, true);
  errorOf(await auditor.get("/v1/events"), 403);
});

test("AUD-7 pages are newest first and filtered by action, actor and time", async () => {
  for (const name of ["a", "b", "c"]) await admin.createKey({ name, actor: "pager" });
  const keys = (await recordsOf(admin)).filter(({ action }) => action === "api_key.create");
  const names: unknown[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const { body } = await admin.get(`/v1/audit?action=api_key.create&limit=2${cursor}`);
    assert.ok(body.data.length <= 2);
    names.push(...body.data.map(({ index }: AuditRecord) => index));
    cursor = body.page.next_cursor === null ? null : `&cursor=${body.page.next_cursor}`;
  }
  assert.deepEqual(names, keys.map(({ index }) => index).reverse());
  const from = keys.at(-2)?.created_at ?? "";
  const until = keys.at(-1)?.created_at ?? "";
  const { body: some } = await admin.get(`/v1/audit?from=${from}&until=${until}&actor=admin`);
  assert.deepEqual(
    some.data.slice(0, 2).map(({ details }: AuditRecord) => details.name),
    ["c", "b"],
  );
  assert.ok(some.data.every(({ created_at }: AuditRecord) => created_at >= from && created_at <= until));
  assert.deepEqual((await admin.get("/v1/audit?actor=nobody")).body.data, []);
  errorOf(await admin.get("/v1/audit?cursor=x"), 400);
});

test("AUD-7 a stream goes on after its cursor and has what comes next", async () => {
  const isRecord = ({ event }: { event: string | null }) => event === recorded;
  await using first = await openStream(admin, "/v1/audit/stream");
  const [seen] = await take(first.frames, isRecord);
  assert.equal(seen?.data.payload.index, 1);
  await using second = await openStream(admin, `/v1/audit/stream?after_event_id=${seen?.id}`);
  const [next] = await take(second.frames, isRecord);
  assert.equal(next?.data.payload.index, 2);
  const last = (await recordsOf(admin)).length;
  const made = await admin.createKey();
  const frames = await take(second.frames, ({ data }) => data.payload.index === last + 1);
  assert.equal(frames.at(-1)?.data.payload.resource.id, made.id);
  assert.equal(frames.length, last + 1 - 2);
  const newest = frames.at(-1)?.data.payload;
  const { body } = await admin.get("/v1/audit/verify");
  assert.deepEqual([body.size, body.head_hash], [newest.index, newest.hash]);
});

test("AUD-8 bridle audit lists, exports, follows and verifies", async () => {
  await using directory = await temporaryDirectory();
  const key = await admin.createKey({ name: "for the list" });
  const call = (...args: string[]) => bridle(["audit", ...args], { server });
  const listed = succeeded(await call("list", "--limit", "1"));
  assert.match(listed, new RegExp(`api_key.create +success +admin +127.0.0.1 +${key.id}`));
  const file = join(directory.path, "audit.jsonl");
  succeeded(await call("export", "--out", file));
  const size = (await recordsOf(admin)).length;
  assert.match(succeeded(await call("verify", file)), new RegExp(`intact: ${size} records`));
  assert.equal(JSON.parse(succeeded(await call("verify", "--json"))).size, size);
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  await writeFile(file, lines.toSpliced(2, 1).join("\n"));
  const broken = await call("verify", file);
  assert.equal(broken.code, 1);
  assert.match(broken.stdout, /broken at record 3/);
  const client = createClient({ url: server.url, key: adminKey });
  for await (const record of client.audit.follow()) {
    if (record.resource?.id === key.id) break;
  }
});

test("AUD-3 fifty changes at once leave a chain without gaps that folds to its document", async () => {
  await using directory = await temporaryDirectory();
  const busy = await startServer({ data: directory.path });
  try {
    const client = new Client(busy);
    const quota = { scope: "workspace", limits: { tasks: 5 } };
    await Promise.all(
      Array.from({ length: 50 }, async (_, n) => {
        if (n % 2 === 0) await client.createKey({ tenant_id: n % 4 === 0 ? "tenant_other" : undefined });
        else assert.equal((await client.post("/v1/quotas", quota)).status, 201);
      }),
    );
    const records = await recordsOf(client);
    assert.equal(records.length, 50);
    const verdict = await verifyAuditLog(records);
    assert.deepEqual(verdict, { valid: true, size: 50, head_hash: records.at(-1)?.hash });
  } finally {
    await busy.stop();
  }
  await assertRebuildable(directory.path);
});

test("AUD-9 a refused key is recorded in its tenant with address and reason, others in the default one", async () => {
  await using directory = await temporaryDirectory();
  const watched = await startServer({ data: directory.path, env: { BRIDLE_METRICS: "open" } });
  const client = new Client(watched);
  const inside = await client.createKey({ tenant_id: "tenant_other" });
  const gone = await client.createKey({ tenant_id: "tenant_other" });
  await client.as(inside.key).call(`/v1/api-keys/${gone.id}`, { method: "DELETE" });
  errorOf(await client.as(gone.key).get("/v1/sessions"), 401);
  const failures = (of: Client) =>
    until(
      async () => (await recordsOf(of)).filter(({ action }) => action === "auth.fail"),
      (found) => found.length > 0,
    );
  const [record] = await failures(client.as(inside.key));
  assert.partialDeepStrictEqual(record, {
    ...{ outcome: "failure", actor: null, key_id: gone.id, address: "127.0.0.1", resource: null },
    details: { failures: 1, reasons: ["revoked"], key_ids: [gone.id] },
  });
  const wrong = `${inside.key.slice(0, -6)}AAAAAA`;
  const form = { grant_type: "client_credentials", client_id: inside.id, client_secret: wrong };
  const body = new URLSearchParams(form);
  assert.equal((await fetch(`${watched.url}/oauth/token`, { method: "POST", body })).status, 401);
  for (let n = 0; n < 30; n++)
    errorOf(await client.as(`a-guessed-key-${n}-0000000000`).get("/v1/tasks"), 401);
  const { body: metrics } = await client.get("/metrics");
  assert.match(metrics, /^bridle_auth_failures_total{reason="revoked"} 1$/m);
  assert.match(metrics, /^bridle_auth_failures_total{reason="wrong_secret"} 1$/m);
  assert.match(metrics, /^bridle_auth_failures_total{reason="unknown_key"} 30$/m);
  // What came within the minute is written when it is over, or when the server stops.
  assert.equal(await watched.stop(), 0);
  const store = await openSqliteStore(directory.path);
  try {
    const last = async (tenantId: string) => {
      let newest: AuditRecord | null = null;
      for await (const each of exportAudit({ store }, systemCaller(tenantId))) newest = each;
      return newest;
    };
    assert.partialDeepStrictEqual(await last("tenant_default"), {
      ...{ action: "auth.fail", details: { failures: 30, reasons: ["unknown_key"] } },
    });
    assert.partialDeepStrictEqual(await last("tenant_other"), {
      ...{ key_id: inside.id, details: { failures: 1, reasons: ["wrong_secret"] } },
    });
  } finally {
    await store.close();
  }
});

test("AUD-10 administrators' reads of what others made are recorded once an hour, exports always", async () => {
  const scopes = ["sessions:write", "tasks:write", "tasks:read", "messages:read", "events:read"];
  const ann = admin.as((await admin.createKey({ actor: "ann", scopes })).key);
  const session = await ann.sessionWithTurns("what nobody else should read");
  const own = await admin.sessionWithTurns("mine");
  const before = (await recordsOf(admin)).length;
  const since = async () => (await recordsOf(admin)).slice(before);
  for (const path of ["messages", "events"]) {
    for (let n = 0; n < 3; n++) await admin.get(`/v1/sessions/${session.id}/${path}`);
    await admin.get(`/v1/sessions/${own.id}/${path}`);
    await ann.get(`/v1/sessions/${session.id}/${path}`);
  }
  const [read, ...more] = await since();
  assert.deepEqual(more, []);
  assert.partialDeepStrictEqual(read, {
    ...{ action: "content.read", actor: "admin", address: "127.0.0.1", details: { what: "messages" } },
    resource: { object: "session", id: session.id },
  });
  const second = admin.as((await admin.createKey({ actor: "second" })).key);
  await second.get(`/v1/sessions/${session.id}/messages`);
  for (let n = 0; n < 2; n++) await linesOf(second, `/v1/sessions/${session.id}/export`);
  await second.get("/v1/workspaces/workspace_default/files");
  await second.get("/v1/memories");
  await linesOf(second, "/v1/workspaces/workspace_default/receipts/export");
  const told = (await since()).slice(2).map(({ action, resource }) => [action, resource?.object]);
  assert.deepEqual(told, [
    ["content.read", "session"],
    ["session.export", "session"],
    ["session.export", "session"],
    ["content.read", "workspace"],
    ["content.read", "tenant"],
    ["receipts.export", "workspace"],
  ]);
  assert.ok(!JSON.stringify(await since()).includes("nobody else"));
});

test("AUD-10 reads through the events of the tenant, one event, and a key in the maker's name are recorded", async () => {
  const ann = admin.as(
    (await admin.createKey({ actor: "ann", scopes: ["sessions:write", "tasks:write"] })).key,
  );
  const session = await ann.createSession();
  const newAdmin = async (actor: string) => admin.as((await admin.createKey({ actor })).key);
  const [third, fourth, asAnn] = [await newAdmin("third"), await newAdmin("fourth"), await newAdmin("ann")];
  const [event] = (await admin.get(`/v1/sessions/${session.id}/events`)).body.data;
  const before = (await recordsOf(admin)).length;
  await third.get("/v1/events");
  await fourth.get(`/v1/events/${event.id}`);
  await asAnn.get(`/v1/sessions/${session.id}/messages`);
  const read = (await recordsOf(admin)).slice(before);
  assert.deepEqual(
    read.map(({ action, actor, resource }) => [action, actor, resource?.object]),
    [
      ["content.read", "third", "tenant"],
      ["content.read", "fourth", "session"],
      ["content.read", "ann", "session"],
    ],
  );
});

test("AUD-10 reads of others' tasks and outcomes are recorded on every surface, own work is not", async () => {
  const scopes = ["sessions:write", "tasks:write", "tasks:read", "outcomes:read"];
  const ann = admin.as((await admin.createKey({ actor: "ann", scopes })).key);
  const session = await ann.createSession();
  const { id } = await ann.rehearse(session.id, "approve pay");
  const rpc = (client: Client, method: string, params: object) =>
    client.call("/opvs/rpc", {
      method: "POST",
      headers: { "a2a-version": "1.0" },
      body: { jsonrpc: "2.0", id: 1, method, params },
    });
  const mcp = (client: Client, name: string, args: object) =>
    client.call("/mcp", {
      method: "POST",
      headers: { accept: "application/json, text/event-stream" },
      body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } },
    });
  const reads: Record<string, [place: string, read: (client: Client) => Promise<unknown>]> = {
    "a task": ["session", (client) => client.get(`/v1/tasks/${id}`)],
    "why it waits": ["session", (client) => client.get(`/v1/tasks/${id}/why`)],
    "its permission requests": ["session", (client) => client.get(`/v1/tasks/${id}/permission-requests`)],
    "tasks of a session": ["session", (client) => client.get(`/v1/sessions/${session.id}/tasks`)],
    "all tasks": ["tenant", (client) => client.get("/v1/tasks")],
    "tasks by status": ["tenant", (client) => client.get("/v1/tasks?status=AUTH_REQUIRED")],
    "permission requests": ["tenant", (client) => client.get("/v1/permission-requests")],
    "a task over A2A": ["session", (client) => rpc(client, "GetTask", { id })],
    "all tasks over A2A": ["tenant", (client) => rpc(client, "ListTasks", {})],
    "a task over MCP": ["session", (client) => mcp(client, "get_task", { task_id: id })],
  };
  const recordsOfReads = async (reads: Iterable<[string, (client: Client) => Promise<unknown>]>) => {
    const found: [string, unknown][] = [];
    for (const [name, read] of reads) {
      const reader = admin.as((await admin.createKey({ actor: name })).key);
      const before = (await recordsOf(admin)).length;
      for (let n = 0; n < 2; n++) await read(reader);
      const records = (await recordsOf(admin)).slice(before);
      found.push([
        name,
        records.map(({ action, details, resource }) => [action, details.what, resource?.object]),
      ]);
    }
    return found;
  };
  const expected = (place: string) => [["content.read", "tasks", place]];
  const told = await recordsOfReads(Object.entries(reads).map(([name, [, read]]) => [name, read]));
  assert.deepEqual(
    told,
    Object.entries(reads).map(([name, [place]]) => [name, expected(place)]),
  );

  await admin.post(
    `/v1/permission-requests/${(await ann.get(`/v1/tasks/${id}`)).body.waiting_for.permission_request_id}/respond`,
    {
      approved: true,
    },
  );
  const { outcome_id } = await ann.untilTask(id, isFinal);
  assert.deepEqual(
    await recordsOfReads([
      ["an outcome", (client) => client.get(`/v1/outcomes/${outcome_id}`)],
      ["an outcome by its task", (client) => client.get(`/v1/outcomes?task_id=${id}`)],
      ["all outcomes", (client) => client.get("/v1/outcomes")],
    ]),
    [
      ["an outcome", expected("session")],
      ["an outcome by its task", expected("session")],
      ["all outcomes", expected("tenant")],
    ],
  );

  const before = (await recordsOf(admin)).length;
  const own = await admin.createSession();
  const task = await admin.rehearse(own.id, "approve pay");
  await admin.get(`/v1/tasks/${task.id}`);
  await ann.get(`/v1/tasks/${id}`);
  await ann.get("/v1/tasks");
  assert.equal((await recordsOf(admin)).length, before);
});

test("AUD-11 erasure and retention leave every record and are recorded themselves", async () => {
  await using directory = await temporaryDirectory();
  const { path: data } = directory;
  const keeping = await startServer({ data });
  const session = await new Client(keeping).sessionWithTurns("to be erased");
  assert.equal((await new Client(keeping).post(`/v1/sessions/${session.id}/erase`)).status, 200);
  const before = await recordsOf(new Client(keeping));
  assert.partialDeepStrictEqual(before, [{ action: "session.erase", resource: { id: session.id } }]);
  assert.equal(await keeping.stop(), 0);
  const sweeping = await startServer({ data, flags: ["--retain-days", "30"] });
  const client = new Client(sweeping);
  assert.equal((await client.post("/v1/retention/sweep")).status, 200);
  assert.equal((await client.post("/v1/tenants/tenant_default/erase")).status, 200);
  const records = await recordsOf(client);
  const actions = records.map(({ action }) => action);
  assert.deepEqual(actions, ["session.erase", "retention.change", "retention.sweep", "tenant.erase"]);
  assert.deepEqual(records[1]?.details, { retain_days: 30, before: null });
  assert.deepEqual(records[0], before[0]);
  assert.equal((await client.get("/v1/audit/verify")).body.valid, true);
  assert.equal(await sweeping.stop(), 0);
  await assertRebuildable(data);
});

/** Servers of one data directory, so that its files can be changed in between. */
async function auditedDirectory(data: string): Promise<void> {
  await using made = await startServer({ data });
  const client = new Client(made);
  for (let n = 0; n < 6; n++) await client.createKey();
  assert.equal(await made.stop(), 0);
}

const auditRows = "FROM log WHERE session_id = 'audit_log_tenant_default' ORDER BY last";

test("AUD-2 the first record that was changed, dropped or moved in the database file is named", async () => {
  await using directory = await temporaryDirectory();
  await auditedDirectory(directory.path);
  const file = join(directory.path, "bridle.db");
  const whole = await readFile(file);
  const verdict = async (...statements: string[]) => {
    await writeFile(file, whole);
    const db = new DatabaseSync(file);
    for (const statement of statements) db.exec(statement);
    db.close();
    const store = await openSqliteStore(directory.path);
    try {
      const { valid, ...rest } = await verifyAudit({ store }, systemCaller("tenant_default"));
      return valid ? null : rest;
    } finally {
      await store.close();
    }
  };
  // Whoever changes a row on purpose can change its checksum, too: those are for accidents.
  const row = (index: number) => `(SELECT last ${auditRows} LIMIT 1 OFFSET ${index - 1})`;
  assert.equal(await verdict(), null);
  const changed = `UPDATE log SET checksum = NULL, events = replace(events, '"admin"', '"ann"') WHERE last = ${row(3)}`;
  assert.partialDeepStrictEqual(await verdict(changed), { index: 3 });
  assert.partialDeepStrictEqual(await verdict(`DELETE FROM log WHERE last = ${row(4)}`), { index: 4 });
  const dropped = `DELETE FROM log WHERE last = ${row(6)}`;
  assert.partialDeepStrictEqual(await verdict(dropped), {
    index: 6,
    reason: "the log ends here and had 6 records",
  });
  const moved = `UPDATE log SET checksum = NULL, events = (SELECT events ${auditRows} LIMIT 1 OFFSET 3) WHERE last = ${row(2)}`;
  assert.partialDeepStrictEqual(await verdict(moved), { index: 2 });
  const later = `UPDATE log SET checksum = NULL, created_at = '2030-01-01T00:00:00.000Z' WHERE last = ${row(5)}`;
  assert.partialDeepStrictEqual(await verdict(later), { index: 5 });
  const head =
    "UPDATE documents SET body = json_set(body, '$.head_hash', 'sha256:0') WHERE kind = 'audit_log'";
  assert.partialDeepStrictEqual(await verdict(head), { index: 6 });
});

test("AUD-1 a process that dies leaves a change with its record, or neither", async () => {
  await using directory = await temporaryDirectory();
  for (const point of ["commit.written:5", "commit.durable:5"]) {
    await using dying = await startProcess({ data: directory.path, env: { BRIDLE_FAIL_POINT: point } });
    const client = new Client(dying);
    await assert.rejects(async () => {
      while (true) await client.createKey();
    });
    await dying.kill();
    const events = await assertRebuildable(directory.path);
    const ids = (name: string, idOf: (event: Json) => string) =>
      events.flatMap((event) => (event.event === name ? [idOf(event)] : []));
    const made = ids("vendor.bridle.api_key.created", ({ resource }) => resource.id);
    assert.deepEqual(
      ids(recorded, ({ payload }) => payload.resource.id),
      made,
    );
    assert.ok(made.length > 0);
  }
});
