/** SEC-M8: without a credential nothing is read, on any surface. */

import assert from "node:assert/strict";
import { request } from "node:http";
import { after, before, test } from "node:test";
import { defineAgent } from "../../src/index.ts";
import { startServer, type TestServer } from "../support/server.ts";

const open = defineAgent({
  name: "open",
  version: "1.0.0",
  card: { public: true },
  run: async () => "hello",
});

let server: TestServer;
let withPublic: TestServer;
before(async () => {
  server = await startServer();
  withPublic = await startServer({ config: { agents: [open] } });
});
after(async () => {
  await Promise.all([server[Symbol.asyncDispose](), withPublic[Symbol.asyncDispose]()]);
});

/** The status, when only the first byte of a large body has been sent. */
function answerBeforeBody(url: string, headers: Record<string, string>, bytes = 4_000_000): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = { "content-type": "application/json", "content-length": String(bytes), ...headers };
    const asked = request(url, { method: "POST", headers: sent }, (response) => {
      resolve(response.statusCode ?? 0);
      asked.destroy();
    });
    asked.on("error", reject);
    asked.write("{");
  });
}

const addresses = [
  ...["/opvs/rpc", "/a2a/rpc", "/opvs/agents/echo/rpc", "/opvs/rest/message:send", "/openharness/v1"],
  ...["/v1/tasks", "/v1/sessions/import", "/mcp", "/harp/v1/artifacts"],
];

for (const address of addresses) {
  test(`SEC-M8 ${address} refuses an unknown caller before the body has come`, async () => {
    const headers: Record<string, string>[] = [{}, { authorization: "Bearer wrong" }];
    for (const header of headers)
      assert.equal(await answerBeforeBody(`${server.url}${address}`, header), 401);
  });
}

test("SEC-M8 where an agent is public, callers without credentials send little", async () => {
  const url = `${withPublic.url}/opvs/agents/open/rpc`;
  assert.equal(await answerBeforeBody(url, {}), 413);
  assert.equal(await answerBeforeBody(url, { authorization: "Bearer wrong" }), 401);
});
