/** SEC-L5: what somebody sent does not drive the terminal of whoever watches the log. */

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { createReadableLogger } from "../../src/server/logger.ts";

test("SEC-L5 readable log lines have no character that a terminal obeys", () => {
  const written: string[] = [];
  const writing = mock.method(process.stderr, "write", (text: string) => written.push(text) > 0);
  try {
    const evil = "\u001b[2J\u001b]0;title\u0007\u001b]52;c;aGk=\u0007\u009b31m";
    createReadableLogger("info").error({ err: new Error(evil), input: evil }, `failed: ${evil}`);
  } finally {
    writing.mock.restore();
  }
  const text = written.join("");
  assert.match(text, /failed: /);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
  assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
});
