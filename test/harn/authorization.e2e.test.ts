/**
 * Every operation of the OpenAPI document, called by everybody who may not: without a key, with the wrong scope, from
 * another tenant, from another workspace. A new operation fails here until the tables below say how it is called.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { generateApproverKeys } from "../../src/harp/core/keys.ts";
import { Approver } from "../../src/sdk/approver/approver.ts";
import { type Answer, Client, errorOf, type Json, userMessage } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";

interface Operation {
  id: string;
  method: string;
  path: string;
  /** The names in the path's braces. */
  params: string[];
  query: string[];
  isList: boolean;
  /** What is not may be a stream that never ends, or a file. */
  isJson: boolean;
  needsBody: boolean;
  /** Whether it asks for a key; a delivery, say, is signed instead. */
  isByKey: boolean;
}

type Ids = Record<string, string>;

/** Something real of ours, in a workspace of its own, for everything that can be named. */
async function makeIds(client: Client, names: ReadonlySet<string>): Promise<Ids> {
  const workspace = await client.post("/v1/workspaces", { name: "Ours", root: "ours" });
  const workspace_id: string = workspace.body.id;
  const session = await client.createSession({ workspace_id, initial_messages: [userMessage("private")] });
  const ended = await client.rehearse(session.id, "artifact a.txt private", "checkpoint here");
  const waiting = await client.rehearse(session.id, "approve ship");
  const [message] = await client.listAll(`/v1/sessions/${session.id}/messages`);
  const [artifact] = await client.listAll(`/v1/artifacts?task_id=${ended.id}`);
  const [event] = await client.listAll(`/v1/sessions/${session.id}/events`);
  const key = await client.createKey({ workspace_ids: [workspace_id] });
  const ids: Ids = {
    workspace_id,
    session_id: session.id,
    task_id: ended.id,
    request_id: waiting.waiting_for.permission_request_id,
    outcome_id: ended.outcome_id,
    receipt_id: ended.receipt_id,
    message_id: message.id,
    artifact_id: artifact.id,
    event_id: event.id,
    branch_id: session.branch_id,
    key_id: key.id,
    persona_id: "persona_rehearsal",
  };
  for (const name of names) {
    if (name in ids) continue;
    const make = makers[name] ?? assert.fail(`say in makers how a {${name}} is made`);
    ids[name] = await make(client, ids);
  }
  return ids;
}

/** How what is managed comes to be; made where the server has routes for it. */
const makers: Record<string, (client: Client, ids: Ids) => Promise<string>> = {
  // What a page calls its chat; the session is what counts.
  chat_id: async () => "chat_1",
  quota_id: (client) => made(client, "/v1/quotas", { scope: "tenant", limits: { tasks: 1_000_000 } }),
  vault_id: (client, { workspace_id }) =>
    made(client, "/v1/vaults", { provider: "local", capabilities: ["read", "write"], workspace_id }),
  async secret_name(client, { vault_id }) {
    const path = `/v1/vaults/${vault_id}/secrets/NAME`;
    assert.ok((await client.call(path, { method: "PUT", body: { value: "a value" } })).status < 300);
    return "NAME";
  },
  memory_id: (client, { workspace_id }) =>
    made(client, "/v1/memories", {
      scope: "workspace",
      owner_id: workspace_id,
      content: "private",
      provenance: {},
    }),
  skill_id: (client) => made(client, "/v1/skills", { name: "ours", description: "private" }),
  connector_id: (client, { workspace_id }) =>
    made(client, "/v1/connectors", { provider: "webhook", workspace_id }),
  async nonce(client) {
    return (await client.post("/v1/approvals/pairings", {})).body.nonce;
  },
  async signer_key_id(client) {
    const keys = await generateApproverKeys(new Date());
    const { key } = await client.createKey({ actor: "ours", scopes: ["harp:approver:ours"] });
    const approver = new Approver({ url: `${client.url}/harp`, key, approverId: "ours", keys });
    const { code, nonce } = (await client.post("/v1/approvals/pairings", {})).body;
    const offer = await approver.pair(code);
    await offer.complete();
    const { fingerprint } = offer;
    const confirmed = await client.post(`/v1/approvals/pairings/${nonce}/confirm`, { fingerprint });
    assert.equal(confirmed.status, 201, JSON.stringify(confirmed.body));
    return confirmed.body.signer_key_id;
  },
  tool_id: async () => "unknown",
  agent_name: async () => "rehearsal",
  tenant_id: async () => "tenant_default",
};

async function made(client: Client, path: string, body: object): Promise<string> {
  const answer = await client.post(path, body);
  assert.equal(answer.status, 201, `${path} ${JSON.stringify(answer.body)}`);
  return answer.body.id;
}

/** Ids of the same form that nobody ever had. */
const unknownIds: Record<string, string> = {
  event_id: "evt_9000000000000000",
  secret_name: "NOTHING",
  signer_key_id: "A".repeat(43),
};
function nowhere(ids: Ids): Ids {
  return Object.fromEntries(
    Object.keys(ids).map((name) => [name, unknownIds[name] ?? `${name.replace(/_id$/, "")}_unknown`]),
  );
}

/** What belongs to the whole tenant: a key that is bound to a workspace may see it, and not change it. */
const ofTheTenant: ReadonlySet<string> = new Set([
  ...["persona_id", "quota_id", "skill_id", "tenant_id"],
  ...["nonce", "signer_key_id"],
]);
/** What belongs to an agent: a key that is bound to another does not see it. */
const ofAnAgent: ReadonlySet<string> = new Set(["task_id", "request_id", "outcome_id", "persona_id"]);
/** What the server's agents bring along: it is the same for everybody. */
const ofTheServer: ReadonlySet<string> = new Set(["tool_id", "agent_name"]);
/** Operations on the server itself: for keys of all of its own tenant only. */
const onTheServer = [
  ...["rotateSigningKey", "rotateMasterKey", "sweepRetention", "getMetrics"],
  ...["rotateAdminKey", "disableAdminKey", "enableAdminKey"],
];
/** Operations that make what belongs to the whole tenant. */
const creationsForTheTenant = ["createPersona", "createQuota", "createSkill", "beginPairing"];

interface Given {
  body?: unknown;
  /** Sent as it is, as this type. */
  raw?: string;
  type?: string;
  query?: string;
}

/** With what the operation would be carried out if its caller were allowed to. */
const given: Record<string, (ids: Ids) => Given> = {
  createWorkspace: () => ({ body: { name: "W", root: "." } }),
  updateWorkspace: () => ({ body: { name: "mine" } }),
  createSession: ({ workspace_id }) => ({ body: { workspace_id } }),
  updateSession: () => ({ body: { summary: "mine" } }),
  forkSession: () => ({ body: {} }),
  truncateSession: () => ({ body: { keep_first: 0 } }),
  compactSession: () => ({ body: { keep_last: 0 } }),
  eraseSession: () => ({ body: {} }),
  eraseTenant: () => ({ body: {} }),
  sweepRetention: () => ({ body: { dry_run: true } }),
  createSessionBranch: () => ({ body: { kind: "task", base_ref: "x" } }),
  appendSessionMessage: () => ({ body: { message: userMessage("x") } }),
  chatInSession: () => ({ body: { messages: [{ role: "user", parts: [{ type: "text", text: "x" }] }] } }),
  submitTask: ({ session_id }) => ({ body: { session_id, input: { a: 1 } } }),
  submitSessionTask: () => ({ body: { input: { a: 1 } } }),
  cancelTask: () => ({ body: {} }),
  replayTask: () => ({ body: {} }),
  retryTask: () => ({ body: {} }),
  signalTask: () => ({ body: { name: "go" } }),
  appendTaskMessage: () => ({ body: { kind: "interrupt", message: userMessage("x") } }),
  respondPermissionRequest: () => ({ body: { approved: true } }),
  registerArtifact: ({ task_id }) => ({
    body: { kind: "file", mime_type: "a/b", visibility: "public", task_id },
  }),
  uploadArtifact: ({ task_id }) => ({
    raw: "bytes",
    type: "application/octet-stream",
    query: `?kind=file&visibility=public&task_id=${task_id}`,
  }),
  beginPairing: () => ({ body: {} }),
  confirmPairing: () => ({ body: { fingerprint: "0".repeat(64) } }),
  verifyReceipt: () => ({ body: {} }),
  requestReceipt: ({ artifact_id }) => ({ body: { subject: { object: "artifact", id: artifact_id } } }),
  verifyForeignReceipt: () => ({ body: { receipt: {} } }),
  importSession: () => ({ raw: "{}", type: "application/jsonl" }),
  createPersona: () => ({
    body: {
      name: "p",
      version: "1",
      entry_workflow: "echo",
      description: "d",
      autonomy_tier: "act_auto",
      receipt_policy: "required",
    },
  }),
  updatePersona: () => ({ body: { description: "mine" } }),
  createQuota: () => ({ body: { scope: "tenant", limits: { tasks: 1 } } }),
  updateQuota: () => ({ body: { limits: { tasks: 1 } } }),
  readWorkspaceFile: () => ({ query: "?path=a.txt" }),
  writeWorkspaceFile: () => ({ body: { path: "a.txt", content: "mine" } }),
  createVault: ({ workspace_id }) => ({ body: { provider: "local", capabilities: ["read"], workspace_id } }),
  setSecret: () => ({ body: { value: "mine" } }),
  updateBranch: () => ({ body: {} }),
  mergeBranch: ({ branch_id }) => ({ body: { into_branch_id: branch_id } }),
  abandonBranch: () => ({ body: {} }),
  createMemory: ({ workspace_id }) => ({
    body: { scope: "workspace", owner_id: workspace_id, content: "x", provenance: {} },
  }),
  createSkill: () => ({ body: { name: "mine", description: "d" } }),
  updateSkill: () => ({ body: {} }),
  createConnector: ({ workspace_id }) => ({ body: { provider: "webhook", workspace_id } }),
  updateConnector: () => ({ body: {} }),
  deliverToConnector: () => ({ body: { type: "x" } }),
  rotateApiKey: () => ({ body: {} }),
  createApiKey: ({ workspace_id }) => ({
    body: { name: "k", actor: "a", scopes: ["branches:read"], workspace_ids: [workspace_id] },
  }),
};

/** Operations that need a key and no scope: what they give is nothing of anybody's. */
const scopeless: ReadonlySet<string> = new Set(["getRuntime", "listCapabilities"]);

/** Operations that name nothing of anybody's: what they do is done in the caller's own place, if at all. */
const namesNothing: ReadonlySet<string> = new Set([
  "streamAudit",
  "exportAudit",
  "verifyAudit",
  ...scopeless,
  ...onTheServer,
  ...creationsForTheTenant,
  "createWorkspace",
  "createWsTicket",
  "verifyForeignReceipt",
  "importSession",
  "readApprovalAudit",
  "getAgent",
]);

/** What reading needs more for than that it is named: a file, an upgrade, an agent with tools. */
const notJustRead: ReadonlySet<string> = new Set(["readWorkspaceFile", "openSessionWebSocket", "getTool"]);

let server: TestServer;
let client: Client;
let operations: Operation[];
let signed: Operation[];
let ids: Ids;

before(async () => {
  server = await startServer();
  client = new Client(server);
  const { paths } = (await client.get("/openapi.json")).body;
  const all = Object.entries<Json>(paths).flatMap(([path, item]) =>
    Object.entries<Json>(item).flatMap(([method, described]) =>
      described.security?.length === 0 ? [] : [read(method, path, described)],
    ),
  );
  operations = all.filter(({ isByKey }) => isByKey);
  signed = all.filter(({ isByKey }) => !isByKey);
  assert.ok(operations.length > 50);
  ids = await makeIds(client, new Set(all.flatMap(({ params }) => params)));
});
after(() => server[Symbol.asyncDispose]());

function read(method: string, path: string, described: Json): Operation {
  const [success] = Object.values<Json>(described.responses);
  const content = success.content ?? {};
  return {
    id: described.operationId,
    method: method.toUpperCase(),
    path,
    params: [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name),
    query: described.parameters
      .filter((parameter: Json) => parameter.in === "query")
      .map(({ name }: Json) => name),
    isList: content["application/json"]?.schema?.properties?.object?.const === "list",
    isJson: "application/json" in content,
    needsBody: described.requestBody !== undefined,
    isByKey: described.security?.some((scheme: Json) => "bearerAuth" in scheme) ?? true,
  };
}

function givenTo({ id, needsBody }: Operation, about: Ids): Given {
  const give = given[id];
  if (give === undefined && needsBody) assert.fail(`${id} is new: say in given how it is called`);
  return give?.(about) ?? {};
}

/** Calls an operation about these ids. */
function call(
  caller: Client,
  operation: Operation,
  about: Ids,
  key: string | null = caller.key,
): Promise<Answer> {
  const { method } = operation;
  const { body, raw, type, query = "" } = givenTo(operation, about);
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => about[name] ?? "") + query;
  if (raw !== undefined) return caller.call(path, { method, key, raw, headers: { "content-type": type } });
  return caller.call(path, body === undefined ? { method, key } : { method, key, body });
}

/** What an answer tells, apart from the id that was asked for and the request's own. */
function told({ status, body, headers }: Answer, about: Ids): Json {
  const text = JSON.stringify({ ...body?.error, request_id: null });
  const masked = Object.values(about).reduce((said, id) => said.replaceAll(id, "ID"), text);
  return { status, masked, type: headers.get("content-type"), challenge: headers.get("www-authenticate") };
}

/** The names with which an operation points at something of somebody's. */
function named(operation: Operation): string[] {
  const text = JSON.stringify(givenTo(operation, ids));
  const inRequest = Object.keys(ids).filter((name) => text.includes(`${ids[name]}`));
  return [...operation.params, ...inRequest].filter((name) => !ofTheServer.has(name));
}

describe("Every operation", () => {
  test("AZN-1 without a key every operation answers 401, alike for known and unknown ids", async () => {
    // Given no key, when any operation is called about what is there, then it is 401 and says no more than about what is
    // not.
    for (const operation of operations) {
      const answer = await call(client, operation, ids, null);
      assert.equal(errorOf(answer, 401).code, "unauthenticated", operation.id);
      assert.equal(answer.headers.get("www-authenticate"), 'Bearer realm="bridle"', operation.id);
      const absent = await call(client, operation, nowhere(ids), null);
      assert.deepEqual(told(answer, ids), told(absent, nowhere(ids)), operation.id);
    }
  });

  test("AZN-1 operations not authenticated by a key answer 401 with any key or none", async () => {
    // Given operations that ask for something else than a key, when they are called with any key and without it, then it
    // is 401, about what is there and what is not.
    for (const operation of signed) {
      for (const key of [null, client.key]) {
        const present = await call(client, operation, ids, key);
        assert.equal(errorOf(present, 401).code, "unauthenticated", operation.id);
        const absent = await call(client, operation, nowhere(ids), key);
        assert.deepEqual(told(present, ids), told(absent, nowhere(ids)), operation.id);
      }
    }
  });

  test("AZN-2 every operation answers 403 and names the missing scope, for known and unknown ids", async () => {
    // Given a key without the scope that it needs, when any operation is called, then it is 403 and names the scope,
    // about what is there and what is not.
    const [one, other] = [await client.withScopes("branches:read"), await client.withScopes("outcomes:read")];
    const { scopes_supported } = (await client.get("/.well-known/oauth-authorization-server")).body;
    const lacking = new Map<string, Client>();
    for (const operation of operations.filter(({ id }) => !scopeless.has(id))) {
      const first = await call(one, operation, ids);
      const refused = first.status === 403 ? first : await call(other, operation, ids);
      const { code, details } = errorOf(refused, 403);
      assert.equal(code, "permission_denied", operation.id);
      const needed: string = details.required_scope;
      assert.ok(scopes_supported.includes(needed), `${operation.id} needs ${needed}`);
      assert.match(
        refused.headers.get("www-authenticate") ?? "",
        new RegExp(`"insufficient_scope", scope="${needed}"`),
      );

      const all = scopes_supported.filter((scope: string) => scope !== needed && scope !== "admin");
      const rest = lacking.get(needed) ?? (await client.withScopes(...all));
      lacking.set(needed, rest);
      const present = await call(rest, operation, ids);
      assert.equal(errorOf(present, 403).details.required_scope, needed, operation.id);
      const absent = await call(rest, operation, nowhere(ids));
      assert.deepEqual(told(present, ids), told(absent, nowhere(ids)), operation.id);
    }
    assert.ok(lacking.size > 12, `${[...lacking.keys()]}`);
  });

  test("AZN-2 operations without a scope answer any key, and there are no others", async () => {
    // Given operations that need no scope, when any key calls them, then they answer, and there are no others.
    const holder = await client.withScopes("branches:read");
    for (const operation of operations.filter(({ id }) => scopeless.has(id))) {
      assert.equal((await call(holder, operation, ids)).status, 200, operation.id);
    }
    assert.ok(operations.some(({ id }) => scopeless.has(id)));
  });

  const visitors: Record<string, { make(): Promise<Client>; mayAlsoSee: ReadonlySet<string> }> = {
    "the administrator of another tenant": {
      make: async () => client.as((await client.createKey({ tenant_id: "tenant_other" })).key),
      mayAlsoSee: new Set(),
    },
    "a key that is bound to another workspace": {
      make: async () => client.as((await client.createKey({ workspace_ids: ["workspace_default"] })).key),
      mayAlsoSee: ofTheTenant,
    },
  };
  for (const [who, { make, mayAlsoSee }] of Object.entries(visitors)) {
    test(`AZN-3 ${who} gets the 404 of an unknown id from every operation and changes nothing`, async () => {
      // Given ${who}, when any operation is called about something of ours, then it is the 404 of what never was, and
      // nothing has changed.
      const visitor = await make();
      const absent = nowhere(ids);
      const log = await client.listAll(`/v1/events?workspace_id=${ids.workspace_id}`);
      let tried = 0;
      for (const operation of operations) {
        const names = named(operation).filter((name) => !mayAlsoSee.has(name));
        if (names.length === 0) continue;
        tried += 1;
        const found = await call(visitor, operation, ids);
        assert.equal(errorOf(found, 404).code, "resource_not_found", operation.id);
        const missing = await call(visitor, operation, absent);
        assert.deepEqual(told(found, ids), told(missing, absent), operation.id);
      }
      assert.ok(tried > 35);
      assert.deepEqual(await client.listAll(`/v1/events?workspace_id=${ids.workspace_id}`), log);
    });

    test(`AZN-3 ${who} finds nothing of ours in any list, even filtered by our ids`, async () => {
      // Given ${who}, when any list is read, also filtered by our ids, then nothing of ours is in it.
      const visitor = await make();
      const ours = new Set(
        Object.entries(ids).flatMap(([name, id]) =>
          mayAlsoSee.has(name) || ofTheServer.has(name) ? [] : [id],
        ),
      );
      let lists = 0;
      for (const { id, path } of operations.filter(({ isList, params }) => isList && params.length === 0)) {
        if (id === "listAudit" && mayAlsoSee === ofTheTenant) {
          // The audit log is the whole tenant's.
          errorOf(await visitor.get(path), 403);
          continue;
        }
        const items = await visitor.listAll(path);
        const seen = items.filter((item) => Object.values(item).some((value) => ours.has(String(value))));
        assert.deepEqual(seen, [], id);
        lists += 1;
      }
      assert.ok(lists > 8);
      const reads = operations.filter(({ method, params }) => method === "GET" && params.length === 0);
      for (const { id, path, query } of reads) {
        for (const name of query.filter((filter) => filter in ids && !mayAlsoSee.has(filter))) {
          const [found, missing] = [
            await visitor.get(`${path}?${name}=${ids[name]}`),
            await visitor.get(`${path}?${name}=${nowhere(ids)[name]}`),
          ];
          assert.deepEqual(told(found, ids), told(missing, nowhere(ids)), `${id} by ${name}`);
          if (found.status === 200) assert.deepEqual(found.body.data, [], `${id} by ${name}`);
          else assert.equal(errorOf(found, 404).code, "resource_not_found", `${id} by ${name}`);
        }
      }
    });
  }

  test("KEY-4 a key bound to another agent gets 404 from every operation that names ours, or 403", async () => {
    // Given a key of our workspace that is bound to an agent which none of our work is of, when an operation is called
    // about a task, a request, an outcome or a persona, then it is the answer about what never was, and nothing changes.
    const bounds = { workspace_ids: [ids.workspace_id], agent_names: ["echo"] };
    const visitor = client.as((await client.createKey(bounds)).key);
    const log = await client.listAll(`/v1/events?workspace_id=${ids.workspace_id}`);
    const tried = operations.filter((operation) => named(operation).some((name) => ofAnAgent.has(name)));
    for (const operation of tried) {
      const found = await call(visitor, operation, ids);
      assert.ok([403, 404].includes(found.status), `${operation.id}: ${found.status}`);
      const missing = await call(visitor, operation, nowhere(ids));
      assert.deepEqual(told(found, ids), told(missing, nowhere(ids)), operation.id);
    }
    assert.ok(tried.length > 12, String(tried.length));
    assert.deepEqual(await client.listAll(`/v1/events?workspace_id=${ids.workspace_id}`), log);
  });

  test("AZN-3 every operation is tried by a visitor or known to name nothing", () => {
    // Given all operations, when they are sorted by what they name, then each is tried by a visitor above or known to
    // name nothing.
    const untried = operations.filter(
      (operation) =>
        named(operation).length === 0 && !operation.isList && !operation.query.includes("session_id"),
    );
    assert.deepEqual(
      untried.map(({ id }) => id).filter((id) => !namesNothing.has(id) && !notJustRead.has(id)),
      [],
    );
  });

  test("AZN-3 given what the visitors asked about, when we read it, then it is there for us", async () => {
    for (const operation of operations.filter(
      ({ id, method, isJson, params }) =>
        method === "GET" && isJson && params.length > 0 && !notJustRead.has(id),
    )) {
      const { status, body } = await call(client, operation, ids);
      assert.equal(status, 200, `${operation.id} ${JSON.stringify(body)}`);
    }
  });

  test("AZN-4 a key bound to a workspace gets 403 when it changes what is the whole tenant's", async () => {
    // Given a key that is bound to a workspace, when it changes what is the whole tenant's, then it is 403.
    const bound = await visitors["a key that is bound to another workspace"]?.make();
    assert.ok(bound !== undefined);
    const writes = operations.filter(
      ({ method, params }) => method !== "GET" && params.some((name) => ofTheTenant.has(name)),
    );
    const creations = operations.filter(({ id }) => creationsForTheTenant.includes(id));
    assert.ok(writes.length > 2 && creations.length > 1);
    for (const operation of [...writes, ...creations]) {
      const error = errorOf(await call(bound, operation, ids), 403);
      assert.equal(error.code, "permission_denied", operation.id);
      assert.equal(error.details.required_scope, undefined, operation.id);
    }
  });

  test("AZN-4 non-operator keys get 403 for key rotation and workspaces beyond their own", async () => {
    // Given keys that do not run the server, when they turn its keys or make workspaces beyond their own, then it is
    // 403.
    const stranger = await visitors["the administrator of another tenant"]?.make();
    const bound = await visitors["a key that is bound to another workspace"]?.make();
    assert.ok(stranger !== undefined && bound !== undefined);
    for (const operation of operations.filter(({ id }) => onTheServer.includes(id))) {
      for (const visitor of [stranger, bound]) {
        const error = errorOf(await call(visitor, operation, ids), 403);
        assert.equal(error.code, "permission_denied", operation.id);
      }
    }
    errorOf(await bound.post("/v1/workspaces", { name: "W", root: "." }), 403);
    assert.equal((await stranger.post("/v1/workspaces", { name: "W", root: "." })).status, 201);
  });
});
