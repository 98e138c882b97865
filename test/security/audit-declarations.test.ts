/** No administrative command is forgotten: each declares its audit record, or is listed here with the reason why not. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const kernel = fileURLToPath(new URL("../../src/kernel", import.meta.url));

/** The work itself: it is in the log under its own name, and is not administration. */
const work = [
  "abandon_branch",
  "answer_shell_turn",
  "append_message",
  "append_task_message",
  "call_agent",
  "cancel_task",
  "close_session",
  "compact_session",
  "create_branch",
  "create_memory",
  "create_session",
  "delete_memory",
  "fork_session",
  "merge_branch",
  "register_artifact",
  "replay_session",
  "request_receipt",
  "retry_task",
  "signal_task",
  "submit_host_result",
  "submit_task",
  "take_shell_turn",
  "truncate_session",
  "update_branch",
  "update_session",
  "upload_artifact",
  "verify_receipt",
  "write_workspace_file",
];
/** The approvals' own audit log has these. */
const approvals = ["note_exchange", "receive_decision", "respond_permission_request"];
/** The server itself, without anybody who asks. Commands that no other module can use are not looked at. */
const server = [
  "ask_approvers",
  "deny_undeliverable",
  "end_handoff_turn",
  "ensure_public_workspace",
  "ensure_tenant",
  "erase_events",
  "note_exhaustion",
  "note_failed_delivery",
  "note_handoff",
  "note_late_result",
  "record_erased",
  "tell_harp_session",
];

/** They call `recordAudit` where they decide. */
const themselves = ["ensure_signing_key", "note_audit", "rotate_master_key", "rotate_signing_key"];

test("AUD-4 every command of the kernel is audited, or exempt for a reason", async () => {
  const audited = new Map<string, boolean>();
  for (const file of readdirSync(kernel, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts") || file.endsWith(".test.ts")) continue;
    for (const value of Object.values<unknown>(await import(pathToFileURL(join(kernel, file)).href))) {
      if (isCommand(value)) audited.set(value.name, value.audit !== undefined);
    }
  }
  const exempt = new Set([...work, ...approvals, ...server, ...themselves]);
  const forgotten = [...audited].flatMap(([name, isAudited]) =>
    isAudited || exempt.has(name) ? [] : [name],
  );
  assert.deepEqual(forgotten, []);
  const idle = [...exempt].filter((name) => audited.get(name) !== false);
  assert.deepEqual(idle, [], "exempt and audited, or gone");
});

test("AUD-4 the page about the audit log lists every action, and no other", () => {
  const files = readdirSync(kernel, { recursive: true, encoding: "utf8" }).filter((file) =>
    /(?<!\.test)\.ts$/.test(file),
  );
  const text = files.map((file) => readFileSync(join(kernel, file), "utf8")).join("\n");
  const written = text.matchAll(/(?:\baudited\(\s*|\baction(?::| =) )"(\w+\.\w+)"/g);
  const actions = new Set([...written].map(([, action = ""]) => action));
  // Named by what is exported.
  for (const object of ["session", "task"]) actions.add(`${object}.export`);
  const page = readFileSync(join(kernel, "../../docs/operations/audit.md"), "utf8");
  const table = page.slice(page.indexOf("## What is recorded"));
  const listed = [...table.matchAll(/^\| ((?:`\w+\.\w+`(?:, )?)+) \|/gm)].flatMap(([, cell = ""]) =>
    cell.split(", ").map((name) => name.replaceAll("`", "")),
  );
  assert.deepEqual(listed.sort(), [...actions].sort());
});

function isCommand(value: unknown): value is { name: string; audit?: unknown } {
  return typeof value === "object" && value !== null && "decide" in value && "scope" in value;
}
