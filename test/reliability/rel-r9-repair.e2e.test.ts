/** `bridle doctor --repair --to DIR` salvages what is intact and lists what is lost. */

import assert from "node:assert/strict";
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { bridle, errorLine, succeeded } from "../support/cli.ts";
import { Client, type Json } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import { startServer, temporaryDirectory } from "../support/server.ts";

const pageBytes = 8192;

async function upload(client: Client, content: string): Promise<Json> {
  const { status, body } = await client.call("/v1/artifacts/upload?kind=file&visibility=public&name=a.bin", {
    method: "POST",
    raw: content,
    headers: { "content-type": "application/octet-stream" },
  });
  assert.equal(status, 201);
  return body;
}

/** Makes the pages unreadable that hold a text. */
function destroyPages(file: string, text: string): void {
  const bytes = readFileSync(file);
  const pages = new Set<number>();
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) {
    pages.add(Math.floor(at / pageBytes));
  }
  assert.ok(pages.size >= 1);
  for (const page of pages) bytes.fill(0xff, page * pageBytes, page * pageBytes + 16);
  writeFileSync(file, bytes);
}

test("REL-R9 repair folds damaged documents again from a whole log, and a server goes on", async () => {
  await using place = await temporaryDirectory();
  const [data, to] = [join(place.path, "data"), join(place.path, "repaired")];
  const server = await startServer({ data });
  const client = new Client(server);
  const session = await client.createSession();
  const task = await client.rehearse(session.id, "memory write colour green", "say hello", "return done");
  await client.createMemory({ content: { said: "searchable words" } });
  const repair = (...args: string[]) => bridle(["doctor", "--repair", "--data", data, ...args]);
  assert.match(errorLine(await repair("--to", to), 1), /is using the data directory/);
  await server.stop();
  assert.equal((await repair()).code, 2);

  const db = new DatabaseSync(join(data, "bridle.db"));
  db.prepare("UPDATE documents SET body = '{' WHERE id = ?").run(task.id);
  db.prepare("DELETE FROM documents WHERE id = ?").run(session.id);
  db.close();
  assert.match(
    succeeded(await repair("--to", to)),
    /holds \d+ events, \d+ documents .*\. Nothing is lost\.$/m,
  );
  assert.match(errorLine(await repair("--to", to), 1), /is there already/);

  await assertRebuildable(to);
  await using again = await startServer({ data: to });
  const other = new Client(again);
  assert.equal((await other.get(`/v1/tasks/${task.id}`)).body.status, "COMPLETED");
  assert.equal((await other.listAll("/v1/memories?q=searchable")).length, 1);
  assert.equal((await other.rehearse(session.id, "return more")).status, "COMPLETED");
});

test("REL-R9 repair keeps all that is intact around damaged pages, events and files, and lists the rest", async () => {
  await using place = await temporaryDirectory();
  const [data, to] = [join(place.path, "data"), join(place.path, "repaired")];
  const server = await startServer({ data });
  const client = new Client(server);
  const sessions: Json[] = [];
  for (let n = 0; n < 40; n++) {
    const session = await client.createSession();
    await client.append(session.id, `marker${n} `.repeat(100));
    sessions.push(session);
  }
  const [kept, changed] = [await upload(client, "kept content"), await upload(client, "changed content")];
  const before = (await client.listAll("/v1/events")).length;
  await server.stop();
  const blobs = join(data, "blobs");
  const [file = ""] = readdirSync(blobs, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(changed.sha256),
  );
  appendFileSync(join(blobs, file), "x");
  const db = new DatabaseSync(join(data, "bridle.db"));
  db.exec("UPDATE log SET events = replace(events, 'marker3 marker3', 'marker3 marker4')");
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
  destroyPages(join(data, "bridle.db"), "marker20 marker20");

  const ended = await bridle(["doctor", "--repair", "--to", to, "--data", data, "--json"]);
  assert.equal(ended.code, 1, ended.stderr);
  const { lost, events, is_log_whole } = JSON.parse(ended.stdout);
  assert.equal(is_log_whole, false);
  const losses = (what: string) => lost.filter((one: Json) => one.what === what).length;
  assert.ok(losses("event") >= 2, JSON.stringify(lost));
  assert.equal(losses("content"), 1);
  assert.ok(events >= before / 2, `${events} of ${before}`);

  // The artifact whose content is lost is still described.
  const { damage } = JSON.parse((await bridle(["scrub", "--data", to, "--json"])).stdout);
  assert.deepEqual(
    damage.map((one: Json) => one.where),
    [changed.sha256],
  );
  await using again = await startServer({ data: to });
  const other = new Client(again);
  for (const { id } of [sessions[0], sessions[39]]) {
    assert.equal((await other.get(`/v1/sessions/${id}`)).status, 200);
    assert.equal((await other.listAll(`/v1/sessions/${id}/messages`)).length, 1);
  }
  assert.equal((await other.get(`/v1/artifacts/${kept.id}/content`)).body, "kept content");
  assert.equal((await other.get(`/v1/artifacts/${changed.id}/content`)).status, 404);
});

test("REL-R9 repair lists documents whose events are lost, and events count against documents", async () => {
  await using place = await temporaryDirectory();
  const [data, to] = [join(place.path, "data"), join(place.path, "repaired")];
  const server = await startServer({ data });
  const client = new Client(server);
  const [whole, halved, last] = [
    await client.createSession(),
    await client.createSession(),
    await client.createSession(),
  ];
  for (const { id } of [whole, halved]) {
    await client.append(id, "something");
    assert.equal((await client.post(`/v1/sessions/${id}/close`, {})).status, 200);
  }
  await client.append(last.id, "at the end of the log");
  await server.stop();
  const db = new DatabaseSync(join(data, "bridle.db"));
  // One is stored otherwise than its events say; of another the creation is lost; of the last one, the end of the log.
  const change = db.prepare("UPDATE documents SET body = replace(body, ?, ?) WHERE id = ?");
  assert.equal(change.run('"CLOSED"', '"OPEN"', whole.id).changes, 1);
  const broken = db.prepare(
    "UPDATE log SET actor = 'nobody' WHERE last = (SELECT born FROM documents WHERE id = ?)",
  );
  assert.equal(broken.run(halved.id).changes, 1);
  db.close();
  const ended = await bridle(["doctor", "--repair", "--to", to, "--data", data, "--json"]);
  assert.equal(ended.code, 1, ended.stderr);
  const { lost, not_backed, not_backed_count } = JSON.parse(ended.stdout);
  assert.deepEqual(not_backed, [halved.id]);
  assert.equal(not_backed_count, 1);
  const [contradicted] = lost.filter((one: Json) => one.what === "document");
  assert.equal(contradicted.where, whole.id);
  assert.match(contradicted.problem, /differed from its events/);

  await using again = await startServer({ data: to });
  const other = new Client(again);
  for (const { id } of [whole, halved]) {
    assert.equal((await other.get(`/v1/sessions/${id}`)).body.state, "CLOSED");
  }
});

test("REL-R9 repair notices that the end of the log is missing and keeps the documents", async () => {
  await using place = await temporaryDirectory();
  const [data, to] = [join(place.path, "data"), join(place.path, "repaired")];
  const server = await startServer({ data });
  const client = new Client(server);
  const session = await client.createSession();
  // What is still as its first event made it is in the log only.
  const unchanged = await client.createSession();
  const patched = await client.call(`/v1/sessions/${session.id}`, {
    method: "PATCH",
    body: { metadata: { kept: true } },
  });
  assert.equal(patched.status, 200);
  const end = (await client.listAll("/v1/events")).at(-1).id;
  await server.stop();
  const db = new DatabaseSync(join(data, "bridle.db"));
  db.prepare("DELETE FROM log WHERE last >= (SELECT min(last) FROM log WHERE session_id = ?)").run(
    session.id,
  );
  db.close();
  const { lost, is_log_whole, not_backed } = JSON.parse(
    (await bridle(["doctor", "--repair", "--to", to, "--data", data, "--json"])).stdout,
  );
  assert.equal(is_log_whole, false);
  assert.match(lost[0].where, /^\d+ to \d+$/);
  assert.ok(not_backed.includes(session.id));
  assert.ok(lost.some(({ where }: Json) => where === unchanged.id));
  await using again = await startServer({ data: to });
  const other = new Client(again);
  assert.equal((await other.get(`/v1/sessions/${session.id}`)).status, 200);
  // A client that had seen the lost events is not given others under their ids.
  const next = await other.createSession();
  const [created] = await other.listAll(`/v1/sessions/${next.id}/events`);
  assert.ok(created.id > end, `${created.id} after ${end}`);
  assert.equal((await other.rehearse(next.id, "return on")).status, "COMPLETED");
  const [{ receipt_id }] = await other.listAll(`/v1/sessions/${next.id}/tasks`);
  assert.equal((await other.get(`/v1/receipts/${receipt_id}`)).status, 200);
});
