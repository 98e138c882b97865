/** SEC-L12: the answer that is kept for an Idempotency-Key belongs to the key that asked. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client } from "../support/client.ts";
import { tokenFor } from "../support/oauth.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let admin: Client;
before(async () => {
  server = await startServer();
  admin = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

async function create(client: Client, idempotencyKey: string): Promise<string> {
  const body = { workspace_id: "workspace_default" };
  const answer = await client.post("/v1/sessions", body, { "idempotency-key": idempotencyKey });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body.id;
}

test("SEC-L12 two keys of one actor do not share answers; a key and its tokens do", async () => {
  const [one, other] = [await admin.createKey(), await admin.createKey()];
  const first = await create(admin.as(one.key), "same");
  assert.equal(await create(admin.as(one.key), "same"), first);
  assert.equal(await create(admin.as(await tokenFor(admin, one)), "same"), first);
  assert.notEqual(await create(admin.as(other.key), "same"), first);
  const mine = await create(admin, "same");
  assert.notEqual(mine, first);
  assert.equal(await create(admin, "same"), mine, "a caller without a key has answers of its own");
});
