/** Scopes that name somebody: which there are, and whom they stand for. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Caller, harpIdentities, isScope, type Scope } from "./caller.ts";

test("HARP-88, HARP-102 enforcer and approver scopes are valid only if a header can carry them", () => {
  // Given scopes of enforcers and approvers, when they are checked, then those that a header can carry are scopes, and
  // others are not.
  const good = [
    "harp:enforcer:enf-01",
    "harp:approver:a",
    "harp:approver:urn:x:1",
    `harp:enforcer:${"x".repeat(128)}`,
  ];
  for (const scope of good) assert.ok(isScope(scope), scope);
  const bad = [
    "harp:enforcer:",
    "harp:enforcer",
    "harp:admin:x",
    "HARP:enforcer:x",
    "harp:enforcer:a b",
    "harp:enforcer:a\nb",
    'harp:enforcer:a"b',
    "harp:enforcer:ü",
    `harp:enforcer:${"x".repeat(129)}`,
  ];
  for (const scope of bad) assert.ok(!isScope(scope), JSON.stringify(scope));
});

test("a caller's HARP identities keep their order, case and colons", () => {
  // Given a caller with several names, when they are asked for, then they come in order, with their case and their
  // colons.
  const scopes: Scope[] = ["tasks:read", "harp:approver:Ada", "harp:enforcer:urn:x:1", "harp:approver:ada"];
  const caller: Caller = { actor: "x", tenantId: "t", workspaceIds: null, scopes: new Set(scopes) };
  assert.deepEqual(harpIdentities(caller), [
    { role: "approver", id: "Ada" },
    { role: "enforcer", id: "urn:x:1" },
    { role: "approver", id: "ada" },
  ]);
});
