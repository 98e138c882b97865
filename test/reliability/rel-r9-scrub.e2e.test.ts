/** `bridle scrub` reads everything and lists what is damaged. */

import assert from "node:assert/strict";
import { appendFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { bridle, succeeded } from "../support/cli.ts";
import { Client, type Json } from "../support/client.ts";
import { startServer, temporaryDirectory } from "../support/server.ts";

async function upload(client: Client, content: string): Promise<void> {
  const { status } = await client.call("/v1/artifacts/upload?kind=file&visibility=public&name=a.bin", {
    method: "POST",
    raw: content,
    headers: { "content-type": "application/octet-stream" },
  });
  assert.equal(status, 201);
}

function blobFiles(data: string): string[] {
  const names = readdirSync(join(data, "blobs"), { recursive: true, encoding: "utf8" });
  return names.filter((name) => /[0-9a-f]{64}$/.test(name)).map((name) => join(data, "blobs", name));
}

test("REL-R9 scrub finds no damage under a running server, and each kind of damage afterwards", async () => {
  await using place = await temporaryDirectory();
  const data = join(place.path, "data");
  const server = await startServer({ data });
  const client = new Client(server);
  const session = await client.createSession();
  for (const word of ["one", "two", "three"]) await client.rehearse(session.id, `say ${word}`, "return done");
  await client.append(session.id, "kept beside the event ".repeat(500));
  await upload(client, "content that is changed");
  await upload(client, "content that is lost");
  const scrub = (...args: string[]) => bridle(["scrub", "--data", data, ...args]);
  assert.match(
    succeeded(await scrub()),
    /^\d+ events, \d+ documents, [3-9] blobs, 3 receipts: no damage found\.$/m,
  );
  await server.stop();

  const [changed = "", lost = ""] = blobFiles(data);
  appendFileSync(changed, "x");
  rmSync(lost);
  const db = new DatabaseSync(join(data, "bridle.db"));
  const [first, second] = db.prepare("SELECT id FROM documents WHERE kind = 'receipt' ORDER BY born").all();
  const task = db.prepare("SELECT id FROM documents WHERE kind = 'task' LIMIT 1").get();
  db.exec("UPDATE blobs SET bytes = cast('other' AS BLOB)");
  db.exec(`UPDATE log SET events = replace(events, 'say one', 'say own') WHERE events LIKE '%say one%'`);
  db.prepare("UPDATE documents SET body = '{' WHERE id = ?").run(String(task?.id));
  db.prepare("UPDATE documents SET sequence = 9 WHERE id = ?").run(session.id);
  const other = JSON.stringify({ hash: "other", previous_hash: null, index: 0 });
  db.prepare("UPDATE documents SET body = ? WHERE id = ?").run(other, String(first?.id));
  db.close();

  const found = await scrub("--json");
  assert.equal(found.code, 1);
  const { damage, damage_count } = JSON.parse(found.stdout);
  assert.equal(damage_count, damage.length);
  const where = (what: string) =>
    damage.filter((one: Json) => one.what === what).map((one: Json) => one.where);
  assert.ok(where("event").length >= 1);
  for (const id of [task?.id, session.id, second?.id]) assert.ok(where("document").includes(id), String(id));
  for (const file of [changed, lost]) assert.ok(where("content").includes(file.slice(-64)));
  assert.deepEqual(where("page"), []);
  const words = await bridle(["doctor", "--deep", "--data", data]);
  assert.equal(words.code, 1);
  assert.match(words.stdout, new RegExp(`; ${damage_count} damaged`));
});
