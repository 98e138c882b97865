/** What is known beyond a conversation: kept, found, forgotten; and what runs make of it. */

import assert from "node:assert/strict";
import { cp } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Client, errorOf, type Json, until } from "../support/client.ts";
import { config } from "../support/knowledge-agents-server.ts";
import { assertRebuildable } from "../support/log.ts";
import { startProcess, startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

const script = fileURLToPath(new URL("../support/knowledge-agents-server.ts", import.meta.url));

let server: TestServer;
let client: Client;

before(async () => {
  server = await startServer({ config });
  client = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

const base = { scope: "workspace", owner_id: "workspace_default", provenance: { actor: "test" } };

/** Lets the librarian do these things, and gives the task once it has ended. */
async function act(by: Client, sessionId: string, ...actions: object[]): Promise<Json> {
  const task = await by.submit(sessionId, "", { persona_id: "persona_librarian", input: { actions } });
  return await by.untilTask(task.id, ({ status }) => status === "COMPLETED" || status === "FAILED");
}

async function resultsOf(by: Client, sessionId: string, ...actions: object[]): Promise<Json[]> {
  const task = await act(by, sessionId, ...actions);
  const { messages } = (await by.get(`/v1/outcomes/${task.outcome_id}`)).body;
  return messages[0].parts[0].value.results;
}

async function eventsOf(by: Client, taskId: string): Promise<Json[]> {
  return await by.listAll(`/v1/tasks/${taskId}/events`);
}

async function search(by: Client, words: string, query = ""): Promise<Json[]> {
  return await by.listAll(`/v1/memories?q=${encodeURIComponent(words)}${query}`);
}

async function newWorkspace(): Promise<string> {
  return (await client.post("/v1/workspaces", { name: "Other", root: "." })).body.id;
}

describe("Memories", () => {
  test("MEM-1 a memory returns every field it was created with and is gone once deleted", async () => {
    // Given a memory with everything said about it, when it is read, then all of it is there; when it is deleted, then
    // it is gone.
    const said = {
      ...base,
      key: "favourite colour",
      content: { colour: "blue", since: 1999 },
      provenance: { actor: "ann", event_id: "evt_1" },
      expires_at: "2099-01-01T00:00:00.000Z",
      embedding_ref: "index:17",
      visibility: "public",
      redaction_policy: { members: ["nothing"] },
      confidence: 0.75,
      metadata: { note: "n" },
    };
    const created = await client.createMemory(said);
    const { status, body } = await client.get(`/v1/memories/${created.id}`);
    assert.equal(status, 200);
    assert.deepEqual(body, created);
    for (const [name, value] of Object.entries(said)) assert.deepEqual(body[name], value, name);
    assert.equal(body.workspace_id, "workspace_default");
    assert.ok(!("deleted_at" in body) && !("tenant_id" in body));

    const path = `/v1/memories/${created.id}`;
    assert.equal((await client.call(path, { method: "DELETE" })).status, 204);
    errorOf(await client.get(path), 404);
    errorOf(await client.call(path, { method: "DELETE" }), 404);
    assert.ok((await client.listAll("/v1/memories")).every(({ id }) => id !== created.id));
    assert.deepEqual(await search(client, "favourite"), []);
  });

  test("MEM-1 a taken key is a conflict that names the memory, and deletion frees the key", async () => {
    // Given a key that is taken, when it is used again, then it is a conflict that names the memory; once that is
    // deleted, then the key is free.
    const first = await client.createMemory({ key: "taken", content: "one" });
    const error = errorOf(await client.post("/v1/memories", { ...base, key: "taken", content: "two" }), 409);
    assert.equal(error.param, "key");
    assert.equal(error.details.memory_id, first.id);
    await client.call(`/v1/memories/${first.id}`, { method: "DELETE" });
    const again = await client.createMemory({ key: "taken", content: "three" });
    assert.equal((await client.get(`/v1/memories/${again.id}`)).body.content, "three");
    assert.deepEqual(
      (await search(client, "taken three")).map(({ id }) => id),
      [again.id],
    );
  });

  const refused: Record<string, [body: object, status: number, param: string | null]> = {
    "an owner that is not there": [{ owner_id: "workspace_none" }, 404, null],
    "a persona that is not there": [{ scope: "persona", owner_id: "persona_none" }, 404, null],
    "a session that is not there": [{ scope: "session", owner_id: "session_none" }, 404, null],
    "another tenant": [{ scope: "tenant", owner_id: "tenant_other" }, 400, "owner_id"],
    "an unknown scope": [{ scope: "world" }, 400, "scope"],
    "no content": [{ content: undefined }, 400, "content"],
    "null as content": [{ content: null }, 400, "content"],
    "content that is too long": [{ content: "x".repeat(20_000) }, 413, "content"],
    "an artifact that is not there": [
      { content: { type: "artifact_ref", artifact_id: "artifact_none", visibility: "public" } },
      404,
      null,
    ],
    "no provenance": [{ provenance: undefined }, 400, "provenance"],
    "a time that is over": [{ expires_at: "2001-01-01T00:00:00Z" }, 400, "expires_at"],
    "a time that is none": [{ expires_at: "soon" }, 400, "expires_at"],
    "too much confidence": [{ confidence: 1.5 }, 400, "confidence"],
    "an empty key": [{ key: "" }, 400, "key"],
    "a workspace beside another owner": [{ workspace_id: "workspace_default" }, 400, "workspace_id"],
  };
  for (const [what, [body, status, param]] of Object.entries(refused)) {
    test(`MEM-1 given ${what}, when a memory is created, then it is refused and nothing is kept`, async () => {
      const count = (await client.listAll("/v1/memories")).length;
      const answer = await client.post("/v1/memories", { ...base, content: "c", ...body });
      assert.equal(errorOf(answer, status).param, param);
      assert.equal((await client.listAll("/v1/memories")).length, count);
    });
  }

  test("MEM-1 given an Idempotency-Key, when a memory is created twice, then there is one", async () => {
    const headers = { "idempotency-key": "memory-once" };
    const body = { ...base, content: "only once" };
    const first = await client.post("/v1/memories", body, headers);
    const second = await client.post("/v1/memories", body, headers);
    assert.equal(first.body.id, second.body.id);
    assert.equal(second.headers.get("idempotent-replayed"), "true");
  });

  test("MEM-2 lists by scope, owner, workspace and session each return only their own memories", async () => {
    // Given memories of every scope, when they are listed by scope, owner, workspace and session, then each list has its
    // own.
    const workspace = await newWorkspace();
    const session = await client.createSession({ workspace_id: workspace });
    const owners = {
      persona: { scope: "persona", owner_id: "persona_porter", workspace_id: workspace },
      session: { scope: "session", owner_id: session.id },
      workspace: { scope: "workspace", owner_id: workspace },
      tenant: { scope: "tenant", owner_id: "tenant_default" },
    };
    const ids: Record<string, string> = {};
    for (const [name, owner] of Object.entries(owners))
      ids[name] = (await client.createMemory({ ...owner, content: `unmistakable ${name}` })).id;
    const named = Object.fromEntries(Object.entries(ids).map(([name, id]) => [id, name]));
    const found = async (query: string) =>
      (await client.listAll(`/v1/memories?${query}`)).flatMap(({ id }) => named[id] ?? []).sort();

    for (const q of ["", "&q=unmistakable"]) {
      assert.deepEqual(await found(`workspace_id=${workspace}${q}`), ["persona", "session", "workspace"]);
      assert.deepEqual(await found(`session_id=${session.id}${q}`), ["session"]);
      assert.deepEqual(await found(`owner_id=persona_porter${q}`), ["persona"]);
      assert.deepEqual(await found(`scope=tenant${q}`), ["tenant"]);
      assert.deepEqual(await found(`scope=workspace&owner_id=${workspace}${q}`), ["workspace"]);
      assert.deepEqual(await found(`scope=tenant&workspace_id=${workspace}${q}`), []);
      assert.deepEqual(await found(`workspace_id=workspace_none${q}`), []);
      assert.deepEqual(await found(`session_id=${session.id}&owner_id=${workspace}${q}`), []);
    }
  });

  test("MEM-2 keys of other tenants and workspaces or without the scope do not see the memories", async () => {
    // Given keys of another tenant, another workspace and without the scope, when they ask, then what is not theirs is
    // not there.
    const workspace = await newWorkspace();
    const memory = await client.createMemory({ owner_id: workspace, content: "zanzibar" });
    const stranger = client.as((await client.createKey({ tenant_id: "tenant_stranger" })).key);
    const neighbour = client.as((await client.createKey({ workspace_ids: ["workspace_default"] })).key);
    for (const other of [stranger, neighbour]) {
      errorOf(await other.get(`/v1/memories/${memory.id}`), 404);
      errorOf(await other.call(`/v1/memories/${memory.id}`, { method: "DELETE" }), 404);
      assert.deepEqual(await search(other, "zanzibar"), []);
      assert.deepEqual(await other.listAll(`/v1/memories?owner_id=${workspace}`), []);
      errorOf(await other.post("/v1/memories", { ...base, owner_id: workspace, content: "mine" }), 404);
    }
    assert.equal((await client.get(`/v1/memories/${memory.id}`)).status, 200);

    const reader = await client.withScopes("memories:read");
    assert.equal((await reader.get(`/v1/memories/${memory.id}`)).status, 200);
    errorOf(await reader.post("/v1/memories", { ...base, content: "c" }), 403);
    const writer = await client.withScopes("memories:write");
    errorOf(await writer.get("/v1/memories"), 403);
  });

  test("MEM-2 a workspace-bound key writes memories for its workspace but not for the whole tenant", async () => {
    // Given a key bound to a workspace, when it writes what is for the whole tenant, then it is denied; for its
    // workspace it is not.
    const bound = client.as((await client.createKey({ workspace_ids: ["workspace_default"] })).key);
    const persona = { ...base, scope: "persona", owner_id: "persona_porter", content: "c" };
    const tenant = { ...base, scope: "tenant", owner_id: "tenant_default", content: "c" };
    assert.equal(errorOf(await bound.post("/v1/memories", persona), 403).param, "workspace_id");
    assert.equal(errorOf(await bound.post("/v1/memories", tenant), 403).param, "scope");
    const own = await bound.post("/v1/memories", { ...persona, workspace_id: "workspace_default" });
    assert.equal(own.status, 201);
  });

  test("MEM-3 an expired memory disappears at once, and its deletion is recorded soon", async () => {
    // Given a memory that expires, when its time is over, then nobody sees it at once, and its deletion is recorded
    // soon.
    const expires = new Date(Date.now() + 400).toISOString();
    const memory = await client.createMemory({ content: "ephemeral", key: "fleeting", expires_at: expires });
    const lasting = await client.createMemory({ content: "ephemeral but lasting" });
    assert.equal((await search(client, "ephemeral")).length, 2);
    await until(
      async () => (await client.get(`/v1/memories/${memory.id}`)).status,
      (status) => status === 404,
    );
    assert.ok(Date.now() >= Date.parse(expires));
    assert.deepEqual(
      (await search(client, "ephemeral")).map(({ id }) => id),
      [lasting.id],
    );
    const [deletion] = await until(
      async () => (await client.listAll("/v1/events")).filter(isDeletionOf(memory.id)),
      (found) => found.length > 0,
    );
    assert.deepEqual(deletion.payload, { reason: "expired" });
    assert.equal(deletion.actor, "system");
    await client.createMemory({ content: "here again", key: "fleeting" });
  });
});

function isDeletionOf(id: string): (event: Json) => boolean {
  return ({ event, resource }) => event === "vendor.bridle.memory.deleted" && resource.id === id;
}

describe("Searching memories", () => {
  let workspace: string;
  before(async () => {
    workspace = await newWorkspace();
    const contents: Json[] = [
      "The deployment of the billing service failed because the certificate had expired.",
      "A certificate is renewed every ninety days. The certificate authority is internal.",
      { service: "billing", notes: ["uses PostgreSQL", { owner: "Zoë Müller" }] },
      "Nothing of interest, except a long text about other things and one certificate among many words that are here to make it long.",
      "日本語 のテキスト",
    ];
    for (const [n, content] of contents.entries())
      await client.createMemory({ owner_id: workspace, key: `note-${n}`, content });
  });

  const keysFor = async (words: string) =>
    (await search(client, words, `&workspace_id=${workspace}`)).map(({ key }) => key);

  test("MEM-4 search finds memories with all words, best first, ignoring case, accents and nesting", async () => {
    // Given words, when they are searched for, then memories with all of them are found, best first, whatever case,
    // accents or place in JSON.
    assert.deepEqual(await keysFor("certificate"), ["note-1", "note-0", "note-3"]);
    assert.deepEqual(await keysFor("billing certificate"), ["note-0"]);
    assert.deepEqual(await keysFor("BILLING"), ["note-2", "note-0"]);
    assert.deepEqual(await keysFor("zoe muller"), ["note-2"]);
    assert.deepEqual(await keysFor("postgres"), ["note-2"]);
    assert.deepEqual(await keysFor("日本"), ["note-4"]);
    assert.deepEqual(await keysFor("note-3"), ["note-3"]);
    assert.deepEqual(await keysFor("certificate nonexistent"), []);
  });

  test("MEM-8 members that redaction_policy names are for those who see internal content only", async () => {
    const body = {
      ...{ scope: "workspace", owner_id: workspace, key: "person-1", provenance: { actor: "ann" } },
      content: { name: "Zora", ssn: "078051120-quokka", address: { street: "Elm", city: "Rome" } },
      redaction_policy: { members: ["ssn", "address.street"] },
    };
    const { status, body: made } = await client.post("/v1/memories", body);
    assert.equal(status, 201, JSON.stringify(made));
    assert.deepEqual(made.content, body.content);
    const reader = await client.withScopes("memories:read", "memories:write", "events:read");
    const { content } = (await reader.get(`/v1/memories/${made.id}`)).body;
    const withheld = "[redacted by redaction_policy]";
    assert.deepEqual(content, { name: "Zora", ssn: withheld, address: { street: withheld, city: "Rome" } });
    assert.ok(!JSON.stringify(await reader.listAll("/v1/events")).includes("quokka"));
    assert.deepEqual([await keysFor("zora rome"), await keysFor("quokka")], [["person-1"], []]);
    const unknown = { ...body, key: "person-2", redaction_policy: { mask: "all" } };
    assert.equal(errorOf(await client.post("/v1/memories", unknown), 422).param, "redaction_policy");
    await client.call(`/v1/memories/${made.id}`, { method: "DELETE" });
  });

  const hostile = [
    '"',
    '""',
    'certificate"',
    '"certificate" OR "billing"',
    "certificate AND",
    "NOT certificate",
    "NEAR(certificate billing, 2)",
    "text:certificate",
    "{text}: certificate",
    "^certificate",
    "certificate*",
    "*",
    "-",
    "(",
    "'; DROP TABLE documents; --",
    "\u0000",
    "certificate\u0000",
    "\ud800",
    "%",
    "x ".repeat(400),
    "\\",
    "+".repeat(1000),
  ];
  test("MEM-4 search treats query syntax as plain words, without errors or extra matches", async () => {
    // Given what looks like a query language, when it is searched for, then it is words: no error, and nothing that is
    // not asked for.
    for (const words of hostile) {
      const { status, body } = await client.get(
        `/v1/memories?workspace_id=${workspace}&q=${encodeURIComponent(words.toWellFormed())}`,
      );
      assert.equal(status, 200, `${JSON.stringify(words)}: ${JSON.stringify(body)}`);
    }
    assert.deepEqual(await keysFor('"certificate" OR "billing"'), []);
    assert.deepEqual(await keysFor("OR certificate"), []);
    assert.deepEqual(await keysFor("certificate*"), ["note-1", "note-0", "note-3"]);
    assert.deepEqual(await keysFor("*"), []);
    errorOf(await client.get("/v1/memories?q="), 400);
    errorOf(await client.get(`/v1/memories?q=${"x".repeat(1001)}`), 400);
  });

  test("MEM-4 search cursors return each match once, and a list's cursor is rejected", async () => {
    // Given more matches than fit on a page, when the cursors are followed, then each match comes once; a cursor of a
    // list is refused.
    const other = await newWorkspace();
    for (let n = 0; n < 23; n++)
      await client.createMemory({ owner_id: other, content: `paging ${"word ".repeat(n % 5)}${n}` });
    const found = await client.listAll(`/v1/memories?q=paging&workspace_id=${other}`, 4);
    assert.equal(found.length, 23);
    assert.equal(new Set(found.map(({ id }) => id)).size, 23);
    const { page } = (await client.get(`/v1/memories?limit=1&workspace_id=${other}`)).body;
    errorOf(await client.get(`/v1/memories?q=paging&cursor=${page.next_cursor}`), 400);
    const searched = (await client.get(`/v1/memories?q=paging&limit=1&workspace_id=${other}`)).body.page;
    errorOf(await client.get(`/v1/memories?cursor=${searched.next_cursor}`), 400);
  });

  test("MEM-4 an internal memory shows only its existence without the scope, even to searches", async () => {
    // Given an internal memory, when a caller without the scope for it looks, then it shows that there is one, and
    // searching does not tell what it says.
    const hidden = await client.createMemory({ content: "xylophone", visibility: "internal" });
    const reader = await client.withScopes("memories:read", "events:read");
    assert.equal((await search(client, "xylophone"))[0].content, "xylophone");
    assert.deepEqual(await search(reader, "xylophone"), []);
    const { body } = await reader.get(`/v1/memories/${hidden.id}`);
    assert.equal(body.content.redacted, true);
    assert.ok(!JSON.stringify(await reader.listAll("/v1/memories")).includes("xylophone"));
    assert.ok(!JSON.stringify(await reader.listAll("/v1/events")).includes("xylophone"));
  });
});

describe("Memories and runs", () => {
  test("MEM-5 a run reads what another run wrote, and the transcript holds only what was said", async () => {
    // Given a script, when a run writes and another reads, then it says what is known; the transcript holds only what
    // was said.
    const first = await client.createSession();
    await client.rehearse(first.id, "memory write drink tea", "memory read drink", "memory read food");
    const second = await client.createSession();
    await client.rehearse(second.id, "memory write drink coffee with milk", "memory read drink");
    assert.deepEqual((await client.texts(first.id)).slice(1), [
      "Remembered drink",
      "drink is tea",
      "Nothing is known of food",
    ]);
    assert.deepEqual((await client.texts(second.id)).slice(1), [
      "Remembered drink",
      "drink is coffee with milk",
    ]);
    const known = await search(client, "drink coffee", "&owner_id=persona_rehearsal");
    assert.equal(known.length, 1);
    assert.equal(known[0].scope, "persona");
    assert.equal(known[0].provenance.step, "memory:write:drink:1");
  });

  for (const line of [
    "memory",
    "memory write",
    "memory write key",
    "memory read",
    "memory read a b",
    "memory forget key",
  ]) {
    test(`MEM-5 given the line "${line}", when it is rehearsed, then the task fails naming it`, async () => {
      const session = await client.createSession();
      const task = await client.rehearse(session.id, line);
      assert.equal(task.status, "FAILED");
      assert.match(task.failure.message, /^Line 1: "memory" needs/);
    });
  }

  test("MEM-5 memory writes, reads and searches are events with their step and in no message", async () => {
    // Given a run that writes, reads and searches, when its events are read, then each is told with its step and no
    // message holds it.
    const session = await client.createSession();
    const task = await act(
      client,
      session.id,
      { do: "write", key: "river", content: "quokka", scope: "session" },
      { do: "read", key: "river", scope: "session" },
      { do: "search", words: "quokka" },
    );
    const events = await eventsOf(client, task.id);
    const [written] = events.filter(({ event }) => event === "agent.memory_write");
    const reads = events.filter(({ event }) => event === "agent.memory_read");
    const [memory] = await search(client, "quokka");
    assert.deepEqual(written.payload, {
      step: "memory:write:river:1",
      key: "river",
      memory_id: memory.id,
      scope: "session",
      owner_id: session.id,
    });
    assert.deepEqual(
      reads.map(({ payload }) => [payload.step, payload.key, payload.query, payload.memory_ids]),
      [
        ["memory:read:river:1", "river", null, [memory.id]],
        ["memory:search:1", null, "quokka", [memory.id]],
      ],
    );
    assert.equal(memory.provenance.task_id, task.id);
    const said = events.filter(({ event }) => event.endsWith(".message") && event !== "agent.message");
    assert.deepEqual(said, []);
  });

  test("MEM-5 one key has its own value in each scope, and a persona's differs by workspace", async () => {
    // Given the same key in every scope, when runs read it, then each scope has its own value and a persona knows in one
    // workspace what it does not know in another.
    const [one, two] = [await newWorkspace(), await newWorkspace()];
    const first = await client.createSession({ workspace_id: one });
    const second = await client.createSession({ workspace_id: two });
    const scopes = ["persona", "session", "workspace", "tenant"];
    const writes = scopes.map((scope) => ({ do: "write", key: "scoped", content: `of ${scope}`, scope }));
    const reads = scopes.map((scope) => ({ do: "read", key: "scoped", scope }));
    const results = await resultsOf(client, first.id, ...writes, ...reads, { do: "read", key: "scoped" });
    assert.deepEqual(results.slice(4), [...scopes.map((scope) => `of ${scope}`), "of persona"]);
    assert.deepEqual(await resultsOf(client, second.id, ...reads), [null, null, null, "of tenant"]);
    assert.deepEqual(await resultsOf(client, second.id, { do: "search", words: "scoped of" }), [
      [["scoped", "of tenant"]],
    ]);
    await client.createMemory({
      scope: "persona",
      owner_id: "persona_librarian",
      key: "everywhere",
      content: 7,
    });
    assert.deepEqual(await resultsOf(client, second.id, { do: "read", key: "everywhere" }), [7]);
  });

  test("MEM-5 a run that writes invalid content or an invalid key fails and stores nothing", async () => {
    // Given content or a key that cannot be kept, when a run writes it, then the run fails and nothing is kept.
    const session = await client.createSession();
    const bad = [
      { do: "write", key: "big", content: "x".repeat(20_000) },
      { do: "write", key: "", content: "x" },
      { do: "write", key: "k".repeat(201), content: "x" },
      { do: "write", key: "past", content: "x", expires_in_ms: -5 },
    ];
    for (const action of bad) assert.equal((await act(client, session.id, action)).status, "FAILED");
    assert.deepEqual(await client.listAll(`/v1/memories?owner_id=${session.id}`), []);
    await resultsOf(client, session.id, { do: "write", key: "brief", content: "x", expires_in_ms: 1 });
    await until(
      async () => (await resultsOf(client, session.id, { do: "read", key: "brief" }))[0],
      (read) => read === null,
    );
  });

  test("MEM-5 a read-only persona reads, and its writes fail the task, also on replay", async () => {
    // Given a persona that may read and not write, when its runs do either, then reading works and writing fails the
    // task, also when it is replayed.
    const { body: persona } = await client.post("/v1/personas", {
      name: "reader",
      version: "1",
      entry_workflow: "librarian",
      description: "Reads only.",
      autonomy_tier: "act_auto",
      receipt_policy: "required",
      capabilities: ["memory:read"],
    });
    await client.createMemory({ scope: "persona", owner_id: persona.id, key: "given", content: "yes" });
    const session = await client.createSession({ persona_id: persona.id });
    const submit = async (action: object) => {
      const { body } = await client.post("/v1/tasks", {
        session_id: session.id,
        input: { actions: [action] },
      });
      return await client.untilTask(body.id, ({ status }) => ["COMPLETED", "FAILED"].includes(status));
    };
    assert.equal((await submit({ do: "read", key: "given" })).status, "COMPLETED");
    const denied = await submit({ do: "write", key: "given", content: "no" });
    assert.equal(denied.failure?.code, "policy_violation");
    const [memory] = await client.listAll(`/v1/memories?owner_id=${persona.id}`);
    assert.equal(memory.content, "yes");
    const { body } = await client.post(`/v1/tasks/${denied.id}/replay`);
    const replay = await client.untilTask(body.id, ({ status }) => ["COMPLETED", "FAILED"].includes(status));
    assert.equal(replay.failure?.code, "policy_violation");
  });

  test("MEM-5 concurrent runs writing one key leave one memory and log every write", async () => {
    // Given many runs that write one key at once, when all have ended, then there is one memory and every write is in
    // the log.
    const session = await client.createSession();
    const writers = Array.from({ length: 12 }, (_, n) => ({
      do: "write",
      key: "busy",
      content: n,
      scope: "session",
    }));
    const tasks = await Promise.all(writers.map((action) => act(client, session.id, action)));
    assert.ok(tasks.every(({ status }) => status === "COMPLETED"));
    const memories = await client.listAll(`/v1/memories?owner_id=${session.id}`);
    assert.equal(memories.length, 1);
    const log = await client.listAll(`/v1/sessions/${session.id}/events`);
    assert.equal(log.filter(({ event }) => event === "agent.memory_write").length, 12);
  });

  test("MEM-6 a replay gets the memory as its run read it and writes nothing", async () => {
    // Given a memory that changed since, when the run that read it is replayed, then it is given what it read, and
    // nothing is written.
    const session = await client.createSession();
    const source = await act(
      client,
      session.id,
      { do: "write", key: "fact", content: "old" },
      { do: "read", key: "fact" },
      { do: "search", words: "fact old" },
    );
    await act(client, session.id, { do: "write", key: "fact", content: "new" });
    const before = await search(client, "fact", "&owner_id=persona_librarian");
    const { status, body } = await client.post(`/v1/tasks/${source.id}/replay`, { mode: "exact" });
    assert.equal(status, 202);
    const replay = await client.untilTask(body.id, (task) => ["COMPLETED", "FAILED"].includes(task.status));
    assert.equal(replay.status, "COMPLETED", JSON.stringify(replay.failure));
    assert.deepEqual(await search(client, "fact", "&owner_id=persona_librarian"), before);
    const told = (events: Json[]) =>
      events
        .filter(({ event }) => event.startsWith("agent.memory_") || event === "span.completed")
        .map(({ event, payload }) => [event, payload]);
    const [original, repeated] = [await eventsOf(client, source.id), await eventsOf(client, replay.id)];
    assert.deepEqual(told(repeated), told(original));
    assert.ok(JSON.stringify(told(repeated)).includes("old"));

    const overridden = await client.post(`/v1/tasks/${source.id}/replay`, {
      mode: "with_overrides",
      override: { "memory:read:fact:1": { kind: "host_fact", value: "given" } },
    });
    const other = await client.untilTask(overridden.body.id, (task) => task.status === "COMPLETED");
    const outcome = (await client.get(`/v1/outcomes/${other.outcome_id}`)).body;
    assert.equal(outcome.messages[0].parts[0].value.results[1], "given");
  });

  test("MEM-6 a waiting run keeps the memory it read across a change and a server kill", async () => {
    // Given a run that waits, when the memory it read changes and the server is killed, then the run goes on with what
    // it read.
    await using directory = await temporaryDirectory();
    await using first = await startProcess({ script, data: directory.path });
    let by = new Client(first);
    const session = await by.createSession();
    const actions = [{ do: "read", key: "k" }, { do: "ask" }, { do: "read", key: "k" }];
    const task = await by.submit(session.id, "", { persona_id: "persona_librarian", input: { actions } });
    await by.untilTask(task.id, ({ status }) => status === "INPUT_REQUIRED");
    await act(by, session.id, { do: "write", key: "k", content: "meanwhile" });
    await first.kill();
    await using server = await startServer({ data: directory.path, config });
    by = new Client(server);
    await by.answer(task.id, "yes");
    const ended = await by.untilTask(task.id, ({ status }) => status === "COMPLETED");
    const outcome = (await by.get(`/v1/outcomes/${ended.outcome_id}`)).body;
    assert.deepEqual(outcome.messages[0].parts[0].value.results, [null, "yes", "meanwhile"]);
    await server.stop();
    await assertRebuildable(directory.path);
  });

  /** A data directory with a session in it: what is committed from then on is the run's. */
  let prepared: Awaited<ReturnType<typeof temporaryDirectory>>;
  let sessionId: string;
  before(async () => {
    prepared = await temporaryDirectory();
    await using first = await startServer({ data: prepared.path, config });
    sessionId = (await new Client(first).createSession()).id;
    await first.stop();
  });
  after(() => prepared[Symbol.asyncDispose]());

  for (const point of ["commit.durable:2", "commit.written:3"]) {
    test(`MEM-6 a run resumed after a kill at ${point} logs each write once`, async () => {
      // Given a kill at ${point}, when the run is driven on, then each write is in the log once.
      await using directory = await temporaryDirectory();
      await cp(prepared.path, directory.path, { recursive: true });
      await using killed = await startProcess({
        script,
        data: directory.path,
        env: { BRIDLE_FAIL_POINT: point },
      });
      const actions = [
        { do: "write", key: "a", content: 1 },
        { do: "read", key: "a" },
        { do: "write", key: "b", content: 2 },
        { do: "read", key: "b" },
        { do: "write", key: "a", content: 3 },
      ];
      const body = { session_id: sessionId, persona_id: "persona_librarian", input: { actions } };
      const headers = { "idempotency-key": "once" };
      await new Client(killed).post("/v1/tasks", body, headers).catch(() => null);
      await until(
        async () => killed.process.signalCode,
        (signal) => signal === "SIGKILL",
      );
      await using server = await startServer({ data: directory.path, config });
      const by = new Client(server);
      const { body: task } = await by.post("/v1/tasks", body, headers);
      const ended = await by.untilTask(task.id, ({ status }) => status === "COMPLETED");
      const events = await eventsOf(by, ended.id);
      const writes = events.filter(({ event }) => event === "agent.memory_write");
      assert.deepEqual(
        writes.map(({ payload }) => payload.step),
        ["memory:write:a:1", "memory:write:b:1", "memory:write:a:2"],
      );
      const changes = (await by.listAll("/v1/events")).filter(({ event }) =>
        /^vendor\.bridle\.memory\.(created|updated)$/.test(event),
      );
      assert.deepEqual(
        changes.map(({ event }) => event.split(".").at(-1)),
        ["created", "created", "updated"],
      );
    });
  }

  test("MEM-7 runs find the memories chosen for their session, and a forbidden choice is rejected", async () => {
    // Given a session with memories of its own choice, when its runs read, then they find them; what may not be chosen
    // is refused.
    const workspace = await newWorkspace();
    const porters = await client.createMemory({
      scope: "persona",
      owner_id: "persona_porter",
      workspace_id: workspace,
      key: "gate",
      content: "opens at seven, umbrella",
    });
    const session = await client.createSession({
      workspace_id: workspace,
      memory_ids: [porters.id, porters.id],
    });
    assert.deepEqual((await client.get(`/v1/sessions/${session.id}`)).body.memory_ids, [porters.id]);
    const asked = [
      { do: "read", key: "gate" },
      { do: "read", key: "gate", scope: "persona" },
      { do: "search", words: "umbrella" },
    ];
    assert.deepEqual(await resultsOf(client, session.id, ...asked), [
      "opens at seven, umbrella",
      null,
      [["gate", "opens at seven, umbrella"]],
    ]);
    const without = await client.createSession({ workspace_id: workspace });
    assert.deepEqual(await resultsOf(client, without.id, ...asked), [null, null, []]);

    await client.call(`/v1/memories/${porters.id}`, { method: "DELETE" });
    assert.deepEqual(await resultsOf(client, session.id, ...asked), [null, null, []]);
    const elsewhere = await client.createMemory({ owner_id: workspace, content: "c" });
    errorOf(await client.post("/v1/sessions", { workspace_id: workspace, memory_ids: [porters.id] }), 404);
    const answer = await client.post("/v1/sessions", {
      workspace_id: "workspace_default",
      memory_ids: [elsewhere.id],
    });
    assert.equal(errorOf(answer, 400).param, "memory_ids");
  });
});
