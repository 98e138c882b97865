/** SEC-H6, SEC-M2: what a caller may not ask for is not read, and what takes long to read is small. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client, errorOf } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { answerBeforeBody } from "../support/unfinished.ts";

let server: TestServer;
let admin: Client;
let reader: Client;
before(async () => {
  server = await startServer();
  admin = new Client(server);
  reader = admin.as((await admin.createKey({ scopes: ["metrics:read"] })).key);
});
after(() => server[Symbol.asyncDispose]());

function statusBeforeBody(path: string, type: string): Promise<number> {
  const headers = reader.headers({ "content-type": type });
  return answerBeforeBody(`${server.url}${path}`, { headers, bytes: 250 * 1024 * 1024 });
}

test("SEC-H6 an import by a key that may not is refused before its body has come", async () => {
  assert.equal(await statusBeforeBody("/v1/sessions/import", "application/jsonl"), 403);
});

test("SEC-H6 an import that is too large is refused, and the next one is taken", async () => {
  const session = await admin.createSession();
  const line = `{"blob":{"sha256":"x","base64":"${"A".repeat(65 * 1024 * 1024)}`;
  const headers = { "content-type": "application/jsonl" };
  errorOf(await admin.call("/v1/sessions/import", { raw: line, headers }), 413);
  errorOf(await admin.call("/v1/sessions/import", { raw: "{}", headers }), 400);
  assert.equal((await admin.get(`/v1/sessions/${session.id}`)).status, 200);
});

test("SEC-M2 a receipt is not read for a key that may not verify it, nor one that is too large", async () => {
  assert.equal(await statusBeforeBody("/v1/receipts/verify", "application/json"), 403);
  const names = Array.from({ length: 40_000 }, (_, n) => `"\\n${n}":1`).join(",");
  const raw = `{${names}}`;
  assert.ok(raw.length > 256 * 1024);
  const headers = { "content-type": "application/json" };
  errorOf(await admin.call("/v1/receipts/verify", { raw, headers }), 413);
});
