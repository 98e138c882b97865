/** Events over HTTP: ranges and streams show one log, whole and in order, to everybody who may see it. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Client, errorOf, isFinal, type Json, userMessage } from "../support/client.ts";
import { residentMb, settled } from "../support/memory.ts";
import { startProcess, startServer, type TestServer } from "../support/server.ts";
import { type Frame, openStream, take } from "../support/sse.ts";

const terminalEvents = ["task.completed", "task.failed", "task.canceled"];

let server: TestServer;
let client: Client;

before(async () => {
  server = await startServer();
  client = new Client(server);
});

after(async () => {
  await server[Symbol.asyncDispose]();
});

/** A task that has said, made and asked something, and has ended. */
async function endedTask(sessionId?: string): Promise<Json> {
  const id = sessionId ?? (await client.createSession()).id;
  const waiting = await client.rehearse(
    id,
    "say one",
    "artifact a.txt text",
    "ask Sure?",
    "stream 3",
    "return end",
  );
  await client.answer(waiting.id, "yes");
  return await client.untilTask(waiting.id, isFinal);
}

/** Every frame until the server closes the stream. */
async function framesOf(path: string, headers: Record<string, string> = {}): Promise<Frame[]> {
  await using stream = await openStream(client, path, headers);
  assert.equal(stream.status, 200);
  return await take(stream.frames, () => false);
}

/** The next `count` frames of a stream that goes on. */
async function next(frames: AsyncGenerator<Frame>, count: number): Promise<Frame[]> {
  let taken = 0;
  return count === 0 ? [] : await take(frames, () => ++taken === count);
}

function idsOf(items: readonly { id: string | null }[]): (string | null)[] {
  return items.map((item) => item.id);
}

async function anotherTenant(name: string): Promise<Client> {
  const { status, body } = await client.post("/v1/api-keys", {
    name,
    actor: name,
    scopes: ["admin"],
    tenant_id: `tenant_${name}`,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return client.as(body.key);
}

describe("events", () => {
  test("EVT-1 EVT-3 session events are complete, and each resource numbers and links its own", async () => {
    // Given a finished task, when its session's events are listed, then each is complete and each resource's events are
    // numbered and linked without gap.
    const task = await endedTask();
    const events = await client.listAll(`/v1/sessions/${task.session_id}/events`);
    assert.ok(events.length > 15);
    const lastOf = new Map<string, Json>();
    for (const event of events) {
      assert.match(event.id, /^evt_\w+$/);
      assert.equal(event.object, "event");
      assert.equal(typeof event.event, "string");
      assert.equal(typeof event.resource.object, "string");
      assert.match(event.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
      assert.equal(typeof event.payload, "object");
      const previous = lastOf.get(event.resource.id);
      assert.equal(event.sequence, (previous?.sequence ?? 0) + 1, JSON.stringify(event));
      assert.equal(event.previous_event_id, previous?.id ?? null);
      lastOf.set(event.resource.id, event);
    }
    assert.ok(lastOf.size >= 4, "a session, a task, messages and artifacts");
  });

  test("EVT-2 list, single read and stream return the same events with ids in log order", async () => {
    // Given a finished task, when its events come by list, one by one and by stream, then they are the same and their
    // ids sort in log order.
    const task = await endedTask();
    const listed = await client.listAll(`/v1/tasks/${task.id}/events`);
    const frames = await framesOf(`/v1/tasks/${task.id}/stream`);
    const single = await Promise.all(
      listed.map(async ({ id }) => (await client.get(`/v1/events/${id}`)).body),
    );

    assert.ok(listed.length > 10);
    assert.deepEqual(idsOf(listed), idsOf(listed).toSorted());
    assert.deepEqual(
      frames.map((frame) => frame.data),
      listed,
    );
    assert.deepEqual(single, listed);
  });

  test("EVT-4 paging with any size from any event returns each event once", async () => {
    // Given the events of a task, when ranges of any size continue after any event, then each event is given once.
    const task = await endedTask();
    const path = `/v1/tasks/${task.id}/events`;
    const all = await client.listAll(path);
    for (const limit of [1, 2, 7, 200]) assert.deepEqual(await client.listAll(path, limit), all);
    for (const [n, { id }] of all.entries()) {
      const { body } = await client.get(`${path}?after_event_id=${id}`);
      assert.deepEqual(idsOf(body.data), idsOf(all.slice(n + 1)));
      assert.deepEqual(body.page, { next_cursor: null, has_more: false });
    }
  });

  test("EVT-4 a range after a cursor unknown to the log is rejected", async () => {
    // Given a cursor that the log does not have, when a range is asked for, then it is refused.
    const answer = await client.get("/v1/events?after_event_id=evt_9999999999999999");
    assert.equal(errorOf(answer, answer.status).code, "cursor_expired");
    const malformed = await client.get("/v1/events?after_event_id=nonsense");
    assert.equal(errorOf(malformed, 400).code, "invalid_request");
  });
});

describe("streams", () => {
  test("SSE-1 a stream starts with retry in its first frame, each has id, event and data", async () => {
    // Given a stream, when its bytes are read, then it starts with a retry and each frame has id, event and data on one
    // line each.
    const task = await endedTask();
    const response = await fetch(`${client.url}/v1/tasks/${task.id}/stream`, { headers: client.headers() });
    const text = await response.text();

    assert.equal(response.status, 200);
    assert.match(response.headers.get("content-type") ?? "", /^text\/event-stream/);
    assert.match(response.headers.get("cache-control") ?? "", /no-cache/);
    assert.match(response.headers.get("x-request-id") ?? "", /^req_/);
    assert.match(text, /^retry: 1000\nid: /);
    const frames = text.replace("retry: 1000\n", "").split("\n\n").slice(0, -1);
    assert.ok(frames.length > 10);
    for (const frame of frames) {
      const [, id, event, data] = /^id: (\S+)\nevent: (\S+)\ndata: (.+)$/.exec(frame) ?? [];
      const parsed = JSON.parse(data ?? "null");
      assert.deepEqual([parsed.id, parsed.event], [id, event], frame);
    }
  });

  test("SSE-2 a stream resumes exactly after any event, by header and by query", async () => {
    // Given a finished task, when its stream is resumed from every one of its events by header and by query, then it
    // continues exactly.
    const task = await endedTask();
    const path = `/v1/tasks/${task.id}/stream`;
    const all = await framesOf(path);
    assert.ok(all.length > 10);
    await Promise.all(
      all.map(async ({ id }, n) => {
        const rest = all.slice(n + 1);
        assert.deepEqual(await framesOf(path, { "last-event-id": String(id) }), rest);
        assert.deepEqual(await framesOf(`${path}?after_event_id=${id}`), rest);
      }),
    );
    const [first, last] = [String(all[0]?.id), String(all.at(-1)?.id)];
    assert.deepEqual(
      await framesOf(`${path}?after_event_id=${first}`, { "last-event-id": last }),
      [],
      "the header, which a reconnecting browser sends, wins over the query",
    );
  });

  test("SSE-2 SSE-4 a reader cut off repeatedly while a task runs resumes and gets each event once", async () => {
    // Given a reader that is cut off again and again while a task runs, when it resumes each time after its last frame,
    // then it has every event once.
    const { id: sessionId } = await client.createSession();
    const path = `/v1/sessions/${sessionId}/events/stream`;
    const task = await client.submit(sessionId, "say start\nstream 400\nreturn end", {
      persona_id: "persona_rehearsal",
    });
    const got: Frame[] = [];
    let cuts = 0;
    for (; got.at(-1)?.event !== "receipt.issued"; cuts++) {
      const last = got.at(-1)?.id;
      const headers: Record<string, string> = typeof last === "string" ? { "last-event-id": last } : {};
      await using stream = await openStream(client, path, headers);
      let left = 37;
      got.push(...(await take(stream.frames, ({ event }) => --left === 0 || event === "receipt.issued")));
    }
    assert.ok(cuts > 10, `${cuts} cuts`);
    await client.untilTask(task.id, isFinal);
    assert.deepEqual(
      got.map((frame) => frame.data),
      await client.listAll(`/v1/sessions/${sessionId}/events`),
    );
  });

  test("SSE-3 a cursor unknown to the log gets one cursor_expired error frame and a close", async () => {
    // Given a cursor that the log does not have, when any stream is opened with it, then one error frame says
    // cursor_expired and the stream closes.
    const task = await endedTask();
    const future = "evt_9999999999999999";
    for (const path of streamsOf(task)) {
      for (const frames of [
        await framesOf(path, { "last-event-id": future }),
        await framesOf(`${path}?after_event_id=${future}`),
      ]) {
        assert.deepEqual(
          frames.map((frame) => [frame.id, frame.event, frame.data.error.code]),
          [[future, "error", "cursor_expired"]],
        );
        assert.match(frames[0]?.data.error.request_id, /^req_/);
      }
    }
  });

  test("SSE-3 a malformed event id gets one invalid_request error frame and a close", async () => {
    // Given something that is no event id, when a stream is opened with it, then one error frame says invalid_request
    // and the stream closes.
    const task = await endedTask();
    for (const bad of ["nonsense", "evt_", "evt_12", "-1", "evt_00000000000000zz", task.id]) {
      const frames = await framesOf(`/v1/tasks/${task.id}/stream`, { "last-event-id": bad });
      assert.deepEqual(
        frames.map((frame) => [frame.id, frame.event, frame.data.error.code]),
        [["evt_0000000000000000", "error", "invalid_request"]],
        bad,
      );
    }
  });

  test("SSE-4 a stream opened on a waiting task joins history and live events without gap", async () => {
    // Given a task that waits, when a stream is opened and the task is answered, then history and live events come
    // without gap or duplicate.
    const { id: sessionId } = await client.createSession();
    const waiting = await client.rehearse(sessionId, "say one", "ask Sure?", "say two", "return end");
    const history = await client.listAll(`/v1/tasks/${waiting.id}/events`);
    await using stream = await openStream(client, `/v1/tasks/${waiting.id}/stream`);
    const told = await next(stream.frames, history.length);
    assert.deepEqual(
      told.map((frame) => frame.data),
      history,
    );

    await client.answer(waiting.id, "yes");
    const live = await take(stream.frames, () => false);
    assert.deepEqual(
      [...told, ...live].map((frame) => frame.data),
      await client.listAll(`/v1/tasks/${waiting.id}/events`),
    );
    assert.ok(live.length > 3);
  });

  test("SSE-4 streams opened at any moment of a running task get all its events once", async () => {
    // Given streams opened at any moment of a running task, when it ends, then each of them saw all of its events once.
    const { id: sessionId } = await client.createSession();
    const task = await client.submit(sessionId, "stream 300\nreturn end", {
      persona_id: "persona_rehearsal",
    });
    const path = `/v1/tasks/${task.id}/stream`;
    const seen = await Promise.all(Array.from({ length: 12 }, () => framesOf(path)));
    const expected = idsOf(await client.listAll(`/v1/tasks/${task.id}/events`));
    for (const frames of seen) assert.deepEqual(idsOf(frames), expected);
  });

  test("SSE-4 two concurrent readers of all events see the same events in the same order", async () => {
    // Given two concurrent readers of everything, when several tasks run at once, then both see the same events in the
    // same order.
    const start = (await client.listAll("/v1/events")).at(-1);
    const path = `/v1/events/stream?after_event_id=${start.id}`;
    await using left = await openStream(client, path);
    await using right = await openStream(client, path);
    const sessions = await Promise.all(Array.from({ length: 5 }, () => client.createSession()));
    await Promise.all(sessions.map(({ id }) => endedTask(id)));
    const expected = await client.listAll(path.replace("/stream", ""));

    assert.ok(expected.length > 75);
    for (const { frames } of [left, right]) {
      const got = await next(frames, expected.length);
      assert.deepEqual(
        got.map((frame) => frame.data),
        expected,
      );
    }
  });

  test("SSE-5 a task stream closes after the terminal event and its receipt, however the task ends", async () => {
    // Given tasks that end in every way, when their streams are read, then each ends by itself after the terminal event and
    // the receipt that it names.
    const { id: sessionId } = await client.createSession();
    const completed = await client.rehearse(sessionId, "return end");
    const failed = await client.rehearse(sessionId, "fail badly");
    const waiting = await client.rehearse(sessionId, "ask Sure?");
    await using live = await openStream(client, `/v1/tasks/${waiting.id}/stream`);
    const liveFrames = take(live.frames, () => false);
    await client.post(`/v1/tasks/${waiting.id}/cancel`);

    const ends = [
      await framesOf(`/v1/tasks/${completed.id}/stream`),
      await framesOf(`/v1/tasks/${failed.id}/stream`),
      await liveFrames,
    ].map((frames) => frames.slice(-2).map(({ event }) => event));
    assert.deepEqual(
      ends,
      terminalEvents.map((event) => [event, "receipt.issued"]),
    );
  });

  test("SSE-5 resuming after the last event of a task returns an empty stream that closes", async () => {
    // Given an ended task, when its stream is resumed at its last event or after it, then it is empty and ends.
    const task = await endedTask();
    const later = await endedTask(task.session_id);
    const path = `/v1/tasks/${task.id}/stream`;
    const last = (await framesOf(path)).at(-1);
    const laterEvents = await client.listAll(`/v1/tasks/${later.id}/events`);
    assert.deepEqual(await framesOf(path, { "last-event-id": String(last?.id) }), []);
    assert.deepEqual(await framesOf(path, { "last-event-id": laterEvents[0].id }), []);
    assert.deepEqual(await framesOf(`${path}?after_event_id=${laterEvents.at(-1).id}`), []);
  });

  test("SSE-5 SSE-6 the stream of a parent task ends with the parent, not with its child", async () => {
    // Given a parent whose child ends first, when the parent's stream is read, then it ends with the parent, not with
    // the child.
    const { id: sessionId } = await client.createSession();
    const parent = await client.rehearse(sessionId, "ask Sure?", "return end");
    const child = await client.post("/v1/tasks", {
      session_id: sessionId,
      parent_task_id: parent.id,
      input: userMessage("hello"),
    });
    await client.untilTask(child.body.id, isFinal);
    await using stream = await openStream(client, `/v1/tasks/${parent.id}/stream`);
    const frames = take(stream.frames, () => false);
    await client.answer(parent.id, "yes");
    const ending = (await frames).at(-2);
    assert.deepEqual([ending?.event, ending?.data.resource.id], ["task.completed", parent.id]);
  });

  test("SSE-6 task, session and global streams show all events of their scope and no others", async () => {
    // Given two tasks in each of two sessions, when streams of a task, a session and everything are read, then each
    // shows only what belongs there, and all of it.
    const start = (await client.listAll("/v1/events")).at(-1).id;
    const sessions = [await client.createSession(), await client.createSession()];
    const tasks: Json[] = [];
    for (const { id } of [...sessions, ...sessions]) tasks.push(await endedTask(id));
    for (const task of tasks) await client.settled(task);
    const everything = await client.listAll(`/v1/events?after_event_id=${start}`);

    for (const task of tasks) {
      const frames = await framesOf(`/v1/tasks/${task.id}/stream`);
      assert.deepEqual(idsOf(frames), idsOf(everything.filter((event) => event.task_id === task.id)));
    }
    for (const { id } of sessions) {
      const mine = everything.filter((event) => event.session_id === id);
      for (const path of [`/v1/sessions/${id}/events/stream`, `/v1/events/stream?session_id=${id}`]) {
        await using stream = await openStream(client, path);
        assert.deepEqual(idsOf(await next(stream.frames, mine.length)), idsOf(mine));
      }
    }
    await using all = await openStream(client, "/v1/events/stream", { "last-event-id": start });
    assert.deepEqual(idsOf(await next(all.frames, everything.length)), idsOf(everything));
  });

  test("SSE-6 AUT-3 streams of another tenant's tasks or sessions return 404 and leak no events", async () => {
    // Given another tenant, when it opens streams of a task or a session that is not its own, then they do not exist,
    // and its own shows nothing of others.
    const other = await anotherTenant("streams");
    const task = await endedTask();
    for (const path of [`/v1/tasks/${task.id}/stream`, `/v1/sessions/${task.session_id}/events/stream`]) {
      assert.equal(errorOf(await other.get(path), 404).code, "resource_not_found");
    }
    assert.equal(errorOf(await client.get("/v1/tasks/task_unknown/stream"), 404).code, "resource_not_found");

    const session = await other.createSession({ workspace_id: "workspace_default.tenant_streams" });
    await using stream = await openStream(other, "/v1/events/stream");
    const seen = await take(stream.frames, ({ data }) => data.resource.id === session.id);
    await endedTask();
    await other.submit(session.id, "hello", { persona_id: "persona_default.tenant_streams" });
    seen.push(...(await take(stream.frames, ({ event }) => event === "receipt.issued")));
    const own = await other.listAll("/v1/events");
    assert.deepEqual(idsOf(seen), idsOf(own));
    assert.ok(!own.some((event) => event.session_id === task.session_id));
  });
});

/** The three streams on which a task's events appear. */
function streamsOf(task: Json): string[] {
  return [
    `/v1/tasks/${task.id}/stream`,
    `/v1/sessions/${task.session_id}/events/stream`,
    "/v1/events/stream",
  ];
}

const messageChars = 200_000;
const messageCount = 250;
/** What the server may need beyond what it needs without readers. The messages together are 50 MB. */
const growthMbMax = 150;

describe("readers that do not read", () => {
  test("SSE-7 memory stays bounded for a client that stops reading, and it loses no event", async () => {
    // Given a client that opened a stream and does not read, when 50 MB of messages come, then the server's memory stays
    // bounded and the client gets every event once when it reads on.
    await using own = await startProcess();
    const mine = new Client(own);
    const { id: sessionId } = await mine.createSession();
    const path = `/v1/sessions/${sessionId}/events`;
    await using stream = await openStream(mine, `${path}/stream`);
    const before = await residentMb(own);
    await sayMuch(mine, sessionId);
    const idle = await residentMb(own);
    assert.ok(idle - before < growthMbMax, `grew from ${before} MB to ${idle} MB`);

    const listed = await idsOfAll(mine, path);
    assert.ok(listed.length >= messageCount);
    const texts: number[] = [];
    const frames = await take(stream.frames, (frame) => {
      if (frame.event === "user.message") texts.push(frame.data.payload.message.parts[0].text.length);
      return frame.id === listed.at(-1);
    });
    assert.deepEqual(idsOf(frames), listed);
    assert.deepEqual(texts, Array(messageCount).fill(messageChars));
  });

  test("SSE-7 memory stays bounded when eight clients open a 50 MB log and do not read", async () => {
    // Given 50 MB of messages in the log, when eight clients open streams from the start and do not read, then the
    // server's memory does not grow by what they could read.
    await using own = await startProcess();
    const mine = new Client(own);
    const { id: sessionId } = await mine.createSession();
    await sayMuch(mine, sessionId);
    const before = await residentMb(own);
    await using streams = new AsyncDisposableStack();
    const opened = await Promise.all(
      Array.from({ length: 8 }, async () =>
        streams.use(await openStream(mine, `/v1/sessions/${sessionId}/events/stream`)),
      ),
    );
    // The first frame of each has arrived, so the server has filled whatever it fills.
    for (const { frames } of opened) assert.equal((await next(frames, 1))[0]?.event, "session.created");
    await settled(() => residentMb(own));
    const peak = await residentMb(own, "VmHWM");
    assert.ok(peak - before < growthMbMax, `grew from ${before} MB to ${peak} MB`);
  });
});

async function sayMuch(client: Client, sessionId: string): Promise<void> {
  let left = messageCount;
  const say = async () => {
    while (left-- > 0) {
      const text = String(left % 10).repeat(messageChars);
      const { status } = await client.post(`/v1/sessions/${sessionId}/messages`, {
        message: userMessage(text),
      });
      assert.equal(status, 201);
    }
  };
  await Promise.all([say(), say(), say(), say()]);
}

/** Page by page, so that this process does not hold it all. */
async function idsOfAll(client: Client, path: string): Promise<string[]> {
  const ids: string[] = [];
  while (true) {
    const after = ids.length === 0 ? "" : `&after_event_id=${ids.at(-1)}`;
    const { body } = await client.get(`${path}?limit=20${after}`);
    ids.push(...body.data.map((event: Json) => event.id));
    if (!body.page.has_more) return ids;
  }
}
