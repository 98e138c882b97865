/** What becomes of branches: where they are, what they were merged into, that they were given up. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Client, errorOf, type Json } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let client: Client;

before(async () => {
  server = await startServer();
  client = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

async function newBranch(sessionId: string, body: object = {}): Promise<Json> {
  const answer = await client.post(`/v1/sessions/${sessionId}/branches`, {
    kind: "sandbox",
    base_ref: "main",
    ...body,
  });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

const merge = (id: string, into: string, headers = {}) =>
  client.post(`/v1/branches/${id}/merge`, { into_branch_id: into }, headers);
const abandon = (id: string, body: object = {}) => client.post(`/v1/branches/${id}/abandon`, body);

async function eventsAbout(id: string): Promise<Json[]> {
  return (await client.listAll("/v1/events")).filter(({ resource }) => resource.id === id);
}

describe("Branches", () => {
  test("BRA-2 changing a branch's working copy and metadata keeps its lineage and is an event", async () => {
    // Given a branch, when its working copy and metadata are changed, then it says so, keeps its lineage, and the change
    // is an event.
    const session = await client.createSession();
    const branch = await newBranch(session.id, { worktree_uri: "file:///tmp/a", kind: "workspace" });
    assert.equal(branch.worktree_uri, "file:///tmp/a");
    assert.deepEqual([branch.state, branch.merged_into], ["open", null]);
    const changes = { worktree_uri: "file:///tmp/b", metadata: { by: "test" } };
    const { status, body } = await client.call(`/v1/branches/${branch.id}`, {
      method: "PATCH",
      body: changes,
    });
    assert.equal(status, 200);
    assert.deepEqual(body, { ...branch, ...changes, updated_at: body.updated_at });
    assert.deepEqual((await client.get(`/v1/branches/${branch.id}`)).body, body);
    const last = (await eventsAbout(branch.id)).at(-1);
    assert.deepEqual([last.event, last.payload], ["branch.updated", { changes }]);
  });

  test("BRA-2 merging a fork's branch keeps both transcripts and logs both tips in the parent", async () => {
    // Given a fork with something said in it, when its branch is merged, then both transcripts are as they were and the
    // parent's log names both tips.
    const parent = await client.createSession();
    await client.rehearse(parent.id, "say before");
    const { body: fork } = await client.post(`/v1/sessions/${parent.id}/fork`);
    await client.rehearse(fork.id, "say in the fork");
    await client.rehearse(parent.id, "say in the parent");
    const said = [await client.texts(parent.id), await client.texts(fork.id)];
    const tips = await Promise.all([fork.id, parent.id].map(tipOf));

    const merged = await merge(fork.branch_id, parent.branch_id);
    assert.equal(merged.status, 200, JSON.stringify(merged.body));
    assert.deepEqual([merged.body.state, merged.body.merged_into], ["merged", parent.branch_id]);
    assert.deepEqual([await client.texts(parent.id), await client.texts(fork.id)], said);
    const expected = {
      into_branch_id: parent.branch_id,
      tip_event_id: tips[0],
      into_tip_event_id: tips[1],
    };
    assert.deepEqual((await eventsAbout(fork.branch_id)).at(-1).payload, expected);
    const thread = (await client.listAll(`/v1/sessions/${parent.id}/events`)).at(-1);
    assert.equal(thread.event, "session.thread_merged");
    assert.deepEqual(thread.payload, { session_id: fork.id, branch_id: fork.branch_id, ...expected });
    const [listed] = await client.listAll(`/v1/sessions/${fork.id}/branches`);
    assert.equal(listed.state, "merged");
  });

  const tipOf = async (sessionId: string) =>
    (await client.get(`/v1/sessions/${sessionId}`)).body.last_event_id;

  test("BRA-3 using a merged or abandoned branch is a conflict that says what became of it", async () => {
    // Given a branch that was merged or abandoned, when it is merged, abandoned, worked on or forked onto, then it is a
    // conflict that says what became of it.
    const session = await client.createSession();
    const [gone, kept, target] = [
      await newBranch(session.id),
      await newBranch(session.id),
      await newBranch(session.id),
    ];
    await merge(gone.id, target.id);
    const { body } = await abandon(kept.id, { reason: "no use" });
    assert.equal(body.state, "abandoned");
    assert.deepEqual((await eventsAbout(kept.id)).at(-1).payload, { reason: "no use" });
    for (const { id, state } of [
      { id: gone.id, state: "merged" },
      { id: kept.id, state: "abandoned" },
    ]) {
      const tries = [
        merge(id, target.id),
        abandon(id),
        merge(target.id, id),
        client.post("/v1/tasks", { session_id: session.id, branch_id: id, input: { a: 1 } }),
        client.post(`/v1/sessions/${session.id}/fork`, { branch_id: id }),
      ];
      for (const answer of await Promise.all(tries)) {
        const error = errorOf(answer, 409);
        assert.equal(error.code, "conflict");
        assert.equal(error.details.state, state);
      }
    }
  });

  test("BRA-3 a task in a fork whose branch was abandoned is a conflict and is not created", async () => {
    // Given a fork whose branch was abandoned, when a task is submitted in it, then it is a conflict and no task is
    // there.
    const parent = await client.createSession();
    const { body: fork } = await client.post(`/v1/sessions/${parent.id}/fork`);
    await client.rehearse(fork.id, "say works");
    await abandon(fork.branch_id);
    errorOf(await client.post("/v1/tasks", { session_id: fork.id, input: { a: 1 } }), 409);
    assert.equal((await client.listAll(`/v1/sessions/${fork.id}/tasks`)).length, 1);
    await client.rehearse(parent.id, "say goes on");
  });

  test("BRA-3 merging a branch into itself or a descendant is refused and leaves both open", async () => {
    // Given a branch and what came of it, when they are merged the wrong way, then it is refused and both stay open.
    const session = await client.createSession();
    const branch = await newBranch(session.id);
    const child = await newBranch(session.id, { parent_branch_id: branch.id });
    const grandchild = await newBranch(session.id, { parent_branch_id: child.id });
    for (const into of [branch, child, grandchild]) {
      const error = errorOf(await merge(branch.id, into.id), 409);
      assert.equal(error.param, "into_branch_id");
    }
    const { body: other } = await client.post("/v1/workspaces", { name: "Other", root: "." });
    errorOf(await merge(branch.id, other.default_branch_id), 409);
    errorOf(await merge(branch.id, "branch_none"), 404);
    errorOf(await merge("branch_none", branch.id), 404);
    assert.equal((await client.get(`/v1/branches/${branch.id}`)).body.state, "open");
    assert.equal((await merge(grandchild.id, branch.id)).status, 200);
  });

  test("BRA-3 merging or abandoning the main path of a workspace is a conflict", async () => {
    // Given the main path of a workspace, when it is merged or abandoned, then it is a conflict: work goes on there.
    const session = await client.createSession();
    const branch = await newBranch(session.id);
    errorOf(await abandon(session.branch_id), 409);
    errorOf(await merge(session.branch_id, branch.id), 409);
    await client.rehearse(session.id, "say still open");
  });

  test("BRA-3 concurrent merges of a branch merge once; one Idempotency-Key gives one answer", async () => {
    // Given many merges of one branch at once, when all are answered, then one was done; under one Idempotency-Key all
    // hear the same.
    const session = await client.createSession();
    const branch = await newBranch(session.id);
    const targets = await Promise.all(Array.from({ length: 8 }, () => newBranch(session.id)));
    const answers = await Promise.all(targets.map(({ id }) => merge(branch.id, id)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(7).fill(409)]);
    const merges = (await eventsAbout(branch.id)).filter(({ event }) => event === "branch.merged");
    assert.equal(merges.length, 1);

    const other = await newBranch(session.id);
    const key = { "idempotency-key": "merge-once" };
    const same = await Promise.all([1, 2, 3].map(() => merge(other.id, session.branch_id, key)));
    assert.deepEqual(
      same.map(({ status, body }) => [status, body.merged_into]),
      Array(3).fill([200, session.branch_id]),
    );
  });

  test("BRA-3 keys without the scope or of another workspace or tenant cannot change a branch", async () => {
    // Given keys without the scope, of another workspace and of another tenant, when they change a branch, then they are
    // refused.
    const session = await client.createSession();
    const branch = await newBranch(session.id);
    const { body: other } = await client.post("/v1/workspaces", { name: "Other", root: "." });
    const reader = await client.withScopes("branches:read");
    const neighbour = client.as((await client.createKey({ workspace_ids: [other.id] })).key);
    const stranger = client.as((await client.createKey({ tenant_id: "tenant_stranger" })).key);
    const calls: [string, string, object][] = [
      ["PATCH", "", { metadata: {} }],
      ["POST", "/merge", { into_branch_id: session.branch_id }],
      ["POST", "/abandon", {}],
    ];
    for (const [method, path, body] of calls) {
      const call = (by: Client) => by.call(`/v1/branches/${branch.id}${path}`, { method, body });
      errorOf(await call(reader), 403);
      errorOf(await call(neighbour), 404);
      errorOf(await call(stranger), 404);
    }
    assert.equal((await client.get(`/v1/branches/${branch.id}`)).body.state, "open");
  });
});
