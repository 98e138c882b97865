/** Approvals as a shell is shown them: what it can answer, what others answer, and what is named by its hash. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { PermissionRequestRecord } from "../../../kernel/kinds/permission-request.ts";
import { approvalHashOf } from "../../../kernel/openharness/approvals.ts";
import { hashOf } from "../../../receipts/canonical.ts";
import type { JsonObject } from "../../../store/port.ts";
import { approvalDirective, isAnswerable } from "./directives.ts";

function asking(request: JsonObject): PermissionRequestRecord {
  return {
    id: "perm_1",
    object: "permission_request",
    tenant_id: "t",
    created_at: "",
    updated_at: "",
    metadata: {},
    workspace_id: "w",
    session_id: "s",
    task_id: "task_1",
    status: "pending",
    source: "hitl",
    step: "approve:1",
    action: "deploy",
    request,
    response: null,
    receipt_id: null,
    expires_at: "2026-11-24T00:00:00.000Z",
  };
}

const request = { action: "deploy", payload: { build: "1" }, risk: "high" };
const able = new Set(["openharness.ui.approval"]);

test("OPH-33 a signed approval in a shell points to the approver and cannot be answered", () => {
  // Given a persona that demands signed approvals, when a shell is shown one, then it points to the approver and cannot
  // answer.
  const { payload, requires_user_approval } = approvalDirective(asking(request), able, true);
  assert.equal(requires_user_approval, true);
  assert.equal(payload?.via, "harp");
  assert.match(String(payload?.message), /approver/);
  assert.equal(isAnswerable(able, true), false);
  assert.equal(isAnswerable(able, false), true);
  const plain = approvalDirective(asking(request), new Set(), true);
  assert.equal(plain.action_type, "render_message");
  assert.match(String(plain.payload?.text), /deploy.*approver/);
});

test("OPH-32 an approval's hash is its own if it has one, else that of its canonical form", () => {
  // Given what is asked, when it is named by a hash, then by its own if it has one, else by that of its canonical form.
  const own = "ab".repeat(32);
  assert.equal(approvalHashOf(asking({ ...request, artifact_hash: own })), own);
  assert.equal(`sha256:${approvalHashOf(asking(request))}`, hashOf(request));
  const { payload, risk_tier } = approvalDirective(asking({ ...request, artifact_hash: own }), able, false);
  assert.equal(payload?.artifact_hash, own);
  assert.equal(risk_tier, "dangerous");
});
