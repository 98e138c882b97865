/** Retention: what ended long ago leaves the log, and everybody is told what is gone. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { followEvents } from "../src/kernel/core/read-events.ts";
import { systemCaller } from "../src/policy/caller.ts";
import { startServer as startInProcess } from "../src/server/server.ts";
import { bridle } from "./support/cli.ts";
import { Client, errorOf, isFinal, type Json, until, userMessage } from "./support/client.ts";
import { assertRebuildable } from "./support/log.ts";
import {
  adminKey,
  startProcess,
  startServer,
  type TestServer,
  temporaryDirectory,
} from "./support/server.ts";
import { openStream, take } from "./support/sse.ts";

const script = fileURLToPath(new URL("./support/retention-server.ts", import.meta.url));
const aDayMs = 24 * 60 * 60 * 1000;

/** A server that keeps nothing of what ended; it sweeps at its start. */
function retaining(data: string): Promise<TestServer> {
  return startServer({ data, config: { retainMs: 1 } });
}

const sweep = (client: Client, dry_run = false) => client.post("/v1/retention/sweep", { dry_run });

async function assertVerifies(client: Client, receiptId: string): Promise<void> {
  const { body } = await client.post(`/v1/receipts/${receiptId}/verify`);
  assert.equal(body.valid, true, JSON.stringify(body));
  assert.equal((await client.get(`/v1/receipts/${receiptId}/proof`)).status, 200);
}

describe("a sweep", () => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let server: TestServer;
  let client: Client;
  before(async () => {
    directory = await temporaryDirectory();
    server = await retaining(directory.path);
    client = new Client(server);
  });
  after(async () => {
    assert.equal(await server.stop(), 0);
    await assertRebuildable(directory.path);
    await directory[Symbol.asyncDispose]();
  });

  test("RET-1 RET-2 a sweep keeps a task's record and receipts and expires older cursors", async () => {
    // Given an ended task with everything a task can have, when it is swept, then its record and its receipts are left
    // and cursors before it have expired.
    const { id } = await client.createSession({ initial_messages: [userMessage("loose")] });
    const large = "leaves-by-age ".repeat(1000);
    const task = await client.rehearse(id, "say hello", `artifact a.txt ${large}`, "stream 2", "return done");
    await client.settled(task);
    const log = await client.listAll(`/v1/sessions/${id}/events`);
    const messages = await client.listAll(`/v1/sessions/${id}/messages`);
    const [artifact] = await client.listAll(`/v1/artifacts?task_id=${task.id}`);
    const inTheMiddle = log.find(({ event }) => event === "task.started").id;
    const last = log.at(-1).id;

    const { status, body } = await sweep(client);

    assert.equal(status, 200, JSON.stringify(body));
    assert.ok(body.tasks >= 1 && body.events > 5 && body.blobs >= 1 && body.bytes > large.length);
    const left = (await client.get(`/v1/tasks/${task.id}`)).body;
    assert.equal(left.status, "COMPLETED");
    assert.equal(left.receipt_id, task.receipt_id);
    assert.ok(left.trimmed.event_count > 5);
    const subject = { object: "outcome", id: left.outcome_id };
    errorOf(await client.post("/v1/receipts", { subject }), 409);
    await assertVerifies(client, left.receipt_id);
    for (const gone of [
      `messages/${messages[0].id}`,
      `messages/${messages.at(-1).id}`,
      `artifacts/${artifact.id}`,
    ]) {
      errorOf(await client.get(`/v1/${gone}`), 404);
    }
    errorOf(await client.get(`/v1/events/${inTheMiddle}`), 404);
    assert.deepEqual(await client.texts(id), []);
    assert.equal((await client.get(`/v1/outcomes/${left.outcome_id}`)).status, 200);
    assert.ok(!(await client.listAll("/v1/tasks")).some((listed) => listed.id === task.id));
    assert.equal((await client.listAll(`/v1/tasks?session_id=${id}`)).length, 1);
    const replay = errorOf(await client.post(`/v1/tasks/${task.id}/replay`, { mode: "exact" }), 422);
    assert.equal(replay.details.reason, "replay_dependency_unavailable");
    errorOf(await client.get(`/v1/sessions/${id}/export`), 409);

    const lists = [`/v1/sessions/${id}/events`, `/v1/tasks/${task.id}/events`, "/v1/events"];
    for (const path of [...lists, "/v1/events?workspace_id=workspace_default"]) {
      const join = path.includes("?") ? "&" : "?";
      const refused = errorOf(await client.get(`${path}${join}after_event_id=${inTheMiddle}`), 410);
      assert.equal(refused.code, "cursor_expired");
      assert.equal(refused.param, "after_event_id");
      const later = await client.get(`${path}${join}after_event_id=${last}`);
      assert.equal(later.status, 200, `${path} after what is left`);
    }
    await using stream = await openStream(client, `/v1/sessions/${id}/events/stream`, {
      "last-event-id": inTheMiddle,
    });
    const [frame] = await take(stream.frames, () => true);
    assert.equal(frame?.event, "error");
    assert.equal(frame?.data.error.code, "cursor_expired");

    const shown = await client.listAll(`/v1/sessions/${id}/events`);
    assert.equal(shown[0].event, "session.created", "from the start: what is left");
    assert.ok(shown.some(({ event }) => event === "receipt.issued"));
    assert.ok(shown.some(({ event }) => event === "vendor.bridle.session.trimmed"));
    assert.ok(
      (await client.listAll("/v1/events")).some(({ event }) => event === "vendor.bridle.log.trimmed"),
    );
    const again = (await sweep(client)).body;
    assert.deepEqual([again.tasks, again.events], [0, 0]);
  });

  test("RET-2 a sweep does not disturb an open stream that has seen everything", async () => {
    // Given an open stream that has seen everything, when old work leaves, then the stream goes on undisturbed.
    const { id } = await client.createSession();
    await client.rehearse(id, "say one");
    const { last_event_id } = (await client.get(`/v1/sessions/${id}`)).body;
    await using stream = await openStream(client, `/v1/sessions/${id}/events/stream`);
    await take(stream.frames, (frame) => frame.id === last_event_id);
    await sweep(client);
    const task = await client.rehearse(id, "say two");
    const seen = await take(
      stream.frames,
      ({ event, data }) => event === "task.completed" && data.task_id === task.id,
    );
    assert.ok(seen.every(({ event }) => event !== "error"));
    assert.ok(seen.some(({ event }) => event === "vendor.bridle.session.trimmed"));
  });

  test("RET-3 waiting work and a sleeping parent end normally after a sweep", async () => {
    // Given work that waits and a parent that sleeps, when the log is swept, then it goes on and ends as if nothing had
    // been.
    const { id } = await client.createSession();
    const waiting = await client.rehearse(id, "say before", "step one", "ask who?", "return thanks");
    const shared = "shared-by-two,".repeat(1000);
    const held = await client.rehearse(id, `say ${shared}`, "ask more?", "return ok");
    await client.rehearse(id, `say ${shared}`);
    const { body } = await sweep(client);
    assert.equal(body.tasks >= 1, true);
    for (const task of [waiting, held]) {
      await client.answer(task.id, "me");
      assert.equal((await client.untilTask(task.id, isFinal)).status, "COMPLETED");
    }
    assert.ok((await client.texts(id)).includes(shared));
    const verified = (await client.get(`/v1/tasks/${waiting.id}`)).body.receipt_id;
    await assertVerifies(client, verified);
  });

  test("RET-3 tasks that run during sweeps all end well with receipts that verify", async () => {
    // Given tasks that come and end while the log is swept, when all is over, then every one has ended well and its
    // receipt verifies.
    const { id } = await client.createSession();
    const submitted = Promise.all(Array.from({ length: 40 }, (_, index) => client.submit(id, `t${index}`)));
    for (let round = 0; round < 8; round++) assert.equal((await sweep(client)).status, 200);
    for (const task of await submitted) {
      const ended = await client.untilTask(task.id, isFinal);
      assert.equal(ended.status, "COMPLETED");
    }
    await sweep(client);
    const [some] = await client.listAll(`/v1/tasks?session_id=${id}`);
    await assertVerifies(client, some.receipt_id);
  });

  test("RET-2 fork, truncation and compaction still work after their old part is swept", async () => {
    // Given a fork, a truncation and a compaction, when the old part leaves, then they still work with what is left.
    const { id } = await client.createSession({ initial_messages: [userMessage("a"), userMessage("b")] });
    await client.post(`/v1/sessions/${id}/compact`, { keep_last: 1 });
    await sweep(client);
    const message = async (text: string) =>
      await client.post(`/v1/sessions/${id}/messages`, { message: userMessage(text) });
    await message("c");
    await message("d");
    const fork = await client.post(`/v1/sessions/${id}/fork`);
    assert.deepEqual(await client.texts(fork.body.id), ["c", "d"]);
    const { body } = await client.post(`/v1/sessions/${id}/truncate`, { keep_first: 1 });
    assert.equal(body.removed_turn_count, 1);
    assert.deepEqual(await client.texts(id), ["c"]);
    await client.post(`/v1/sessions/${id}/erase`);
    assert.equal((await client.get(`/v1/sessions/${id}`)).body.erasure.erased_at === null, false);
  });

  test("RET-5 only an operator runs gc, and a dry run counts without changing anything", async () => {
    // Given an operator and others, when gc is asked for, then a dry run says the counts and changes nothing, a real one
    // does it, and others may not.
    const { id } = await client.createSession();
    const task = await client.rehearse(id, "say hello");
    const dry = await bridle(["gc", "--dry-run"], { server, env: { BRIDLE_KEY: client.key } });
    assert.equal(dry.code, 0, dry.stderr);
    assert.match(dry.stdout, /^Would go: \d+ tasks, \d+ messages, \d+ events, \d+ blobs, about \d+ bytes; /);
    assert.equal((await client.get(`/v1/tasks/${task.id}`)).body.trimmed, undefined);
    const real = await bridle(["gc"], { server, env: { BRIDLE_KEY: client.key } });
    assert.match(real.stdout, /^Gone: [1-9]\d* tasks/);
    assert.ok((await client.get(`/v1/tasks/${task.id}`)).body.trimmed !== undefined);
    errorOf(await sweep(await client.withScopes("sessions:write")), 403);
    errorOf(await sweep(client.as((await client.createKey({ tenant_id: "tenant_stranger" })).key)), 403);
    assert.equal(errorOf(await client.post("/v1/retention/sweep", { dry_run: 1 }), 400).param, "dry_run");
  });
});

test("RET-2 only a reader that missed swept events is told so", async () => {
  // Given a reader that is slower than retention, when what it has not read leaves, then it is told, and one that had
  // read it is not.
  await using directory = await temporaryDirectory();
  const server = await startInProcess({
    port: 0,
    dataDirectory: directory.path,
    apiKey: adminKey,
    retainMs: 1,
  });
  await using stack = new AsyncDisposableStack();
  stack.defer(async () => void (await server.stop(0)));
  const client = new Client(server);
  const { id } = await client.createSession();
  for (let n = 0; n < 40; n++) await client.rehearse(id, "say a", "say b", "say c");
  const signal = new AbortController();
  const read = () =>
    followEvents(server.kernel, systemCaller("tenant_default"), { sessionId: id }, signal.signal);
  const slow = await read();
  const first = await slow.next();
  assert.equal(first.done, false);
  assert.ok(first.value.length < 400, "there is more to read");
  assert.equal((await sweep(client)).body.tasks, 40);
  await assert.rejects(slow.next(), { code: "cursor_expired" });
  const fresh = await read();
  assert.equal((await fresh.next()).value?.[0]?.event, "session.created");
  signal.abort();
});

test("RET-3 RET-5 a sweep removes nothing if retention is unlimited or longer", async () => {
  // Given a server that keeps everything, or keeps it longer, when it is swept, then nothing goes.
  await using directory = await temporaryDirectory();
  {
    await using server = await startServer({ data: directory.path });
    const client = new Client(server);
    await client.rehearse((await client.createSession()).id, "say hello");
    errorOf(await sweep(client), 409);
    assert.equal(await server.stop(), 0);
  }
  await using server = await startServer({ data: directory.path, flags: ["--retain-days", "1"] });
  const { body } = await sweep(new Client(server));
  assert.deepEqual([body.tasks, body.messages, body.events], [0, 0, 0]);
  assert.ok(Date.parse(body.cutoff) <= Date.now() - aDayMs);
});

test("RET-4 a sweep killed midway finishes on restart, and documents match the log", async () => {
  // Given a process that is killed in the middle of a sweep, when it starts again, then documents are the fold of the
  // log before and after, and the sweep is finished.
  await using directory = await temporaryDirectory();
  const word = "swept-away-4c1";
  let tasks: Json[] = [];
  {
    await using server = await startServer({ data: directory.path });
    const client = new Client(server);
    for (let session = 0; session < 3; session++) {
      const { id } = await client.createSession({ initial_messages: [userMessage(word)] });
      tasks.push(await client.rehearse(id, `say ${`${word} `.repeat(1000)}`, "return done"));
    }
    assert.equal(await server.stop(), 0);
  }
  for (const point of ["commit.written:2", "blobs.dropped:2", "commit.durable:1"]) {
    // It sweeps as it starts: it dies before it can be asked for anything, or soon after.
    const env = { RETAIN_MS: "1", BRIDLE_FAIL_POINT: point };
    const started = await startProcess({ data: directory.path, script, env }).catch(() => null);
    if (started !== null) await new Promise((resolve) => started.process.once("exit", resolve));
    await assertRebuildable(directory.path);
  }
  await using server = await retaining(directory.path);
  const client = new Client(server);
  tasks = await Promise.all(
    tasks.map(({ id }) =>
      until(
        async () => (await client.get(`/v1/tasks/${id}`)).body,
        (task) => task.trimmed !== undefined,
      ),
    ),
  );
  for (const { receipt_id } of tasks) await assertVerifies(client, receipt_id);
  await until(
    async () => (await sweep(client)).body,
    ({ events }) => events === 0,
  );
  assert.equal(await server.stop(), 0);
  await assertRebuildable(directory.path);
});
