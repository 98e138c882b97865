/** Sessions: from creation to closing, and the two ways to go back in one: fork and truncate. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Client, errorOf, type Json, userMessage } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let client: Client;

before(async () => {
  server = await startServer();
  client = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

const patch = (id: string, body: object) => client.call(`/v1/sessions/${id}`, { method: "PATCH", body });
const close = (id: string) => client.call(`/v1/sessions/${id}/close`, { method: "POST" });
const fork = (id: string, body: object = {}) => client.post(`/v1/sessions/${id}/fork`, body);
const truncate = (id: string, keep_first: number) =>
  client.post(`/v1/sessions/${id}/truncate`, { keep_first });
const eventsOf = (id: string) => client.listAll(`/v1/sessions/${id}/events`);

describe("The life of a session", () => {
  test("SES-1 a new session is active and empty and can be read and listed", async () => {
    // Given a workspace, when a session is created, then it is active, empty, and can be read and listed.
    const { status, body } = await client.post("/v1/sessions", { workspace_id: "workspace_default" });
    assert.equal(status, 201);
    assert.equal(body.state, "ACTIVE");
    assert.equal(body.transcript, `/v1/sessions/${body.id}/messages`);
    assert.deepEqual((await client.get(body.transcript)).body.data, []);
    assert.deepEqual((await client.get(`/v1/sessions/${body.id}`)).body, body);
    assert.deepEqual((await client.get("/v1/sessions?limit=1")).body.data, [body]);
  });

  test("SES-1 last_event_id of a session is the last of its events", async () => {
    // Given a session, when something happens in it, then last_event_id is the last of its events.
    const { id } = await client.sessionWithTurns("hello");
    const last = (await eventsOf(id)).at(-1);
    const { body } = await client.get(`/v1/sessions/${id}`);
    assert.equal(body.last_event_id, last.id);
  });

  for (const field of ["workspace_id", "persona_id"]) {
    test(`SES-1 given an unknown ${field}, when a session is created, then it is not found`, async () => {
      const answer = await client.post("/v1/sessions", {
        workspace_id: "workspace_default",
        [field]: "unknown",
      });
      assert.equal(errorOf(answer, 404).code, "resource_not_found");
    });
  }

  test("SES-1 a session returns its changed summary and metadata", async () => {
    // Given a session, when its summary and metadata are changed, then it is read with them.
    const { id } = await client.createSession({ metadata: { old: true } });
    const { status, body } = await patch(id, { summary: "What it was about", metadata: { new: true } });
    assert.equal(status, 200);
    assert.equal(body.summary, "What it was about");
    assert.deepEqual(body.metadata, { new: true });
    assert.deepEqual((await client.get(`/v1/sessions/${id}`)).body, body);
  });

  test("SES-1 changing only the metadata of a session keeps its summary", async () => {
    // Given a session with a summary, when only metadata is changed, then the summary stays.
    const { id } = await client.createSession();
    await patch(id, { summary: "kept" });
    assert.equal((await patch(id, { metadata: { a: 1 } })).body.summary, "kept");
    assert.equal((await patch(id, { summary: null })).body.summary, null);
  });

  test("SES-1 given a session, when it is closed, then it is CLOSED and says so in an event", async () => {
    const { id } = await client.createSession();
    const { status, body } = await close(id);
    assert.equal(status, 200);
    assert.equal(body.state, "CLOSED");
    assert.equal((await client.get(`/v1/sessions/${id}`)).body.state, "CLOSED");
    assert.equal((await eventsOf(id)).at(-1).event, "session.closed");
  });

  test("SES-1 closing a closed session returns the same answer and does nothing", async () => {
    // Given a closed session, when it is closed again, then the answer is the same and nothing happens.
    const { id } = await client.createSession();
    const first = await close(id);
    const second = await close(id);
    assert.equal(second.status, 200);
    assert.deepEqual(second.body, first.body);
  });

  const work: Record<string, (id: string) => [path: string, body: object]> = {
    "a task is submitted": (id) => ["/v1/tasks", { session_id: id, input: userMessage("hello") }],
    "a task is submitted under its path": (id) => [
      `/v1/sessions/${id}/tasks`,
      { input: userMessage("hello") },
    ],
    "a message is appended": (id) => [`/v1/sessions/${id}/messages`, { message: userMessage("hello") }],
    "it is truncated": (id) => [`/v1/sessions/${id}/truncate`, { keep_first: 0 }],
  };
  for (const [what, request] of Object.entries(work)) {
    test(`SES-1 given a closed session, when ${what}, then it is a conflict and nothing happens`, async () => {
      const { id } = await client.createSession({ initial_messages: [userMessage("first")] });
      await close(id);
      const events = await eventsOf(id);
      const error = errorOf(await client.post(...request(id)), 409);
      assert.equal(error.code, "conflict");
      assert.match(error.message, /CLOSED/);
      assert.deepEqual(await eventsOf(id), events);
    });
  }

  test("SES-1 closing a session cancels its waiting and sleeping tasks", async () => {
    // Given waiting and sleeping tasks, when their session is closed, then they are canceled.
    const { id } = await client.createSession({ persona_id: "persona_rehearsal" });
    const waiting = await client.rehearse(id, "ask who are you?");
    const sleeping = await client.submit(id, "sleep 600000");
    await client.untilTask(sleeping.id, ({ waiting_for }) => waiting_for !== null);
    await close(id);
    for (const task of [waiting, sleeping]) {
      assert.equal((await client.get(`/v1/tasks/${task.id}`)).body.status, "CANCELED");
    }
  });

  test("SES-1 given an ended task, when its session is closed, then the task stays as it ended", async () => {
    const { id } = await client.createSession();
    const task = await client.rehearse(id, "say done");
    await close(id);
    assert.deepEqual((await client.get(`/v1/tasks/${task.id}`)).body, task);
  });

  test("SES-2 the transcript has the initial messages in their order", async () => {
    // Given initial messages, when the transcript is read, then they are there in their order.
    const texts = Array.from({ length: 20 }, (_, n) => `message ${n}`);
    const { id } = await client.createSession({ initial_messages: texts.map((text) => userMessage(text)) });
    assert.deepEqual(await client.texts(id), texts);
  });

  test("SES-2 the transcript has successively appended messages in that order", async () => {
    // Given messages appended one after the other, when the transcript is read, then it has them in that order.
    const { id } = await client.createSession();
    const appended: string[] = [];
    for (let n = 0; n < 10; n++)
      appended.push((await client.append(id, `message ${n}`, n % 2 ? "assistant" : "user")).id);
    const read = await client.listAll(`/v1/sessions/${id}/messages`, 3);
    assert.deepEqual(
      read.map((message) => message.id),
      appended,
    );
  });

  test("SES-2 the transcript has concurrently appended messages once, in the order of the events", async () => {
    // Given messages appended all at once, when the transcript is read twice, then each is there once and the order is
    // that of the events.
    const { id } = await client.createSession();
    await Promise.all(Array.from({ length: 30 }, (_, n) => client.append(id, `message ${n}`)));
    const texts = await client.texts(id);
    assert.equal(new Set(texts).size, 30);
    const said = (await eventsOf(id)).filter(({ event }) => event === "user.message");
    assert.deepEqual(
      said.map(({ payload }) => payload.message.parts[0].text),
      texts,
    );
    assert.deepEqual(await client.texts(id), texts);
  });

  test("SES-2 the transcript has a task's input before what the task says", async () => {
    // Given a task that speaks, when the transcript is read, then the input comes before what was said.
    const { id } = await client.createSession();
    const script = "say one\nsay two\nreturn three";
    await client.rehearse(id, script);
    assert.deepEqual(await client.texts(id), [script, "one", "two", "three"]);
  });
});

describe("Truncation", () => {
  const turns = ["a", "b", "c"];
  for (const [keep, kept] of [
    [0, []],
    [1, ["a", "a"]],
    [2, ["a", "a", "b", "b"]],
  ] as const) {
    test(`SES-3 truncating three turns to the first ${keep} leaves only those in the transcript`, async () => {
      // Given three turns, when the first ${keep} are kept, then the transcript has only those.
      const { id } = await client.sessionWithTurns(...turns);
      const before = await client.listAll(`/v1/sessions/${id}/messages`);
      const { status, body } = await truncate(id, keep);
      assert.equal(status, 200);
      assert.equal(body.object, "session_truncate_result");
      assert.equal(body.session_id, id);
      assert.equal(body.kept_turn_count, keep);
      assert.equal(body.removed_turn_count, 3 - keep);
      assert.equal(body.new_tip_turn_id, keep === 0 ? null : before[2 * (keep - 1)].id);
      assert.equal(body.session.id, id);
      assert.deepEqual(await client.texts(id), kept);
    });
  }

  for (const keep of [3, 4, 1_000_000]) {
    test(`SES-3 truncating three turns to the first ${keep} changes and records nothing`, async () => {
      // Given three turns, when the first ${keep} are kept, then nothing changes and nothing is recorded.
      const { id } = await client.sessionWithTurns(...turns);
      const [texts, events] = [await client.texts(id), await eventsOf(id)];
      const { body } = await truncate(id, keep);
      assert.deepEqual([body.kept_turn_count, body.removed_turn_count], [3, 0]);
      assert.deepEqual(await client.texts(id), texts);
      assert.deepEqual(await eventsOf(id), events);
    });
  }

  test("SES-3 given an empty session, when it is truncated, then it stays empty", async () => {
    const { id } = await client.createSession();
    const { body } = await truncate(id, 0);
    assert.deepEqual([body.kept_turn_count, body.removed_turn_count, body.new_tip_turn_id], [0, 0, null]);
  });

  test("SES-3 given a system message before the first turn, when no turn is kept, then it stays", async () => {
    const { id } = await client.createSession();
    await client.append(id, "be kind", "system");
    await client.append(id, "hello");
    await truncate(id, 0);
    assert.deepEqual(await client.texts(id), ["be kind"]);
  });

  test("SES-3 dropped messages and events of a truncated session can still be read", async () => {
    // Given a truncated session, when the dropped messages and events are asked for, then all are still there.
    const { id } = await client.sessionWithTurns(...turns);
    const messages = await client.listAll(`/v1/sessions/${id}/messages`);
    const events = await eventsOf(id);
    const { body } = await client.post(`/v1/sessions/${id}/truncate`, {
      keep_first: 1,
      reason: "start over",
    });
    const later = await eventsOf(id);
    assert.deepEqual(later.slice(0, events.length), events);
    const told = later.at(-1);
    assert.equal(told.event, "session.truncated");
    assert.deepEqual(told.payload, {
      kept_turn_count: 1,
      removed_turn_count: 2,
      new_tip_turn_id: body.new_tip_turn_id,
      reason: "start over",
    });
    for (const message of messages) {
      assert.deepEqual((await client.get(`/v1/messages/${message.id}`)).body, message);
    }
  });

  test("SES-3 given a truncated session, when it goes on, then new turns follow the kept ones", async () => {
    const { id } = await client.sessionWithTurns(...turns);
    await truncate(id, 1);
    await client.append(id, "d");
    assert.deepEqual(await client.texts(id), ["a", "a", "d"]);
    assert.equal((await truncate(id, 1)).body.removed_turn_count, 1);
    await client.append(id, "e");
    assert.deepEqual(await client.texts(id), ["a", "a", "e"]);
  });

  test("SES-3 truncation first cancels a task that waits in a dropped turn", async () => {
    // Given a task that waits in a dropped turn, when the session is truncated, then the task is canceled before.
    const { id } = await client.sessionWithTurns("a");
    const waiting = await client.rehearse(id, "ask who are you?");
    assert.equal(waiting.status, "INPUT_REQUIRED");
    await truncate(id, 1);
    assert.equal((await client.get(`/v1/tasks/${waiting.id}`)).body.status, "CANCELED");
    const names = (await eventsOf(id)).map(({ event }) => event);
    assert.ok(names.indexOf("task.canceled") > 0);
    assert.ok(names.indexOf("task.canceled") < names.indexOf("session.truncated"));
  });

  const running: Record<string, [line: string, holds: (task: Json) => boolean]> = {
    "waits for an answer": ["ask who are you?", ({ status }) => status === "INPUT_REQUIRED"],
    sleeps: ["sleep 600000", ({ waiting_for }) => waiting_for !== null],
  };
  for (const [what, [line, holds]] of Object.entries(running)) {
    test(`SES-3 a task that ${what} in a kept turn survives the dropping of later turns`, async () => {
      // Given a task that ${what} in a kept turn, when later turns are dropped, then it goes on.
      const { id } = await client.createSession({ persona_id: "persona_rehearsal" });
      const task = await client.submit(id, line);
      const before = await client.untilTask(task.id, holds);
      await client.append(id, "a second turn");
      assert.equal((await truncate(id, 1)).body.removed_turn_count, 1);
      assert.equal((await client.get(`/v1/tasks/${task.id}`)).body.status, before.status);
      assert.deepEqual(await client.texts(id), [line]);
    });
  }

  test("SES-3 truncation leaves an ended task in a dropped turn as it ended", async () => {
    // Given an ended task in a dropped turn, when the session is truncated, then the task stays as it ended.
    const { id } = await client.createSession();
    const task = await client.rehearse(id, "say done");
    await truncate(id, 0);
    assert.deepEqual((await client.get(`/v1/tasks/${task.id}`)).body, task);
  });
});

describe("Forks", () => {
  test("SES-4 a fork has the transcript, the parent, the root and a branch of its own", async () => {
    // Given a session, when it is forked, then the fork has its transcript, its parent, its root and a branch of its
    // own.
    const parent = await client.sessionWithTurns("a", "b");
    const { status, body } = await fork(parent.id, { metadata: { why: "try" } });
    assert.equal(status, 201);
    assert.notEqual(body.id, parent.id);
    assert.equal(body.state, "ACTIVE");
    assert.equal(body.workspace_id, parent.workspace_id);
    assert.equal(body.parent_session_id, parent.id);
    assert.equal(body.root_session_id, parent.id);
    assert.deepEqual(body.metadata, { why: "try" });
    assert.deepEqual(await client.texts(body.id), ["a", "a", "b", "b"]);
    const { body: branch } = await client.get(`/v1/branches/${body.branch_id}`);
    assert.equal(branch.kind, "session");
    assert.equal(branch.session_id, body.id);
    assert.equal(branch.parent_branch_id, parent.branch_id);
    assert.deepEqual(await client.listAll(`/v1/sessions/${body.id}/branches`), [branch]);
  });

  test("SES-4 given a session, when it is forked without a body, then it is forked at its end", async () => {
    const parent = await client.sessionWithTurns("a");
    const { status, body } = await client.call(`/v1/sessions/${parent.id}/fork`, { method: "POST" });
    assert.equal(status, 201);
    assert.deepEqual(await client.texts(body.id), ["a", "a"]);
  });

  test("SES-4 a fork at an event has what was said up to it", async () => {
    // Given an event in the middle, when the session is forked at it, then the fork has what was said up to it.
    const parent = await client.sessionWithTurns("a", "b", "c");
    const spoken = (await eventsOf(parent.id)).filter(({ event }) => event === "user.message");
    const { body } = await fork(parent.id, { at_event_id: spoken[1].id });
    assert.deepEqual(await client.texts(body.id), ["a", "a", "b"]);
    assert.deepEqual(await client.texts(parent.id), ["a", "a", "b", "b", "c", "c"]);
  });

  test("SES-4 given the first event, when the session is forked at it, then the fork is empty", async () => {
    const parent = await client.sessionWithTurns("a");
    const [first] = await eventsOf(parent.id);
    assert.deepEqual(await client.texts((await fork(parent.id, { at_event_id: first.id })).body.id), []);
  });

  test("SES-4 given a fork, when the parent's events are read, then one of them tells of it", async () => {
    const parent = await client.sessionWithTurns("a");
    const at_event_id = (await eventsOf(parent.id)).at(-1).id;
    const { body } = await fork(parent.id, { at_event_id });
    const told = (await eventsOf(parent.id)).at(-1);
    assert.equal(told.event, "session.thread_forked");
    assert.deepEqual(told.payload, { session_id: body.id, branch_id: body.branch_id, at_event_id });
  });

  test("SES-4 a fork and its parent do not show each other's new messages", async () => {
    // Given a fork, when the fork and its parent go on, then neither shows what the other says.
    const parent = await client.sessionWithTurns("a");
    const { body } = await fork(parent.id);
    await client.append(parent.id, "in the parent");
    await client.append(body.id, "in the fork");
    assert.deepEqual(await client.texts(parent.id), ["a", "a", "in the parent"]);
    assert.deepEqual(await client.texts(body.id), ["a", "a", "in the fork"]);
  });

  test("SES-4 events of a task in a fork belong to the fork and not to the parent", async () => {
    // Given a fork, when a task runs in it, then its events are the fork's and not the parent's.
    const parent = await client.sessionWithTurns("a");
    const { body } = await fork(parent.id);
    const events = await eventsOf(parent.id);
    const task = await client.rehearse(body.id, "say hello");
    assert.equal(task.session_id, body.id);
    assert.deepEqual(await eventsOf(parent.id), events);
    assert.ok((await eventsOf(body.id)).some(({ task_id }) => task_id === task.id));
  });

  test("SES-4 inherited messages listed in a fork name the fork as their session", async () => {
    // Given a fork, when its inherited messages are listed, then they say that they are in the fork.
    const parent = await client.sessionWithTurns("a");
    const { body } = await fork(parent.id);
    const messages = await client.listAll(`/v1/sessions/${body.id}/messages`);
    assert.equal(messages.length, 2);
    assert.ok(messages.every(({ session_id }) => session_id === body.id));
  });

  test("SES-3 SES-4 given a fork, when the parent is truncated, then the fork stays whole", async () => {
    const parent = await client.sessionWithTurns("a", "b");
    const { body } = await fork(parent.id);
    await truncate(parent.id, 0);
    assert.deepEqual(await client.texts(parent.id), []);
    assert.deepEqual(await client.texts(body.id), ["a", "a", "b", "b"]);
  });

  test("SES-3 SES-4 truncating a fork into its inherited turns leaves the parent whole", async () => {
    // Given a fork with turns of its own, when it is truncated into the inherited ones, then the parent stays whole.
    const parent = await client.sessionWithTurns("a", "b");
    const { body } = await fork(parent.id);
    await client.append(body.id, "c");
    const { body: result } = await truncate(body.id, 1);
    assert.deepEqual([result.kept_turn_count, result.removed_turn_count], [1, 2]);
    assert.deepEqual(await client.texts(body.id), ["a", "a"]);
    assert.deepEqual(await client.texts(parent.id), ["a", "a", "b", "b"]);
  });

  test("SES-3 SES-4 a fork of a truncated session does not bring back what was dropped", async () => {
    // Given a truncated session, when it is forked, then the fork does not bring back what was dropped.
    const parent = await client.sessionWithTurns("a", "b");
    await truncate(parent.id, 1);
    await client.append(parent.id, "c");
    assert.deepEqual(await client.texts((await fork(parent.id)).body.id), ["a", "a", "c"]);
  });

  test("SES-4 a fork of a fork has the fork as parent and the first session as root", async () => {
    // Given a fork of a fork, when it is read, then its parent is the fork and its root the first session.
    const root = await client.sessionWithTurns("a");
    const { body: child } = await fork(root.id);
    await client.append(child.id, "b");
    const { body: grandchild } = await fork(child.id);
    assert.equal(grandchild.parent_session_id, child.id);
    assert.equal(grandchild.root_session_id, root.id);
    assert.deepEqual(await client.texts(grandchild.id), ["a", "a", "b"]);
    const { body: branch } = await client.get(`/v1/branches/${grandchild.branch_id}`);
    assert.equal(branch.parent_branch_id, child.branch_id);
  });

  test("SES-4 given a branch, when the session is forked onto it, then the fork is on that branch", async () => {
    const parent = await client.sessionWithTurns("a");
    const branch = await client.post(`/v1/sessions/${parent.id}/branches`, {
      kind: "session",
      base_ref: "x",
    });
    const { status, body } = await fork(parent.id, { branch_id: branch.body.id });
    assert.equal(status, 201);
    assert.equal(body.branch_id, branch.body.id);
  });

  test("SES-4 given a closed session, when it is forked, then the fork takes work again", async () => {
    const parent = await client.sessionWithTurns("a");
    await close(parent.id);
    const { body } = await fork(parent.id);
    assert.equal(body.state, "ACTIVE");
    await client.append(body.id, "b");
    assert.deepEqual(await client.texts(body.id), ["a", "a", "b"]);
  });

  test("SES-4 a fork at an event of another session is rejected", async () => {
    // Given an event of another session, when a session is forked at it, then it is refused.
    const [one, other] = [await client.sessionWithTurns("a"), await client.sessionWithTurns("b")];
    const foreign = (await eventsOf(other.id)).at(-1).id;
    for (const at_event_id of [foreign, "evt_9999999999999999", "nonsense"]) {
      const error = errorOf(await fork(one.id, { at_event_id }), 400);
      assert.equal(error.code, "invalid_request");
      assert.equal(error.param, "at_event_id");
    }
  });
});
