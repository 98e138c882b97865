/** SEC-L7: clients behind a proxy that nobody named share one address; the operator hears of it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";

const forwarded = { "x-forwarded-for": "203.0.113.7" };

function warnings(server: TestServer): Record<string, unknown>[] {
  const lines = server.output().split("\n");
  return lines.filter((line) => line.includes("http.forwarded_for_ignored")).map((line) => JSON.parse(line));
}

test("SEC-L7 X-Forwarded-For from a peer that is no trusted proxy is warned of, once a minute", async () => {
  await using server = await startServer();
  const client = new Client(server);
  await client.get("/health");
  assert.deepEqual(warnings(server), []);
  for (let n = 0; n < 5; n++) await client.get("/health", forwarded);
  const [warning, ...more] = warnings(server);
  assert.partialDeepStrictEqual(warning, { level: 40, requests: 1, addresses: ["127.0.0.1"] });
  assert.deepEqual(more, []);
});

test("SEC-L7 a proxy that is named with --trust-proxy is no reason to warn", async () => {
  await using server = await startServer({ flags: ["--trust-proxy", "127.0.0.1"] });
  await new Client(server).get("/health", forwarded);
  assert.deepEqual(warnings(server), []);
});
