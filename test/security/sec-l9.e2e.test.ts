/** SEC-L9: everything in the data directory is for its owner only. */

import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Client } from "../support/client.ts";
import { startServer } from "../support/server.ts";

test("SEC-L9 no file of the data directory can be read by others", async () => {
  await using server = await startServer();
  const client = new Client(server);
  await client.rehearse((await client.createSession()).id, "artifact a.txt text", "return done");
  const files = readdirSync(server.data, { recursive: true, encoding: "utf8" })
    .map((name) => ({ name, status: statSync(join(server.data, name)) }))
    .filter(({ status }) => status.isFile());
  assert.ok(files.some(({ name }) => name === "lock.db"));
  assert.deepEqual(
    files.filter(({ status }) => (status.mode & 0o077) !== 0).map(({ name }) => name),
    [],
  );
});
