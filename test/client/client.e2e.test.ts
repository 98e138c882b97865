/** The client against a real server: what a program does with tasks from beginning to end. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  type BridleClient,
  BridleError,
  type BridleEvent,
  ConnectionFailed,
  createClient,
  DeadlineExceeded,
  IdempotencyKeyReused,
  InvalidRequest,
  InvalidState,
  isFinal,
  NotFound,
  PermissionDenied,
  Unauthenticated,
  UnreadableAnswer,
} from "../../src/sdk/client/index.ts";
import { Client } from "../support/client.ts";
import { adminKey, startServer, type TestServer } from "../support/server.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const waitMs = 60_000;

let server: TestServer;
let bridle: BridleClient;

before(async () => {
  server = await startServer();
  bridle = createClient({ url: server.url, key: adminKey });
});
after(() => server[Symbol.asyncDispose]());

function rehearse(...lines: string[]) {
  return bridle.tasks.submit({ agent: "rehearsal", input: lines.join("\n") });
}

async function caught(promise: Promise<unknown>): Promise<BridleError> {
  const error = await promise.then(
    () => assert.fail("It was expected to fail"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof BridleError, String(error));
  return error;
}

async function all(events: AsyncIterable<BridleEvent>): Promise<BridleEvent[]> {
  const found: BridleEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
}

describe("tasks by the client", () => {
  test("CLT-2 a task completes after an answer and an approval, and all of it can be read", async () => {
    // Given a task that asks a person and for permission, when it is answered and approved, then it completes and all of
    // it can be read.
    const session = await bridle.sessions.create({ metadata: { purpose: "test" } });
    const input = "ask Where to?\napprove Launch it\nsay Done";
    const { id } = await bridle.tasks.submit({
      sessionId: session.id,
      personaId: "persona_rehearsal",
      input,
    });
    const asking = await bridle.tasks.wait(id, { timeoutMs: waitMs });
    assert.deepEqual([asking.status, asking.waiting_for?.description], ["INPUT_REQUIRED", "Where to?"]);

    await bridle.tasks.answer(id, "To the moon");
    const permission = await bridle.tasks.wait(id, { timeoutMs: waitMs });
    assert.equal(permission.status, "AUTH_REQUIRED");
    const [request] = (await bridle.approvals.list({ taskId: id })).items;
    assert.equal(request?.status, "pending");
    const approved = await bridle.approvals.respond(request?.id ?? "", { approved: true, reason: "Go." });
    assert.equal(approved.status, "approved");

    const done = await bridle.tasks.wait(id, { timeoutMs: waitMs });
    assert.equal(done.status, "COMPLETED");
    assert.equal(isFinal(await bridle.tasks.get(id)), true);
    const { items } = await bridle.sessions.messages(session.id);
    const texts = items.flatMap(({ parts }) => parts.flatMap((part) => ("text" in part ? [part.text] : [])));
    assert.deepEqual(texts.slice(-3), ["You said: To the moon", "Approved: Launch it", "Done"]);
    assert.deepEqual((await bridle.sessions.get(session.id)).metadata, { purpose: "test" });
    const first = await bridle.sessions.list({ limit: 1 });
    assert.equal(first.items.length, 1);
    const inSession = await bridle.tasks.list({ sessionId: session.id });
    assert.deepEqual([inSession.items.map((task) => task.id), inSession.nextCursor], [[id], null]);

    const again = await bridle.tasks.replay(id, { mode: "exact", reason: "To see it again" });
    const replayed = await bridle.tasks.wait(again.id, { timeoutMs: waitMs });
    assert.deepEqual([replayed.status, replayed.replay?.source_task_id], ["COMPLETED", id]);
  });

  test("CLT-2 a canceled task is over: waiting for it says so and answering it is refused", async () => {
    // Given a task that waits, when it is canceled, then it is over, and to wait for it says so and to answer it is
    // refused.
    const { id } = await rehearse("sleep 86400000");
    const late = await caught(bridle.tasks.wait(id, { timeoutMs: 300 }));
    assert.ok(late instanceof DeadlineExceeded);
    assert.equal((await bridle.tasks.cancel(id, { reason: "Enough" })).status, "CANCELED");
    assert.equal((await bridle.tasks.wait(id, { timeoutMs: waitMs })).status, "CANCELED");
    const refused = await caught(bridle.tasks.answer(id, "late"));
    assert.ok(refused instanceof InvalidState, refused.code);
  });

  test("CLT-3 a task's events come once and in order, and the iteration ends with the task", async () => {
    // Given a task, when its events are followed, then each comes once and in order, and the iteration ends with the
    // task, also when it had ended before.
    const { id } = await rehearse("say 1", "say 2", "ask Go on?", "say 3");
    const live = all(bridle.tasks.events(id));
    await bridle.tasks.wait(id, { timeoutMs: waitMs });
    await bridle.tasks.answer(id, "yes");
    const followed = await live;
    assert.deepEqual(
      followed.slice(-2).map(({ event }) => event),
      ["task.completed", "receipt.issued"],
    );
    const ids = followed.map((event) => event.id);
    assert.deepEqual(ids, [...new Set(ids)].sort());
    const afterwards = await all(bridle.tasks.events(id));
    assert.deepEqual(
      afterwards.map((event) => event.id),
      ids,
    );
    const rest = await all(bridle.tasks.events(id, { after: ids[2] }));
    assert.deepEqual(
      rest.map((event) => event.id),
      ids.slice(3),
    );
    assert.deepEqual(
      await all(bridle.tasks.events(id, { after: ids.at(-1) })),
      [],
      "nothing is left, so it is over",
    );
  });

  test("CLT-3 following a session's events stops at once when the reader aborts or leaves", async () => {
    // Given all events of a session, when whoever reads aborts or leaves, then the iteration is over at once.
    const session = await bridle.sessions.create();
    const task = await bridle.tasks.submit({ sessionId: session.id, input: "hello" });
    for await (const event of bridle.events({ sessionId: session.id })) {
      if (event.event === "task.completed" && event.task_id === task.id) break;
    }
    const controller = new AbortController();
    const reading = all(bridle.events({ sessionId: session.id, signal: controller.signal }));
    controller.abort(new Error("No longer wanted"));
    await assert.rejects(reading, /No longer wanted/);
  });

  test("CLT-5 a refusal throws the error class of its code and names its page", async () => {
    // Given what a server refuses, when it is asked for, then the error is of the class of its code and names its page.
    const stranger = createClient({ url: server.url, key: "wrong", retries: 0 });
    const narrow = await new Client(server).withScopes("sessions:read");
    const reader = createClient({ url: server.url, key: narrow.key });
    const refusals = [
      { error: await caught(bridle.tasks.get("task_none")), type: NotFound, status: 404 },
      { error: await caught(stranger.sessions.list()), type: Unauthenticated, status: 401 },
      { error: await caught(reader.sessions.create()), type: PermissionDenied, status: 403 },
      { error: await caught(bridle.sessions.list({ limit: 0 })), type: InvalidRequest, status: 400 },
      { error: await caught(all(bridle.tasks.events("task_none"))), type: NotFound, status: 404 },
    ];
    for (const { error, type, status } of refusals) {
      assert.ok(error instanceof type, `${error.code} ${error.message}`);
      assert.deepEqual([error.status, error.name], [status, type.name]);
      assert.match(error.requestId ?? "", /^req_/);
      assert.ok(existsSync(`${root}/${error.docs}`), error.docs);
      assert.doesNotMatch(JSON.stringify(error) + String(error.stack), /wrong|test-administrator-key-0001/);
    }
    assert.equal(refusals[3]?.error.param, "limit");
  });

  test("CLT-5 given no server, or something that is none, when it is asked, then that is said", async () => {
    const nobody = createClient({ url: "http://127.0.0.1:1", key: adminKey, retries: 1 });
    const failed = await caught(nobody.sessions.list());
    assert.ok(failed instanceof ConnectionFailed);
    assert.deepEqual([failed.status, existsSync(`${root}/${failed.docs}`)], [null, true]);
    const other = createClient({ url: server.url, key: adminKey, fetch: async () => new Response("<html>") });
    assert.ok((await caught(other.sessions.list())) instanceof UnreadableAnswer);
    for (const url of ["nowhere", "ftp://host/", "http://user:secret@host/"]) {
      assert.throws(() => createClient({ url, key: adminKey }), TypeError);
    }
  });

  test("CLT-6 a request sent again after a lost answer takes effect once", async () => {
    // Given answers that get lost after the request was sent, when the client sends it again, then it was done once.
    await using proxy = await startTcpProxy(server.url);
    const through = createClient({ url: proxy.url, key: adminKey });
    const session = await bridle.sessions.create();
    proxy.loseAnswers(2);
    const task = await through.tasks.submit({ sessionId: session.id, input: "once" });
    assert.equal(proxy.lost(), 2);
    const { items } = await bridle.tasks.list({ sessionId: session.id });
    assert.deepEqual(
      items.map(({ id }) => id),
      [task.id],
    );

    const marker = crypto.randomUUID();
    proxy.loseAnswers(2);
    const made = await through.sessions.create({ metadata: { marker } });
    const sessions = (await bridle.sessions.list()).items.filter(
      ({ metadata }) => metadata.marker === marker,
    );
    assert.deepEqual(
      sessions.map(({ id }) => id),
      [made.id],
    );

    const idempotencyKey = crypto.randomUUID();
    const first = await through.tasks.submit({ input: "same", idempotencyKey });
    proxy.loseAnswers(1);
    const second = await through.tasks.submit({ input: "same", idempotencyKey });
    assert.deepEqual([second.id, second.session_id], [first.id, first.session_id]);
    const reused = await caught(
      through.tasks.submit({ sessionId: session.id, input: "other", idempotencyKey }),
    );
    assert.ok(reused instanceof IdempotencyKeyReused, reused.code);
  });

  test("CLT-7 content downloads as it was uploaded, and content changed on the way is refused", async () => {
    // Given content, when it is uploaded and downloaded, then it is the same, and what was changed on the way is
    // refused.
    const bytes = crypto.getRandomValues(new Uint8Array(50_000));
    const artifact = await bridle.artifacts.upload(bytes, {
      name: "noise.bin",
      mimeType: "application/x-noise",
    });
    assert.deepEqual([artifact.name, artifact.bytes, artifact.complete], ["noise.bin", bytes.length, true]);
    const content = await bridle.artifacts.download(artifact.id);
    assert.deepEqual(
      [content.bytes, content.mimeType, content.sha256],
      [bytes, "application/x-noise", artifact.sha256],
    );
    const text = await bridle.artifacts.upload("grüße");
    assert.equal(new TextDecoder().decode((await bridle.artifacts.download(text.id)).bytes), "grüße");
    assert.equal((await bridle.artifacts.get(text.id)).mime_type, "text/plain; charset=utf-8");

    const forging = createClient({
      url: server.url,
      key: adminKey,
      async fetch(input, init) {
        const { headers, status } = await fetch(input, init);
        return new Response("something else", { headers: { etag: headers.get("etag") ?? "" }, status });
      },
    });
    assert.ok((await caught(forging.artifacts.download(artifact.id))) instanceof UnreadableAnswer);
    const large = await caught(bridle.artifacts.download(artifact.id, { bytesMax: 1000 }));
    assert.ok(large instanceof UnreadableAnswer);
  });

  test("CLT-8 a receipt verifies locally with the server's keys, not if changed or with others", async () => {
    // Given the receipt of a task, when it is verified here, then it is valid with the server's keys, and not when a
    // word of it was changed or the keys are others.
    const { id } = await rehearse("say Proven");
    const { receipt_id } = await bridle.tasks.wait(id, { timeoutMs: waitMs });
    assert.ok(receipt_id !== null);
    const verdict = await bridle.receipts.verify(receipt_id);
    assert.deepEqual([verdict.valid, verdict.reason], [true, null]);
    const receipt = await bridle.receipts.get(receipt_id);
    assert.equal(receipt.identifiers.task_id, id);
    const keys = await bridle.receipts.keys();
    const ofOutcome = await bridle.receipts.request({
      object: "outcome",
      id: receipt.subject.id.replace(/^task_/, "outcome_"),
    });
    assert.equal((await bridle.receipts.verify(ofOutcome, { keys })).valid, true);
    assert.equal((await bridle.receipts.verify(receipt, { keys })).valid, true);
    const tampered = { ...receipt, identifiers: { ...receipt.identifiers, task_id: "task_other" } };
    const refused = await bridle.receipts.verify(tampered, { keys });
    assert.equal(refused.valid, false);
    assert.match(refused.reason ?? "", /hash is not that of the content/);
    assert.equal((await bridle.receipts.verify(receipt, { keys: [] })).valid, false);
  });
});
