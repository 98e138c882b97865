/**
 * Every operation of the OpenAPI document, called by everybody who may not: without a key, with the wrong scope, from
 * another tenant, from another workspace. A new operation fails here until the tables below say how it is called.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
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
}

type Ids = Record<string, string>;

/** What path parameters, filters and bodies name: something real of ours, in a workspace of its own. */
async function makeIds(client: Client): Promise<Ids> {
  const workspace = await client.post("/v1/workspaces", { name: "Ours", root: "." });
  const workspace_id: string = workspace.body.id;
  const session = await client.createSession({ workspace_id, initial_messages: [userMessage("private")] });
  const ended = await client.rehearse(session.id, "artifact a.txt private", "checkpoint here");
  const waiting = await client.rehearse(session.id, "approve ship");
  const [message] = await client.listAll(`/v1/sessions/${session.id}/messages`);
  const [artifact] = await client.listAll(`/v1/artifacts?task_id=${ended.id}`);
  const [event] = await client.listAll(`/v1/sessions/${session.id}/events`);
  const key = await client.createKey({ workspace_ids: [workspace_id] });
  const quota = await client.post("/v1/quotas", { scope: "tenant", limits: { tasks: 1_000_000 } });
  return {
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
    quota_id: quota.body.id,
  };
}

/** Ids of the same form that nobody ever had. */
const unknownIds: Record<string, string> = { event_id: "evt_9000000000000000" };
function nowhere(ids: Ids): Ids {
  return Object.fromEntries(
    Object.keys(ids).map((name) => [name, unknownIds[name] ?? `${name.replace(/_id$/, "")}_unknown`]),
  );
}

/** What belongs to the whole tenant: a key that is bound to a workspace may see it, and not change it. */
const ofTheTenant = new Set(["persona_id", "quota_id"]);

/** A body with which the operation would be carried out if its caller were allowed to. */
const bodies: Record<string, (ids: Ids) => unknown> = {
  createWorkspace: () => ({ name: "W", root: "." }),
  updateWorkspace: () => ({ name: "mine" }),
  createSession: ({ workspace_id }) => ({ workspace_id }),
  updateSession: () => ({ summary: "mine" }),
  forkSession: () => ({}),
  truncateSession: () => ({ keep_first: 0 }),
  createSessionBranch: () => ({ kind: "task", base_ref: "x" }),
  appendSessionMessage: () => ({ message: userMessage("x") }),
  submitTask: ({ session_id }) => ({ session_id, input: { a: 1 } }),
  submitSessionTask: () => ({ input: { a: 1 } }),
  cancelTask: () => ({}),
  replayTask: () => ({}),
  appendTaskMessage: () => ({ kind: "interrupt", message: userMessage("x") }),
  respondPermissionRequest: () => ({ approved: true }),
  registerArtifact: ({ task_id }) => ({ kind: "file", mime_type: "a/b", visibility: "public", task_id }),
  verifyReceipt: () => ({}),
  verifyForeignReceipt: () => ({ receipt: {} }),
  importSession: () => "{}",
  createPersona: () => ({
    name: "p",
    version: "1",
    entry_workflow: "echo",
    description: "d",
    autonomy_tier: "act_auto",
    receipt_policy: "required",
  }),
  updatePersona: () => ({ description: "mine" }),
  createQuota: () => ({ scope: "tenant", limits: { tasks: 1 } }),
  updateQuota: () => ({ limits: { tasks: 1 } }),
  createApiKey: ({ workspace_id }) => ({
    name: "k",
    actor: "a",
    scopes: ["branches:read"],
    workspace_ids: [workspace_id],
  }),
};

/** Operations that need a key and no scope: what they tell is true of the server, not of anybody's work. */
const scopeless = new Set(["getRuntime", "listCapabilities"]);

/** Operations that name nothing of anybody's: what they do is done in the caller's own place, if at all. */
const namesNothing = new Set([
  ...scopeless,
  "createPersona",
  "createQuota",
  "createWorkspace",
  "verifyForeignReceipt",
  "importSession",
  "rotateSigningKey",
]);

let server: TestServer;
let client: Client;
let operations: Operation[];
let ids: Ids;

before(async () => {
  server = await startServer();
  client = new Client(server);
  const { paths } = (await client.get("/openapi.json")).body;
  operations = Object.entries<Json>(paths).flatMap(([path, item]) =>
    Object.entries<Json>(item).flatMap(([method, described]) =>
      described.security?.length === 0 ? [] : [read(method, path, described)],
    ),
  );
  assert.ok(operations.length > 50);
  ids = await makeIds(client);
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
    query: described.parameters.filter((given: Json) => given.in === "query").map(({ name }: Json) => name),
    isList: content["application/json"]?.schema?.properties?.object?.const === "list",
    isJson: "application/json" in content,
    needsBody: described.requestBody !== undefined,
  };
}

/** Calls an operation about these ids. */
function call(
  caller: Client,
  operation: Operation,
  about: Ids,
  key: string | null = caller.key,
): Promise<Answer> {
  const { id, method, path, needsBody } = operation;
  const filled = path.replaceAll(
    /\{(\w+)\}/g,
    (_, name: string) => about[name] ?? assert.fail(`${id}: say in makeIds what a {${name}} is`),
  );
  if (!needsBody) return caller.call(filled, { method, key });
  const body = bodies[id] ?? assert.fail(`${id} is new: say in bodies how it is called`);
  const given = body(about);
  return caller.call(
    filled,
    typeof given === "string"
      ? { method, key, raw: given, headers: { "content-type": "application/jsonl" } }
      : { method, key, body: given },
  );
}

/** What an answer tells, apart from the id that was asked for and the request's own. */
function told({ status, body, headers }: Answer, about: Ids): Json {
  const text = JSON.stringify({ ...body?.error, request_id: null });
  const masked = Object.values(about).reduce((said, id) => said.replaceAll(id, "ID"), text);
  return { status, masked, type: headers.get("content-type"), challenge: headers.get("www-authenticate") };
}

/** The names with which an operation points at something of somebody's. */
function named({ id, params, needsBody }: Operation): string[] {
  const inBody = needsBody
    ? Object.keys(ids).filter((name) => JSON.stringify(bodyOf(id)).includes(ids[name] ?? ""))
    : [];
  return [...params, ...inBody];
}

function bodyOf(id: string): unknown {
  return (bodies[id] ?? assert.fail(`${id} is new: say in bodies how it is called`))(ids);
}

describe("Every operation", () => {
  test("AZN-1 given no key, when any operation is called about what is there, then it is 401 and says no more than about what is not", async () => {
    for (const operation of operations) {
      const answer = await call(client, operation, ids, null);
      assert.equal(errorOf(answer, 401).code, "unauthenticated", operation.id);
      assert.equal(answer.headers.get("www-authenticate"), 'Bearer realm="bridle"', operation.id);
      const absent = await call(client, operation, nowhere(ids), null);
      assert.deepEqual(told(answer, ids), told(absent, nowhere(ids)), operation.id);
    }
  });

  test("AZN-2 given a key without the scope that it needs, when any operation is called, then it is 403 and names the scope, about what is there and what is not", async () => {
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

  test("AZN-2 given operations that need no scope, when any key calls them, then they answer, and there are no others", async () => {
    const holder = await client.withScopes("branches:read");
    for (const operation of operations.filter(({ id }) => scopeless.has(id))) {
      assert.equal((await call(holder, operation, ids)).status, 200, operation.id);
    }
    assert.ok(operations.filter(({ id }) => scopeless.has(id)).length === scopeless.size);
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
    test(`AZN-3 given ${who}, when any operation is called about something of ours, then it is the 404 of what never was, and nothing has changed`, async () => {
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

    test(`AZN-3 given ${who}, when any list is read, also filtered by our ids, then nothing of ours is in it`, async () => {
      const visitor = await make();
      const ours = new Set(Object.entries(ids).flatMap(([name, id]) => (mayAlsoSee.has(name) ? [] : [id])));
      let lists = 0;
      for (const { id, path } of operations.filter(({ isList, params }) => isList && params.length === 0)) {
        const items = await visitor.listAll(path);
        const seen = items.filter((item) => Object.values(item).some((value) => ours.has(String(value))));
        assert.deepEqual(seen, [], id);
        lists += 1;
      }
      assert.ok(lists > 8);
      for (const { id, path, query } of operations.filter(({ params }) => params.length === 0)) {
        for (const name of query.filter((given) => given in ids && !mayAlsoSee.has(given))) {
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

  test("AZN-3 given all operations, when they are sorted by what they name, then each is tried by a visitor above or known to name nothing", () => {
    const untried = operations.filter(
      (operation) =>
        named(operation).length === 0 && !operation.isList && !operation.query.includes("session_id"),
    );
    assert.deepEqual(new Set(untried.map(({ id }) => id)), namesNothing);
  });

  test("AZN-3 given what the visitors asked about, when we read it, then it is there for us", async () => {
    for (const operation of operations.filter(
      ({ method, isJson, params }) => method === "GET" && isJson && params.length > 0,
    )) {
      const { status, body } = await call(client, operation, ids);
      assert.equal(status, 200, `${operation.id} ${JSON.stringify(body)}`);
    }
  });

  test("AZN-4 given a key that is bound to a workspace, when it changes what is the whole tenant's, then it is 403", async () => {
    const bound = await visitors["a key that is bound to another workspace"]?.make();
    assert.ok(bound !== undefined);
    const writes = operations.filter(
      ({ method, params }) => method !== "GET" && params.some((name) => ofTheTenant.has(name)),
    );
    const creations = operations.filter(({ id }) => ["createPersona", "createQuota"].includes(id));
    assert.ok(writes.length > 2 && creations.length === 2);
    for (const operation of [...writes, ...creations]) {
      const error = errorOf(await call(bound, operation, ids), 403);
      assert.equal(error.code, "permission_denied", operation.id);
      assert.equal(error.details.required_scope, undefined, operation.id);
    }
  });

  test("AZN-4 given keys that do not run the server, when they turn its signing keys or make workspaces beyond their own, then it is 403", async () => {
    const stranger = await visitors["the administrator of another tenant"]?.make();
    const bound = await visitors["a key that is bound to another workspace"]?.make();
    assert.ok(stranger !== undefined && bound !== undefined);
    for (const visitor of [stranger, bound]) {
      assert.equal(errorOf(await visitor.post("/v1/signing-keys/rotate"), 403).code, "permission_denied");
    }
    errorOf(await bound.post("/v1/workspaces", { name: "W", root: "." }), 403);
    assert.equal((await stranger.post("/v1/workspaces", { name: "W", root: "." })).status, 201);
  });
});
