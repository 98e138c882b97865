/**
 * Every optional member of every request body, sent with a valid value: it is found in the answer, has an effect that is seen
 * here, or is proved by the tests of a requirement. The list of members is the API's own description, so a new one needs a line.
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { requirements } from "../requirements.ts";
import { agentRequirements } from "../requirements-agents.ts";
import { clientRequirements } from "../requirements-client.ts";
import { harpRequirements } from "../requirements-harp.ts";
import { keyRequirements } from "../requirements-keys.ts";
import { retryRequirements } from "../requirements-retries.ts";
import { taxonomyRequirements } from "../requirements-taxonomy.ts";
import { type Answer, Client, isFinal, type Json } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let client: Client;
let api: Json;
before(async () => {
  server = await startServer({ config: { contextPacks: new Map([["handbook", "Be kind."]]) } });
  client = new Client(server);
  api = (await client.get("/openapi.json")).body;
});
after(() => server[Symbol.asyncDispose]());

/** The value is in the answer, under the member's name or where `at` finds it. */
interface Echo {
  value: Json | ((world: World) => Json);
  at?: (body: Json) => Json;
  /** What it is found as, where that is not what was sent. */
  found?: Json;
  /** What has to go along with it. */
  with?: Json;
}
/** The ids of the requirements whose tests prove it. */
interface Elsewhere {
  by: readonly string[];
}
type Member = Echo | Elsewhere;

interface Operation {
  /** What it is done to, made anew for each member. */
  path?: (world: World) => string | Promise<string>;
  body?: (world: World) => Json;
  members: Record<string, Member>;
}

/** What is there for requests to name. */
interface World {
  session: Json;
  task: Json;
  quota: Json;
  workspace: Json;
}

const later = "2099-01-01T00:00:00.000Z";
const metadata: Echo = { value: { label: "blue" } };
const reason = "because";
const refusedByName: Elsewhere = { by: ["TAX-11"] };
const foreign = Object.fromEntries(
  ["host", "repository", "connectors", "network_policy", "sandbox_backend", "image", "packages"].map(
    (name) => [name, refusedByName],
  ),
);
const quotaOf: Echo = { value: ({ quota }: World) => quota.id };

const workspaceMembers: Operation["members"] = {
  capabilities: { value: ["files:read"] },
  quota_id: { by: ["QUO-1"] },
  metadata,
  ...foreign,
};
const personaMembers: Operation["members"] = {
  module_ref: { value: "lib/agent" },
  tools: { value: ["mail.*"] },
  capabilities: { value: ["files:write"] },
  handoffs: { value: ["persona_rehearsal"] },
  model_policy: { value: { model: "a/b", temperature: 1 } },
  approval_policy: { value: { ask_from: "high", four_eyes: true } },
  schedules: {
    value: [{ cron: "0 7 1 1 *", time_zone: "Europe/Berlin", input: { text: "hi" }, paused: true }],
    at: (body) => body.schedules.map(({ id: _, ...schedule }: Json) => schedule),
  },
  triggers: { by: ["CON-3", "TAX-11"] },
  context_packs: { value: ["handbook"] },
  evals: refusedByName,
  owner: { value: "ada" },
  rollout_policy: { by: ["PER-30"] },
  quota_id: quotaOf,
  disabled: { value: true },
  lists: { value: "strict" },
  metadata,
};
const quotaMembers: Operation["members"] = {
  hard_limit: { value: false },
  soft_limit: { value: true },
  on_exhaustion: { value: "ask" },
  reset_window: { value: "day" },
  reset_at: { value: later, with: { reset_window: "day" } },
  metadata,
};
const taskMembers: Operation["members"] = {
  session_id: { value: ({ session }: World) => session.id },
  workspace_id: { value: "workspace_default" },
  persona_id: { value: "persona_rehearsal" },
  branch_id: { value: ({ session }: World) => session.branch_id },
  parent_task_id: { value: ({ task }: World) => task.id },
  metadata,
};
const skillMembers: Operation["members"] = {
  input_schema: { value: { type: "object" } },
  output_schema: { value: { type: "string" } },
  source: { value: "elsewhere" },
  version: { value: "2" },
  capabilities: { value: ["files:read"] },
  requires_approval: { value: true },
  deprecated: { value: true },
  metadata,
};
const polling = { url: "https://example.com/feed", interval_seconds: 3600, items_path: "a", id_path: "b" };
const connectorMembers: Operation["members"] = {
  status: { value: "PAUSED" },
  event_kinds: { value: ["push"] },
  dedupe_policy: { value: { window_seconds: 7200 } },
  target_persona_id: { value: "persona_rehearsal" },
  target_session_id: { value: ({ session }: World) => session.id },
  emits: { value: "event" },
  metadata,
};
const connector = { provider: "webhook", workspace_id: "workspace_default" };

async function made(path: string, body: object): Promise<Json> {
  const { status, body: created } = await client.post(path, body);
  assert.ok(status < 300, JSON.stringify(created));
  return created;
}

const newPersona = (version = "1") => ({
  name: "P",
  version,
  entry_workflow: "echo",
  description: "",
  autonomy_tier: "act_auto",
  receipt_policy: "required",
});
const newMemory = () => ({
  scope: "workspace",
  owner_id: "workspace_default",
  content: "c",
  provenance: { actor: "ada" },
});
const message = { role: "user", parts: [{ type: "text", text: "hi", visibility: "public" }] };

async function ended(world: World): Promise<string> {
  const task = await made("/v1/tasks", { session_id: world.session.id, input: { text: "hi" } });
  await client.untilTask(task.id, isFinal);
  return task.id;
}

async function pending(world: World): Promise<string> {
  const said = { ...message, parts: [{ ...message.parts[0], text: "approve deploy" }] };
  const body = { session_id: world.session.id, persona_id: "persona_rehearsal", input: said };
  const { id } = await made("/v1/tasks", body);
  await client.untilTask(id, ({ status }: Json) => status === "AUTH_REQUIRED");
  const { body: page } = await client.get(`/v1/tasks/${id}/permission-requests`);
  return page.data[0].id;
}

const operations: Record<string, Operation> = {
  "POST /v1/workspaces": { body: () => ({ name: "W", root: "w" }), members: workspaceMembers },
  "PATCH /v1/workspaces/{workspace_id}": {
    path: ({ workspace }) => `/v1/workspaces/${workspace.id}`,
    members: { name: { value: "W2" }, ...workspaceMembers },
  },
  "PUT /v1/workspaces/{workspace_id}/files": {
    path: ({ workspace }) => `/v1/workspaces/${workspace.id}/files`,
    body: () => ({ content: "x" }),
    members: { path: { value: "a/b.txt" }, metadata: { by: ["FIL-5"] } },
  },
  "POST /v1/personas": { body: () => newPersona(), members: personaMembers },
  "PATCH /v1/personas/{persona_id}": {
    path: async () => `/v1/personas/${(await made("/v1/personas", newPersona())).id}`,
    members: {
      name: { value: "P2" },
      version: { value: "9" },
      entry_workflow: { value: "rehearsal" },
      description: { value: "Other." },
      autonomy_tier: { value: "suggest" },
      receipt_policy: { value: "optional" },
      ...personaMembers,
    },
  },
  "POST /v1/quotas": { body: () => ({ scope: "persona", limits: { tasks: 5 } }), members: quotaMembers },
  "PATCH /v1/quotas/{quota_id}": {
    path: async () =>
      `/v1/quotas/${(await made("/v1/quotas", { scope: "persona", limits: { tasks: 5 } })).id}`,
    members: { limits: { value: { tasks: 7 } }, ...quotaMembers },
  },
  "POST /v1/sessions": {
    body: () => ({ workspace_id: "workspace_default" }),
    members: {
      persona_id: { value: "persona_rehearsal" },
      memory_ids: { by: ["MEM-7"] },
      skill_ids: { by: ["SKL-3"] },
      initial_messages: { by: ["SES-2"] },
      vault_ids: { by: ["VLT-3"] },
      expires_at: { value: later },
      metadata,
    },
  },
  "PATCH /v1/sessions/{session_id}": {
    path: async () => `/v1/sessions/${(await client.createSession()).id}`,
    members: {
      state: { value: "PAUSED" },
      expires_at: { value: later },
      summary: { value: "All of it." },
      metadata,
    },
  },
  "POST /v1/sessions/{session_id}/fork": {
    path: ({ session }) => `/v1/sessions/${session.id}/fork`,
    members: { at_event_id: { by: ["SES-4"] }, branch_id: { by: ["SES-4"] }, metadata },
  },
  "POST /v1/sessions/{session_id}/truncate": {
    path: async () => `/v1/sessions/${(await client.createSession()).id}/truncate`,
    body: () => ({ keep_first: 0 }),
    members: { reason: { by: ["SES-3"] } },
  },
  "POST /v1/sessions/{session_id}/branches": {
    path: ({ session }) => `/v1/sessions/${session.id}/branches`,
    body: () => ({ kind: "session", base_ref: "main" }),
    members: {
      parent_branch_id: { value: ({ session }: World) => session.branch_id },
      task_id: { by: ["BRA-1"] },
      worktree_uri: { value: "file:///work/tree" },
      metadata,
    },
  },
  "PATCH /v1/branches/{branch_id}": {
    path: async ({ session }) => {
      const body = { kind: "session", base_ref: "main" };
      return `/v1/branches/${(await made(`/v1/sessions/${session.id}/branches`, body)).id}`;
    },
    members: { worktree_uri: { value: "file:///work/other" }, metadata },
  },
  "POST /v1/branches/{branch_id}/abandon": { members: { reason: { by: ["BRA-3"] } } },
  "POST /v1/sessions/{session_id}/compact": { members: { summary: { by: ["SES-3"] } } },
  "POST /v1/sessions/{session_id}/erase": {
    path: async () => `/v1/sessions/${(await client.createSession()).id}/erase`,
    members: { reason: { value: reason, at: (body) => body.erasure.reason } },
  },
  "POST /v1/retention/sweep": { members: { dry_run: { by: ["RET-5"] } } },
  "POST /v1/tenants/{tenant_id}/erase": { members: { reason: { by: ["RET-1"] } } },
  "POST /v1/tasks": {
    body: ({ session }) => ({ session_id: session.id, input: { text: "hi" } }),
    members: taskMembers,
  },
  "POST /v1/sessions/{session_id}/tasks": {
    path: ({ session }) => `/v1/sessions/${session.id}/tasks`,
    body: () => ({ input: { text: "hi" } }),
    members: taskMembers,
  },
  "POST /v1/sessions/{session_id}/ui": {
    members: {
      // What every client of the AI SDK sends of its own accord.
      id: { by: ["UIS-1"] },
      messageId: { by: ["UIS-1"] },
      trigger: { by: ["UIS-3"] },
      agent: { by: ["UIS-1"] },
    },
  },
  "POST /v1/tasks/{task_id}/cancel": { members: { reason: { by: ["TSK-6"] } } },
  "POST /v1/tasks/{task_id}/signals": { members: { payload: { by: ["SIG-4"] } } },
  "POST /v1/tasks/{task_id}/retry": { members: { from_step: { by: ["TRY-2"] } } },
  "POST /v1/tasks/{task_id}/replay": {
    path: async (world) => `/v1/tasks/${await ended(world)}/replay`,
    members: {
      mode: { value: "exact", at: (body) => body.replay.mode },
      override: { by: ["RPL-3"] },
      checkpoint_id: { by: ["RPL-5"] },
      checkpoint_event_id: { by: ["RPL-5"] },
      reason: { value: reason, at: (body) => body.replay.reason },
      metadata: { by: ["RPL-6", "RPL-16"] },
    },
  },
  "POST /v1/permission-requests/{request_id}/respond": {
    path: async (world) => `/v1/permission-requests/${await pending(world)}/respond`,
    body: () => ({ approved: true }),
    members: {
      approved: { value: true, at: (body) => body.response.approved },
      decision: { value: "approved", at: (body) => body.response.decision },
      input: { by: ["TAX-17"] },
      outcome: { value: "approve", at: (body) => body.response.approved, found: true },
      answer: { value: { a: 1 }, at: (body) => body.response.answer },
      reviewer: { value: "ada", at: (body) => body.response.reviewer },
      reason: { value: reason, at: (body) => body.response.reason },
      note: { value: reason, at: (body) => body.response.reason },
      artifact_hash: { by: ["TSK-11"] },
      metadata: { ...metadata, at: (body) => body.response.metadata },
    },
  },
  "POST /v1/approvals/pairings": { members: { workspace_name: { by: ["HARP-107"] } } },
  "POST /v1/approvals/pairings/{nonce}/confirm": {
    members: {
      label: { by: ["HARP-107"] },
      replaces: { by: ["HARP-107"] },
      overlap_ms: { by: ["HARP-110"] },
    },
  },
  "POST /v1/artifacts": {
    body: () => ({ kind: "dataset", mime_type: "text/csv", visibility: "public" }),
    members: {
      uri: { value: "https://data.example.com/a.csv" },
      sha256: { value: "a".repeat(64) },
      workspace_id: { value: "workspace_default" },
      session_id: { value: ({ session }: World) => session.id },
      task_id: { value: ({ task }: World) => task.id },
      metadata,
    },
  },
  "POST /v1/vaults": {
    body: () => ({ provider: "local", capabilities: ["read"] }),
    members: {
      workspace_id: { value: "workspace_default" },
      source: { by: ["VLT-10"] },
      login: { by: ["VLT-10"] },
      metadata,
    },
  },
  "PUT /v1/vaults/{vault_id}/secrets/{secret_name}": {
    path: async () => {
      const { id } = await made("/v1/vaults", { provider: "local", capabilities: ["write"] });
      return `/v1/vaults/${id}/secrets/ONE`;
    },
    body: () => ({ value: "x" }),
    members: { metadata },
  },
  "POST /v1/receipts/{receipt_id}/verify": {
    members: { trust_anchor: { by: ["RCP-8"] }, at_time: { by: ["RCP-8"] } },
  },
  "POST /v1/memories": {
    body: newMemory,
    members: {
      workspace_id: {
        value: "workspace_default",
        with: { scope: "persona", owner_id: "persona_rehearsal" },
      },
      key: { value: "colour" },
      expires_at: { value: later },
      embedding_ref: { value: "index:17" },
      visibility: { value: "internal" },
      redaction_policy: { value: { members: ["ssn"] } },
      confidence: { value: 0.5 },
      metadata,
    },
  },
  "POST /v1/skills": { body: () => ({ name: "S", description: "Does." }), members: skillMembers },
  "PATCH /v1/skills/{skill_id}": {
    path: async () => `/v1/skills/${(await made("/v1/skills", { name: "S", description: "Does." })).id}`,
    members: { name: { value: "S2" }, description: { value: "Does more." }, ...skillMembers },
  },
  "POST /v1/connectors": {
    body: () => connector,
    members: {
      ...connectorMembers,
      secret: { by: ["CON-8", "CON-9"] },
      polling: { value: polling, with: { provider: "polling" } },
    },
  },
  "PATCH /v1/connectors/{connector_id}": {
    path: async () => `/v1/connectors/${(await made("/v1/connectors", connector)).id}`,
    members: { ...connectorMembers, polling: { by: ["CON-8"] } },
  },
  "POST /v1/api-keys": {
    body: () => ({ name: "k", scopes: ["tasks:read"], actor: "ada" }),
    members: {
      workspace_ids: { value: ["workspace_default"] },
      agent_names: { value: ["echo"] },
      persona_ids: { value: ["persona_rehearsal"] },
      allowed_cidrs: { value: ["203.0.113.0/24"] },
      tenant_id: { value: "tenant_two" },
      expires_at: { value: later },
    },
  },
  "POST /v1/api-keys/{key_id}/rotate": { members: { overlap_seconds: { by: ["KEY-8"] } } },
};

function resolved(schema: Json): Json {
  return schema?.$ref === undefined ? schema : api.components.schemas[schema.$ref.split("/").at(-1)];
}

/** By operation, the members that may be left out, as the API describes itself. */
function optionalMembers(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [path, methods] of Object.entries<Json>(api.paths)) {
    for (const [method, { requestBody }] of Object.entries<Json>(methods)) {
      const body = resolved(requestBody?.content?.["application/json"]?.schema);
      const required: string[] = body?.required ?? [];
      const names = Object.keys(body?.properties ?? {}).filter((name) => !required.includes(name));
      if (names.length > 0) found.set(`${method.toUpperCase()} ${path}`, names.sort());
    }
  }
  return found;
}

test("TAX-18 every optional member of every request body has a line that says how it is found", () => {
  const listed = Object.entries(operations).map(([name, { members }]) => [name, Object.keys(members).sort()]);
  assert.deepEqual(Object.fromEntries(optionalMembers()), Object.fromEntries(listed));
  const known = new Set(
    [
      ...[...requirements, ...taxonomyRequirements, ...harpRequirements, ...agentRequirements],
      ...[...keyRequirements, ...retryRequirements, ...clientRequirements],
    ].map(({ id }) => id),
  );
  const cited = Object.values(operations).flatMap(({ members }) =>
    Object.values(members).flatMap((member) => ("by" in member ? member.by : [])),
  );
  assert.deepEqual(
    [...new Set(cited)].filter((id) => !known.has(id)),
    [],
  );
});

async function newWorld(): Promise<World> {
  const session = await client.createSession();
  const [task, quota, workspace] = await Promise.all([
    made("/v1/tasks", { session_id: session.id, input: { text: "hi" } }),
    made("/v1/quotas", { scope: "persona", limits: { tasks: 1000 } }),
    made("/v1/workspaces", { name: "W", root: "w" }),
  ]);
  await client.untilTask(task.id, isFinal);
  return { session, task, quota, workspace };
}

async function send(name: string, operation: Operation, world: World, body: Json): Promise<Answer> {
  const [method = "", path = ""] = name.split(" ");
  return await client.call((await operation.path?.(world)) ?? path, { method, body });
}

for (const [name, operation] of Object.entries(operations)) {
  const echoes = Object.entries(operation.members).flatMap(([member, way]) =>
    "by" in way ? [] : [{ member, way }],
  );
  if (echoes.length === 0) continue;
  test(`TAX-18 ${name} gives every optional member back as it was sent`, async () => {
    const world = await newWorld();
    for (const { member, way } of echoes) {
      const value = typeof way.value === "function" ? way.value(world) : way.value;
      const base = { ...operation.body?.(world), ...way.with };
      const { status, body } = await send(name, operation, world, { ...base, [member]: value });
      assert.ok(status < 300, `${member}: ${JSON.stringify(body)}`);
      const shown = way.at === undefined ? body[member] : way.at(body);
      assert.deepEqual(shown, way.found ?? value, `${member}: ${JSON.stringify(body)}`);
    }
  });
}
