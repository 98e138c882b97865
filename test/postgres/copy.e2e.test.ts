/** `bridle copy`: a server goes from SQLite to PostgreSQL and back, and nobody who asks it notices. */

import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { copyStore } from "../../src/store/copying.ts";
import { PostgresCopyEnd } from "../../src/store/postgres/copy-end.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { SqliteCopyEnd } from "../../src/store/sqlite/copy-end.ts";
import { bridle, succeeded } from "../support/cli.ts";
import { Client, isFinal, type Json } from "../support/client.ts";
import { sharedPostgres } from "../support/postgres.ts";
import { startServer, temporaryDirectory } from "../support/server.ts";

/** What a client sees of all that was made. */
async function seenBy(client: Client, artifactIds: readonly string[]): Promise<Json> {
  const [tasks, memories, receipts] = await Promise.all([
    client.get("/v1/tasks?limit=50"),
    client.get("/v1/memories?q=violet"),
    client.get("/v1/receipts?limit=50"),
  ]);
  const contents = await Promise.all(
    artifactIds.map(async (id) => {
      const response = await fetch(`${client.url}/v1/artifacts/${id}/content`, { headers: client.headers() });
      return Buffer.from(await response.arrayBuffer())
        .toString("base64")
        .slice(0, 50);
    }),
  );
  for (const { status } of [tasks, memories, receipts]) assert.equal(status, 200);
  assert.equal(memories.body.data.length, 1);
  return { tasks: tasks.body.data, memories: memories.body.data, receipts: receipts.body.data, contents };
}

async function makeSome(client: Client): Promise<string[]> {
  const session = await client.createSession();
  for (const text of ["one", "two"]) {
    const task = await client.submit(session.id, text);
    await client.untilTask(task.id, (seen) => isFinal(seen) && seen.receipt_id !== null);
  }
  const memory = {
    ...{ scope: "workspace", owner_id: "workspace_default", provenance: { actor: "test" } },
    ...{ key: "flower", content: "The violet blooms." },
  };
  assert.equal((await client.post("/v1/memories", memory)).status, 201);
  const sizes = [100, 300_000];
  return await Promise.all(
    sizes.map(async (size) => {
      const query = new URLSearchParams({ session_id: session.id, name: `of-${size}`, kind: "file" });
      const response = await fetch(`${client.url}/v1/artifacts/upload?${query}`, {
        method: "POST",
        headers: client.headers({ "content-type": "application/x-test" }),
        body: Buffer.alloc(size, "content"),
      });
      assert.equal(response.status, 201, await response.clone().text());
      return String(Object(await response.json()).id);
    }),
  );
}

test("CPY-1 a server goes to PostgreSQL and back with all that it has, and goes on", async () => {
  await using data = await temporaryDirectory();
  await using back = await temporaryDirectory();
  const url = await (await sharedPostgres()).newDatabase();
  const first = await startServer({ data: data.path });
  const ids = await makeSome(new Client(first));
  const before = await seenBy(new Client(first), ids);
  await first.stop();

  const copied = succeeded(await bridle(["copy", "--from", data.path, "--to", url, "--json"]));
  const { log_hash: hash, events }: Json = JSON.parse(copied);
  const second = await startServer({ data: data.path, env: { BRIDLE_DATABASE_URL: url } });
  assert.deepEqual(await seenBy(new Client(second), ids), before);
  const client = new Client(second);
  const task = await client.submit((await client.createSession()).id, "three");
  await client.untilTask(task.id, (seen) => isFinal(seen) && seen.receipt_id !== null);
  const between = await seenBy(client, ids);
  await second.stop();

  cpSync(join(data.path, "signing.key"), join(back.path, "signing.key"));
  const returned = succeeded(await bridle(["copy", "--from", url, "--to", back.path, "--json"]));
  assert.notEqual(JSON.parse(returned).log_hash, hash);
  assert.ok(JSON.parse(returned).events > events);
  await using third = await startServer({ data: back.path });
  assert.deepEqual(await seenBy(new Client(third), ids), between);
  assert.equal((await bridle(["copy", "--from", url, "--to", data.path])).code, 1, "it is not empty");
});

test("CPY-2 an interrupted copy starts no server, and goes on where it was", async () => {
  await using data = await temporaryDirectory();
  const url = await (await sharedPostgres()).newDatabase();
  const server = await startServer({ data: data.path });
  const client = new Client(server);
  const refused = await bridle(["copy", "--from", data.path, "--to", url]);
  assert.match(refused.stderr, /Another Bridle server .* is using the data directory/);
  await makeSome(client);
  await server.stop();
  const place = { url, schema: "bridle" };
  const noText = () => null;
  {
    await using source = await SqliteCopyEnd.open(data.path, noText);
    await using target = await PostgresCopyEnd.open(place, noText);
    const broken = new Error("the power went away");
    const interrupted = copyStore(source, target, (what) => {
      if (what === "rows of documents copied") throw broken;
    });
    await assert.rejects(interrupted, broken);
    assert.ok((await target.count("log")) > 0);
  }
  await assert.rejects(
    openPostgresStore({ ...place, isSole: true }),
    /holds an unfinished copy\. Finish it by repeating "bridle copy"/,
  );
  succeeded(await bridle(["copy", "--from", data.path, "--to", url]));
  await using again = await startServer({ data: data.path, env: { BRIDLE_DATABASE_URL: url } });
  assert.equal((await new Client(again).get("/v1/tasks")).body.data.length, 2);
  const wrong = await bridle(["copy", "--from", data.path, "--to", data.path]);
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /one of --from and --to must be a data directory and the other a database/);
});
