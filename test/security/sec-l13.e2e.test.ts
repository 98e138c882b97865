/** SEC-L13: a body that two programs could read differently is refused on every surface, and the refusal names the place. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { Client, errorOf, type Json } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { openSession } from "../support/socket.ts";

let server: TestServer;
let client: Client;
before(async () => {
  server = await startServer();
  client = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

const json = { "content-type": "application/json" };

/** Bodies of a session, each with one thing that parsers read differently, and what the refusal says. */
const ambiguous: Record<string, [body: string, said: RegExp]> = {
  "a repeated name": [
    '{"workspace_id":"workspace_default","metadata":{},"workspace_id":"workspace_other"}',
    /"workspace_id" at position 50 comes twice/,
  ],
  "a name that is repeated in another spelling": [
    '{"metadata":{},"workspace_id":"workspace_default","workspace\\u005fid":"x"}',
    /"workspace_id" at position 50 comes twice/,
  ],
  "a repeated name deep inside": [
    '{"workspace_id":"workspace_default","metadata":{"a":[{"b":"\\"","b":1}]}}',
    /"b" at position 63 comes twice/,
  ],
  "half a surrogate pair": [
    '{"workspace_id":"workspace_default","metadata":{"a":"\\ud83d"}}',
    /position 52 has a lone surrogate/,
  ],
  "half a surrogate pair in a name": [
    '{"workspace_id":"workspace_default","metadata":{"\\uDC00":1}}',
    /position 48 has a lone surrogate/,
  ],
  "a byte order mark": ['\ufeff{"workspace_id":"workspace_default"}', /byte order mark/],
};

for (const [what, [raw, said]] of Object.entries(ambiguous)) {
  test(`SEC-L13 a command with ${what} is refused, and the place is named`, async () => {
    const error = errorOf(await client.call("/v1/sessions", { method: "POST", raw, headers: json }), 400);
    assert.equal(error.code, "invalid_request");
    assert.match(error.message, said);
  });
}

test("SEC-L13 what only looks ambiguous is taken as it is", async () => {
  const metadata = {
    quotes: '"a":1,"a":1',
    backslashes: '\\"\\\\',
    pair: "😀",
    same: [{ a: 1 }, { a: 1 }],
    nested: { same: { same: 1 } },
    "": "no name",
  };
  // Written in ASCII, as some libraries do.
  const raw = JSON.stringify({ workspace_id: "workspace_default", metadata }).replaceAll(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  const { status, body } = await client.call("/v1/sessions", { method: "POST", raw, headers: json });
  assert.equal(status, 201, JSON.stringify(body));
  assert.deepEqual(body.metadata, metadata);
});

describe("the other surfaces", () => {
  test("SEC-L13 OPVS, MCP and OpenHarness refuse a repeated name", async () => {
    const rpc = '{"jsonrpc":"2.0","id":1,"method":"ListTasks","method":"GetTask","params":{}}';
    const opvs = { ...json, "a2a-version": "1.0" };
    const tried: [path: string, raw: string, headers: Record<string, string>][] = [
      ["/opvs/rpc", rpc, opvs],
      ["/opvs/rest/message:send", '{"tenant":"a","tenant":"b"}', opvs],
      ["/mcp", rpc, { ...json, accept: "application/json, text/event-stream" }],
      ["/openharness/v1", '{"protocol_version":"1","protocol_version":"2"}', json],
    ];
    for (const [path, raw, headers] of tried) {
      const { body } = await client.call(path, { method: "POST", raw, headers });
      assert.match(JSON.stringify(body), /comes twice/, path);
    }
  });

  test("SEC-L13 a WebSocket frame with a repeated name is refused", async () => {
    const session = await client.createSession();
    await using socket = await openSession(client, session.id);
    socket.send('{"type":"task.cancel","task_id":"a","task_id":"b"}');
    assert.match((await socket.until("error")).error.message, /"task_id" at position 36 comes twice/);
  });

  test("SEC-L13 a delivery that is signed and has a repeated name is refused", async () => {
    const connector: Json = await client.createConnector();
    const raw = '{"event":"a","event":"b"}';
    const [id, at] = ["delivery-1", String(Math.floor(Date.now() / 1000))];
    const key = Buffer.from(connector.secret.replace(/^whsec_/, ""), "base64");
    const signature = createHmac("sha256", key).update(`${id}.${at}.${raw}`).digest("base64");
    const answer = await client.call(`/v1/connectors/${connector.id}/deliveries`, {
      method: "POST",
      raw,
      headers: {
        ...json,
        "webhook-id": id,
        "webhook-timestamp": at,
        "webhook-signature": `v1,${signature}`,
      },
    });
    assert.match(errorOf(answer, 400).message, /"event" at position 13 comes twice/);
  });
});
