/** Damage on disk is an error that names the place, never an answer. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import { Client, errorOf, type Json } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";

describe("damage that a read comes across", () => {
  let server: TestServer;
  let client: Client;

  before(async () => {
    server = await startServer();
    client = new Client(server);
  });
  after(() => server[Symbol.asyncDispose]());

  function execute(sql: string, ...values: string[]): void {
    using db = new DatabaseSync(join(server.data, "bridle.db"));
    db.prepare(sql).run(...values);
  }

  /** Lines at error level that name the damage. */
  function damageLines(): string[] {
    return server
      .output()
      .split("\n")
      .filter((line) => line.includes("is damaged") && line.includes('"level":50'));
  }

  /** Changes a byte in the middle of the file that holds the content. */
  function damage(sha256: string): void {
    const file = join(server.data, "blobs", sha256.slice(0, 2), sha256);
    const bytes = readFileSync(file);
    const middle = Math.floor(bytes.length / 2);
    bytes[middle] = (bytes[middle] ?? 0) ^ 1;
    writeFileSync(file, bytes);
  }

  async function upload(content: string): Promise<Json> {
    const { status, body } = await client.call(
      "/v1/artifacts/upload?kind=file&visibility=public&name=a.bin",
      {
        method: "POST",
        raw: content,
        headers: { "content-type": "application/octet-stream" },
      },
    );
    assert.equal(status, 201, JSON.stringify(body));
    return body;
  }

  test("REL-R9 events that an erasure has rewritten have checksums that match", async () => {
    const { id } = await client.createSession();
    await client.append(id, "what is erased");
    assert.equal((await client.post(`/v1/sessions/${id}/erase`, { reason: "asked for" })).status, 200);
    assert.ok((await client.listAll(`/v1/sessions/${id}/events`)).length > 2);
    using db = new DatabaseSync(join(server.data, "bridle.db"), { readOnly: true });
    assert.equal(db.prepare("SELECT count(*) AS n FROM log WHERE checksum IS NULL").get()?.n, 0);
  });

  test("REL-R9 a changed event is an error with position and file, in one line; others are read", async () => {
    const [damaged, whole] = [await client.createSession(), await client.createSession()];
    await client.append(damaged.id, "a word that is changed");
    execute(
      `UPDATE log SET events = replace(events, 'a word that', 'b word that') WHERE session_id = ?`,
      damaged.id,
    );
    const lines = damageLines().length;
    const error = errorOf(await client.get(`/v1/sessions/${damaged.id}/events`), 500);
    assert.equal(error.code, "internal_error");
    const [line, ...more] = damageLines().slice(lines);
    assert.deepEqual(more, []);
    assert.match(String(line), /bridle\.db is damaged: the log at positions \d+ to \d+ does not match/);
    assert.match(String(line), new RegExp(error.request_id));
    assert.ok((await client.listAll(`/v1/sessions/${whole.id}/events`)).length > 0);
  });

  test("REL-R9 a changed column, number or position of a row is noticed as well", async () => {
    for (const change of [
      "actor = 'somebody'",
      "numbers = replace(numbers, '[1,', '[9,')",
      "created_at = '2020-01-01T00:00:00.000Z'",
      "key_id = 'key_other'",
    ]) {
      const { id } = await client.createSession();
      execute(`UPDATE log SET ${change} WHERE session_id = ?`, id);
      errorOf(await client.get(`/v1/sessions/${id}/events`), 500);
    }
  });

  test("REL-R9 a download of a damaged file breaks off, and the log names the file", async () => {
    const { id, sha256 } = await upload("large content ".repeat(20_000));
    damage(sha256);
    const lines = damageLines().length;
    await assert.rejects(async () => {
      const response = await fetch(`${client.url}/v1/artifacts/${id}/content`, { headers: client.headers() });
      assert.equal(response.status, 200);
      await response.arrayBuffer();
    }, TypeError);
    assert.equal(damageLines().length, lines + 1, damageLines().join("\n"));
  });

  test("REL-R9 no part of a damaged file is served, wherever the damage is", async () => {
    const { id, sha256 } = await upload("content in parts ".repeat(20_000));
    const part = async (range: string) => {
      const headers = { ...client.headers(), range: `bytes=${range}` };
      const response = await fetch(`${client.url}/v1/artifacts/${id}/content`, { headers });
      return { status: response.status, text: await response.text() };
    };
    const first = { status: 206, text: "content in parts " };
    assert.deepEqual(await Promise.all([part("0-16"), part("17-33")]), [first, first]);
    damage(sha256);
    const lines = damageLines().length;
    for (const range of ["0-16", "-17", "170000-170100"]) {
      const { status, text } = await part(range);
      assert.equal(status, 500, range);
      assert.equal(JSON.parse(text).error.code, "internal_error");
    }
    assert.equal(damageLines().length, lines + 3, damageLines().join("\n"));
    damage(sha256);
    assert.deepEqual(await part("0-16"), first, "what was repaired is served again");
  });

  test("REL-R9 content that was changed in the database is not served", async () => {
    const { id } = await client.createSession();
    await client.append(id, "kept beside the event ".repeat(500));
    execute("UPDATE blobs SET bytes = cast(upper(cast(bytes AS TEXT)) AS BLOB)");
    errorOf(await client.get(`/v1/sessions/${id}/messages`), 500);
  });
});
