/** Sessions and streams over WebSocket: the frames, what is wrong with them, resuming, and who may open one. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { get, request } from "node:http";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { Client, errorOf, isFinal, type Json, until, userMessage } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { openSession, openSocket, refusedUpgrade, type TestSocket } from "../support/socket.ts";
import { agents } from "../support/socket-server.ts";

let server: TestServer;
let client: Client;

before(async () => {
  server = await startServer();
  client = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

async function newSession(): Promise<string> {
  return (await client.createSession()).id;
}

function path(sessionId: string): string {
  return `/v1/sessions/${sessionId}/ws`;
}

function rehearsal(...lines: string[]): object {
  return { type: "task.submit", persona_id: "persona_rehearsal", input: userMessage(lines.join("\n")) };
}

function isEvent(kind: string): (frame: Json) => boolean {
  return ({ type, event }) => type === "event" && event.event === kind;
}

describe("The session's WebSocket", () => {
  test("WSK-1 hello is answered with ready, naming the session and the cursor", async () => {
    // Given a session, when hello is said, then ready names the session and where it goes on from.
    const sessionId = await newSession();
    await using socket = await openSocket(client, path(sessionId));
    socket.send({ type: "hello", id: 7, capabilities: { anything: true } });
    const ready = await socket.next();
    assert.equal(ready.type, "ready");
    assert.equal(ready.id, 7);
    assert.equal(ready.session_id, sessionId);
    assert.match(ready.cursor, /^evt_\d{16}$/);
    assert.equal(ready.replaying, false);
  });

  test("WSK-1 a command before hello is rejected without effect, and hello still works", async () => {
    // Given no hello, when a command is sent, then it is refused and changes nothing, and hello still works.
    const sessionId = await newSession();
    await using socket = await openSocket(client, path(sessionId));
    const error = await socket.refusal({ type: "message.append", message: userMessage("early") });
    assert.equal(error.code, "invalid_request");
    assert.deepEqual(await client.texts(sessionId), []);
    assert.equal((await socket.ask({ type: "hello" })).type, "ready");
    assert.equal((await socket.refusal({ type: "hello" })).code, "invalid_request");
  });

  test("WSK-1 a connection without hello times out with an error and closes", async () => {
    // Given no hello, when the time for it is over, then an error says so and the connection is closed.
    await using own = await startServer({ config: { agents, webSocket: { helloMs: 50, ticketMs: 60_000 } } });
    const mine = new Client(own);
    const { id } = await mine.createSession();
    await using socket = await openSocket(mine, path(id));
    assert.equal((await socket.next()).error.code, "deadline_exceeded");
    assert.equal((await socket.closed).code, 1008);
  });

  test("WSK-2 given a connection, when each command is sent, then it is answered as over REST", async () => {
    const sessionId = await newSession();
    await using socket = await openSession(client, sessionId);
    const message = await socket.command({ type: "message.append", message: userMessage("hello") });
    assert.deepEqual(message, (await client.get(`/v1/messages/${message.id}`)).body);

    const asking = await socket.command(rehearsal("ask Who?", "return done"));
    assert.equal(asking.status, "SUBMITTED");
    const question = await socket.until("request");
    assert.equal(question.task_id, asking.id);
    const answer = await socket.command({
      type: "input.submit",
      task_id: asking.id,
      message: userMessage("me"),
    });
    assert.equal(answer.object, "message");
    await client.untilTask(asking.id, ({ status }) => status === "COMPLETED");

    await socket.command(rehearsal("approve Launch", "return launched"));
    const { request_id } = await socket.until("request");
    const respond = { type: "approval.respond", request_id, decision: "denied", note: "not today" };
    const decided = await socket.command(respond);
    assert.equal(decided.object, "permission_request");
    assert.equal(decided.response.reason, "not today");

    const sleeping = await socket.command(rehearsal("sleep 600000"));
    const canceled = await socket.command({ type: "task.cancel", task_id: sleeping.id, reason: "enough" });
    assert.equal(canceled.status, "CANCELED");
    assert.deepEqual(canceled, (await client.get(`/v1/tasks/${sleeping.id}`)).body);

    const truncated = await socket.command({ type: "session.truncate", keep_first: 1 });
    assert.equal(truncated.object, "session_truncate_result");
    assert.equal(truncated.kept_turn_count, 1);
    assert.equal((await client.texts(sessionId)).length, 1);
    assert.equal((await socket.ask({ type: "ping" })).type, "pong");
  });

  const refused: Record<string, [frame: object, code: string, param: string | null]> = {
    "a message without parts": [
      { type: "message.append", message: { role: "user" } },
      "invalid_request",
      "message.parts",
    ],
    "a task without input": [{ type: "task.submit" }, "invalid_request", "input"],
    "a persona that is not there": [
      { type: "task.submit", input: { a: 1 }, persona_id: "persona_none" },
      "resource_not_found",
      null,
    ],
    "a task to cancel that is not there": [
      { type: "task.cancel", task_id: "task_none" },
      "resource_not_found",
      null,
    ],
    "a truncation to less than nothing": [
      { type: "session.truncate", keep_first: -1 },
      "invalid_request",
      "keep_first",
    ],
    "an answer for a task that is not there": [
      { type: "input.submit", task_id: "task_none", message: userMessage("x") },
      "resource_not_found",
      null,
    ],
    "a decision that is none": [
      { type: "approval.respond", request_id: "x", decision: "perhaps" },
      "invalid_request",
      "decision",
    ],
    "a decision about nothing": [
      { type: "approval.respond", request_id: "perm_none", decision: "approved" },
      "resource_not_found",
      null,
    ],
    "a host result for nothing": [
      { type: "host.result", call_id: "task_none:host:x:1", output: 1 },
      "resource_not_found",
      null,
    ],
    "a host result with neither": [{ type: "host.result", call_id: "x" }, "invalid_request", "output"],
    "a host result with both": [
      { type: "host.result", call_id: "x", output: 1, error: { message: "m" } },
      "invalid_request",
      "output",
    ],
    "an unknown type": [{ type: "task.destroy" }, "invalid_request", "type"],
    "an empty idempotency key": [
      { type: "message.append", message: userMessage("x"), idempotency_key: "" },
      "invalid_request",
      "idempotency_key",
    ],
  };
  test("WSK-2 each impossible frame gets its error and records nothing", async () => {
    // Given frames that ask for what cannot be, when they are sent, then each gets its error and nothing is recorded.
    const sessionId = await newSession();
    await using socket = await openSession(client, sessionId);
    for (const [what, [frame, code, param]] of Object.entries(refused)) {
      const error = await socket.refusal(frame);
      assert.equal(error.code, code, what);
      assert.equal(error.param, param, what);
    }
    assert.equal(
      (await client.listAll(`/v1/sessions/${sessionId}/events`)).length,
      1,
      "session.created only",
    );
  });

  test("WSK-2 a task of another session is not found on this connection", async () => {
    // Given a task of another session, when it is named on this one's connection, then it is not there.
    const other = await newSession();
    const waiting = await client.rehearse(other, "ask Who?");
    const approval = await client.rehearse(other, "approve It");
    await using socket = await openSession(client, await newSession());
    const message = userMessage("me");
    const request_id = approval.waiting_for.permission_request_id;
    for (const frame of [
      { type: "task.cancel", task_id: waiting.id },
      { type: "input.submit", task_id: waiting.id, message },
      { type: "approval.respond", request_id, decision: "approved" },
    ]) {
      assert.equal((await socket.refusal(frame)).code, "resource_not_found", frame.type);
    }
    assert.equal((await client.get(`/v1/tasks/${waiting.id}`)).body.status, "INPUT_REQUIRED");
  });

  test("WSK-2 commands sent without waiting execute in order", async () => {
    // Given many commands at once, when they are sent without waiting, then they are carried out in their order.
    const sessionId = await newSession();
    await using socket = await openSession(client, sessionId);
    const texts = Array.from({ length: 200 }, (_, n) => `message ${n}`);
    for (const [id, text] of texts.entries())
      socket.send({ type: "message.append", id, message: userMessage(text) });
    await socket.until(({ type, id }) => type === "ack" && id === 199);
    assert.deepEqual(await client.texts(sessionId), texts);
  });

  test("WSK-2 a command beyond the key's scopes is permission_denied, the connection stays", async () => {
    // Given a key without a scope, when its command is sent, then it is permission_denied and the connection goes on.
    const sessionId = await newSession();
    const reader = await client.withScopes("events:read", "sessions:read");
    await using socket = await openSession(reader, sessionId);
    const error = await socket.refusal({ type: "message.append", message: userMessage("x") });
    assert.equal(error.code, "permission_denied");
    assert.equal(error.details.required_scope, "messages:write");
    assert.equal((await socket.ask({ type: "ping" })).type, "pong");
  });

  test("WSK-3 sends the same events as REST, live, in order, of this session only", async () => {
    // Given a task, when its events come, then they are the events of REST, live, in order, and this session's only.
    const sessionId = await newSession();
    await using socket = await openSession(client, sessionId);
    await client.rehearse(await newSession(), "say elsewhere");
    const task = await socket.command(rehearsal("say one", "step two", "return three"));
    await socket.until(isEvent("task.completed"));
    const listed = (await client.listAll(`/v1/sessions/${sessionId}/events`)).slice(1);
    assert.deepEqual(
      socket.events.map(({ event }) => event),
      listed,
    );
    assert.ok(listed.some(({ task_id }) => task_id === task.id));
    assert.ok(socket.events.every(({ replayed }) => replayed === false));
  });

  test("WSK-3 a client that reconnects often sees each event once, missed ones as replayed", async () => {
    // Given events being produced, when a client is cut off again and again and resumes with its last event, then it
    // sees each event once, what it missed marked as replayed.
    const sessionId = await newSession();
    let cursor = (await client.get(`/v1/sessions/${sessionId}`)).body.last_event_id;
    const { id } = await client.submit(sessionId, "stream 400", { persona_id: "persona_rehearsal" });
    const got: Json[] = [];
    for (let round = 0; got.at(-1)?.event.event !== "receipt.issued"; round++) {
      await using socket = await openSession(client, sessionId, { cursor });
      const wanted = 20 + ((round * 37) % 60);
      while (socket.events.length < wanted && got.at(-1)?.event.event !== "receipt.issued") {
        const frame = await socket.until("event");
        got.push(frame);
        cursor = frame.event.id;
      }
    }
    await client.untilTask(id, isFinal);
    const listed = await client.listAll(`/v1/sessions/${sessionId}/events`);
    assert.deepEqual(
      got.map(({ event }) => event.id),
      listed.slice(1).map((event) => event.id),
    );
    assert.ok(got.some(({ replayed }) => replayed));
  });

  test("WSK-3 marks events up to the resume point as replayed and later ones as live", async () => {
    // Given history after the cursor, when a client resumes, then history is replayed, and what happens then is not.
    const sessionId = await newSession();
    const { last_event_id: cursor } = (await client.get(`/v1/sessions/${sessionId}`)).body;
    await client.settled(await client.rehearse(sessionId, "say before"));
    const { last_event_id: last } = (await client.get(`/v1/sessions/${sessionId}`)).body;
    await using socket = await openSocket(client, path(sessionId));
    const ready = await socket.ask({ type: "hello", cursor });
    assert.equal(ready.replaying, true);
    assert.equal(ready.cursor, cursor);
    await socket.until(({ event }) => event?.id === last);
    await client.rehearse(sessionId, "say after");
    await socket.until(isEvent("task.completed"));
    for (const { event, replayed } of socket.events) assert.equal(replayed, event.id <= last, event.id);
  });

  const badCursors = {
    "a cursor beyond the log": ["evt_0999999999999999", "cursor_expired", true],
    "no cursor at all": ["yesterday", "invalid_request", false],
  } as const;
  for (const [what, [cursor, code, closes]] of Object.entries(badCursors)) {
    test(`WSK-4 hello with ${what} returns ${code}${closes ? " and the connection is closed" : ""}`, async () => {
      // Given ${what}, when hello names it, then the error is ${code}${closes ? " and the connection is closed" : ""}.
      await using socket = await openSocket(client, path(await newSession()));
      const error = await socket.refusal({ type: "hello", cursor });
      assert.equal(error.code, code);
      assert.equal(error.param, "cursor");
      if (closes) assert.equal((await socket.closed).code, 1008);
      else assert.equal((await socket.ask({ type: "hello" })).type, "ready");
    });
  }

  const nonsense = [
    "",
    "{",
    "null",
    "5",
    '"hello"',
    "[]",
    "{}",
    '{"type":5}',
    '{"type":"ping","id":{}}',
    '{"type":"__proto__"}',
    '{"type":"hello","__proto__":{}}',
    "[".repeat(1000),
  ];
  test("WSK-5 text that is no frame gets an error each time and the connection stays", async () => {
    // Given text that is no frame, when it is sent, then each gets an error and the connection goes on.
    await using socket = await openSession(client, await newSession());
    for (const text of nonsense) {
      socket.send(text);
      const { type, error } = await socket.next();
      assert.equal(type, "error", text.slice(0, 50));
      assert.equal(error.code, "invalid_request");
    }
    assert.equal((await socket.ask({ type: "ping" })).type, "pong");
  });

  test("WSK-5 the error for an invalid frame repeats the frame's id", async () => {
    // Given a frame that is wrong but has an id, when it is refused, then the error has the id.
    await using socket = await openSession(client, await newSession());
    socket.send({ id: "mine", type: "nothing" });
    assert.equal((await socket.next()).id, "mine");
  });

  test("WSK-5 given a binary frame, when it is sent, then the connection is closed with 1003", async () => {
    await using socket = await openSession(client, await newSession());
    socket.socket.send(Buffer.from('{"type":"ping"}'), { binary: true });
    assert.equal((await socket.closed).code, 1003);
  });

  test("WSK-5 an oversized frame closes the connection with 1009 and records nothing", async () => {
    // Given a frame that is too large, when it is sent, then the connection is closed with 1009 and nothing is recorded.
    const sessionId = await newSession();
    await using socket = await openSession(client, sessionId);
    socket.send({ type: "message.append", message: userMessage("x".repeat(5_000_000)) });
    assert.equal((await socket.closed).code, 1009);
    assert.deepEqual(await client.texts(sessionId), []);
  });

  test("WSK-5 any fuzzed frame gets exactly one valid answer and the server stays healthy", async () => {
    // Given anything at all, when it is sent as a frame, then there is one valid answer to it and the server is well.
    await using socket = await openSession(client, await newSession());
    const types = [
      "hello",
      "message.append",
      "task.submit",
      "task.cancel",
      "session.truncate",
      "input.submit",
      "approval.respond",
      "host.result",
      "ping",
      "x",
    ];
    const frame = fc.oneof(
      fc.record(
        {
          type: fc.constantFrom(...types),
          id: fc.oneof(fc.nat(), fc.string(), fc.jsonValue()),
          idempotency_key: fc.oneof(fc.string(), fc.jsonValue()),
          message: fc.oneof(fc.constant(userMessage("hi")), fc.jsonValue()),
          input: fc.jsonValue(),
          task_id: fc.oneof(fc.string(), fc.jsonValue()),
          request_id: fc.jsonValue(),
          call_id: fc.oneof(fc.string(), fc.jsonValue()),
          decision: fc.constantFrom("approved", "denied", 5),
          output: fc.jsonValue(),
          error: fc.jsonValue(),
          keep_first: fc.oneof(fc.integer(), fc.jsonValue()),
          persona_id: fc.jsonValue(),
          metadata: fc.jsonValue(),
          host_capabilities: fc.jsonValue(),
          cursor: fc.jsonValue(),
        },
        { requiredKeys: ["type"] },
      ),
      fc.jsonValue(),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          frame.map((value) => JSON.stringify(value)),
          fc.string({ unit: "binary" }),
        ),
        async (text) => {
          socket.send(text);
          const answer = await socket.until(({ type }) => type !== "event" && type !== "request");
          assert.ok(["ack", "error", "pong"].includes(answer.type), JSON.stringify(answer));
          if (answer.type === "error") assert.notEqual(answer.error.code, "internal_error", text);
        },
      ),
      { numRuns: 250 },
    );
    assert.equal((await client.get("/health")).status, 200);
    assert.equal(server.output().includes("A request failed"), false);
  });

  test("WSK-6 a frame repeated with its idempotency key on two connections runs once", async () => {
    // Given an idempotency key, when a frame is sent twice, on two connections, then it is done once and the second
    // answer says so.
    const sessionId = await newSession();
    const frame = { type: "task.submit", input: { text: "once" }, idempotency_key: "key-1" };
    await using first = await openSession(client, sessionId);
    const done = await first.ask(frame);
    await using second = await openSession(client, sessionId);
    const again = await second.ask(frame);
    assert.equal(again.result.id, done.result.id);
    assert.equal(again.idempotent_replayed, true);
    assert.equal(done.idempotent_replayed, undefined);
    const other = await second.refusal({ ...frame, input: { text: "twice" } });
    assert.equal(other.code, "idempotency_key_reused");
    assert.equal((await client.listAll(`/v1/sessions/${sessionId}/tasks`)).length, 1);
  });
});

describe("Requests", () => {
  test("WSK-7 two clients get a question, the first answer wins, the second is a conflict", async () => {
    // Given two clients on one session, when a task asks, then both get the question, the first answer counts and the
    // other is a conflict.
    const sessionId = await newSession();
    await using one = await openSession(client, sessionId);
    await using two = await openSession(client, sessionId);
    const task = await one.command(rehearsal("ask Who?", "return done"));
    const questions = [await one.until("request"), await two.until("request")];
    for (const { kind, task_id, prompt, request_id, schema, expires_at } of questions) {
      assert.deepEqual(
        { kind, task_id, prompt, schema },
        { kind: "input", task_id: task.id, prompt: "Who?", schema: null },
      );
      assert.equal(request_id, `${task.id}:ask:1`);
      assert.ok(Date.parse(expires_at) > Date.now());
    }
    const answer = { type: "input.submit", task_id: task.id, message: userMessage("me") };
    const answers = await Promise.all([one.ask(answer), two.ask(answer)]);
    assert.deepEqual(answers.map(({ type }) => type).sort(), ["ack", "error"]);
    const [lost] = answers.filter(({ type }) => type === "error");
    // The loser is told what the task is doing now, whichever that is.
    assert.ok(["conflict", "invalid_state_transition"].includes(lost.error.code), JSON.stringify(lost));
    for (const socket of [one, two])
      if (!socket.events.some(isEvent("task.completed"))) await socket.until(isEvent("task.completed"));
    // What follows the end may have reached one of them only.
    const ids = ({ events }: TestSocket) =>
      events.slice(0, events.findIndex(isEvent("task.completed")) + 1).map(({ event }) => event.id);
    const common = Math.min(ids(one).length, ids(two).length);
    assert.deepEqual(ids(one).slice(-common), ids(two).slice(-common));
  });

  test("WSK-7 a question answered over REST is sent only to clients connected while it is open", async () => {
    // Given a question that REST answers, when a client connects before and after, then it is asked only while it is
    // open.
    const sessionId = await newSession();
    const asked = await client.rehearse(sessionId, "ask Who?", "sleep 600000");
    const wanted = await client.rehearse(sessionId, "approve Launch");
    await using early = await openSession(client, sessionId);
    const requests = [await early.until("request"), await early.until("request")];
    const input = requests.find(({ kind }) => kind === "input");
    const authorization = requests.find(({ kind }) => kind === "authorization");
    assert.equal(input.task_id, asked.id);
    assert.equal(authorization.request_id, wanted.waiting_for.permission_request_id);
    assert.equal(authorization.permission_request.action, "Launch");
    await client.answer(asked.id, "me");
    await early.until(isEvent("user.input_submitted"));
    const { last_event_id } = (await client.get(`/v1/sessions/${sessionId}`)).body;
    await using late = await openSession(client, sessionId, { cursor: "evt_0000000000000000" });
    assert.equal((await late.until("request")).request_id, authorization.request_id);
    await late.until(({ event }) => event?.id === last_event_id);
    assert.equal(late.seen.filter(({ type }) => type === "request").length, 1);
  });
});

describe("Credentials", () => {
  test("WSK-8 selects the subprotocol bridle.v1 and never echoes the key of bearer.KEY", async () => {
    // Given the subprotocols bridle.v1 and bearer.KEY, when a browser connects, then bridle.v1 is selected and the key
    // is not said back.
    const sessionId = await newSession();
    const protocols = ["bridle.v1", `bearer.${client.key}`];
    for (const offered of [protocols, protocols.toReversed()]) {
      await using socket = await openSocket(client, path(sessionId), { withKey: false, protocols: offered });
      assert.equal(socket.socket.protocol, "bridle.v1");
      assert.equal((await socket.ask({ type: "hello" })).type, "ready");
    }
  });

  test("WSK-8 an upgrade without valid credentials returns 401", async () => {
    // Given no valid credentials, when an upgrade is asked for, then it is 401 and there is no connection.
    const at = path(await newSession());
    const attempts = {
      nothing: { withKey: false },
      "a wrong key": { withKey: false, headers: { authorization: "Bearer wrong" } },
      "a wrong key as subprotocol": { withKey: false, protocols: ["bridle.v1", "bearer.wrong"] },
      "a key without our subprotocol": { withKey: false, protocols: [`bearer.${client.key}`] },
    };
    for (const [what, options] of Object.entries(attempts)) {
      const error = errorOf(await refusedUpgrade(client, at, options), 401);
      assert.equal(error.code, "unauthenticated", what);
    }
  });

  test("WSK-8 an upgrade with a key in the URL is rejected and the key is never logged", async () => {
    // Given a key in the address, when an upgrade is asked for, then it is refused, whatever else comes with it, and the
    // key is in no log.
    await using own = await startServer({ env: { BRIDLE_LOG_LEVEL: "trace" } });
    const mine = new Client(own);
    const { id } = await mine.createSession();
    const { key } = await mine.createKey();
    for (const name of ["key", "token", "access_token", "api_key"]) {
      for (const withKey of [true, false]) {
        errorOf(await refusedUpgrade(mine, `${path(id)}?${name}=${key}`, { withKey }), 401);
      }
    }
    errorOf(await refusedUpgrade(mine, `${path(id)}?ticket=${key}`, { withKey: false }), 401);
    await until(
      async () => own.output(),
      (output) => output.includes('"status":401'),
    );
    assert.ok(!own.output().includes(key));
  });

  test("WSK-8 a session of another tenant or workspace returns 404 like a missing one", async () => {
    // Given another tenant's or workspace's session, when it is asked for, then it is 404 as one that is not there.
    const { body: workspace } = await client.post("/v1/workspaces", { name: "Other", root: "/srv/o" });
    const strangers = [
      await client.createKey({ tenant_id: "tenant_stranger" }),
      await client.createKey({ workspace_ids: [workspace.id] }),
    ];
    const sessionId = await newSession();
    const task = await client.rehearse(sessionId, "say x");
    for (const { key } of strangers) {
      for (const address of [
        path(sessionId),
        `/v1/sessions/${sessionId}/events/stream`,
        `/v1/tasks/${task.id}/stream`,
      ]) {
        assert.equal(errorOf(await refusedUpgrade(client.as(key), address), 404).code, "resource_not_found");
      }
    }
    errorOf(await refusedUpgrade(client, path("session_none")), 404);
  });

  test("WSK-8 an upgrade with a key that may not read events or sessions returns 403", async () => {
    // Given a key that may not read events or sessions, when an upgrade is asked for, then it is 403.
    const at = path(await newSession());
    for (const scope of ["events:read", "sessions:read"]) {
      errorOf(await refusedUpgrade(await client.withScopes(scope), at), 403);
    }
  });

  test("WSK-8 a plain GET is told to upgrade, other kinds of upgrade are ignored", async () => {
    // Given a plain GET, when the session's WebSocket is asked for, then it is told to upgrade, and other upgrades are
    // ignored.
    const sessionId = await newSession();
    assert.equal(errorOf(await client.get(path(sessionId)), 400).param, "Upgrade");
    errorOf(await refusedUpgrade(client, "/v1/sessions"), 426);
    const other = { ...client.headers(), connection: "Upgrade, HTTP2-Settings", upgrade: "h2c" };
    const [response] = await once(
      get(`${client.url}/v1/sessions/${sessionId}`, { headers: other }),
      "response",
    );
    assert.equal(response.statusCode, 200);
    response.destroy();
    // Nor does an upgrade swallow the body of a request that is none.
    const write = {
      method: "POST",
      headers: {
        ...client.headers(),
        connection: "Upgrade",
        upgrade: "websocket",
        "content-type": "application/json",
      },
    };
    const posting = request(`${client.url}/v1/sessions`, write).end('{"workspace_id":"workspace_default"}');
    const [created] = await once(posting, "response");
    assert.equal(created.statusCode, 201);
    created.destroy();
  });

  test("WSK-9 a ticket opens exactly one connection, with the rights of its key", async () => {
    // Given a ticket, when it is used, then it opens one connection with the rights of its key, and no second.
    const sessionId = await newSession();
    const reader = await client.withScopes("events:read", "sessions:read");
    const { status, body } = await reader.post("/v1/ws-tickets");
    assert.equal(status, 201);
    assert.ok(Date.parse(body.expires_at) > Date.now());
    const at = `${path(sessionId)}?ticket=${body.ticket}`;
    await using socket = await openSocket(client, at, { withKey: false });
    assert.equal((await socket.ask({ type: "hello" })).type, "ready");
    const refusal = await socket.refusal({ type: "message.append", message: userMessage("x") });
    assert.equal(refusal.code, "permission_denied");
    errorOf(await refusedUpgrade(client, at, { withKey: false }), 401);
    // A ticket that is there decides, even beside a good key.
    errorOf(await refusedUpgrade(client, at), 401);
  });

  test("WSK-9 a ticket fails for foreign sessions, concurrent reuse and plain requests", async () => {
    // Given a ticket, when it opens another's session, when two use it at once, or for a plain request, then it is worth
    // no more than its key and one use.
    const { key } = await client.createKey({ tenant_id: "tenant_ticket" });
    const sessionId = await newSession();
    const stranger = (await client.as(key).post("/v1/ws-tickets")).body.ticket;
    errorOf(await refusedUpgrade(client, `${path(sessionId)}?ticket=${stranger}`, { withKey: false }), 404);
    const { ticket } = (await client.post("/v1/ws-tickets")).body;
    errorOf(await client.call(`/v1/sessions?ticket=${ticket}`, { key: null }), 401);
    const attempts = await Promise.allSettled(
      Array.from({ length: 5 }, () =>
        openSocket(client, `${path(sessionId)}?ticket=${ticket}`, { withKey: false }),
      ),
    );
    assert.equal(attempts.filter(({ status }) => status === "fulfilled").length, 1);
    for (const attempt of attempts) if (attempt.status === "fulfilled") attempt.value.socket.terminate();
  });

  test("WSK-9 a ticket that expired or whose key was revoked returns 401", async () => {
    // Given a ticket whose time is over, or whose key was revoked, when it is used, then it is 401.
    await using own = await startServer({ config: { agents, webSocket: { helloMs: 10_000, ticketMs: 1 } } });
    const mine = new Client(own);
    const { id } = await mine.createSession();
    const { ticket, expires_at } = (await mine.post("/v1/ws-tickets")).body;
    await until(
      async () => Date.now(),
      (now) => now > Date.parse(expires_at),
    );
    errorOf(await refusedUpgrade(mine, `${path(id)}?ticket=${ticket}`, { withKey: false }), 401);

    const key = await client.createKey();
    const revoked = (await client.as(key.key).post("/v1/ws-tickets")).body.ticket;
    await client.call(`/v1/api-keys/${key.id}`, { method: "DELETE" });
    errorOf(
      await refusedUpgrade(client, `${path(await newSession())}?ticket=${revoked}`, { withKey: false }),
      401,
    );
  });
});

describe("Streams by upgrade", () => {
  test("WSK-10 an upgraded task stream sends the task's events and closes with the task", async () => {
    // Given a task, when its stream is upgraded, then the frames are its events and the connection ends with it.
    const sessionId = await newSession();
    const waiting = await client.rehearse(sessionId, "say one", "ask Who?", "return two");
    await using socket = await openSocket(client, `/v1/tasks/${waiting.id}/stream`);
    await socket.until(isEvent("task.input_required"));
    await client.answer(waiting.id, "me");
    const { code } = await socket.closed;
    assert.equal(code, 1000);
    const listed = await client.listAll(`/v1/tasks/${waiting.id}/events`);
    assert.deepEqual(
      socket.seen.map(({ event }) => event),
      listed,
    );
    assert.deepEqual(
      socket.seen.map(({ replayed }) => replayed),
      socket.seen.map(({ event }) => event.id <= socket.seen.find(isEvent("task.input_required")).event.id),
    );

    await using ended = await openSocket(client, `/v1/tasks/${waiting.id}/stream`);
    assert.equal((await ended.closed).code, 1000);
    assert.deepEqual(
      ended.events.map(({ event }) => event.id),
      socket.events.map(({ event }) => event.id),
    );
    assert.ok(ended.events.every(({ replayed }) => replayed));
  });

  test("WSK-10 upgraded session and global streams continue after the cursor", async () => {
    // Given a cursor, when the session's and the whole stream are upgraded, then they go on from there.
    const sessionId = await newSession();
    const { last_event_id } = (await client.get(`/v1/sessions/${sessionId}`)).body;
    await client.settled(await client.rehearse(sessionId, "say one"));
    const listed = (await client.listAll(`/v1/sessions/${sessionId}/events`)).slice(1).map(({ id }) => id);
    for (const at of [`/v1/sessions/${sessionId}/events/stream`, "/v1/events/stream"]) {
      await using socket = await openSocket(client, `${at}?after_event_id=${last_event_id}`);
      await socket.until(({ event }) => event.id === listed.at(-1));
      assert.deepEqual(
        socket.events
          .map(({ event }) => event)
          .filter(({ session_id }) => session_id === sessionId)
          .map(({ id }) => id),
        listed,
      );
    }
  });

  test("WSK-10 an upgraded stream with an unknown cursor gets one error and closes", async () => {
    // Given a cursor that is not in the log, when a stream is upgraded, then there is one error and the connection is
    // closed.
    await using socket = await openSocket(client, "/v1/events/stream?after_event_id=evt_0999999999999999");
    assert.equal((await socket.next()).error.code, "cursor_expired");
    assert.equal((await socket.closed).code, 1008);
    assert.equal(socket.seen.length, 1);
  });
});
