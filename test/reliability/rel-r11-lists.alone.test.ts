/** REL-R11: every filter of every list is served by an index, so a list of what is rare among many things is quick. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, mock, test } from "node:test";
import { isThorough } from "../runner/seed.ts";
import { Client, type Json } from "../support/client.ts";
import { addTasks } from "../support/long-log.ts";
import { measureStall, withoutStall } from "../support/loop-stall.ts";
import { startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

const tasks = isThorough ? 200_000 : 20_000;

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: TestServer;
let client: Client;
let waiting: Json;
/** The statements that the server has prepared. */
const statements = new Set<string>();
before(async () => {
  directory = await temporaryDirectory();
  const data = directory.path;
  {
    await using first = await startServer({ data });
    client = new Client(first);
    const { id } = await client.createSession();
    await client.rehearse(id, "return well");
    waiting = await client.rehearse(id, "ask what now");
  }
  await addTasks(data, tasks);
  const { prepare } = DatabaseSync.prototype;
  mock.method(DatabaseSync.prototype, "prepare", function (this: DatabaseSync, sql: string) {
    statements.add(sql);
    return prepare.call(this, sql);
  });
  server = await startServer({ data });
  client = new Client(server);
});
after(async () => {
  mock.restoreAll();
  await server[Symbol.asyncDispose]();
  await directory[Symbol.asyncDispose]();
});

test("REL-R11 tasks of a rare status are found among many, quickly", async () => {
  const found = await withoutStall(() => client.get("/v1/tasks?status=INPUT_REQUIRED"));
  assert.deepEqual(
    found.body.data.map(({ id }: Json) => id),
    [waiting.id],
  );
  // As quick as what is on the first page anyway: what it does not show is not looked at.
  const list = async (query: string) =>
    (await measureStall(() => client.get(`/v1/tasks?${query}`))).longestMs;
  assert.ok((await list("status=AUTH_REQUIRED")) <= (await list("limit=200")) + 10);
});

/** A value that a filter takes. */
const values: Record<string, string> = {
  status: "INPUT_REQUIRED",
  agent: "echo",
  event: "task.completed",
  since: "2026-01-01T00:00:00Z",
  from: "2026-01-01T00:00:00Z",
  until: "2036-01-01T00:00:00Z",
  scope: "workspace",
  workspace_id: "workspace_default",
};

/** Lists of the API with their filters, from its own description. */
async function listRequests(): Promise<string[]> {
  const { body } = await client.get("/openapi.json");
  const requests: string[] = [];
  for (const [path, { get }] of Object.entries<Json>(body.paths)) {
    const names: string[] = (get?.parameters ?? [])
      .filter(({ in: where }: Json) => where === "query")
      .map(({ name }: Json) => name);
    if (!names.includes("cursor") || path.endsWith("/stream")) continue;
    const filled = path
      .replace("{session_id}", waiting.session_id)
      .replace("{task_id}", waiting.id)
      .replace("{workspace_id}", "workspace_default");
    requests.push(filled);
    for (const name of names.filter((name) => !["cursor", "limit", "after_event_id"].includes(name))) {
      const value =
        name === "session_id" ? waiting.session_id : name === "task_id" ? waiting.id : values[name];
      requests.push(`${filled}?${name}=${encodeURIComponent(value ?? "x")}`);
    }
  }
  return requests;
}

test("REL-R11 every filter of every list is served by an index", async () => {
  const requests = await listRequests();
  assert.ok(requests.length > 30, String(requests.length));
  const bound = client.as((await client.createKey({ workspace_ids: ["workspace_default"] })).key);
  for (const request of requests) {
    for (const caller of [client, bound]) {
      const { status, body } = await caller.get(request);
      assert.ok(status === 200 || status === 403, `${request}: ${status} ${JSON.stringify(body)}`);
    }
  }
  for (const filter of [{}, { status: "TASK_STATE_INPUT_REQUIRED" }, { contextId: waiting.session_id }]) {
    const params = { pageSize: 10, ...filter };
    const { status } = await client.post(
      "/opvs/rpc",
      { jsonrpc: "2.0", id: 1, method: "ListTasks", params },
      { "A2A-Version": "1.0" },
    );
    assert.equal(status, 200);
  }
  const isExcepted = (sql: string) => excepted.some((pattern) => pattern.test(sql));
  const lists = [...statements].filter(
    (sql) =>
      !isExcepted(sql) && /^SELECT.* FROM (documents|log)\b/s.test(sql) && /LIMIT|count|min\(/.test(sql),
  );
  assert.ok(lists.length > 15, String(lists.length));
  assert.deepEqual(lists.flatMap(problemsWith), []);
});

/**
 * Statements that are not held to it: the lists of connectors, skills and memories leave out what was deleted, the list of outcomes what
 * has not ended, which is little; and all tenants' documents of a kind are read at the start only.
 */
const excepted = [
  /FROM documents\s+WHERE kind = \? AND (listed_in|workspace_id) = \? .*AND status IN/s,
  /FROM documents\s+WHERE kind = \? AND listed_in IS NOT NULL/s,
];

/** What a statement reads that it does not need. */
function problemsWith(sql: string): string[] {
  using db = new DatabaseSync(join(directory.path, "bridle.db"), { readOnly: true });
  const plan = db
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all()
    .map(({ detail }) => String(detail));
  const search = plan.find((step) => /^(SEARCH|SCAN) (documents|log)\b/.test(step)) ?? "";
  const isNarrow = /\b(session_id|task_id|owner_id|id)=\?/.test(search);
  const problems: string[] = [];
  if (!search.startsWith("SEARCH")) problems.push("reads a whole table");
  for (const column of ["status", "workspace_id"]) {
    const isFiltered = new RegExp(`AND ${column} (=|IS|IN)`).test(sql);
    // What workspaces a key is bound to is compared in the index, without reading rows.
    const isInIndex = column === "workspace_id" && search.includes("COVERING INDEX");
    if (isFiltered && !isNarrow && !isInIndex && !search.includes(`${column}=?`))
      problems.push(`filters ${column} row by row`);
  }
  if (!isNarrow && plan.some((step) => step.includes("TEMP B-TREE"))) problems.push("sorts");
  return problems.map((problem) => `${problem}: ${sql} (${plan.join("; ")})`);
}
