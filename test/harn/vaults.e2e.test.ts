/** Vaults: what goes in never comes out but to a run that may have it, and no crash or wrong key loses or shows it. */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import { bridle, errorLine, fixtureAgents, succeeded } from "../support/cli.ts";
import { Client, errorOf, isFinal, type Json } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import { startProcess, startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

const flags = ["--agents", fixtureAgents("keeper.ts")];
const all = ["read", "write", "delete"];

async function createVault(client: Client, body: object = {}): Promise<Json> {
  const answer = await client.post("/v1/vaults", { provider: "local", capabilities: all, ...body });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

function put(client: Client, vaultId: string, name: string, value: unknown, headers = {}) {
  return client.call(`/v1/vaults/${vaultId}/secrets/${name}`, { method: "PUT", body: { value }, headers });
}

async function set(client: Client, vaultId: string, name: string, value: string): Promise<Json> {
  const answer = await put(client, vaultId, name, value);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

/** Has the keeper do something, and gives the task once it has ended or waits. */
async function keep(client: Client, sessionId: string, input: object): Promise<Json> {
  const body = { session_id: sessionId, persona_id: "persona_keeper", input };
  const answer = await client.post("/v1/tasks", body, { prefer: "wait=30" });
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  return answer.body;
}

/** The length of a secret, as a run of the session sees it; the failure when it sees none. */
async function lengthIn(client: Client, sessionId: string, name: string, vault?: string): Promise<Json> {
  const ask = { do: "length", name, ...(vault === undefined ? {} : { vault }) };
  const task = await keep(client, sessionId, ask);
  if (task.status === "FAILED") return task.failure;
  const { body } = await client.get(`/v1/outcomes/${task.outcome_id}`);
  return body.messages[0].parts[0].value;
}

describe("Vaults", () => {
  let server: TestServer;
  let client: Client;

  before(async () => {
    server = await startServer({ flags });
    client = new Client(server);
  });
  after(() => server[Symbol.asyncDispose]());

  test("VLT-1 a new vault is read and listed without its contents", async () => {
    // Given a new vault, when it is read and listed, then it is described without what it holds.
    const vault = await createVault(client, { workspace_id: "workspace_default", metadata: { team: "a" } });
    assert.equal(vault.object, "vault");
    assert.equal(vault.workspace_id, "workspace_default");
    assert.deepEqual(vault.capabilities, all);
    await set(client, vault.id, "ONE", "value one");
    const { body } = await client.get(`/v1/vaults/${vault.id}`);
    assert.deepEqual({ ...body, updated_at: 0 }, { ...vault, secret_count: 1, updated_at: 0 });
    const listed = await client.listAll("/v1/vaults?workspace_id=workspace_default");
    assert.deepEqual(
      listed.find(({ id }) => id === vault.id),
      body,
    );
    assert.ok(!("secrets" in body) && !("data_key" in body));
  });

  const refused: [string, object, string][] = [
    ["another provider", { provider: "aws" }, "provider"],
    ["a capability without a name", { capabilities: ["read", ""] }, "capabilities[1]"],
    ["no capability", { capabilities: [] }, "capabilities"],
  ];
  for (const [what, body, param] of refused) {
    test(`VLT-1 given ${what}, when a vault is created, then it is refused naming ${param}`, async () => {
      const count = (await client.listAll("/v1/vaults")).length;
      const answer = await client.post("/v1/vaults", { provider: "local", capabilities: all, ...body });
      const error = errorOf(answer, 400);
      assert.equal(error.param, param);
      if (param === "provider") assert.deepEqual(error.details.supported, ["local", "hashicorp"]);
      assert.equal((await client.listAll("/v1/vaults")).length, count);
    });
  }

  test("VLT-1 given an unknown workspace, when a vault is created in it, then it is 404", async () => {
    const body = { provider: "local", capabilities: all, workspace_id: "workspace_unknown" };
    errorOf(await client.post("/v1/vaults", body), 404);
  });

  test("VLT-1 names and versions reflect setting a secret again, listing and deleting it", async () => {
    // Given a secret, when it is set again, listed and deleted, then names and versions tell so.
    const { id } = await createVault(client);
    assert.equal((await set(client, id, "B", "first")).version, 1);
    const second = await set(client, id, "B", "second");
    assert.equal(second.version, 2);
    await set(client, id, "A", "other");
    const { body } = await client.get(`/v1/vaults/${id}/secrets`);
    assert.deepEqual(
      body.data.map(({ name, version }: Json) => [name, version]),
      [
        ["A", 1],
        ["B", 2],
      ],
    );
    assert.deepEqual(Object.keys(body.data[0]).sort(), [
      "created_at",
      "metadata",
      "name",
      "object",
      "updated_at",
      "vault_id",
      "version",
    ]);
    const gone = await client.call(`/v1/vaults/${id}/secrets/B`, { method: "DELETE" });
    assert.deepEqual([gone.status, gone.body.name], [200, "B"]);
    errorOf(await client.call(`/v1/vaults/${id}/secrets/B`, { method: "DELETE" }), 404);
    assert.equal((await client.get(`/v1/vaults/${id}`)).body.secret_count, 1);
  });

  const badSecrets: [string, string, unknown, string][] = [
    ["a name with a slash", "a%2Fb", "value", "secret_name"],
    ["a name that is a credential", `sk-${"a1B2".repeat(12)}`, "value", "secret_name"],
    ["a name that begins with a digit", "1A", "value", "secret_name"],
    ["an empty value", "A", "", "value"],
    ["a value that is no text", "A", { deep: 1 }, "value"],
    ["a value that is too large", "A", "x".repeat(16 * 1024 + 1), "value"],
  ];
  for (const [what, name, value, param] of badSecrets) {
    test(`VLT-1 given ${what}, when it is set, then it is 400 naming ${param} and nothing changed`, async () => {
      const { id } = await createVault(client);
      const error = errorOf(await put(client, id, name, value), 400);
      assert.equal(error.param, param);
      assert.equal((await client.get(`/v1/vaults/${id}`)).body.secret_count, 0);
    });
  }

  test("VLT-1 a vault rejects operations outside its capabilities", async () => {
    // Given vaults with fewer capabilities, when what they lack is tried, then it is refused.
    const session = await client.createSession();
    const locked = await createVault(client, { capabilities: ["read"] });
    assert.equal(errorOf(await put(client, locked.id, "A", "value"), 422).code, "policy_violation");
    const silent = await createVault(client, { capabilities: ["write"] });
    await set(client, silent.id, "UNREADABLE", "value");
    assert.equal((await lengthIn(client, session.id, "UNREADABLE")).code, "secret_unavailable");
    assert.equal((await lengthIn(client, session.id, "UNREADABLE", silent.id)).code, "secret_unavailable");
    const path = `/v1/vaults/${silent.id}/secrets/UNREADABLE`;
    assert.equal(errorOf(await client.call(path, { method: "DELETE" }), 422).code, "policy_violation");
  });

  test("VLT-3 a secret resolves from session vaults first, then workspace, then tenant", async () => {
    // Given one name in several vaults, when a run reads it, then the session's vaults come first, then the workspace's,
    // then the tenant's.
    const [tenant, workspace, first, second] = [
      await createVault(client),
      await createVault(client, { workspace_id: "workspace_default" }),
      await createVault(client, { workspace_id: "workspace_default" }),
      await createVault(client),
    ];
    const { id: plain } = await client.createSession();
    const { id: named } = await client.createSession({ vault_ids: [second.id, first.id] });
    await set(client, tenant.id, "ORDER", "x");
    assert.equal(await lengthIn(client, plain, "ORDER"), 1);
    await set(client, workspace.id, "ORDER", "xx");
    await set(client, first.id, "ORDER", "xxx");
    assert.equal(await lengthIn(client, plain, "ORDER"), 2);
    assert.equal(await lengthIn(client, named, "ORDER"), 3);
    await set(client, second.id, "ORDER", "xxxx");
    assert.equal(await lengthIn(client, named, "ORDER"), 4);
    assert.equal(await lengthIn(client, named, "ORDER", tenant.id), 1);
    const { body } = await client.get(`/v1/sessions/${named}`);
    assert.deepEqual(body.vault_ids, [second.id, first.id]);
    const fork = await client.post(`/v1/sessions/${named}/fork`);
    assert.deepEqual(fork.body.vault_ids, [second.id, first.id]);
  });

  test("VLT-3 a run cannot find a vault of another workspace by name or by id", async () => {
    // Given a vault of another workspace, when a run asks for it by name or by id, then it is not there.
    const { body: other } = await client.post("/v1/workspaces", { name: "Other", root: "/other" });
    const foreign = await createVault(client, { workspace_id: other.id });
    await set(client, foreign.id, "FOREIGN", "value");
    const { id } = await client.createSession();
    assert.equal((await lengthIn(client, id, "FOREIGN")).code, "secret_unavailable");
    assert.equal((await lengthIn(client, id, "FOREIGN", foreign.id)).code, "secret_unavailable");
    const body = { workspace_id: "workspace_default", vault_ids: [foreign.id] };
    assert.equal(errorOf(await client.post("/v1/sessions", body), 400).param, "vault_ids");
    errorOf(await client.post("/v1/sessions", { ...body, vault_ids: ["vault_unknown"] }), 404);
    const { id: inside } = await client.createSession({ workspace_id: other.id });
    assert.equal(await lengthIn(client, inside, "FOREIGN"), 5);
  });

  test("VLT-4 reading a missing secret fails and names that secret only", async () => {
    // Given a secret that is not there, when a run reads it, then it fails naming it and no other.
    const { id } = await client.createSession();
    const vault = await createVault(client);
    await set(client, vault.id, "PRESENT_AND_UNRELATED", "value");
    const failure = await lengthIn(client, id, "ABSENT");
    assert.equal(failure.code, "secret_unavailable");
    assert.match(failure.message, /"ABSENT"/);
    assert.doesNotMatch(JSON.stringify(failure), /PRESENT|vault_/);
  });

  test("VLT-4 a failed secret read still fails on replay after the secret is set", async () => {
    // Given a run that went on without a secret, when it is run again and the secret is there, then the first read still
    // fails.
    const { id } = await client.createSession();
    const task = await keep(client, id, { do: "twice", name: "LATE" });
    assert.equal(task.status, "INPUT_REQUIRED");
    const vault = await createVault(client);
    await set(client, vault.id, "LATE", "x");
    await client.answer(task.id, "yes");
    const ended = await client.untilTask(task.id, isFinal);
    const { body } = await client.get(`/v1/outcomes/${ended.outcome_id}`);
    const [before, now] = body.messages[0].parts[0].value;
    assert.ok(before > 20, "the message of the failure");
    assert.equal(now, 1);
  });

  test("VLT-3 the log of a secret read names the secret and its vault", async () => {
    // Given a secret that was read, when the log is read, then it names the secret and the vault.
    const { id } = await client.createSession();
    const vault = await createVault(client);
    await set(client, vault.id, "SEEN", "a value that is seen");
    const task = await client.rehearse(id, "secret SEEN");
    assert.equal(task.status, "COMPLETED");
    assert.deepEqual(await client.texts(id), ["secret SEEN", "Secret SEEN has 20 characters"]);
    const events = await client.listAll(`/v1/tasks/${task.id}/events`);
    const read = events.find(({ payload }) => payload.step === "secret:SEEN:1");
    assert.deepEqual(read.payload.from_vault, { vault_id: vault.id, version: 1 });
    assert.deepEqual(read.payload.result, { output: null });
  });

  test("VLT-9 keys of other scopes, tenants and workspaces are rejected and learn nothing", async () => {
    // Given keys of other scopes, tenants and workspaces, when they use a vault, then they are refused and learn
    // nothing.
    const { body: room } = await client.post("/v1/workspaces", { name: "Room", root: "/room" });
    const vault = await createVault(client, { workspace_id: room.id });
    const shared = await createVault(client);
    await set(client, vault.id, "A", "value");
    const stranger = client.as((await client.createKey({ tenant_id: "tenant_elsewhere" })).key);
    const neighbour = client.as((await client.createKey({ workspace_ids: ["workspace_default"] })).key);
    for (const other of [stranger, neighbour]) {
      errorOf(await other.get(`/v1/vaults/${vault.id}`), 404);
      errorOf(await other.get(`/v1/vaults/${vault.id}/secrets`), 404);
      errorOf(await put(other, vault.id, "A", "theirs"), 404);
      errorOf(await other.call(`/v1/vaults/${vault.id}/secrets/A`, { method: "DELETE" }), 404);
      errorOf(await other.post(`/v1/vaults/${vault.id}/rotate`), 404);
      errorOf(await other.post("/v1/vaults/rotate-master-key"), 403);
      assert.ok(!(await other.listAll("/v1/vaults")).some(({ id }) => id === vault.id));
    }
    // What reaches every workspace is not for those who see some of them only.
    errorOf(await put(neighbour, shared.id, "A", "theirs"), 403);
    errorOf(await neighbour.post(`/v1/vaults/${shared.id}/rotate`), 403);
    errorOf(await neighbour.post("/v1/vaults", { provider: "local", capabilities: all }), 403);
    const reader = await client.withScopes("vaults:read");
    assert.equal((await reader.get(`/v1/vaults/${vault.id}`)).status, 200);
    errorOf(await put(reader, vault.id, "A", "theirs"), 403);
    const writer = await client.withScopes("vaults:write");
    errorOf(await writer.get(`/v1/vaults/${vault.id}/secrets`), 403);
    assert.equal((await put(writer, vault.id, "A", "new")).status, 200);
  });

  test("VLT-1 concurrent writers of one vault lose no secret", async () => {
    // Given many writers of one vault at once, when all have answered, then every secret is there and none was lost.
    const { id } = await createVault(client);
    const names = Array.from({ length: 30 }, (_, n) => `NAME_${n}`);
    const answers = await Promise.all(names.map((name) => put(client, id, name, `value of ${name}`)));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    const { body } = await client.get(`/v1/vaults/${id}/secrets`);
    assert.deepEqual(body.data.map(({ name }: Json) => name).sort(), names.toSorted());
  });

  test("VLT-6 rotating a vault's data key replaces the key and keeps the secrets", async () => {
    // Given a vault with secrets, when its data key is rotated, then it has another and the secrets are what they were.
    const { id } = await client.createSession();
    const vault = await createVault(client);
    await set(client, vault.id, "ROTATED", "12345678901");
    for (const version of [2, 3]) {
      const { body } = await client.post(`/v1/vaults/${vault.id}/rotate`);
      assert.equal(body.data_key_version, version);
      assert.equal(await lengthIn(client, id, "ROTATED"), 11);
    }
    assert.equal((await set(client, vault.id, "ROTATED", "123")).version, 2);
    assert.equal(await lengthIn(client, id, "ROTATED"), 3);
  });
});

/** Every place that the server keeps or tells something, and whether one of the values is in it, as text or encoded. */
function leaks(values: readonly string[], texts: Iterable<[place: string, bytes: Buffer]>): string[] {
  const forms = values.flatMap((value) => [
    Buffer.from(value),
    Buffer.from(JSON.stringify(value).slice(1, -1)),
    Buffer.from(Buffer.from(value).toString("base64").slice(2, -4)),
    Buffer.from(Buffer.from(value).toString("hex")),
    Buffer.from(encodeURIComponent(value)),
  ]);
  return [...texts].flatMap(([place, bytes]) => (forms.some((form) => bytes.includes(form)) ? [place] : []));
}

function* filesIn(directory: string): Generator<[string, Buffer]> {
  for (const name of readdirSync(directory, { recursive: true, encoding: "utf8" })) {
    const file = join(directory, name);
    if (statSync(file).isFile()) yield [name, readFileSync(file)];
  }
}

test("VLT-2 no secret appears in any answer, event, receipt, export, log, file or record", async () => {
  // Given secrets that were set and spilled by a run, when everything is read, then no answer, event, receipt, export,
  // log, file or record has one.
  const values = [`cana"ry-${"one-".repeat(3)}Xy\\7`, "cánary two é \n with lines and 'quotes'"];
  await using server = await startServer({ flags, env: { BRIDLE_LOG_LEVEL: "trace" } });
  const client = new Client(server);
  const session = await client.createSession();
  const vault = await createVault(client);
  const told: [string, Buffer][] = [];
  const tell = (place: string, value: unknown) => told.push([place, Buffer.from(JSON.stringify(value))]);

  for (const [n, value] of values.entries()) {
    const headers = { "idempotency-key": `key-${n}` };
    const first = await put(client, vault.id, `CANARY_${n}`, value, headers);
    const again = await put(client, vault.id, `CANARY_${n}`, value, headers);
    assert.equal(again.headers.get("idempotent-replayed"), "true");
    assert.deepEqual(again.body, first.body);
    assert.equal(
      errorOf(await put(client, vault.id, `CANARY_${n}`, `${value}!`, headers), 409).code,
      "idempotency_key_reused",
    );
    tell("answer", [first.body, again.body]);
    tell("error: name", (await put(client, vault.id, "1", value)).body);
    tell("error: vault", (await put(client, "vault_unknown", "A", value)).body);
    tell("error: too large", (await put(client, vault.id, "A", value.repeat(1000))).body);
    tell(
      "error: broken",
      (
        await client.call(`/v1/vaults/${vault.id}/secrets/A`, {
          method: "PUT",
          raw: `{"value": ${JSON.stringify(value)}`,
        })
      ).body,
    );
    const task = await keep(client, session.id, { do: "spill", name: `CANARY_${n}` });
    assert.equal(task.status, "INPUT_REQUIRED");
    await client.answer(task.id, "no");
    const ended = await client.untilTask(task.id, isFinal);
    assert.equal(ended.failure.code, "spilled", JSON.stringify(ended.failure));
    tell("task", ended);
    tell("receipt", (await client.get(`/v1/receipts/${ended.receipt_id}`)).body);
    const lines = await fetch(`${server.url}/v1/tasks/${ended.id}/export`, { headers: client.headers() });
    assert.equal(lines.status, 200);
    tell("export", await lines.text());
    const replay = await client.post(`/v1/tasks/${ended.id}/replay`, {
      mode: "with_overrides",
      metadata: { allow_live: ["secret"] },
    });
    tell("replay", await client.untilTask(replay.body.id, isFinal));
  }
  await client.post(`/v1/vaults/${vault.id}/rotate`);
  await client.post("/v1/vaults/rotate-master-key");
  tell("events", await client.listAll("/v1/events"));
  tell("messages", await client.listAll(`/v1/sessions/${session.id}/messages`));
  tell("secrets", (await client.get(`/v1/vaults/${vault.id}/secrets`)).body);
  tell("file", (await client.get("/v1/workspaces/workspace_default/files?path=spilled.txt")).body);
  for (const artifact of await client.listAll("/v1/artifacts")) {
    tell("artifact", [artifact, (await client.get(`/v1/artifacts/${artifact.id}/content`)).body]);
  }
  assert.ok(told.length > 20);
  assert.deepEqual(leaks(values, told), []);
  assert.ok(JSON.stringify(told.map(([, bytes]) => bytes.toString())).includes("[redacted:secret]"));
  assert.deepEqual(leaks(values, filesIn(server.data)), [], "while it runs");
  await server.stop();
  const files = [...filesIn(server.data)];
  assert.ok(files.some(([name]) => name === "bridle.db"));
  assert.deepEqual(leaks(values, files), [], "at rest");
  assert.deepEqual(leaks(values, [["log", Buffer.from(server.output())]]), []);
  // Not even a hash that could be guessed against.
  const database = new DatabaseSync(join(server.data, "bridle.db"), { readOnly: true });
  const records = database.prepare("SELECT fingerprint, result FROM once").all();
  database.close();
  assert.equal(records.length, 2);
  const { hashOf } = await import("../../src/receipts/canonical.ts");
  for (const value of values) {
    const hash = hashOf({ value }).slice("sha256:".length);
    assert.ok(!records.some(({ fingerprint }) => String(fingerprint).includes(hash)));
  }
});

describe("The master key", () => {
  let server: TestServer;
  let client: Client;
  before(async () => {
    server = await startServer({ flags });
    client = new Client(server);
  });
  after(() => server[Symbol.asyncDispose]());

  test("VLT-5 the rotation command replaces the master key, mode 0600, secrets stay readable", async () => {
    // Given a server, when the master key is rotated by command, then the file has another, its mode is 0600, and
    // secrets stay readable.
    const file = join(server.data, "master.key");
    assert.ok(!existsSync(file), "not before it is needed");
    const session = await client.createSession();
    const vault = await createVault(client);
    const stranger = client.as((await client.createKey({ tenant_id: "tenant_elsewhere" })).key);
    const theirs = await createVault(stranger);
    await set(client, vault.id, "A", "12345");
    const before = readFileSync(file, "utf8");
    const said = succeeded(await bridle(["vault", "rotate"], { server }));
    assert.match(said, /locked with mk_[0-9a-f]{16} from now on \(2 changed\)/);
    const now = readFileSync(file, "utf8");
    assert.notEqual(now, before);
    assert.equal(now.trim().split("\n").length, 1, "the old key is gone");
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(await lengthIn(client, session.id, "A"), 5);
    const ids = [
      (await client.get(`/v1/vaults/${vault.id}`)).body,
      (await stranger.get(`/v1/vaults/${theirs.id}`)).body,
    ];
    assert.deepEqual(
      ids.map(({ master_key_id }) => said.includes(master_key_id)),
      [true, true],
    );
  });

  test("VLT-5 a master key rotation killed at any commit completes after the restart", async () => {
    // Given a rotation that is killed at every commit, when the server starts again, then every secret is readable and
    // the rotation is at its end.
    await using directory = await temporaryDirectory();
    const file = join(directory.path, "master.key");
    const vaults: Json[] = [];
    let sessionId = "";
    {
      await using server = await startServer({ data: directory.path, flags });
      const client = new Client(server);
      sessionId = (await client.createSession()).id;
      for (const n of [1, 2, 3]) {
        vaults.push(await createVault(client));
        await set(client, vaults.at(-1).id, `S${n}`, "x".repeat(n));
      }
      await server.stop();
    }
    let halfway = 0;
    // A start commits nothing when nothing has changed: the first commits are those of the rotation.
    for (const point of ["commit.begun:1", "commit.durable:1", "commit.durable:2"]) {
      const before = readFileSync(file, "utf8");
      {
        await using fragile = await startProcess({
          data: directory.path,
          flags,
          env: { BRIDLE_FAIL_POINT: point },
        });
        await assert.rejects(new Client(fragile).post("/v1/vaults/rotate-master-key"));
      }
      const keys = readFileSync(file, "utf8").trim().split("\n");
      assert.equal(keys.length, 2, `${point}: both keys are kept`);
      assert.equal(`${keys[1]}\n`, before);
      halfway += 1;
      await using server = await startServer({ data: directory.path, flags });
      const client = new Client(server);
      for (const n of [1, 2, 3]) assert.equal(await lengthIn(client, sessionId, `S${n}`), n, point);
      const ids = await Promise.all(
        vaults.map(async ({ id }) => (await client.get(`/v1/vaults/${id}`)).body.master_key_id),
      );
      assert.equal(new Set(ids).size, 1, `${point}: all under one key`);
      assert.equal(readFileSync(file, "utf8").trim().split("\n").length, 1, `${point}: the old key is gone`);
      await server.stop();
    }
    assert.equal(halfway, 3);
    await assertRebuildable(directory.path);
  });

  test("VLT-5 vaults created during a master key rotation all open", async () => {
    // Given vaults made while the master key is rotated, when both are done, then all of them open.
    const session = await client.createSession();
    const made: Promise<Json>[] = [];
    for (let n = 0; n < 5; n++) {
      const vaults = Array.from({ length: 4 }, () => createVault(client));
      made.push(...vaults);
      const rotated = client.post("/v1/vaults/rotate-master-key");
      await Promise.all([...vaults, rotated]);
      assert.equal((await rotated).status, 200);
    }
    for (const { id } of await Promise.all(made)) await set(client, id, "MADE", "123");
    assert.equal(await lengthIn(client, session.id, "MADE"), 3);
    assert.deepEqual((await client.post("/v1/vaults/rotate-master-key")).body.locked, []);
  });

  test("VLT-7 secrets under a replaced master key need the previous key until rotation", async () => {
    // Given a master key of the operator's, when another takes its place, then secrets are locked until the first is
    // named beside it, and rotation moves them.
    const [one, two] = ["11".repeat(32), Buffer.alloc(32, 2).toString("base64")];
    await using directory = await temporaryDirectory();
    const start = (env: Record<string, string | undefined>) =>
      startServer({ data: directory.path, flags, env });
    let sessionId = "";
    {
      await using server = await start({ BRIDLE_MASTER_KEY: one });
      const client = new Client(server);
      sessionId = (await client.createSession()).id;
      const { id } = await createVault(client);
      await set(client, id, "A", "12345");
      assert.ok(!existsSync(join(directory.path, "master.key")));
      const error = errorOf(await client.post("/v1/vaults/rotate-master-key"), 409);
      assert.match(error.message, /BRIDLE_MASTER_KEY_PREVIOUS/);
      assert.match(errorLine(await bridle(["vault", "rotate"], { server }), 1), /BRIDLE_MASTER_KEY_PREVIOUS/);
    }
    {
      await using server = await start({ BRIDLE_MASTER_KEY: two });
      const client = new Client(server);
      assert.equal((await client.get("/ready")).status, 200);
      const failure = await lengthIn(client, sessionId, "A");
      assert.equal(failure.code, "secret_unavailable");
      assert.match(failure.message, /locked: its key is wrapped with the master key mk_[0-9a-f]{16}/);
      const [vault] = await client.listAll("/v1/vaults");
      assert.equal(errorOf(await put(client, vault.id, "B", "value"), 503).code, "service_unavailable");
      assert.equal(
        errorOf(await client.post(`/v1/vaults/${vault.id}/rotate`), 503).code,
        "service_unavailable",
      );
      assert.equal(server.output().match(/Secrets cannot be read/g)?.length, 1, "said once");
      assert.ok(!server.output().includes(two));
    }
    {
      await using server = await start({ BRIDLE_MASTER_KEY: two, BRIDLE_MASTER_KEY_PREVIOUS: one });
      const client = new Client(server);
      assert.equal(await lengthIn(client, sessionId, "A"), 5);
      assert.equal((await client.post("/v1/vaults/rotate-master-key")).body.rewrapped, 1);
    }
    await using server = await start({ BRIDLE_MASTER_KEY: two });
    assert.equal(await lengthIn(new Client(server), sessionId, "A"), 5);
    assert.doesNotMatch(server.output(), /Secrets cannot be read/);
  });

  test("VLT-7 a damaged key file is reported once and left alone, and no vault is created", async () => {
    // Given a key file that is damaged, when the server starts, then it is ready, says so once, leaves the file alone
    // and makes no vault.
    await using directory = await temporaryDirectory();
    const file = join(directory.path, "master.key");
    writeFileSync(file, "not a key\n");
    await using server = await startServer({ data: directory.path, flags });
    const client = new Client(server);
    assert.equal((await client.get("/ready")).status, 200);
    const answer = await client.post("/v1/vaults", { provider: "local", capabilities: all });
    assert.equal(errorOf(answer, 503).code, "service_unavailable");
    assert.equal(readFileSync(file, "utf8"), "not a key\n");
    assert.equal(server.output().match(/Secrets cannot be read/g)?.length, 1);
  });

  test("VLT-7 an invalid master key in the environment fails in one line that omits its value", async () => {
    // Given an environment with something else than a master key, when the server is started, then it says so in one
    // line without it.
    const BRIDLE_MASTER_KEY = "no-such-master-key";
    await using directory = await temporaryDirectory();
    const ended = await bridle(["serve", "--port", "0", "--data", directory.path], {
      env: { BRIDLE_MASTER_KEY },
    });
    const line = errorLine(ended, 2);
    assert.match(line, /BRIDLE_MASTER_KEY/);
    assert.ok(!line.includes(BRIDLE_MASTER_KEY));
  });

  test("VLT-8 a secret swapped with another name's in the database does not decrypt", async () => {
    // Given a database that was tampered with, when a secret of one name is put in the place of another, then it does
    // not open.
    await using directory = await temporaryDirectory();
    let sessionId = "";
    {
      await using server = await startServer({ data: directory.path, flags });
      const client = new Client(server);
      sessionId = (await client.createSession()).id;
      const { id } = await createVault(client);
      await set(client, id, "LOW", "harmless");
      await set(client, id, "HIGH", "very valuable");
      await server.stop();
    }
    const database = new DatabaseSync(join(directory.path, "bridle.db"));
    const row = database.prepare("SELECT id, body FROM documents WHERE kind = 'vault'").get();
    const vault: Json = JSON.parse(String(row?.body));
    const [high, low] = vault.secrets;
    assert.deepEqual([high.name, low.name], ["HIGH", "LOW"]);
    low.sealed = high.sealed;
    database
      .prepare("UPDATE documents SET body = ? WHERE id = ?")
      .run(JSON.stringify(vault), String(row?.id));
    database.close();
    await using server = await startServer({ data: directory.path, flags });
    const client = new Client(server);
    assert.equal(await lengthIn(client, sessionId, "HIGH"), 13);
    const failure = await lengthIn(client, sessionId, "LOW");
    assert.equal(failure.code, "secret_unavailable");
    assert.match(failure.message, /does not open/);
  });
});
