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
