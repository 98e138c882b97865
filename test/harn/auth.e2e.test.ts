/** Who may do what: keys, scopes, tenants, workspaces, and what becomes of keys that are no longer good. */

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type Answer, Client, errorOf, isFinal, type Json, until, userMessage } from "../support/client.ts";
import { adminKey, startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

let server: TestServer;
let client: Client;
/** The administrator of another tenant. */
let stranger: Client;

const otherTenant = "tenant_other";
const otherWorkspace = `workspace_default.${otherTenant}`;

before(async () => {
  server = await startServer();
  client = new Client(server);
  stranger = client.as((await client.createKey({ tenant_id: otherTenant })).key);
});
after(() => server[Symbol.asyncDispose]());

const newWorkspace = async (): Promise<string> =>
  (await client.post("/v1/workspaces", { name: "W", root: "." })).body.id;
const revoke = (id: string) => client.call(`/v1/api-keys/${id}`, { method: "DELETE" });

describe("Authentication", () => {
  const credentials: Record<string, string | undefined> = {
    "no credentials": undefined,
    "an empty header": "",
    "a scheme without a key": "Bearer",
    "an unknown key": "Bearer nobody",
    "the right key in another scheme": `Basic ${adminKey}`,
    "the right key without a scheme": adminKey,
    "a key that only starts right": `Bearer ${adminKey}x`,
    "the right key in other letters": `Bearer ${adminKey.toUpperCase()}`,
    "a key in our format that was never made": `Bearer bridle_key_01ARZ3NDEKTSV4RRFFQ69G5FAV_${"A".repeat(43)}`,
  };
  for (const [what, authorization] of Object.entries(credentials)) {
    test(`AUT-1 given ${what}, when something is read or written, then it is 401 unauthenticated`, async () => {
      const body = { workspace_id: "workspace_default" };
      const answers = [
        await client.call("/v1/sessions", { headers: { authorization }, key: null }),
        await client.call("/v1/sessions", { headers: { authorization }, key: null, body }),
        await client.call("/v1/events/stream", { headers: { authorization }, key: null }),
      ];
      for (const answer of answers) assert.equal(errorOf(answer, 401).code, "unauthenticated");
    });
  }

  test("AUT-1 every API route answers 401 without a key before it looks at anything else", async () => {
    // Given no key, when any route of the API is called, then it is 401 before anything else is looked at.
    const { paths } = (await client.get("/openapi.json")).body;
    let guarded = 0;
    for (const [path, item] of Object.entries<Json>(paths)) {
      for (const [method, { security }] of Object.entries<Json>(item)) {
        if (security?.length === 0) continue;
        const options = { method: method.toUpperCase(), key: null };
        const filled = path.replaceAll(/\{\w+\}/g, "unknown");
        const raw = method === "get" ? {} : { raw: "{not json" };
        errorOf(await client.call(filled, { ...options, ...raw }), 401);
        guarded += 1;
      }
    }
    assert.ok(guarded > 35);
  });

  test("AUT-1 given a key with one letter changed, when it is used, then it is 401", async () => {
    const { key } = await client.createKey();
    const changed = key.slice(0, -2) + (key.at(-2) === "A" ? "B" : "A") + key.at(-1);
    assert.equal((await client.as(key).get("/v1/sessions")).status, 200);
    errorOf(await client.as(changed).get("/v1/sessions"), 401);
  });

  test("AUT-1 given the scheme in other letters, when a key is used, then it is accepted", async () => {
    const headers = { authorization: `bearer ${adminKey}` };
    assert.equal((await client.call("/v1/sessions", { headers, key: null })).status, 200);
  });
});

describe("Scopes", () => {
  test("AUT-2 a new key states its actor, scopes, tenant and workspaces, and shows itself once", async () => {
    // Given a new key, when it is made, then it tells its actor, scopes, tenant and workspaces, and the key once.
    const workspace = await newWorkspace();
    const made = await client.createKey({
      name: "Ada's laptop",
      actor: "ada",
      scopes: ["tasks:read"],
      workspace_ids: [workspace],
      expires_at: "2040-01-01T00:00:00Z",
    });
    assert.equal(made.object, "api_key");
    const { name, actor, scopes, workspace_ids, tenant_id, expires_at, revoked_at } = made;
    assert.deepEqual(
      { name, actor, scopes, workspace_ids, tenant_id, expires_at, revoked_at },
      {
        name: "Ada's laptop",
        actor: "ada",
        scopes: ["tasks:read"],
        workspace_ids: [workspace],
        tenant_id: "tenant_default",
        expires_at: "2040-01-01T00:00:00.000Z",
        revoked_at: null,
      },
    );
    assert.equal(typeof made.key, "string");
    const { key, ...rest } = made;
    assert.deepEqual((await client.get(`/v1/api-keys/${made.id}`)).body, rest);
    assert.deepEqual((await client.listAll("/v1/api-keys"))[0], rest);
  });

  test("AUT-2 given a key of an actor, when it does something, then the actor is in the event", async () => {
    const ada = client.as((await client.createKey({ actor: "ada" })).key);
    const { id } = await ada.createSession();
    const [event] = await client.listAll(`/v1/sessions/${id}/events`);
    assert.equal(event.actor, "ada");
  });

  /** What each scope opens: a request that is answered with it and refused without it. */
  const doors: Record<string, (context: Json) => [method: string, path: string, body?: object]> = {
    "sessions:read": ({ session }) => ["GET", `/v1/sessions/${session}`],
    "sessions:write": () => ["POST", "/v1/sessions", { workspace_id: "workspace_default" }],
    "tasks:read": ({ task }) => ["GET", `/v1/tasks/${task}`],
    "tasks:write": ({ session }) => ["POST", "/v1/tasks", { session_id: session, input: { a: 1 } }],
    "messages:read": ({ message }) => ["GET", `/v1/messages/${message}`],
    "messages:write": ({ session }) => [
      "POST",
      `/v1/sessions/${session}/messages`,
      { message: userMessage("x") },
    ],
    "events:read": () => ["GET", "/v1/events"],
    "artifacts:read": () => ["GET", "/v1/artifacts"],
    "artifacts:write": () => [
      "POST",
      "/v1/artifacts",
      { kind: "file", mime_type: "a/b", visibility: "public" },
    ],
    "branches:read": ({ branch }) => ["GET", `/v1/branches/${branch}`],
    "branches:write": ({ session }) => [
      "POST",
      `/v1/sessions/${session}/branches`,
      { kind: "task", base_ref: "x" },
    ],
    "outcomes:read": () => ["GET", "/v1/outcomes"],
    "personas:read": () => ["GET", "/v1/personas"],
    "workspaces:read": () => ["GET", "/v1/workspaces"],
    "workspaces:write": () => ["POST", "/v1/workspaces", { name: "W", root: "." }],
    "api_keys:read": () => ["GET", "/v1/api-keys"],
    "api_keys:write": () => ["POST", "/v1/api-keys", { name: "k", actor: "a", scopes: ["api_keys:write"] }],
  };

  for (const [scope, door] of Object.entries(doors)) {
    test(`AUT-2 ${scope} alone opens its route; all other scopes get 403 permission_denied`, async () => {
      // Given the scope ${scope} alone and all others, when its door is tried, then it opens for the first and is 403
      // permission_denied for the second.
      const session = await client.createSession({ initial_messages: [userMessage("x")] });
      const task = await client.submit(session.id, "x");
      const [message] = await client.listAll(`/v1/sessions/${session.id}/messages`);
      const context = { session: session.id, task: task.id, message: message.id, branch: session.branch_id };
      const [method, path, body] = door(context);
      const options = body === undefined ? { method } : { method, body };
      const holder = await client.withScopes(scope);
      const opened = await holder.call(path, options);
      assert.ok(opened.status < 300, `${opened.status} ${JSON.stringify(opened.body)}`);
      const rest = await client.withScopes(...Object.keys(doors).filter((other) => other !== scope));
      const error = errorOf(await rest.call(path, options), 403);
      assert.equal(error.code, "permission_denied");
      assert.equal(error.details.required_scope, scope);
    });
  }

  test("AUT-2 a key that may only submit still gets its task when it submits and waits", async () => {
    // Given a key that may only submit, when it submits and waits, then it is told of its task.
    const { id } = await client.createSession();
    const submitter = await client.withScopes("tasks:write");
    const body = { session_id: id, input: userMessage("hello") };
    const answer = await submitter.post("/v1/tasks", body, { prefer: "wait=30" });
    assert.equal(answer.status, 202, JSON.stringify(answer.body));
  });

  const approvals: Record<string, (task: Json) => [path: string, body: object]> = {
    "answers the request": ({ waiting_for }) => [
      `/v1/permission-requests/${waiting_for.permission_request_id}/respond`,
      { approved: true },
    ],
    "sends a tool confirmation": ({ id }) => [
      `/v1/tasks/${id}/messages`,
      {
        kind: "tool_confirmation",
        message: { role: "user", parts: [{ type: "json", value: { approved: true }, visibility: "public" }] },
      },
    ],
  };
  for (const [what, request] of Object.entries(approvals)) {
    test(`AUT-2 a key without approvals:write that ${what} gets 403 and the task still waits`, async () => {
      // Given a key without approvals:write, when it ${what}, then it is 403 and the task still waits.
      const { id } = await client.createSession();
      const task = await client.rehearse(id, "approve ship");
      const writer = await client.withScopes("tasks:write", "messages:write", "tasks:read", "messages:read");
      const answer = await writer.post(...request(task));
      const { body: now } = await client.get(`/v1/tasks/${task.id}`);
      assert.deepEqual([answer.status, now.status], [403, "AUTH_REQUIRED"]);
    });
  }

  test("AUT-2 a key that grants scopes it does not have gets 403 and makes no key", async () => {
    // Given a key that may make keys, when it grants what it does not have, then it is 403 and no key is made.
    const maker = await client.withScopes("api_keys:write", "api_keys:read", "tasks:read");
    const before = (await client.listAll("/v1/api-keys")).length;
    const make = (scope: string) =>
      maker.post("/v1/api-keys", { name: "k", actor: "tester", scopes: ["tasks:read", scope] });
    for (const scope of ["admin", "tasks:write", "events:read_internal"]) {
      assert.equal(errorOf(await make(scope), 403).code, "permission_denied");
    }
    assert.equal((await client.listAll("/v1/api-keys")).length, before);
    assert.equal((await make("tasks:read")).status, 201);
  });

  test("AUT-2 given an unknown scope, when a key is made with it, then the request is refused", async () => {
    const answer = await client.post("/v1/api-keys", { name: "k", actor: "a", scopes: ["everything"] });
    assert.equal(errorOf(answer, 400).param, "scopes");
  });

  test("AUT-2 binding a key to an unknown workspace is not found and makes no key", async () => {
    // Given a workspace that does not exist, when a key is bound to it, then it is not found and no key is made.
    for (const tenant of [{}, { tenant_id: otherTenant }]) {
      const request = {
        name: "k",
        actor: "a",
        scopes: ["admin"],
        workspace_ids: ["workspace_nowhere"],
        ...tenant,
      };
      assert.equal(errorOf(await client.post("/v1/api-keys", request), 404).code, "resource_not_found");
    }
  });

  test("AUT-2 another tenant's administrator gets 403 when making a key for a third tenant", async () => {
    // Given the administrator of another tenant, when they make a key for a third, then it is 403.
    for (const tenant_id of ["tenant_default", "tenant_third"]) {
      const request = { name: "k", actor: "a", scopes: ["admin"], tenant_id };
      assert.equal(errorOf(await stranger.post("/v1/api-keys", request), 403).param, "tenant_id");
    }
  });
});

describe("Keys that make keys", () => {
  const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
  const request = { name: "k", actor: "tester", scopes: ["tasks:read"] };

  test("KEY-1 a key that expires makes only keys that expire by then", async () => {
    // Given a key that expires, when it makes keys, then they expire by then or are not made.
    const expires_at = inMs(3_600_000);
    const maker = client.as((await client.createKey({ expires_at })).key);
    for (const asked of [null, inMs(3_700_000)]) {
      const answer = await maker.post("/v1/api-keys", { ...request, expires_at: asked });
      assert.equal(errorOf(answer, 403).param, "expires_at");
    }
    for (const asked of [undefined, expires_at, inMs(60_000)]) {
      const { status, body } = await maker.post("/v1/api-keys", { ...request, expires_at: asked });
      assert.deepEqual([status, body.expires_at], [201, asked ?? expires_at]);
    }
  });

  test("KEY-1 a key bound to a workspace makes only keys bound to it", async () => {
    // Given a key bound to a workspace, when it makes keys, then they are bound to it or are not made.
    const [mine, other] = [await newWorkspace(), await newWorkspace()];
    const maker = client.as((await client.createKey({ workspace_ids: [mine] })).key);
    errorOf(await maker.post("/v1/api-keys", request), 403);
    errorOf(await maker.post("/v1/api-keys", { ...request, workspace_ids: null }), 403);
    errorOf(await maker.post("/v1/api-keys", { ...request, workspace_ids: [mine, other] }), 404);
    errorOf(
      await maker.post("/v1/api-keys", { ...request, workspace_ids: [mine], tenant_id: otherTenant }),
      403,
    );
    const { body } = await maker.post("/v1/api-keys", { ...request, workspace_ids: [mine] });
    assert.deepEqual(body.workspace_ids, [mine]);
    assert.deepEqual((await maker.listAll("/v1/api-keys")).map(({ id }) => id).includes(body.id), true);
  });

  test("KEY-1 a key can grant only the scopes that it has", async () => {
    // Given a key with some scopes, when it makes a key with each scope there is, then only its own are granted.
    const own = ["api_keys:write", "tasks:read", "vaults:read"];
    const maker = await client.withScopes(...own);
    const { scopes_supported } = (await client.get("/.well-known/oauth-authorization-server")).body;
    const granted: string[] = [];
    for (const scope of scopes_supported) {
      const { status } = await maker.post("/v1/api-keys", { ...request, scopes: [scope] });
      assert.ok(status === 201 || status === 403, scope);
      if (status === 201) granted.push(scope);
    }
    assert.deepEqual(granted, own);
  });

  test("KEY-2 a revoked key stays listed with its end, and revoking it again changes nothing", async () => {
    // Given a key that is revoked, when it is read and listed, then it is still there and says when it ended, and
    // revoking it again changes nothing.
    const { id } = await client.createKey();
    const first = await revoke(id);
    assert.equal(first.status, 200);
    assert.equal(typeof first.body.revoked_at, "string");
    assert.deepEqual((await revoke(id)).body, first.body);
    const { made, ...record } = first.body;
    assert.deepEqual(made, { api_key_ids: [], connector_ids: [], persona_ids: [], schedule_ids: [] });
    assert.deepEqual((await client.get(`/v1/api-keys/${id}`)).body, record);
    const listed = (await client.listAll("/v1/api-keys")).find((key) => key.id === id);
    assert.deepEqual(listed, record);
    errorOf(await revoke("key_unknown"), 404);
  });
});

describe("Boundaries", () => {
  /** One resource of every kind in the default workspace of the default tenant. */
  async function oneOfEach(workspace_id: string): Promise<Record<string, string>> {
    const session = await client.createSession({ workspace_id, initial_messages: [userMessage("private")] });
    const waiting = await client.rehearse(session.id, "approve ship");
    const ended = await client.rehearse(session.id, "artifact a.txt private");
    const [message] = await client.listAll(`/v1/sessions/${session.id}/messages`);
    const [artifact] = await client.listAll(`/v1/artifacts?task_id=${ended.id}`);
    const [event] = await client.listAll(`/v1/sessions/${session.id}/events`);
    return {
      session: session.id,
      waiting: waiting.id,
      request: waiting.waiting_for.permission_request_id,
      task: ended.id,
      outcome: ended.outcome_id,
      message: message.id,
      artifact: artifact.id,
      event: event.id,
      branch: session.branch_id,
      workspace: workspace_id,
    };
  }

  type Door = [method: string, path: string, body?: object];

  function doorsTo(ids: Record<string, string>): Door[] {
    const { session, waiting, request, task, outcome, message, artifact, event, branch, workspace } = ids;
    const answer = { message: userMessage("x") };
    return [
      ["GET", `/v1/sessions/${session}`],
      ["PATCH", `/v1/sessions/${session}`, { summary: "mine" }],
      ["POST", `/v1/sessions/${session}/close`],
      ["POST", `/v1/sessions/${session}/fork`, {}],
      ["POST", `/v1/sessions/${session}/truncate`, { keep_first: 0 }],
      ["POST", `/v1/sessions/${session}/compact`, { keep_last: 0 }],
      ["POST", `/v1/sessions/${session}/erase`, {}],
      ["GET", `/v1/sessions/${session}/messages`],
      ["POST", `/v1/sessions/${session}/messages`, answer],
      ["GET", `/v1/sessions/${session}/tasks`],
      ["POST", `/v1/sessions/${session}/tasks`, { input: { a: 1 } }],
      ["POST", "/v1/tasks", { session_id: session, input: { a: 1 } }],
      ["GET", `/v1/sessions/${session}/branches`],
      ["POST", `/v1/sessions/${session}/branches`, { kind: "task", base_ref: "x" }],
      ["GET", `/v1/sessions/${session}/events`],
      ["GET", `/v1/sessions/${session}/events/stream`],
      ["GET", `/v1/tasks/${task}`],
      ["GET", `/v1/tasks/${task}/events`],
      ["GET", `/v1/tasks/${task}/stream`],
      ["POST", `/v1/tasks/${waiting}/cancel`, {}],
      ["POST", `/v1/tasks/${waiting}/messages`, { kind: "interrupt", ...answer }],
      ["GET", `/v1/tasks/${waiting}/permission-requests`],
      ["POST", `/v1/permission-requests/${request}/respond`, { approved: true }],
      ["GET", `/v1/outcomes/${outcome}`],
      ["GET", `/v1/messages/${message}`],
      ["GET", `/v1/artifacts/${artifact}`],
      ["GET", `/v1/artifacts/${artifact}/content`],
      ["POST", "/v1/artifacts", { kind: "file", mime_type: "a/b", visibility: "public", task_id: task }],
      ["GET", `/v1/events/${event}`],
      ["GET", `/v1/events?session_id=${session}`],
      ["GET", `/v1/branches/${branch}`],
      ["GET", `/v1/workspaces/${workspace}`],
      ["PATCH", `/v1/workspaces/${workspace}`, { name: "mine" }],
      ["POST", "/v1/sessions", { workspace_id: workspace }],
    ];
  }

  function knock(visitor: Client, [method, path, body]: Door): Promise<Answer> {
    return visitor.call(path, body === undefined ? { method } : { method, body });
  }

  /** The same answer for what is there and what is not, apart from the id that was asked for and the request's own. */
  function anonymous({ status, body }: Answer, ids: Record<string, string>): Json {
    const told = JSON.stringify({ ...body?.error, request_id: null });
    return { status, told: Object.values(ids).reduce((text, id) => text.replaceAll(id, "ID"), told) };
  }

  const visitors: Record<string, () => Promise<Client>> = {
    "the administrator of another tenant": async () => stranger,
    "a key that is bound to another workspace": async () =>
      client.as((await client.createKey({ workspace_ids: [await newWorkspace()] })).key),
  };
  for (const [who, visitor] of Object.entries(visitors)) {
    test(`AUT-3 ${who} gets the 404 of an unknown id for anything of ours and changes nothing`, async () => {
      // Given ${who}, when they ask for anything of ours, then each answer is the 404 of what does not exist, and
      // nothing has changed.
      const visiting = await visitor();
      const ids = await oneOfEach(await newWorkspace());
      const nowhere = Object.fromEntries(
        Object.keys(ids).map((name) => [name, name === "event" ? "evt_9000000000000000" : `${name}_unknown`]),
      );
      const log = await client.listAll(`/v1/sessions/${ids.session}/events`);
      const [present, absent] = [doorsTo(ids), doorsTo(nowhere)];
      for (const [n, door] of present.entries()) {
        const found = await knock(visiting, door);
        assert.equal(errorOf(found, 404).code, "resource_not_found", door.join(" "));
        const missing = await knock(visiting, absent[n] as Door);
        assert.deepEqual(anonymous(found, ids), anonymous(missing, nowhere), door.join(" "));
      }
      assert.deepEqual(await client.listAll(`/v1/sessions/${ids.session}/events`), log);
    });

    test(`AUT-3 given ${who}, when they list everything, then nothing of ours is in it`, async () => {
      const visiting = await visitor();
      const ids = await oneOfEach(await newWorkspace());
      const ours = new Set(Object.values(ids));
      for (const list of [
        "sessions",
        "tasks",
        "artifacts",
        "outcomes",
        "permission-requests",
        "workspaces",
        "events",
      ]) {
        const items = await visiting.listAll(`/v1/${list}`);
        const seen = items.flatMap(({ id, session_id, task_id, workspace_id }) =>
          [id, session_id, task_id, workspace_id].filter((found) => ours.has(found)),
        );
        assert.deepEqual(seen, [], list);
        assert.ok(
          (await client.listAll(`/v1/${list}`)).some(({ id }) => ours.has(id)),
          list,
        );
      }
    });

    test(`AUT-3 given ${who}, when they filter lists by our ids, then the lists are empty`, async () => {
      const visiting = await visitor();
      const { session, task, workspace } = await oneOfEach(await newWorkspace());
      const filtered = [
        `sessions?workspace_id=${workspace}`,
        `tasks?workspace_id=${workspace}`,
        `tasks?session_id=${session}`,
        `artifacts?task_id=${task}`,
        `outcomes?task_id=${task}`,
        `permission-requests?session_id=${session}`,
      ];
      for (const list of filtered) {
        assert.deepEqual(await visiting.listAll(`/v1/${list}`), [], list);
        assert.notDeepEqual(await client.listAll(`/v1/${list}`), [], list);
      }
    });
  }

  test("AUT-3 another tenant works in its own workspace and has its own personas", async () => {
    // Given another tenant, when it uses its own workspace, then it works there and has its own personas.
    const { id, workspace_id } = await stranger.createSession({ workspace_id: otherWorkspace });
    assert.equal(workspace_id, otherWorkspace);
    const task = await stranger.submit(id, "hello");
    assert.equal((await stranger.untilTask(task.id, isFinal)).status, "COMPLETED");
    assert.equal((await client.get(`/v1/sessions/${id}`)).status, 404);
    for (const persona of await stranger.listAll("/v1/personas")) assert.match(persona.id, /\.tenant_other$/);
  });

  test("AUT-3 another tenant cannot read or revoke our keys: they are not found", async () => {
    // Given another tenant, when it reads and revokes our keys, then they are not there for it.
    const { id, key } = await client.createKey();
    errorOf(await stranger.get(`/v1/api-keys/${id}`), 404);
    errorOf(await stranger.call(`/v1/api-keys/${id}`, { method: "DELETE" }), 404);
    assert.ok((await stranger.listAll("/v1/api-keys")).every(({ tenant_id }) => tenant_id === otherTenant));
    assert.equal((await client.as(key).get("/v1/sessions")).status, 200);
  });

  test("AUT-3 given another tenant, when it reads the runtime, then it counts only what is its own", async () => {
    const tenant_id = "tenant_empty";
    const empty = client.as((await client.createKey({ tenant_id })).key);
    const { body } = await empty.get("/v1/runtime");
    assert.deepEqual([body.session_count, body.task_count], [0, 0]);
  });

  test("AUT-3 a repeated Idempotency-Key from another workspace does not get the first answer", async () => {
    // Given a session that one key created with an Idempotency-Key, when a key of the same actor in another workspace
    // repeats the request, then it does not get the answer.
    const [mine, theirs] = [await newWorkspace(), await newWorkspace()];
    const bound = async (workspace: string) =>
      client.as((await client.createKey({ actor: "ada", workspace_ids: [workspace] })).key);
    const [here, there] = [await bound(mine), await bound(theirs)];
    const { id } = await here.createSession({ workspace_id: mine });
    const write = (writer: Client) =>
      writer.post(
        `/v1/sessions/${id}/messages`,
        { message: userMessage("private") },
        { "idempotency-key": "k" },
      );
    assert.equal((await write(here)).status, 201);
    assert.equal(errorOf(await write(there), 404).code, "resource_not_found");
  });

  test("AUT-2 a key bound to a workspace works there, and its lists hold what is there", async () => {
    // Given a key bound to a workspace, when it works there, then it may, and its lists hold what is there.
    const workspace_id = await newWorkspace();
    const bound = client.as((await client.createKey({ workspace_ids: [workspace_id] })).key);
    const { id } = await bound.createSession({ workspace_id });
    await bound.rehearse(id, "say hello");
    for (const list of ["sessions", "tasks", "outcomes", "workspaces"]) {
      assert.equal((await bound.listAll(`/v1/${list}`)).length, 1, list);
    }
    const events = await bound.listAll("/v1/events");
    assert.ok(events.length > 0);
    assert.ok(events.every((event) => event.workspace_id === workspace_id));
  });

  test("AUT-2 a key bound to a workspace lists the personas that it may read and use", async () => {
    // Given a key bound to a workspace, when it lists personas, then they are those that it may read and use.
    const bound = client.as((await client.createKey({ workspace_ids: [await newWorkspace()] })).key);
    assert.equal((await bound.get("/v1/personas/persona_rehearsal")).status, 200);
    assert.deepEqual(
      (await bound.listAll("/v1/personas")).map(({ id }) => id),
      (await client.listAll("/v1/personas")).map(({ id }) => id),
    );
  });

  test("AUT-2 a key bound to a workspace cannot make keys that reach further", async () => {
    // Given a key bound to a workspace, when it makes keys for more than that, then it is refused.
    const [mine, theirs] = [await newWorkspace(), await newWorkspace()];
    const bound = client.as((await client.createKey({ workspace_ids: [mine] })).key);
    const make = (change: object) =>
      bound.post("/v1/api-keys", { name: "k", actor: "tester", scopes: ["tasks:read"], ...change });
    errorOf(await make({}), 403);
    errorOf(await make({ workspace_ids: [mine, theirs] }), 404);
    assert.equal((await make({ workspace_ids: [mine] })).status, 201);
  });

  test("AUT-2 a key bound to a workspace gets 403 when making a key for another tenant", async () => {
    // Given a key bound to a workspace, when it makes a key for another tenant, then it is 403.
    const bound = client.as((await client.createKey({ workspace_ids: [await newWorkspace()] })).key);
    const request = {
      name: "k",
      actor: "a",
      scopes: ["admin"],
      tenant_id: otherTenant,
      workspace_ids: [otherWorkspace],
    };
    assert.equal(errorOf(await bound.post("/v1/api-keys", request), 403).code, "permission_denied");
  });

  test("AUT-2 a key bound to a workspace cannot revoke a key of the whole tenant", async () => {
    // Given a key bound to a workspace, when it revokes a key of the whole tenant, then it is refused and that key still
    // works.
    const bound = client.as((await client.createKey({ workspace_ids: [await newWorkspace()] })).key);
    const { id, key } = await client.createKey();
    const { status } = await bound.call(`/v1/api-keys/${id}`, { method: "DELETE" });
    assert.ok([403, 404].includes(status), `it was answered with ${status}`);
    assert.equal((await client.as(key).get("/v1/sessions")).status, 200);
  });
});

describe("The end of keys", () => {
  test("AUT-5 given a key in use, when it is revoked, then the next request with it is 401", async () => {
    const { id, key } = await client.createKey();
    const holder = client.as(key);
    assert.equal((await holder.get("/v1/sessions")).status, 200);
    const { status, body } = await revoke(id);
    assert.equal(status, 200);
    assert.notEqual(body.revoked_at, null);
    errorOf(await holder.get("/v1/sessions"), 401);
    assert.equal((await client.get(`/v1/api-keys/${id}`)).body.revoked_at, body.revoked_at);
  });

  test("AUT-5 given a revoked key, when it is revoked again, then the answer is the same", async () => {
    const { id } = await client.createKey();
    const first = await revoke(id);
    const second = await revoke(id);
    assert.equal(second.status, 200);
    assert.deepEqual(second.body, first.body);
  });

  test("AUT-5 given a key that revokes itself, when it is used again, then it is 401", async () => {
    const { id, key } = await client.createKey();
    const holder = client.as(key);
    assert.equal((await holder.call(`/v1/api-keys/${id}`, { method: "DELETE" })).status, 200);
    errorOf(await holder.get("/v1/sessions"), 401);
  });

  test("AUT-5 given a key that expired before, when it is used, then it is 401", async () => {
    const { key } = await client.createKey({ expires_at: new Date(Date.now() - 1000).toISOString() });
    errorOf(await client.as(key).get("/v1/sessions"), 401);
  });

  test("AUT-5 given a key in use, when its time comes, then it stops working", async () => {
    const expires = Date.now() + 3000;
    const { key } = await client.createKey({ expires_at: new Date(expires).toISOString() });
    const holder = client.as(key);
    assert.equal((await holder.get("/v1/sessions")).status, 200);
    await until(
      () => holder.get("/v1/sessions"),
      ({ status }) => status === 401,
    );
    assert.ok(Date.now() >= expires);
  });

  test("AUT-5 making a key with an expiry that is no time is refused", async () => {
    // Given an expiry that is no time, when a key is made with it, then the request is refused.
    for (const expires_at of ["soon", "2040-13-01T00:00:00Z", "2040-01-01", 2040]) {
      const answer = await client.post("/v1/api-keys", {
        name: "k",
        actor: "a",
        scopes: ["admin"],
        expires_at,
      });
      assert.equal(errorOf(answer, 400).param, "expires_at", String(expires_at));
    }
  });

  test("AUT-5 a revoked key is still refused after a restart, and others still work", async () => {
    // Given a revoked key, when the server is started again, then the key is still refused and others still work.
    await using data = await temporaryDirectory();
    const made: Json[] = [];
    {
      await using first = await startServer({ data: data.path });
      const admin = new Client(first);
      made.push(await admin.createKey(), await admin.createKey());
      await admin.call(`/v1/api-keys/${made[0].id}`, { method: "DELETE" });
      await first.stop();
    }
    await using second = await startServer({ data: data.path });
    errorOf(await new Client(second, made[0].key).get("/v1/sessions"), 401);
    assert.equal((await new Client(second, made[1].key).get("/v1/sessions")).status, 200);
  });
});

describe("Where keys are kept", () => {
  test("AUT-4 nothing that can be read contains an API key or its hash", async () => {
    // Given an API key, when everything that can be read is read, then neither the key nor its hash is in it.
    const { id, key } = await client.createKey();
    const said = [
      (await client.get(`/v1/api-keys/${id}`)).body,
      await client.listAll("/v1/api-keys"),
      (await client.listAll("/v1/events")).filter(({ resource }) => resource.id === id),
    ];
    assert.equal(said[2].length, 1);
    const text = JSON.stringify(said);
    const secret = key.slice(`bridle_${id}_`.length);
    assert.equal(secret.length, 43);
    assert.ok(!text.includes(secret));
    assert.ok(!/"hash"/.test(text));
  });

  test("AUT-4 the error of a refused request does not repeat a key from its body or path", async () => {
    // Given a request that is refused, when the key was in its body or its path, then the error does not repeat it.
    const { key } = await client.createKey();
    const answers = [
      await client.as(`${key}x`).get("/v1/sessions"),
      await client.post("/v1/sessions", { workspace_id: 7, key }),
      await client.call("/v1/sessions", { raw: `{"key": "${key}"` }),
    ];
    for (const { status, body } of answers) {
      assert.ok(status >= 400);
      assert.ok(!JSON.stringify(body).includes(key));
    }
  });

  test("AUT-4 no file and no output contains any key that was made, used or revoked", async () => {
    // Given keys that were made, used, repeated and revoked, when the server has stopped, then no file and no output has
    // any of them.
    await using data = await temporaryDirectory();
    await using running = await startServer({ data: data.path, env: { BRIDLE_LOG_LEVEL: "trace" } });
    const admin = new Client(running);
    const request = { name: "k", actor: "a", scopes: ["admin"] };
    const repeated = { "idempotency-key": "once" };
    const { body: first } = await admin.post("/v1/api-keys", request, repeated);
    const { body: again } = await admin.post("/v1/api-keys", request, repeated);
    assert.equal(again.id, first.id);
    assert.equal(again.key, null);
    const second = await admin.createKey();
    const holder = admin.as(second.key);
    const { id } = await holder.createSession();
    await holder.rehearse(id, "say hello");
    await admin.call(`/v1/api-keys/${first.id}`, { method: "DELETE" });
    errorOf(await admin.as(first.key).get("/v1/sessions"), 401);
    errorOf(await admin.as(`${second.key}x`).get("/v1/sessions"), 401);
    assert.equal(await running.stop(), 0);

    const entries = await readdir(data.path, { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    const contents = await Promise.all(files.map((file) => readFile(file)));
    const everything = [...contents, Buffer.from(running.output())];
    const total = Buffer.concat(everything);
    assert.ok(total.includes(first.id), "what was searched is where keys would be");
    for (const secret of [first.key, second.key, adminKey]) {
      const random = secret === adminKey ? secret : secret.slice(-43);
      assert.ok(!total.includes(random), `${secret.slice(0, 20)}… was found`);
    }
  });
});
