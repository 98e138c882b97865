import assert from "node:assert/strict";
import { test } from "node:test";
import { errorOf } from "../sdk/client/errors.ts";
import { complaintOf } from "./exit-codes.ts";

test("CMD-63 an error is escaped onto one line for a person and kept raw for a script", () => {
  // Given an error whose words would drive a terminal or pass for another line, when it is told to a person, then they
  // are spelled out on one line, and a script has them as they were.
  const message = "no\u001b[2J\nbridle: all is well\u202e";
  const facts = { code: "resource_not_found", message, status: 404, requestId: null } as const;
  const told = complaintOf(errorOf({ ...facts, details: { agents: ["one\u001b[31m\nmore"] } }));
  assert.equal(
    told.text,
    "no\\u{1b}[2J bridle: all is well\\u{202e} (resource_not_found)\n  agents: one\\u{1b}[31m more",
  );
  assert.equal(told.facts.message, message);
  assert.equal(complaintOf(new Error("a file\u001b]0;x\u0007")).text, "a file\\u{1b}]0;x\\u{7}");
});
