/** SEC-M7: nobody takes the server's names, and nobody ends a key that can do more than theirs. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client, errorOf } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let admin: Client;
before(async () => {
  server = await startServer();
  admin = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

for (const actor of ["admin", "system", "gateway", "anonymous", " Admin "]) {
  test(`SEC-M7 a key cannot act as ${JSON.stringify(actor)}`, async () => {
    const error = errorOf(
      await admin.post("/v1/api-keys", { name: "x", actor, scopes: ["sessions:read"] }),
      400,
    );
    assert.equal(error.param, "actor");
  });
}

test("SEC-M7 a key cannot revoke one with scopes that it lacks", async () => {
  const chief = await admin.createKey({ scopes: ["admin"] });
  const clerk = await admin.createKey({ scopes: ["api_keys:write", "sessions:read"] });
  const peer = await admin.createKey({ scopes: ["sessions:read"] });
  const revoke = (id: string) => admin.as(clerk.key).call(`/v1/api-keys/${id}`, { method: "DELETE" });
  errorOf(await revoke(chief.id), 403);
  assert.equal((await admin.as(chief.key).get("/v1/sessions")).status, 200);
  assert.ok((await revoke(peer.id)).status < 300);
  assert.ok((await revoke(clerk.id)).status < 300, "its own");
});

test("SEC-M7 without admin, a key is made for oneself or a new name, not for somebody else", async () => {
  const boss = await admin.createKey({ actor: "Boss" });
  const gone = await admin.createKey({ actor: "gone" });
  await admin.call(`/v1/api-keys/${gone.id}`, { method: "DELETE" });
  await admin.createKey({ actor: "device", scopes: ["harp:approver:ann"] });
  const clerk = admin.as(
    (await admin.createKey({ actor: "clerk", scopes: ["api_keys:write", "sessions:read"] })).key,
  );
  const make = (actor: string, by = clerk) =>
    by.post("/v1/api-keys", { name: "x", actor, scopes: ["api_keys:write", "sessions:read"] });

  for (const actor of ["Boss", "boss ", "ＢＯＳＳ", "gone", "ann", "device", "Clerk", "persona_default"]) {
    assert.equal(errorOf(await make(actor), 403).param, "actor", actor);
  }
  assert.equal((await make("clerk")).status, 201, "its own");
  const robot = await make("robot");
  assert.equal(robot.status, 201, "a new name");
  assert.equal((await make("robot")).status, 201, "the name of a key that it made");
  const child = admin.as(robot.body.key);
  errorOf(await make("clerk", child), 403);
  assert.equal((await make("robot", child)).status, 201);
  assert.equal((await make(boss.actor, admin)).status, 201, "an administrator names anybody");
});

test("SEC-M7 of several that take the same new name at once, only one gets it", async () => {
  const scopes = ["api_keys:write"];
  const clerks = await Promise.all(["c1", "c2", "c3"].map((actor) => admin.createKey({ actor, scopes })));
  const answers = await Promise.all(
    clerks.map(({ key }) => admin.as(key).post("/v1/api-keys", { name: "x", actor: "prize", scopes })),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 403, 403]);
});
