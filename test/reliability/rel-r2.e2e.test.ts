/** REL-R2: a key file that a crash left empty lets nobody in. */

import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Code } from "@connectrpc/connect";
import { systemClock } from "../../src/kernel/core/clock.ts";
import { createKernel } from "../../src/kernel/kernel.ts";
import { Issuer } from "../../src/kernel/receipts/signing.ts";
import { loadAdminKey } from "../../src/policy/admin-key.ts";
import { newSigningKey } from "../../src/receipts/keys.ts";
import { AgentRegistry } from "../../src/runtime/agents/registry.ts";
import { openMemoryStore } from "../../src/store/sqlite/in-memory.ts";
import { bridle } from "../support/cli.ts";
import { Client, errorOf } from "../support/client.ts";
import { callOptions, grpcClient, refusalOf } from "../support/grpc.ts";
import { startServer, type TestServer, temporaryDirectory, withGrpc } from "../support/server.ts";
import { refusedUpgrade } from "../support/socket.ts";

let server: TestServer;
before(async () => {
  server = await startServer({ env: { ...withGrpc, BRIDLE_API_KEY: undefined } });
});
after(() => server[Symbol.asyncDispose]());

test("REL-R2 a full disk leaves no admin.key, and the next start makes a whole one", async () => {
  await using place = await temporaryDirectory();
  const file = join(place.path, "admin.key");
  await symlink("/dev/full", `${file}.new`);
  assert.throws(() => loadAdminKey(file, null), /ENOSPC/);
  assert.equal(existsSync(file), false);
  await rm(`${file}.new`);
  const { key, origin } = loadAdminKey(file, null);
  assert.equal(origin, "created");
  assert.equal(readFileSync(file, "utf8"), `${key}\n`);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(loadAdminKey(file, null), { key, origin: "file", file });
});

test("REL-R2 the server does not start with an empty or short key file, and says which and why", async () => {
  const cases: [name: string, content: string, what: RegExp][] = [
    ["admin.key", "", /is empty\. Restore it from a backup, or delete it/],
    ["admin.key", "bridle_admin_cut\n", /does not contain an administrator key\./],
    ["signing.key", "", /is empty\. Restore it from a backup/],
    ["signing.key", "-----BEGIN PRIVATE", /does not contain an Ed25519 private key/],
    ["enforcer.key", "", /is empty\. Restore it from a backup/],
    ["enforcer.key", '{"mac_key":"x"}', /does not contain an enforcer key/],
  ];
  await using place = await temporaryDirectory();
  await (await startServer({ data: place.path, env: { BRIDLE_API_KEY: undefined } })).stop();
  for (const [name, content, what] of cases) {
    const whole = readFileSync(join(place.path, name), "utf8");
    await writeFile(join(place.path, name), content, { mode: 0o600 });
    await assert.rejects(startServer({ data: place.path, env: { BRIDLE_API_KEY: undefined } }), (error) => {
      assert.ok(error instanceof Error);
      assert.ok(error.message.startsWith(join(place.path, name)), error.message);
      assert.match(error.message, what);
      assert.ok(!error.message.includes("\n"));
      return true;
    });
    assert.equal(readFileSync(join(place.path, name), "utf8"), content, "the file stays as it is");
    await writeFile(join(place.path, name), whole, { mode: 0o600 });
  }
});

test("REL-R2 bridle doctor reports key files that are empty or damaged", async () => {
  for (const name of ["admin.key", "signing.key", "enforcer.key", "master.key"]) {
    await using place = await temporaryDirectory();
    await writeFile(join(place.path, name), "", { mode: 0o600 });
    const args = ["doctor", "--json", "--port", "0", "--grpc-port", "0", "--data", place.path];
    const { code, stdout } = await bridle(args, { cwd: place.path });
    assert.equal(code, 1);
    const keys = JSON.parse(stdout).find(({ check }: { check: string }) => check === "keys");
    assert.equal(keys.status, "problem");
    assert.ok(keys.message.startsWith(join(place.path, name)), keys.message);
  }
});

test("REL-R2 an empty bearer is nobody, whatever the administrator's key is", async () => {
  const kernel = createKernel({
    store: openMemoryStore(),
    clock: systemClock,
    agents: new AgentRegistry([]),
    issuer: new Issuer(newSigningKey().key, () => {}),
  });
  assert.equal(await kernel.authenticate(""), null);
  assert.equal(await kernel.authenticate("", "127.0.0.1"), null);
});

test("REL-R2 an empty bearer is refused over HTTP, WebSocket, tickets, MCP and gRPC", async () => {
  const client = new Client(server, "");
  const stream = "/v1/events/stream";
  for (const headers of [{ authorization: "Bearer " }, { authorization: "Bearer" }]) {
    errorOf(await client.call("/v1/sessions", { key: null, headers }), 401);
    errorOf(await client.call("/v1/ws-tickets", { key: null, headers, method: "POST" }), 401);
    assert.equal((await client.call("/mcp", { key: null, headers, body: {} })).status, 401);
  }
  const offers = { withKey: false, protocols: ["bridle.v1", "bearer."] };
  errorOf(await refusedUpgrade(client, stream, offers), 401);
  errorOf(await refusedUpgrade(client, `${stream}?ticket=`, { withKey: false }), 401);
  const { code } = await refusalOf(() =>
    grpcClient(server.grpcUrl()).listTasks({}, callOptions({ authorization: "Bearer " })),
  );
  assert.equal(code, Code.Unauthenticated);
});
