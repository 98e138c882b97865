/** What all resources have in common: the envelope, ids, lists; and the plain ones: workspaces, personas, branches. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Answer, Client, errorOf, type Json, until, userMessage } from "../support/client.ts";
import { startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

let server: TestServer;
let client: Client;

before(async () => {
  server = await startServer();
  client = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

const rfc3339Utc = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/** One resource of every kind, as a client reads it, under the path it was read from. */
async function oneOfEach(): Promise<Record<string, Json>> {
  const session = await client.createSession({ initial_messages: [userMessage("first")] });
  const waiting = await client.rehearse(session.id, "approve ship");
  const failed = await client.rehearse(session.id, "artifact a.txt hello", "fail on purpose");
  const [message] = await client.listAll(`/v1/sessions/${session.id}/messages`);
  const [artifact] = await client.listAll(`/v1/artifacts?task_id=${failed.id}`);
  const [event] = await client.listAll(`/v1/tasks/${failed.id}/events`);
  const key = await client.createKey({ expires_at: "2040-01-01T00:00:00Z" });
  const paths = [
    `/v1/sessions/${session.id}`,
    `/v1/tasks/${failed.id}`,
    `/v1/messages/${message.id}`,
    `/v1/artifacts/${artifact.id}`,
    `/v1/events/${event.id}`,
    `/v1/branches/${session.branch_id}`,
    `/v1/outcomes/${failed.outcome_id}`,
    "/v1/workspaces/workspace_default",
    "/v1/personas/persona_default",
    `/v1/api-keys/${key.id}`,
    "/v1/agent-card",
  ];
  const found: Record<string, Json> = {};
  for (const path of paths) found[path] = (await client.get(path)).body;
  const [permission] = await client.listAll(`/v1/tasks/${waiting.id}/permission-requests`);
  return { ...found, "a permission request": permission };
}

function timesIn(value: Json): [name: string, time: Json][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries<Json>(value).flatMap(([name, inner]): [string, Json][] =>
    name.endsWith("_at") || name === "until" ? (inner === null ? [] : [[name, inner]]) : timesIn(inner),
  );
}

describe("The envelope", () => {
  test("RES-1 every kind of resource has id, object, times and metadata", async () => {
    // Given a resource of every kind, when it is read, then it has id, object, times and metadata.
    const resources = Object.entries(await oneOfEach());
    assert.equal(new Set(resources.map(([, { object }]) => object)).size, 12);
    for (const [path, resource] of resources) {
      assert.match(resource.id, /^[a-z]+_/, path);
      assert.equal(typeof resource.object, "string", path);
      assert.equal(typeof resource.created_at, "string", path);
      assert.equal(typeof resource.updated_at, "string", path);
      assert.equal(typeof resource.metadata, "object", path);
      assert.notEqual(resource.metadata, null, path);
    }
  });

  test("RES-1 every time in every kind of resource is RFC 3339 in UTC", async () => {
    // Given a resource of every kind, when it is read, then every time in it is RFC 3339 in UTC.
    for (const [path, resource] of Object.entries(await oneOfEach())) {
      const times = timesIn(resource);
      assert.ok(times.length >= 2, path);
      for (const [name, time] of times) assert.match(time, rfc3339Utc, `${path} ${name}`);
    }
  });

  test("RES-1 a key's expiry sent with another offset is returned as the same moment in UTC", async () => {
    // Given an expiry with another offset, when the key is read, then the same moment is told in UTC.
    const given = "2040-01-01T02:00:00+02:00";
    const { expires_at } = await client.createKey({ expires_at: given });
    assert.equal(Date.parse(expires_at), Date.parse(given));
    assert.match(expires_at, rfc3339Utc);
  });

  test("RES-1 no kind of resource exposes internal fields of the server", async () => {
    // Given a resource of every kind, when it is read, then nothing shows that is the server's own business.
    for (const [path, resource] of Object.entries(await oneOfEach())) {
      // The protocol gives a tenant_id to workspaces; our API keys tell theirs to their administrators.
      const own = ["workspace", "api_key"].includes(resource.object) ? [] : ["tenant_id"];
      for (const field of [
        ...own,
        "hash",
        "blob",
        "ranges",
        "pending",
        "parked",
        "runnable_since",
        "agent",
      ]) {
        assert.ok(!(field in resource), `${path} shows ${field}`);
      }
    }
  });

  test("RES-1 metadata of a created resource is returned as it was sent", async () => {
    // Given metadata, when the resource is created and read, then it is kept as it was sent.
    const metadata = { "vendor.example": { deep: [1, "two", null, true] }, empty: {}, ключ: "значение" };
    const { id } = await client.createSession({ metadata });
    assert.deepEqual((await client.get(`/v1/sessions/${id}`)).body.metadata, metadata);
  });

  test("RES-1 given a session, when it is changed, then created_at stays and updated_at moves on", async () => {
    const created = await client.createSession();
    // The clock may not have moved since the creation; then the change is made again.
    const change = (): Promise<Answer> =>
      client.call(`/v1/sessions/${created.id}`, { method: "PATCH", body: { summary: "changed" } });
    const { body } = await until(change, (answer) => answer.body.updated_at > created.updated_at);
    assert.equal(body.created_at, created.created_at);
  });

  test("RES-2 ids are unique among concurrent creations and across a restart", async () => {
    // Given many resources made at once and after a restart, when their ids are compared, then none is used twice.
    await using data = await temporaryDirectory();
    const ids: string[] = [];
    for (let round = 0; round < 2; round++) {
      await using running = await startServer({ data: data.path });
      const writer = new Client(running);
      const sessions = await Promise.all(Array.from({ length: 100 }, () => writer.createSession()));
      const workspaces = await Promise.all(
        Array.from({ length: 20 }, () => writer.post("/v1/workspaces", { name: "W", root: "." })),
      );
      ids.push(...sessions.map(({ id }) => id), ...workspaces.map(({ body }) => body.id));
      await running.stop();
    }
    assert.equal(ids.length, 240);
    assert.equal(new Set(ids).size, 240);
  });

  test("RES-2 given an id of one kind, when another kind is asked for it, then it is not found", async () => {
    const { id } = await client.createSession();
    for (const path of ["tasks", "messages", "artifacts", "branches", "workspaces", "outcomes"]) {
      assert.equal(errorOf(await client.get(`/v1/${path}/${id}`), 404).code, "resource_not_found");
    }
  });

  test("RES-3 given stateful resources in a workspace, when they are read, then they name it", async () => {
    const { body: workspace } = await client.post("/v1/workspaces", { name: "Mine", root: "." });
    const session = await client.createSession({ workspace_id: workspace.id });
    const task = await client.rehearse(session.id, "artifact a.txt hello", "approve ship");
    const [artifact] = await client.listAll(`/v1/artifacts?task_id=${task.id}`);
    const [permission] = await client.listAll(`/v1/tasks/${task.id}/permission-requests`);
    const branch = await client.post(`/v1/sessions/${session.id}/branches`, {
      kind: "sandbox",
      base_ref: "main",
    });
    const events = await client.listAll(`/v1/tasks/${task.id}/events`);
    assert.ok(events.length > 0);
    const stateful = [session, task, artifact, permission, branch.body, ...events];
    for (const { object, workspace_id } of stateful) assert.equal(workspace_id, workspace.id, object);
  });
});

describe("Lists", () => {
  /** A workspace of its own, so that lists of it hold only what the test has made. */
  async function workspaceWith(count: number): Promise<{ path: string; ids: string[] }> {
    const { body } = await client.post("/v1/workspaces", { name: "Lists", root: "." });
    const ids: string[] = [];
    for (let n = 0; n < count; n++) ids.push((await client.createSession({ workspace_id: body.id })).id);
    return { path: `/v1/sessions?workspace_id=${body.id}`, ids };
  }

  const idsOf = ({ body }: { body: Json }): string[] => body.data.map(({ id }: Json) => id);

  test("RES-4 a list shorter than a page says that there is no more", async () => {
    // Given fewer resources than fit on a page, when they are listed, then the envelope says that there is no more.
    const { path, ids } = await workspaceWith(2);
    const { status, body } = await client.get(path);
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body).sort(), ["data", "object", "page"]);
    assert.equal(body.object, "list");
    assert.equal(body.data.length, ids.length);
    assert.deepEqual(body.page, { next_cursor: null, has_more: false });
  });

  test("RES-4 given no resources, when they are listed, then the list is empty", async () => {
    const { path } = await workspaceWith(0);
    const { body } = await client.get(path);
    assert.deepEqual(body, { object: "list", data: [], page: { next_cursor: null, has_more: false } });
  });

  test("RES-4 given sessions, when they are listed, then the newest is first", async () => {
    const { path, ids } = await workspaceWith(5);
    assert.deepEqual(idsOf(await client.get(path)), ids.toReversed());
  });

  test("RES-4 a list of exactly as many resources as the limit has no next page", async () => {
    // Given exactly as many resources as the limit, when they are listed, then there is no next page.
    const { path } = await workspaceWith(3);
    assert.deepEqual((await client.get(`${path}&limit=3`)).body.page, { next_cursor: null, has_more: false });
  });

  test("RES-4 a list without a limit returns 50 resources and a cursor to the rest", async () => {
    // Given more than 50 resources, when no limit is given, then a page has 50 and a cursor to the rest.
    const { path, ids } = await workspaceWith(53);
    const first = await client.get(path);
    assert.deepEqual(idsOf(first), ids.toReversed().slice(0, 50));
    assert.equal(first.body.page.has_more, true);
    const second = await client.get(`${path}&cursor=${first.body.page.next_cursor}`);
    assert.deepEqual(idsOf(second), ids.toReversed().slice(50));
    assert.equal(second.body.page.has_more, false);
  });

  test("RES-4 the second page continues where the first ended despite newer resources", async () => {
    // Given a first page, when newer resources are created before the second, then the second goes on where the first
    // ended.
    const { path, ids } = await workspaceWith(4);
    const first = await client.get(`${path}&limit=2`);
    await client.createSession({ workspace_id: path.split("=")[1] });
    const second = await client.get(`${path}&limit=2&cursor=${first.body.page.next_cursor}`);
    assert.deepEqual([...idsOf(first), ...idsOf(second)], ids.toReversed());
  });

  test("RES-4 a list of 250 messages with the largest limit returns 200, oldest first", async () => {
    // Given 250 messages, when they are listed with the largest limit, then a page has 200, oldest first.
    const texts = Array.from({ length: 250 }, (_, n) => `message ${n}`);
    const { id } = await client.createSession({ initial_messages: texts.map((text) => userMessage(text)) });
    const { body } = await client.get(`/v1/sessions/${id}/messages?limit=200`);
    assert.deepEqual(
      body.data.map(({ parts }: Json) => parts[0].text),
      texts.slice(0, 200),
    );
    assert.equal(body.page.has_more, true);
    assert.deepEqual(await client.texts(id), texts);
  });

  test("RES-4 given events, when they are listed, then the oldest is first", async () => {
    const { id } = await client.createSession();
    await client.rehearse(id, "say one");
    const events = await client.listAll(`/v1/sessions/${id}/events`, 3);
    const ids = events.map((event) => event.id);
    assert.equal(events[0].event, "session.created");
    assert.deepEqual(ids, ids.toSorted());
  });

  for (const limit of ["0", "201", "-1", "1.5", "many", "", "1&limit=2"]) {
    test(`RES-4 a list with the limit "${limit}" is rejected naming the limit`, async () => {
      // Given the limit "${limit}", when a list is read, then the request is refused and names the limit.
      for (const path of ["/v1/sessions", "/v1/events", "/v1/tasks"]) {
        const error = errorOf(await client.get(`${path}?limit=${limit}`), 400);
        assert.equal(error.code, "invalid_request");
        assert.equal(error.param, "limit");
      }
    });
  }

  test("RES-4 every documented filter returns an empty list for an unknown id", async () => {
    // Given the filters that the API describes, when a list is filtered by an id that nothing has, then it is empty.
    await oneOfEach();
    const { paths } = (await client.get("/openapi.json")).body;
    const ignored: string[] = [];
    let tried = 0;
    for (const path of ["sessions", "tasks", "artifacts", "outcomes", "permission-requests"]) {
      const filters = paths[`/v1/${path}`].get.parameters.filter(({ name }: Json) => /^\w+_id$/.test(name));
      for (const { name } of filters) {
        tried += 1;
        const { body } = await client.get(`/v1/${path}?${name}=unknown`);
        if (body.data.length > 0) ignored.push(`${path}?${name}`);
      }
    }
    assert.ok(tried > 5);
    assert.deepEqual(ignored, []);
  });

  test("RES-4 lists filtered by session and task return only what belongs there", async () => {
    // Given two tasks, when lists are filtered by session and task, then they hold only what belongs there.
    const [one, other] = [await client.createSession(), await client.createSession()];
    const task = await client.rehearse(one.id, "artifact a.txt hello", "approve ship");
    await client.rehearse(other.id, "artifact b.txt hello", "approve ship");
    for (const [path, mine] of Object.entries({
      [`/v1/tasks?session_id=${one.id}`]: (item: Json) => item.id === task.id,
      [`/v1/sessions/${one.id}/tasks`]: (item: Json) => item.id === task.id,
      [`/v1/artifacts?session_id=${one.id}`]: (item: Json) => item.task_id === task.id,
      [`/v1/artifacts?task_id=${task.id}`]: (item: Json) => item.task_id === task.id,
      [`/v1/permission-requests?session_id=${one.id}`]: (item: Json) => item.task_id === task.id,
      [`/v1/permission-requests?task_id=${task.id}`]: (item: Json) => item.task_id === task.id,
    })) {
      const items = await client.listAll(path);
      assert.equal(items.length, 1, path);
      assert.ok(items.every(mine), path);
    }
    assert.deepEqual(await client.listAll(`/v1/artifacts?task_id=${task.id}&session_id=${other.id}`), []);
  });
});

describe("Branches", () => {
  test("BRA-1 given a session, when a branch of a task is created, then it tells its whole lineage", async () => {
    const session = await client.createSession();
    const task = await client.rehearse(session.id, "say hello");
    const { status, body } = await client.post(`/v1/sessions/${session.id}/branches`, {
      kind: "task",
      base_ref: "main",
      task_id: task.id,
      metadata: { why: "try" },
    });
    assert.equal(status, 201);
    const { id, created_at, updated_at, ...told } = body;
    assert.deepEqual(told, {
      object: "branch",
      metadata: { why: "try" },
      workspace_id: "workspace_default",
      kind: "task",
      base_ref: "main",
      parent_branch_id: session.branch_id,
      session_id: session.id,
      task_id: task.id,
      created_by: "admin",
      merged_into: null,
      state: "open",
      worktree_uri: null,
    });
    assert.deepEqual((await client.get(`/v1/branches/${id}`)).body, body);
    assert.deepEqual(await client.listAll(`/v1/sessions/${session.id}/branches`), [body]);
    assert.equal(created_at, updated_at);
  });

  test("BRA-1 given a branch, when another is created from it, then it names it as its parent", async () => {
    const { id } = await client.createSession();
    const path = `/v1/sessions/${id}/branches`;
    const { body: parent } = await client.post(path, { kind: "sandbox", base_ref: "main" });
    const child = await client.post(path, { kind: "sandbox", base_ref: "x", parent_branch_id: parent.id });
    assert.equal(child.body.parent_branch_id, parent.id);
  });

  test("BRA-1 the default branch of a workspace is its main path", async () => {
    // Given a workspace, when its default branch is read, then it is the workspace's main path.
    const { body: workspace } = await client.post("/v1/workspaces", { name: "W", root: "." });
    const { body } = await client.get(`/v1/branches/${workspace.default_branch_id}`);
    const { workspace_id, kind, parent_branch_id, session_id, task_id } = body;
    assert.deepEqual(
      { workspace_id, kind, parent_branch_id, session_id, task_id },
      {
        workspace_id: workspace.id,
        kind: "workspace",
        parent_branch_id: null,
        session_id: null,
        task_id: null,
      },
    );
  });

  for (const field of ["parent_branch_id", "task_id"]) {
    test(`BRA-1 a branch with an unknown ${field} is not found and not created`, async () => {
      // Given an unknown ${field}, when a branch is created, then it is not found and there is no branch.
      const { id } = await client.createSession();
      const path = `/v1/sessions/${id}/branches`;
      const answer = await client.post(path, { kind: "sandbox", base_ref: "main", [field]: "unknown" });
      assert.equal(errorOf(answer, 404).code, "resource_not_found");
      assert.deepEqual(await client.listAll(path), []);
    });
  }
});

describe("Workspaces and personas", () => {
  test("RES-1 given a name and a root, when a workspace is created, then it can be read and listed", async () => {
    const given = { name: "Shop", root: "/srv/shop", metadata: { team: "a" } };
    const { status, body } = await client.post("/v1/workspaces", given);
    assert.equal(status, 201);
    const { name, root, metadata, capabilities, quota_id } = body;
    assert.deepEqual(
      { name, root, metadata, capabilities, quota_id },
      { ...given, capabilities: [], quota_id: null },
    );
    assert.deepEqual((await client.get(`/v1/workspaces/${body.id}`)).body, body);
    assert.deepEqual((await client.listAll("/v1/workspaces"))[0], body);
  });

  test("RES-1 updating some fields of a workspace leaves the others unchanged", async () => {
    // Given a workspace, when some fields are changed, then those change and the others stay.
    const { body: created } = await client.post("/v1/workspaces", {
      name: "Old",
      root: "/srv",
      metadata: { a: 1 },
    });
    const { status, body } = await client.call(`/v1/workspaces/${created.id}`, {
      method: "PATCH",
      body: { name: "New", capabilities: ["shell"] },
    });
    assert.equal(status, 200);
    const { updated_at, ...rest } = body;
    assert.ok(updated_at >= created.updated_at);
    const { updated_at: _, ...before } = created;
    assert.deepEqual(rest, { ...before, name: "New", capabilities: ["shell"] });
    assert.deepEqual((await client.get(`/v1/workspaces/${created.id}`)).body, body);
  });

  test("RES-1 given a workspace, when nothing is changed, then it stays as it is", async () => {
    const { body: created } = await client.post("/v1/workspaces", { name: "Same", root: "/srv" });
    const { body } = await client.call(`/v1/workspaces/${created.id}`, { method: "PATCH", body: {} });
    assert.deepEqual(body, created);
  });

  test("RES-1 a fresh server lists one readable persona for every agent", async () => {
    // Given a fresh server, when personas are listed, then there is one for every agent, and each can be read.
    const personas = await client.listAll("/v1/personas");
    const ids = personas.map(({ id }) => id).sort();
    assert.deepEqual(ids, [
      "persona_assistant",
      "persona_default",
      "persona_gate",
      "persona_rehearsal",
      "persona_tour",
    ]);
    for (const persona of personas) {
      assert.deepEqual((await client.get(`/v1/personas/${persona.id}`)).body, persona);
      assert.equal(typeof persona.entry_workflow, "string");
    }
  });

  test("RES-1 a task that names no persona runs with the session's", async () => {
    // Given a persona in the session, when a task names none, then it runs with the session's.
    const { id } = await client.createSession({ persona_id: "persona_rehearsal" });
    const task = await client.submit(id, "say hello");
    assert.equal(task.persona_id, "persona_rehearsal");
  });
});
