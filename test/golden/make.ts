/**
 * `node test/golden/make.ts NAME` makes a golden data directory with the code of this commit: tasks in every kind of wait, and what
 * a server that was used for a while has beside them. Later versions must open it and go on (`golden.e2e.test.ts`). A release
 * adds one; none is ever made anew.
 */

import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { exportSecrets, generateApproverKeys } from "../../src/harp/core/keys.ts";
import { Approver } from "../../src/sdk/approver/approver.ts";
import { version } from "../../src/version.ts";
import { Client, isFinal, type Json, until } from "../support/client.ts";
import { startServer, temporaryDirectory } from "../support/server.ts";
import { golden } from "./agent.ts";
import { type Golden, writeGolden } from "./directory.ts";

const approverId = "ann";

const [name] = process.argv.slice(2);
assert.ok(name !== undefined, "usage: node test/golden/make.ts NAME");
const directory = await temporaryDirectory();
const server = await startServer({ data: directory.path, config: { agents: [golden] } });
const client = new Client(server);

async function made(path: string, body: object, method = "POST"): Promise<Json> {
  const answer = await client.call(path, { method, body });
  assert.ok(answer.status < 300, `${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

async function persona(fields: object): Promise<string> {
  const basics = { name: "golden", version: "1", entry_workflow: "golden", description: "waits" };
  return (await made("/v1/personas", { ...basics, receipt_policy: "required", ...fields })).id;
}

async function pair(): Promise<Golden["approver"]> {
  const keys = await generateApproverKeys(new Date());
  const { key } = await client.createKey({ scopes: [`harp:approver:${approverId}`], expires_at: null });
  const { code, nonce } = await made("/v1/approvals/pairings", { workspace_name: "golden" });
  const offer = await new Approver({ url: `${server.url}/harp`, key, approverId, keys }).pair(code);
  await offer.complete();
  const path = `/v1/approvals/pairings/${nonce}`;
  await until(
    async () => (await client.get(path)).body,
    ({ state }) => state === "completed",
  );
  await made(`${path}/confirm`, { fingerprint: offer.fingerprint });
  return { id: approverId, key, secrets: await exportSecrets(keys) };
}

const approver = await pair();
const careful = await persona({ autonomy_tier: "act_with_approval" });
const strict = await persona({ autonomy_tier: "act_with_approval", approval_policy: { channel: "harp" } });
const free = await persona({ autonomy_tier: "act_auto", schedules: [{ cron: "0 0 1 1 *" }] });
const vault = await made("/v1/vaults", { provider: "local", capabilities: ["read", "write"] });
await made(`/v1/vaults/${vault.id}/secrets/token`, { value: "golden-value-of-a-token" }, "PUT");
await made("/v1/workspaces/workspace_default/files?path=notes/first.txt", { content: "first" }, "PUT");
await made("/v1/memories", {
  scope: "workspace",
  owner_id: "workspace_default",
  key: "colour",
  content: "gold",
  provenance: { actor: "test" },
});
const session = await client.createSession();
const sent = await fetch(`${client.url}/v1/artifacts/upload?name=upload.txt`, {
  method: "POST",
  body: "uploaded content ".repeat(1000),
  headers: client.headers({ "content-type": "text/plain" }),
});
assert.equal(sent.status, 201, await sent.clone().text());
const upload: Json = await sent.json();
for (const text of ["one", "two"]) {
  const task = await client.submit(session.id, text, { persona_id: free });
  await client.untilTask(task.id, isFinal);
}

const waiting: [name: string, text: string, personaId: string, status: string][] = [
  ["input", "input", free, "INPUT_REQUIRED"],
  ["approval", "approval", free, "AUTH_REQUIRED"],
  ["approval_harp", "approval", strict, "AUTH_REQUIRED"],
  ["effect", "effect", careful, "AUTH_REQUIRED"],
  ["effect_harp", "effect", strict, "AUTH_REQUIRED"],
  ["tool", "tool", careful, "AUTH_REQUIRED"],
  ["sleep", "sleep", free, "WORKING"],
  ["child", "child", free, "WORKING"],
  ["host", "host", free, "WORKING"],
  ["secret", "secret", free, "INPUT_REQUIRED"],
];
const tasks: Record<string, string> = {};
for (const [kind, text, personaId, status] of waiting) {
  const { id } = await client.createSession();
  const task = await client.submit(id, text, { persona_id: personaId });
  tasks[kind] = task.id;
  const isWaiting = (seen: Json) => seen.status === status && seen.waiting_for !== null;
  await client.untilTask(task.id, (seen) => isWaiting(seen) || isFinal(seen));
  assert.ok(isWaiting((await client.get(`/v1/tasks/${task.id}`)).body), kind);
}
for (const kind of ["approval_harp", "effect_harp"]) {
  await until(
    async () => (await client.listAll(`/v1/tasks/${tasks[kind]}/events`)).map(({ event }) => event),
    (events) => events.includes("vendor.bridle.approval.submitted"),
  );
}
await server.stop();
writeGolden(name, directory.path, {
  made: { version, at: new Date().toISOString() },
  tasks,
  sessionId: session.id,
  uploadId: upload.id,
  approver,
});
rmSync(directory.path, { recursive: true });
