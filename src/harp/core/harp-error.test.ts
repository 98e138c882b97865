/** Errors are the object that the protocol describes, whoever raises them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { HarpError, harpErrorCodes } from "./harp-error.ts";

test("HARP-38 the error of every code has code, message and retryable", () => {
  // Given every code, when its error is written, then it has code, message and retryable.
  assert.equal(harpErrorCodes.length, 15);
  for (const code of harpErrorCodes) {
    const written: unknown = JSON.parse(JSON.stringify(new HarpError(code, "why")));
    const retryable = code === "HARP_ERR_TRANSPORT" || code === "HARP_PROMPT_ERR_RATE_LIMIT";
    assert.deepEqual(written, { code, message: "why", retryable });
  }
});

test("a serialized error includes its details and omits its cause", () => {
  // Given details and a cause, when the error is written, then the details are there and the cause is not.
  const cause = new Error("secret");
  const error = new HarpError("HARP_ERR_REPLAY", "why", { reason: "nonce" }, { cause });
  assert.equal(error.cause, cause);
  assert.equal(
    JSON.stringify(error),
    '{"code":"HARP_ERR_REPLAY","message":"why","retryable":false,"details":{"reason":"nonce"}}',
  );
});
