/** The files of a workspace: text in, the same text out, and no way to anything else on the machine. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fixtureAgents } from "../support/cli.ts";
import { Client, errorOf, isFinal, type Json } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import { startProcess, startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

const flags = ["--agents", fixtureAgents("keeper.ts")];

function sha256(text: string | Uint8Array): string {
  return createHash("sha256").update(text).digest("hex");
}

function pathOf(workspaceId: string, path?: string): string {
  const query = path === undefined ? "" : `?path=${encodeURIComponent(path)}`;
  return `/v1/workspaces/${workspaceId}/files${query}`;
}

function put(client: Client, path: string, content: string, workspaceId = "workspace_default") {
  return client.call(pathOf(workspaceId, path), { method: "PUT", body: { content } });
}

async function keep(client: Client, input: object, body: object = {}): Promise<Json> {
  const { id } = await client.createSession();
  const request = { session_id: id, persona_id: "persona_keeper", input, ...body };
  const answer = await client.post("/v1/tasks", request, { prefer: "wait=30" });
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  return answer.body;
}

async function resultOf(client: Client, { outcome_id }: Json): Promise<Json> {
  return (await client.get(`/v1/outcomes/${outcome_id}`)).body.messages[0].parts[0].value;
}

describe("Workspace files", () => {
  let server: TestServer;
  let client: Client;
  let directory: string;

  before(async () => {
    server = await startServer({ flags });
    client = new Client(server);
    directory = join(server.data, "workspaces", "tenant_default", "workspace_default");
    await put(client, "first.txt", "first");
  });
  after(() => server[Symbol.asyncDispose]());

  test("FIL-1 a written file and its directories are returned as described", async () => {
    // Given a file that was written, when it and its directories are read, then they are as described.
    const text = "Grüße, 世界 😀\n\ttabs and\r\nlines\u0000";
    const { status, body } = await put(client, "notes/today/list.md", text);
    assert.equal(status, 200);
    const described = { object: "file", workspace_id: "workspace_default", path: "notes/today/list.md" };
    const facts = { encoding: "utf-8", bytes: Buffer.byteLength(text), sha256: sha256(text) };
    assert.deepEqual(body, { ...described, ...facts });
    const read = await client.get(pathOf("workspace_default", "notes/today/list.md"));
    assert.deepEqual(read.body, { ...described, ...facts, content: text });
    await put(client, "notes/a.txt", "a");
    const listing = await client.get(pathOf("workspace_default", "notes"));
    assert.deepEqual(listing.body, {
      object: "file_listing",
      workspace_id: "workspace_default",
      path: "notes",
      entries: [
        { name: "a.txt", path: "notes/a.txt", kind: "file", size: 1 },
        { name: "today", path: "notes/today", kind: "directory", size: 0 },
      ],
    });
    for (const root of [undefined, "", "."]) {
      const { body: top } = await client.get(pathOf("workspace_default", root));
      assert.ok(top.entries.some(({ path }: Json) => path === "notes"));
    }
  });

  test("FIL-1 a path in the body takes precedence over one in the query", async () => {
    // Given a path in the body and one in the query, when a file is written, then the body's counts.
    const body = { path: "from-body.txt", content: "x" };
    const answer = await client.call(pathOf("workspace_default", "from-query.txt"), { method: "PUT", body });
    assert.equal(answer.body.path, "from-body.txt");
    errorOf(await client.get(pathOf("workspace_default", "from-query.txt")), 404);
    const pathless = await client.call(pathOf("workspace_default"), {
      method: "PUT",
      body: { content: "x" },
    });
    assert.equal(errorOf(pathless, 400).param, "path");
  });

  test("FIL-1 a write repeated with its idempotency key is not written again", async () => {
    // Given a write with an idempotency key, when it is repeated after another, then it is not written again.
    const request = { method: "PUT", body: { content: "one" }, headers: { "idempotency-key": "file-1" } };
    await client.call(pathOf("workspace_default", "once.txt"), request);
    await put(client, "once.txt", "two");
    const again = await client.call(pathOf("workspace_default", "once.txt"), request);
    assert.equal(again.headers.get("idempotent-replayed"), "true");
    assert.equal((await client.get(pathOf("workspace_default", "once.txt"))).body.content, "two");
    const other = await client.call(pathOf("workspace_default", "twice.txt"), request);
    assert.equal(errorOf(other, 409).code, "idempotency_key_reused");
  });

  const paths: Record<string, string> = {
    "an absolute path": "/etc/passwd",
    "a path upwards": "../outside.txt",
    "a path upwards in the middle": "notes/../../outside.txt",
    "a path upwards at the end": "notes/..",
    "a path that stays where it is": "./here.txt",
    "a path with an empty name": "notes//a.txt",
    "a path that ends with a slash": "notes/",
    "a NUL": "notes\u0000.txt",
    "a line break": "notes\n.txt",
    backslashes: "..\\outside.txt",
    "a drive": "C:\\outside.txt",
    "a device name": "notes/NUL.txt",
    "another device name": "com1",
    "our own temporary names": "notes/.bridle-x",
    "our own temporary names in capitals": ".BRIDLE-x",
    "a path that is too long": "a/".repeat(600).slice(0, -1),
    "a name that is too long": "é".repeat(200),
  };
  for (const [what, path] of Object.entries(paths)) {
    test(`FIL-2 reading and writing ${what} is rejected naming the path`, async () => {
      // Given ${what}, when it is read and written, then both are refused naming the path and nothing is there.
      const read = errorOf(await client.get(pathOf("workspace_default", path)), 400);
      assert.equal(read.param, "path");
      const written = await client.call(pathOf("workspace_default"), {
        method: "PUT",
        body: { path, content: "x" },
      });
      assert.equal(errorOf(written, 400).param, "path");
    });
  }

  test("FIL-2 rejected paths leave no file outside the workspace and no leftovers inside", () => {
    // Given all that was refused, when the disk is looked at, then nothing is outside the workspace, nor left over in
    // it.
    assert.deepEqual(readdirSync(join(server.data, "workspaces", "tenant_default")), ["workspace_default"]);
    const left = readdirSync(directory, { recursive: true, encoding: "utf8" });
    assert.deepEqual(
      left.filter((name) => /outside|passwd|bridle|nul|com1/i.test(name)),
      [],
    );
    assert.ok(!readdirSync(server.data).includes("outside.txt"));
  });

  test("FIL-2 percent-encoded parent paths never leave the workspace", async () => {
    // Given encoded ways upwards, when they are asked for, then they are what they say and nothing else.
    for (const raw of [
      "..%2f..%2fadmin.key",
      "%2e%2e/admin.key",
      "%2e%2e%2fmaster.key",
      "..%252fadmin.key",
    ]) {
      const answer = await client.get(`${pathOf("workspace_default")}?path=${raw}`);
      assert.ok(answer.status === 400 || answer.status === 404, raw);
    }
    errorOf(await client.get(`${pathOf("workspace_default")}?path=a&path=b`), 400);
  });

  test("FIL-3 rejects reads, lists and writes through links that leave the workspace", async () => {
    // Given links that lead out of the workspace, when they are read, listed and written through, then they are refused.
    await using outside = await temporaryDirectory();
    writeFileSync(join(outside.path, "secret.txt"), "not yours");
    symlinkSync(outside.path, join(directory, "door"));
    symlinkSync(join(outside.path, "secret.txt"), join(directory, "window.txt"));
    symlinkSync(join(outside.path, "new.txt"), join(directory, "dangling.txt"));
    mkdirSync(join(directory, "inner"));
    symlinkSync("..", join(directory, "inner", "up"));
    symlinkSync("../../..", join(directory, "inner", "data"));
    for (const path of [
      "door/secret.txt",
      "door",
      "window.txt",
      "dangling.txt",
      "inner/data/admin.key",
      "inner/data",
    ]) {
      const answer = await client.get(pathOf("workspace_default", path));
      assert.ok(answer.status === 400 || answer.status === 404, `${path}: ${answer.status}`);
      assert.doesNotMatch(JSON.stringify(answer.body), /not yours/);
    }
    for (const path of [
      "door/new.txt",
      "door/deep/new.txt",
      "window.txt",
      "dangling.txt",
      "inner/data/new.txt",
    ]) {
      errorOf(await put(client, path, "overwritten"), 400);
    }
    assert.deepEqual(readdirSync(outside.path), ["secret.txt"]);
    assert.equal(readFileSync(join(outside.path, "secret.txt"), "utf8"), "not yours");
    // A link that stays inside is a way like any other.
    assert.equal((await client.get(pathOf("workspace_default", "inner/up/first.txt"))).body.content, "first");
    const { body } = await client.get(pathOf("workspace_default"));
    assert.ok(!body.entries.some(({ name }: Json) => ["door", "window.txt"].includes(name)));
  });

  test("FIL-1 binary content, oversized content and non-files each return their own error", async () => {
    // Given what is no text, too large, or no file, when it is read or written, then each is its own error.
    writeFileSync(join(directory, "binary"), Buffer.from([0xff, 0xfe, 0x00, 0x80]));
    assert.match(errorOf(await client.get(pathOf("workspace_default", "binary")), 400).message, /UTF-8/);
    writeFileSync(join(directory, "large.txt"), "x".repeat(2 * 1024 * 1024 + 1));
    assert.equal(
      errorOf(await client.get(pathOf("workspace_default", "large.txt")), 413).code,
      "payload_too_large",
    );
    assert.equal(
      errorOf(await put(client, "too.txt", "x".repeat(2 * 1024 * 1024 + 1)), 413).code,
      "payload_too_large",
    );
    errorOf(await client.get(pathOf("workspace_default", "too.txt")), 404);
    mkdirSync(join(directory, "taken"));
    errorOf(await put(client, "taken", "x"), 400);
    errorOf(await put(client, "first.txt/below", "x"), 400);
    errorOf(await client.get(pathOf("workspace_default", "first.txt/below")), 400);
    errorOf(await put(client, "half", "\ud800"), 400);
    assert.equal((await put(client, "empty", "")).body.bytes, 0);
    assert.equal((await client.get(pathOf("workspace_default", "empty"))).body.content, "");
  });

  test("FIL-4 concurrent writers leave one whole version, the one of the last event", async () => {
    // Given many writers of one file, when all have answered, then it is one of theirs, whole, and the last event is
    // about it.
    const texts = Array.from({ length: 24 }, (_, n) => `${n} `.repeat(20_000 + n));
    const readings: Json[] = [];
    let done = false;
    const reader = (async () => {
      while (!done) readings.push((await client.get(pathOf("workspace_default", "contended"))).body);
    })();
    const answers = await Promise.all(texts.map((text) => put(client, "contended", text)));
    done = true;
    await reader;
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    const hashes = new Set(texts.map(sha256));
    const whole = readings.filter(({ object }) => object === "file");
    assert.ok(whole.length > 0);
    for (const { content } of whole) assert.ok(hashes.has(sha256(content)), "never half of one");
    const { body } = await client.get(pathOf("workspace_default", "contended"));
    const events = await client.listAll("/v1/events?workspace_id=workspace_default");
    const about = events.filter(
      ({ event, payload }) =>
        event === "vendor.bridle.workspace.file_written" && payload.path === "contended",
    );
    assert.equal(about.length, texts.length);
    assert.equal(about.at(-1).payload.sha256, body.sha256);
    assert.ok(!readdirSync(directory).some((name) => name.startsWith(".bridle-")), "nothing is left over");
  });

  test("FIL-5 the event of a write has path, hash, size and message but not the content", async () => {
    // Given a write, when the log is read, then it has the path, the hash, the size and what was said, and not the text.
    const body = { path: "logged.txt", content: "what is not in the log", metadata: { why: "a reason" } };
    await client.call(pathOf("workspace_default"), { method: "PUT", body });
    const events = await client.listAll("/v1/events?workspace_id=workspace_default");
    const { payload, resource, actor } = events.findLast(
      ({ event }) => event === "vendor.bridle.workspace.file_written",
    );
    const { content, ...said } = body;
    assert.deepEqual(payload, { ...said, sha256: sha256(content), bytes: content.length });
    assert.deepEqual([resource.object, actor], ["workspace", "admin"]);
    assert.doesNotMatch(JSON.stringify(events), /what is not in the log/);
    const secret = { path: `token=${"a1B2".repeat(8)}`, content: "x" };
    assert.equal(
      errorOf(await client.call(pathOf("workspace_default"), { method: "PUT", body: secret }), 400).param,
      "path",
    );
  });

  test("FIL-5 the receipt of a run lists written files with hashes before and after", async () => {
    // Given a run that writes files, when its receipt is read, then it lists them with the hashes before and after.
    const { id } = await client.createSession();
    const task = await client.rehearse(id, "file made/here.txt one two", "file made/here.txt three");
    assert.equal(task.status, "COMPLETED", JSON.stringify(task.failure));
    const said = (await client.texts(id)).slice(1);
    assert.deepEqual(said, ["Wrote made/here.txt (7 bytes)", "Wrote made/here.txt (5 bytes)"]);
    assert.equal((await client.get(pathOf("workspace_default", "made/here.txt"))).body.content, "three");
    const { body: receipt } = await client.get(`/v1/receipts/${task.receipt_id}`);
    const [one, three] = [`sha256:${sha256("one two")}`, `sha256:${sha256("three")}`];
    assert.deepEqual(receipt.side_effects.fs_writes, [
      { path: "made/here.txt", operation: "create", before_sha256: null, after_sha256: one },
      { path: "made/here.txt", operation: "modify", before_sha256: one, after_sha256: three },
    ]);
    const verified = await client.post(`/v1/receipts/${task.receipt_id}/verify`);
    assert.equal(verified.body.valid, true);
    const replay = await client.post(`/v1/tasks/${task.id}/replay`);
    await put(client, "made/here.txt", "changed since");
    const replayed = await client.untilTask(replay.body.id, isFinal);
    assert.equal(replayed.status, "COMPLETED", JSON.stringify(replayed.failure));
    const { body: now } = await client.get(pathOf("workspace_default", "made/here.txt"));
    assert.equal(now.content, "changed since", "a replay writes nothing");
  });

  test("FIL-5 a run writes no file if its persona may only suggest or may not write", async () => {
    // Given a persona that may only suggest, or may not write, when its run writes a file, then nothing is written.
    const persona = {
      version: "1.0.0",
      entry_workflow: "keeper",
      description: "x",
      receipt_policy: "required",
    };
    const shy = await client.post("/v1/personas", { ...persona, name: "Shy", autonomy_tier: "suggest" });
    assert.equal(shy.status, 201, JSON.stringify(shy.body));
    const input = { do: "write", path: "suggested.txt", text: "a suggestion" };
    const task = await keep(client, input, { persona_id: shy.body.id });
    assert.equal(task.status, "COMPLETED", JSON.stringify(task.failure));
    assert.deepEqual(await resultOf(client, task), { sha256: sha256(input.text), bytes: input.text.length });
    errorOf(await client.get(pathOf("workspace_default", "suggested.txt")), 404);
    const { side_effects } = (await client.get(`/v1/receipts/${task.receipt_id}`)).body;
    assert.deepEqual(side_effects.fs_writes, []);
    assert.deepEqual(
      side_effects.tool_calls.map(({ tool, status }: Json) => [tool, status]),
      [["files.write", "canceled"]],
    );
    const [proposal] = await client.listAll(`/v1/artifacts?task_id=${task.id}`);
    const { body } = await client.get(`/v1/artifacts/${proposal.id}/content`);
    assert.equal(body.intent.content, input.text);

    const barred = await client.post("/v1/personas", {
      ...persona,
      name: "Barred",
      autonomy_tier: "act_auto",
      capabilities: ["files:read", "secret:ALLOWED"],
    });
    const refused = await keep(client, input, { persona_id: barred.body.id });
    assert.deepEqual([refused.status, refused.failure.code], ["FAILED", "policy_violation"]);
    assert.match(refused.failure.message, /files:write/);
    const vault = await client.post("/v1/vaults", { provider: "local", capabilities: ["read", "write"] });
    for (const name of ["ALLOWED", "FORBIDDEN"]) {
      const path = `/v1/vaults/${vault.body.id}/secrets/${name}`;
      await client.call(path, { method: "PUT", body: { value: "12345678" } });
    }
    const mine = await keep(client, { do: "length", name: "ALLOWED" }, { persona_id: barred.body.id });
    assert.equal(mine.status, "COMPLETED", JSON.stringify(mine.failure));
    const theirs = await keep(client, { do: "length", name: "FORBIDDEN" }, { persona_id: barred.body.id });
    assert.deepEqual([theirs.status, theirs.failure.code], ["FAILED", "policy_violation"]);
  });

  test("FIL-6 a run keeps the content it read although the file changes later", async () => {
    // Given a run that has read a file, when the file changes before it goes on, then it still has what it read.
    await put(client, "moving.txt", "before");
    const task = await keep(client, { do: "reread", path: "moving.txt" });
    assert.equal(task.status, "INPUT_REQUIRED", JSON.stringify(task.failure));
    await put(client, "moving.txt", "after");
    await client.answer(task.id, "yes");
    const ended = await client.untilTask(task.id, isFinal);
    const { before: read, listed, after: reread } = await resultOf(client, ended);
    assert.deepEqual([read, reread], ["before", "after"]);
    assert.ok(listed.includes("moving.txt"));
    for (const path of ["../x", "absent.txt"]) {
      const failed = await keep(client, { do: "reread", path });
      assert.equal(failed.status, "FAILED");
      assert.ok(["invalid_request", "resource_not_found"].includes(failed.failure.code), failed.failure.code);
    }
  });

  test("FIL-7 keys of other scopes, tenants and workspaces learn nothing about files", async () => {
    // Given keys of other scopes, tenants and workspaces, when they ask for files, then they learn nothing.
    const { body: room } = await client.post("/v1/workspaces", { name: "Room", root: "/room" });
    await put(client, "mine.txt", "mine", room.id);
    errorOf(await client.get(pathOf("workspace_default", "mine.txt")), 404);
    const stranger = client.as((await client.createKey({ tenant_id: "tenant_elsewhere" })).key);
    const neighbour = client.as((await client.createKey({ workspace_ids: ["workspace_default"] })).key);
    for (const other of [stranger, neighbour]) {
      errorOf(await other.get(pathOf(room.id, "mine.txt")), 404);
      errorOf(await other.get(pathOf(room.id)), 404);
      errorOf(await put(other, "mine.txt", "theirs", room.id), 404);
    }
    const reader = await client.withScopes("workspaces:read");
    assert.equal((await reader.get(pathOf(room.id, "mine.txt"))).body.content, "mine");
    errorOf(await put(reader, "mine.txt", "theirs", room.id), 403);
    const writer = await client.withScopes("workspaces:write");
    errorOf(await writer.get(pathOf(room.id, "mine.txt")), 403);
  });
});

test("FIL-8 uses only workspace roots that the operator allows, never for another tenant", async () => {
  // Given workspaces with roots of their own, when the operator allows some, then only those are used, and never for
  // another tenant.
  await using allowed = await temporaryDirectory();
  await using other = await temporaryDirectory();
  for (const { path } of [allowed, other]) mkdirSync(join(path, "project"));
  writeFileSync(join(allowed.path, "project", "known.txt"), "known");
  writeFileSync(join(other.path, "project", "known.txt"), "not for you");
  symlinkSync(join(other.path, "project"), join(allowed.path, "linked"));
  await using server = await startServer({ flags: ["--workspace-roots", allowed.path] });
  const client = new Client(server);
  const readIn = async (who: Client, root: string) => {
    const { body } = await who.post("/v1/workspaces", { name: "W", root });
    return { id: body.id, answer: await who.get(pathOf(body.id, "known.txt")) };
  };
  const inside = await readIn(client, join(allowed.path, "project"));
  assert.equal(inside.answer.body.content, "known");
  await put(client, "written.txt", "here", inside.id);
  assert.equal(readFileSync(join(allowed.path, "project", "written.txt"), "utf8"), "here");
  const stranger = client.as((await client.createKey({ tenant_id: "tenant_elsewhere" })).key);
  errorOf((await readIn(stranger, join(allowed.path, "project"))).answer, 404);
  for (const root of [
    join(other.path, "project"),
    join(allowed.path, "linked"),
    join(allowed.path, "..", "project"),
    join(allowed.path, "absent"),
    `${allowed.path}-beside`,
    server.data,
    "/",
    "project",
  ]) {
    const { id, answer } = await readIn(client, root);
    errorOf(answer, 404);
    assert.equal((await put(client, "written.txt", "there", id)).status, 200);
    assert.equal(
      readFileSync(join(server.data, "workspaces", "tenant_default", id, "written.txt"), "utf8"),
      "there",
    );
  }
});

test("FIL-8 a workspace root around or inside the data directory is not used", async () => {
  // Given a data directory inside an allowed root, when a workspace has a root around or inside it, then it is not used.
  await using outer = await temporaryDirectory();
  const data = join(outer.path, "data");
  mkdirSync(data);
  await using server = await startServer({ data, flags: ["--workspace-roots", outer.path] });
  const client = new Client(server);
  for (const root of [outer.path, data, join(data, "blobs")]) {
    const { body } = await client.post("/v1/workspaces", { name: "W", root });
    const { body: listing } = await client.get(pathOf(body.id));
    assert.deepEqual(listing.entries, [], root);
  }
});

test("FIL-6 a run whose code writes otherwise after a kill fails and leaves the file untouched", async () => {
  // Given a run that wrote a file and a server that is killed, when the code now writes something else, then the run
  // ends as not repeatable and the file is untouched.
  await using directory = await temporaryDirectory();
  let taskId = "";
  {
    await using server = await startProcess({ data: directory.path, flags, env: { KEEPER_TEXT: "first" } });
    const task = await keep(new Client(server), { do: "changing", path: "it.txt" });
    assert.equal(task.status, "INPUT_REQUIRED");
    taskId = task.id;
    await server.kill();
  }
  {
    await using server = await startProcess({ data: directory.path, flags, env: { KEEPER_TEXT: "second" } });
    const client = new Client(server);
    await client.answer(taskId, "yes");
    const task = await client.untilTask(taskId, isFinal);
    assert.equal(task.failure.code, "nondeterministic_run");
    assert.match(task.failure.message, /file:it\.txt:1/);
    assert.equal((await client.get(pathOf("workspace_default", "it.txt"))).body.content, "first");
    await server.stop();
  }
  await assertRebuildable(directory.path);
});
