/** REL-R12: text that is not UTF-8 is refused, not stored as something that nobody sent. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client, type Json } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let client: Client;
before(async () => {
  server = await startServer();
  client = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

async function post(path: string, bytes: Buffer): Promise<{ status: number; body: Json }> {
  const response = await fetch(client.url + path, {
    method: "POST",
    headers: client.headers({ "content-type": "application/json" }),
    body: new Uint8Array(bytes),
  });
  return { status: response.status, body: await response.json() };
}

const wrong: Record<string, number[]> = {
  "a lone continuation byte": [0x80],
  "Latin-1": [0xe9],
  "an overlong form": [0xc0, 0xaf],
  "half a surrogate pair": [0xed, 0xa0, 0xbd],
  "beyond the last character": [0xf4, 0x90, 0x80, 0x80],
};

for (const [what, bytes] of Object.entries(wrong)) {
  test(`REL-R12 a command with ${what} is refused, and the byte is named`, async () => {
    const before = Buffer.from('{"workspace_id":"workspace_default","metadata":{"é":"');
    const { status, body } = await post(
      "/v1/sessions",
      Buffer.concat([before, Buffer.from(bytes), Buffer.from('"}}')]),
    );
    assert.equal(status, 400);
    assert.equal(body.error.code, "invalid_request");
    assert.match(body.error.message, new RegExp(`not UTF-8 from byte ${before.length} on`));
  });
}

test("REL-R12 every kind of character that UTF-8 has comes back as it was sent", async () => {
  const metadata = { text: "a é € 😀 \u0000 \ufffd \ufeff \u{10ffff}" };
  const sent = Buffer.from(JSON.stringify({ workspace_id: "workspace_default", metadata }));
  const { status, body } = await post("/v1/sessions", sent);
  assert.equal(status, 201, JSON.stringify(body));
  assert.deepEqual(body.metadata, metadata);
});
