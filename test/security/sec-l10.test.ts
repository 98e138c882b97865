/** SEC-L10: addresses that look public but are not, and those that an operator adds. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createOutbound, OutboundRefused } from "../../src/policy/outbound.ts";
import { bridle, errorLine } from "../support/cli.ts";
import { Client } from "../support/client.ts";
import { startServer } from "../support/server.ts";

test("SEC-L10 Azure's host address is refused however it is written, in development too", async () => {
  for (const allowPrivate of [false, true]) {
    const outbound = createOutbound({
      allowPrivate,
      resolve: async () => [{ address: "168.63.129.16", family: 4 }],
    });
    for (const host of ["168.63.129.16", "2822734096", "0xa83f8110", "[::ffff:168.63.129.16]"]) {
      assert.throws(() => outbound.check(`https://${host}/`), OutboundRefused, host);
    }
    await assert.rejects(outbound.request("https://wire.example/"), OutboundRefused);
    outbound.check("https://168.63.129.17/");
  }
});

test("SEC-L10 --blocked-ranges refuses webhooks to these addresses and is checked when it is read", async () => {
  await using server = await startServer({
    flags: ["--blocked-ranges", "203.1.0.0/16", "2a00::/12", "--allow-private-addresses"],
    env: { BRIDLE_BLOCKED_RANGES: undefined },
  });
  const client = new Client(server);
  const task = await client.rehearse((await client.createSession()).id, "ask Who?");
  const register = (host: string) =>
    client.post(
      `/opvs/rest/tasks/${task.id}/pushNotificationConfigs`,
      { url: `https://${host}/hook` },
      { "a2a-version": "1.0" },
    );
  for (const host of ["203.1.2.3", "[2a01::1]", "[::ffff:203.1.2.3]"]) {
    const { status, body } = await register(host);
    assert.equal(status, 400, JSON.stringify(body));
    assert.match(body.error.message, /not a public address/);
  }
  assert.equal((await register("127.0.0.1:9")).status, 201);
  const ended = await bridle(["serve", "--blocked-ranges", "0.0.0.0/0"]);
  assert.match(errorLine(ended, 2), /--blocked-ranges.*must be an IP address, or a range/);
});
