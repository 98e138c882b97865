/** A few seconds of the soak (`npm run soak -- --minutes N` goes on for as long as one likes). */

import assert from "node:assert/strict";
import { test } from "node:test";
import { isThorough, seed } from "./runner/seed.ts";
import { soak } from "./soak/soak.ts";

const ms = isThorough ? 120_000 : 5000;

test("SOA-1 clients of all protocols get all they were promised from a server that is disturbed", async (t) => {
  const report = await soak({
    ...{ ms, seed, postgres: null },
    onFailed: (data) => t.diagnostic(`the data is kept in ${data}`),
  });
  for (const protocol of ["rest", "websocket", "opvs", "grpc", "mcp", "openharness"]) {
    assert.ok((report.promised[protocol] ?? 0) > 0, `${protocol}: ${JSON.stringify(report)}`);
  }
  t.diagnostic(JSON.stringify(report));
});
