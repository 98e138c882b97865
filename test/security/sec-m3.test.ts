/** SEC-M3: whoever guesses keys is seen. */

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { FailureLog, type FailureReport } from "../../src/policy/failure-log.ts";
import { Client, errorOf } from "../support/client.ts";
import { startServer } from "../support/server.ts";

test("SEC-M3 wrong credentials are told at once, and then once a minute with their number", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const told: FailureReport[] = [];
    const log = new FailureLog((report) => told.push(report));
    for (let n = 0; n < 4000; n++) log.note(`10.0.0.${n % 8}`);
    assert.deepEqual(told, [{ failures: 1, addresses: ["10.0.0.0"], others: 0 }]);
    mock.timers.tick(60_000);
    assert.deepEqual([told[1]?.failures, told[1]?.addresses.length, told[1]?.others], [3999, 5, 3]);
    mock.timers.tick(60_000);
    assert.equal(told.length, 2, "nothing more to tell");
  } finally {
    mock.timers.reset();
  }
});

test("SEC-M3 the server warns of wrong credentials with the address and without the credential", async () => {
  await using server = await startServer();
  errorOf(await new Client(server, "a-guessed-key-0000000000000").get("/v1/sessions"), 401);
  const line =
    server
      .output()
      .split("\n")
      .find((text) => text.includes(`"event":"auth.failed"`)) ?? "{}";
  const { level, addresses, failures } = JSON.parse(line);
  assert.deepEqual([level, addresses, failures], [40, ["127.0.0.1"], 1]);
  assert.ok(!server.output().includes("guessed"));
});
