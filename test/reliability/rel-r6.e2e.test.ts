/** REL-R6: content that the disk has no room for is refused, and the connection that it came on is not left hanging. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { Client, errorOf, protocolVersion } from "../support/client.ts";
import { adminKey, startProcess, temporaryDirectory } from "../support/server.ts";

test("REL-R6 an upload that the disk has no room for is 503, and its connection ends", async () => {
  await using directory = await temporaryDirectory();
  const full = join(directory.path, "full");
  await using server = await startProcess({ env: { BRIDLE_FAIL_POINT: `blob.write:ENOSPC:${full}` } });
  const client = new Client(server);
  await writeFile(full, "");

  // The body stops in the middle, as it does when a client waits for the server to take more.
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  const headers = {
    Host: new URL(server.url).host,
    Authorization: `Bearer ${adminKey}`,
    "Harn-Agents-Protocol-Version": protocolVersion,
    "Content-Type": "application/x-test",
    "Content-Length": 50_000_000,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST /v1/artifacts/upload HTTP/1.1\r\n${lines.join("")}\r\n`);
  socket.write(Buffer.alloc(1_000_000));
  const closed = once(socket, "close");
  const answer = await text(socket);
  await closed;

  assert.match(answer, /^HTTP\/1.1 503 /);
  assert.match(answer, /^connection: close\r$/im);
  assert.match(answer, /^retry-after: 5\r$/im);
  const { error } = JSON.parse(answer.split("\r\n\r\n")[1] ?? "");
  assert.equal(error.code, "service_unavailable");
  assert.equal(error.message, "Cannot write to the database (disk full). The request was not applied.");
  assert.deepEqual(filesIn(join(server.data, "blobs")), [], "nothing is left behind");
  assert.deepEqual(await client.listAll("/v1/artifacts"), []);

  // A client that keeps connections and sends all of its body goes on with other requests.
  const upload = () =>
    fetch(`${server.url}/v1/artifacts/upload?workspace_id=workspace_default`, {
      method: "POST",
      headers: client.headers({ "content-type": "application/x-test" }),
      body: new Uint8Array(5_000_000),
    });
  for (let round = 0; round < 3; round++) {
    assert.equal((await upload()).status, 503);
    assert.equal((await client.get("/v1/workspaces")).status, 200);
  }
  await rm(full);
  assert.equal((await upload()).status, 201);
});

test("REL-R6 a file that the disk has no room for is 503, and the old one stays", async () => {
  await using directory = await temporaryDirectory();
  const full = join(directory.path, "full");
  await using server = await startProcess({ env: { BRIDLE_FAIL_POINT: `file.write:ENOSPC:${full}` } });
  const client = new Client(server);
  const path = "/v1/workspaces/workspace_default/files?path=a.txt";
  const write = (content: string) => client.call(path, { method: "PUT", body: { content } });
  assert.equal((await write("old")).status, 200);

  await writeFile(full, "");
  const error = errorOf(await write("new"), 503);
  assert.deepEqual(
    [error.code, error.message],
    ["service_unavailable", "Cannot write the file (disk full)."],
  );
  assert.equal((await client.get(path)).body.content, "old");
  assert.equal(filesIn(join(server.data, "workspaces")).length, 1, "nothing is left behind");
});

function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
}
