import assert from "node:assert/strict";
import { test } from "node:test";
import { backoffMs } from "../../web/backoff.ts";
import { gatewayBackoff } from "./waiting.ts";

test("HARP-99 retries wait at most 1 s, doubling up to 60 s, with full jitter", () => {
  const waits = (random: number) =>
    [1, 2, 3, 4, 5, 6, 7, 8, 5000].map((failures) => backoffMs(gatewayBackoff, failures, () => random));
  const limits = [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000];
  assert.deepEqual(
    waits(0),
    limits.map(() => 0),
  );
  assert.deepEqual(
    waits(0.5),
    limits.map((limit) => limit / 2),
  );
  assert.deepEqual(
    waits(1 - Number.EPSILON),
    limits.map((limit) => limit - 1),
  );
});
