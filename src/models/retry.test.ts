import assert from "node:assert/strict";
import { test } from "node:test";
import { ModelError } from "./model.ts";
import { attemptsMax, retryDelay } from "./retry.ts";

const passing = new ModelError("model_unavailable", "down", { isPassing: true });
const [lowest, highest] = [() => 0, () => 1 - Number.EPSILON];

test("MDL-25 retries of a passing failure wait at random below a bound that doubles", () => {
  // Given a failure that passes, when it is tried again, then the waits are random below a bound that doubles.
  assert.deepEqual(
    [1, 2, 3].map((attempt) => retryDelay(attempt, passing, highest)),
    [499, 999, 1999],
  );
  assert.deepEqual(
    [1, 2, 3].map((attempt) => retryDelay(attempt, passing, lowest)),
    [0, 0, 0],
  );
});

test("MDL-25 a retry does not start before the provider's retry time", () => {
  // Given a provider that says when to come back, when it is tried again, then not before.
  const error = new ModelError("model_rate_limited", "busy", { isPassing: true, retryAfterMs: 7000 });
  assert.equal(retryDelay(1, error, lowest), 7000);
  assert.equal(retryDelay(1, error, highest), 7499);
});

test("MDL-25 a permanent failure or the last attempt has no next wait", () => {
  // Given a failure that stays, or enough attempts, when it is asked for the next wait, then there is none.
  assert.equal(attemptsMax, 4);
  assert.equal(retryDelay(4, passing, lowest), null);
  assert.equal(retryDelay(1, new ModelError("model_refused", "no"), lowest), null);
});
