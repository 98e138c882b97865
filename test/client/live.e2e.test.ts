/** A session over WebSocket, by the client: events, commands, being a host, and networks that do what networks do. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  type BridleClient,
  type BridleEvent,
  Conflict,
  ConnectionFailed,
  CursorExpired,
  createClient,
  type LiveSession,
  NotFound,
  PayloadTooLarge,
  PermissionDenied,
  type Question,
  Unauthenticated,
} from "../../src/sdk/client/index.ts";
import { Client, until } from "../support/client.ts";
import {
  adminKey,
  startProcess,
  startServer,
  type TestServer,
  temporaryDirectory,
} from "../support/server.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const waitMs = 60_000;

let server: TestServer;
let bridle: BridleClient;

before(async () => {
  server = await startServer();
  bridle = createClient({ url: server.url, key: adminKey });
});
after(() => server[Symbol.asyncDispose]());

/** The events up to the first that is so. */
async function readUntil(
  session: LiveSession,
  holds: (event: BridleEvent) => boolean,
): Promise<BridleEvent[]> {
  const events: BridleEvent[] = [];
  for await (const event of session) {
    events.push(event);
    if (holds(event)) break;
  }
  return events;
}

function isEnd(taskId: string): (event: BridleEvent) => boolean {
  return ({ event, resource }) => event === "task.completed" && resource.id === taskId;
}

/** The ids of what the log has of a session after an event, up to another. */
async function logOf(
  url: string,
  sessionId: string,
  after: string | null,
  last: string | undefined,
): Promise<string[]> {
  const events = await new Client({ url }).listAll(`/v1/sessions/${sessionId}/events`);
  return events.map(({ id }) => id).filter((id) => id > (after ?? "") && id <= (last ?? ""));
}

const rehearsal = { agent: "rehearsal" } as const;

describe("a live session", () => {
  test("CLT-13 a connection carries questions, approvals and the same events as the log", async () => {
    // Given a session that is connected to, when a task asks, wants permission and goes on, then all of it is done over
    // the connection, and the events are those of the log.
    const { id } = await bridle.sessions.create();
    const open = await bridle.tasks.submit({ sessionId: id, ...rehearsal, input: "ask Since when?" });
    await bridle.tasks.wait(open.id, { timeoutMs: waitMs });
    const questions: Question[] = [];
    await using session = await bridle.sessions.connect(id, { onQuestion: (asked) => questions.push(asked) });
    const begin = session.cursor;
    assert.match(begin ?? "", /^evt_/);
    const task = await session.say("ask Where to?\napprove Launch it\nsay Off we go", rehearsal);
    assert.deepEqual([task.object, task.session_id], ["task", id]);
    const events = await readUntil(session, ({ event }) => event === "task.input_required");
    await until(
      async () => questions.length,
      (count) => count === 2,
    );
    assert.deepEqual(
      questions.map(({ kind, taskId, prompt }) => [kind, taskId, prompt]),
      [
        ["input", open.id, "Since when?"],
        ["input", task.id, "Where to?"],
      ],
    );
    assert.equal((await session.answer(task.id, "To the moon")).object, "message");
    events.push(...(await readUntil(session, ({ event }) => event === "task.auth_required")));
    await until(
      async () => questions.length,
      (count) => count === 3,
    );
    const asked = questions[2];
    assert.equal(asked?.permissionRequest?.id, asked?.requestId);
    const approved = await session.respond(asked?.requestId ?? "", { approved: true, reason: "Go." });
    assert.equal(approved.status, "approved");
    events.push(...(await readUntil(session, isEnd(task.id))));
    assert.equal((await session.cancel(open.id, { reason: "Enough" })).status, "CANCELED");
    const said = await session.append({
      role: "user",
      parts: [{ type: "text", text: "By the way", visibility: "public" }],
    });
    assert.equal(said.task_id, null);
    const ids = events.map((event) => event.id);
    assert.equal(session.cursor, ids.at(-1));
    assert.deepEqual(ids, await logOf(server.url, id, begin, ids.at(-1)));
    await assert.rejects(session.answer(task.id, "late"), /ended|COMPLETED|state/i);
    await assert.rejects(session.respond(asked?.requestId ?? "", { approved: false }), Conflict);
  });

  test("CLT-13 connecting with a cursor delivers missed events first, and a left loop can resume", async () => {
    // Given a cursor, when it is connected with, then what was missed comes first, and a loop that was left is gone on
    // with.
    const { id } = await bridle.sessions.create();
    const first = await bridle.tasks.submit({ sessionId: id, input: "one" });
    await bridle.tasks.wait(first.id, { timeoutMs: waitMs });
    const all = (await new Client(server).listAll(`/v1/sessions/${id}/events`)).map((event) => event.id);
    await using session = await bridle.sessions.connect(id, { after: all[1] });
    const [next] = await readUntil(session, () => true);
    assert.equal(next?.id, all[2]);
    const rest = await readUntil(session, isEnd(first.id));
    assert.deepEqual(
      rest.map((event) => event.id),
      all.slice(3, 3 + rest.length),
    );
    await session.close();
    assert.deepEqual(await readUntil(session, () => false), [], "it is over");
  });
});

describe("connections that break", () => {
  test("CLT-14 a crash and a silent line lose or repeat no event, and commands run once", async () => {
    // Given a session, when the server is killed in the middle and comes back, and later the line falls silent, then no
    // event is missing or comes twice, and what was said meanwhile is done once.
    await using data = await temporaryDirectory();
    let own = await startProcess({ data: data.path });
    await using proxy = await startTcpProxy(own.url);
    try {
      const through = createClient({ url: proxy.url, key: adminKey });
      const { id } = await through.sessions.create();
      await using session = await through.sessions.connect(id, { silenceMs: 3000 });
      const begin = session.cursor;
      const task = await session.say(
        [...Array.from({ length: 15 }, (_, n) => `say ${n}\nsleep 20`), "ask Go on?", "say On"].join("\n"),
        rehearsal,
      );
      const events = await readUntil(session, ({ event }) => event === "agent.message");
      await own.kill();
      // Said while there is nobody.
      const meanwhile = session.say("meanwhile");
      own = await startProcess({ data: data.path });
      proxy.leadTo(own.url);
      const second = await meanwhile;
      events.push(...(await readUntil(session, ({ event }) => event === "task.input_required")));
      const connections = proxy.connections();
      proxy.silence();
      await session.answer(task.id, "yes");
      events.push(...(await readUntil(session, isEnd(task.id))));
      assert.ok(proxy.connections() > connections, "it went on over another connection");
      const ids = events.map((event) => event.id);
      assert.deepEqual(ids, await logOf(own.url, id, begin, ids.at(-1)));
      const { items } = await through.tasks.list({ sessionId: id });
      assert.deepEqual(items.map((item) => item.id).sort(), [task.id, second.id].sort());
    } finally {
      await own[Symbol.asyncDispose]();
    }
  });

  test("CLT-14 commands sent again after lost acknowledgements run once and get the first answer", async () => {
    // Given acknowledgements that get lost, when the commands are sent again, then each was done once and the answer is
    // that of the first.
    await using proxy = await startTcpProxy(server.url);
    const through = createClient({ url: proxy.url, key: adminKey });
    const { id } = await bridle.sessions.create();
    await using session = await through.sessions.connect(id);
    const tasks: string[] = [];
    for (let n = 0; n < 3; n++) {
      proxy.loseAnswers(1);
      tasks.push((await session.say(`number ${n}`)).id);
    }
    assert.equal(proxy.lost(), 3);
    const { items } = await bridle.tasks.list({ sessionId: id });
    assert.deepEqual(items.map((task) => task.id).sort(), tasks.sort());
  });
});

describe("being a host", () => {
  test("CLT-15 handlers return results, fail the step by throwing, and run once per call", async () => {
    // Given handlers, when tasks call them, then their results go to the agent, what they throw fails the step, and a
    // call is done once although the connection broke during it.
    await using proxy = await startTcpProxy(server.url);
    const through = createClient({ url: proxy.url, key: adminKey });
    const { id } = await bridle.sessions.create();
    const calls: unknown[] = [];
    const gate = Promise.withResolvers<void>();
    await using session = await through.sessions.connect(id, {
      silenceMs: 1500,
      host: {
        "clipboard.read": (input, { capability, taskId }) => {
          calls.push([capability, input, typeof taskId]);
          return { text: "copied" };
        },
        "door.open": () => {
          throw Object.assign(new Error("It is stuck"), { code: "stuck" });
        },
        "coffee.make": async () => {
          calls.push("coffee");
          await gate.promise;
          return "hot";
        },
      },
    });
    const read = await session.say('host clipboard.read {"format":"text"}', rehearsal);
    assert.equal((await bridle.tasks.wait(read.id, { timeoutMs: waitMs })).status, "COMPLETED");
    assert.deepEqual(calls.splice(0), [["clipboard.read", { format: "text" }, "string"]]);
    const texts = await new Client(server).texts(id);
    assert.ok(texts.includes('Host clipboard.read gave {"text":"copied"}'), JSON.stringify(texts));

    const stuck = await session.say("host door.open", rehearsal);
    const failed = await bridle.tasks.wait(stuck.id, { timeoutMs: waitMs });
    assert.deepEqual([failed.status, failed.failure?.code], ["FAILED", "stuck"]);

    const coffee = await session.say("host coffee.make", rehearsal);
    await until(
      async () => calls.length,
      (count) => count === 1,
    );
    const connections = proxy.connections();
    proxy.silence();
    await until(
      async () => proxy.connections(),
      (count) => count > connections + 1,
    );
    gate.resolve();
    assert.equal((await bridle.tasks.wait(coffee.id, { timeoutMs: waitMs })).status, "COMPLETED");
    assert.deepEqual(calls, ["coffee"]);
  });
});

describe("bounds and ends", () => {
  test("CLT-16 a stalled reader drops the connection, and later gets every event once, in order", async () => {
    // Given a reader that does not read, when far more happens than is held, then the connection is given up, commands
    // still work, and later every event comes once and in order.
    const sockets: WebSocket[] = [];
    class Watched extends WebSocket {
      constructor(...given: ConstructorParameters<typeof WebSocket>) {
        super(...given);
        assert.doesNotMatch(String(given), new RegExp(adminKey), "no key is given away");
        sockets.push(this);
      }
    }
    const watched = createClient({ url: server.url, key: adminKey, WebSocket: Watched });
    const { id } = await bridle.sessions.create();
    await using session = await watched.sessions.connect(id);
    const begin = session.cursor;
    const many = await session.say("stream 2500\nask Read it?", rehearsal);
    await bridle.tasks.wait(many.id, { timeoutMs: waitMs });
    await until(
      async () => sockets.every(({ readyState }) => readyState === WebSocket.CLOSED),
      (areClosed) => areClosed,
    );
    await session.answer(many.id, "not yet");
    await bridle.tasks.wait(many.id, { timeoutMs: waitMs });
    const ids = (await readUntil(session, isEnd(many.id))).map((event) => event.id);
    assert.ok(ids.length > 2500, String(ids.length));
    assert.deepEqual(ids, await logOf(server.url, id, begin, ids.at(-1)));
    assert.ok(sockets.length >= 3, String(sockets.length));
  });

  test("CLT-17 an impossible connection or command throws the error class of its code", async () => {
    // Given what cannot be, when it is connected or said, then the error is of the class of its code.
    const { id } = await bridle.sessions.create();
    await assert.rejects(bridle.sessions.connect("session_none"), NotFound);
    await assert.rejects(bridle.sessions.connect(id, { after: "evt_9000000000000000" }), CursorExpired);
    const stranger = createClient({ url: server.url, key: "wrong" });
    await assert.rejects(stranger.sessions.connect(id), Unauthenticated);
    const nobody = createClient({ url: "http://127.0.0.1:1", key: adminKey, retries: 0 });
    await assert.rejects(nobody.sessions.connect(id), ConnectionFailed);
    const narrow = await new Client(server).withScopes("sessions:read", "events:read");
    const reader = createClient({ url: server.url, key: narrow.key });
    await assert.rejects(
      reader.sessions.connect(id, { host: { "door.open": () => null } }),
      PermissionDenied,
    );
    await using reading = await reader.sessions.connect(id);
    await assert.rejects(reading.say("hello"), PermissionDenied);
    await using session = await bridle.sessions.connect(id);
    await assert.rejects(session.say("x".repeat(5 * 1024 * 1024)), PayloadTooLarge);
    assert.equal((await session.say("still there")).object, "task");
    await assert.rejects(session.cancel("task_none"), NotFound);
  });

  test("CLT-17 a revoked key, a closed session and an aborted signal end it with the reason", async () => {
    // Given a key that is revoked, a session that is closed here and a signal that is aborted, when somebody reads or
    // says something, then it is over, with the reason.
    const { id } = await bridle.sessions.create();
    const admin = new Client(server);
    const key = await admin.createKey();
    await using revoked = await createClient({ url: server.url, key: key.key }).sessions.connect(id);
    assert.equal((await admin.call(`/v1/api-keys/${key.id}`, { method: "DELETE" })).status < 300, true);
    await assert.rejects(revoked.say("hello"), Unauthenticated);
    await assert.rejects(
      readUntil(revoked, () => false),
      Unauthenticated,
    );

    await using proxy = await startTcpProxy(server.url);
    const through = createClient({ url: proxy.url, key: adminKey });
    const session = await through.sessions.connect(id);
    proxy.silence();
    const unanswered = session.say("hello?");
    await session.close();
    await assert.rejects(unanswered, ConnectionFailed);
    await assert.rejects(session.say("anybody?"), ConnectionFailed);

    const controller = new AbortController();
    const aborted = await bridle.sessions.connect(id, { signal: controller.signal });
    const reading = readUntil(aborted, () => false);
    controller.abort(new Error("No longer wanted"));
    await assert.rejects(reading, /No longer wanted/);
    await assert.rejects(aborted.say("late"), /No longer wanted/);
  });
});
