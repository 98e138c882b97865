/** The streaming profile: frames as they happen, over server-sent events and over WebSocket. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Json } from "../support/client.ts";
import { config } from "../support/openharness-server.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { openSession, openSocket, refusedUpgrade, type TestSocket } from "../support/socket.ts";
import { type Frame, type Stream, streamOf, take } from "../support/sse.ts";
import {
  assertResponse,
  continued,
  directivesOf,
  errorOf,
  everything,
  message,
  outcome,
  ownOf,
  path,
  Shell,
  streaming,
  textsOf,
} from "./wire.ts";

let server: TestServer;
let shell: Shell;

before(async () => {
  server = await startServer({ config });
  shell = new Shell(server);
});
after(() => server[Symbol.asyncDispose]());

const live = { capabilities: { ...everything, ...streaming } };

function scripted(lines: string[], more: object = live): Json {
  return message({ user_intent: lines.join("\n"), task_hint: { sop_id: "rehearsal" } }, more);
}

async function open(body: object, by = shell): Promise<Stream> {
  return streamOf(by.client, path, { body, headers: { accept: "text/event-stream" } });
}

const isLast = ({ event }: Frame) => event === "response";
const idsOf = (directives: Json[]): string[] => directives.map((directive) => ownOf(directive).directive_id);

/** What must hold of every stream: numbered frames of one stream, then the response, which has all that is to be told. */
function assertStream(frames: Json[], last: Json): void {
  frames.forEach((frame, index) => {
    assert.equal(frame.sequence, index + 1);
    assert.equal(frame.stream_id, frames[0].stream_id);
    assert.equal(frame.request_id, last.request_id);
  });
  assertResponse(last);
  const told = idsOf(frames.flatMap(({ action_directive }) => action_directive ?? []));
  const complete = idsOf(directivesOf(last)).filter((id) => !/:(?:working|progress)$/.test(id));
  assert.deepEqual(told, complete);
}

/** A host that opens the gate which a script waits at. */
async function openGate(sessionId: string): Promise<void> {
  await using host = await openSession(shell.client, sessionId, { host_capabilities: ["gate.open"] });
  const { call_id } = await host.until("request");
  await host.command({ type: "host.result", call_id, output: "open" });
}

async function sessionOf(taskId: string): Promise<string> {
  return (await shell.client.get(`/v1/tasks/${taskId}`)).body.session_id;
}

describe("§15 server-sent events", () => {
  test("OPH-39 a stream header or capability alone returns JSON", async () => {
    // Given only one of header and capability, when a message is sent, then the answer is JSON.
    const accept = { accept: "text/event-stream" };
    const without = await shell.post(scripted(["return done"], {}), accept);
    assert.deepEqual(textsOf(without.message), ["done"]);
    const unwanted = await shell.post(scripted(["return done"]));
    assert.deepEqual(textsOf(unwanted.message), ["done"]);
    const refused = { capabilities: { "openharness.streaming": false } };
    assert.match(
      (await shell.post(scripted(["return done"], refused), accept)).headers.get("content-type") ?? "",
      /json/,
    );
  });

  test("OPH-40 each directive is streamed as it is emitted, before the run ends", async () => {
    // Given a run that goes on, when it is streamed, then each directive comes when it is given, before the run is over.
    const sent = scripted(["say one", "progress half way", "host gate.open", "say two", "return three"]);
    await using stream = await open(sent);
    assert.match(stream.headers.get("content-type") ?? "", /^text\/event-stream/);
    const begun = await take(stream.frames, ({ event }) => event === "progress");
    assert.deepEqual(
      begun.map(({ event }) => event),
      ["directive", "progress"],
    );
    assert.equal(begun[0]?.data.action_directive.payload.text, "one");
    assert.deepEqual(begun[1]?.data.progress, { message: "half way" });
    const [taskId = ""] = begun[0]?.data.stream_id.split(":") ?? [];
    await openGate(await sessionOf(taskId));
    const rest = await take(stream.frames, isLast);
    const last = rest.at(-1)?.data;
    assertStream(
      [...begun, ...rest.slice(0, -1)].map(({ data }) => data),
      last,
    );
    assert.deepEqual(textsOf(last), ["one", 'Host gate.open gave "open"', "two", "three"]);
    assert.equal((await stream.frames.next()).done, true);
    // The same message again is the same stream.
    await using again = await open(sent);
    const repeated = await take(again.frames, isLast);
    assert.deepEqual(repeated, [...begun, ...rest]);
  });

  test("OPH-40 an awaited directive comes as a frame and the next stream does not repeat it", async () => {
    // Given a directive that is waited for, when it is streamed, then it comes as a frame, and the next stream does not
    // tell it again.
    const press = { action_type: "simulate_action" };
    const sent = message(
      { user_intent: { directives: [press, press] }, task_hint: { sop_id: "director" } },
      live,
    );
    await using stream = await open(sent);
    const frames = await take(stream.frames, isLast);
    const told = frames.at(-1)?.data;
    assertStream(
      frames.slice(0, -1).map(({ data }) => data),
      told,
    );
    await using next = await open(continued(told, { outcomes: [outcome(directivesOf(told)[0])] }, {}, live));
    const more = await take(next.frames, isLast);
    const last = more.at(-1)?.data;
    assertStream(
      more.slice(0, -1).map(({ data }) => data),
      last,
    );
    assert.equal(directivesOf(last).length, 1);
    assert.notDeepEqual(idsOf(directivesOf(last)), idsOf(directivesOf(told)));
    await using still = await open(continued(last, {}, {}, live));
    const same = await take(still.frames, isLast);
    assert.deepEqual(idsOf([same[0]?.data.action_directive]), idsOf(directivesOf(last)));
  });

  test("OPH-39 a refused stream request returns JSON; a failed run is the last frame", async () => {
    // Given a message that is refused, when a stream was asked for, then the answer is JSON; when the run fails, it is
    // the last frame.
    const refused = await shell.post(message({ user_intent: "x", task_hint: { sop_id: "nobody" } }, live), {
      accept: "text/event-stream",
    });
    assert.equal(errorOf(refused.message).code, "unknown_sop");
    await using stream = await open(scripted(["say Before", "fail it broke"]));
    const frames = await take(stream.frames, isLast);
    assert.equal(errorOf(assertResponse(frames.at(-1)?.data)).details.failure_code, "rehearsed_failure");
  });
});

describe("§15 WebSocket", () => {
  async function connect(by = shell): Promise<TestSocket> {
    return await openSocket(by.client, `${path}/ws`);
  }

  const answerTo = (socket: TestSocket, { request_id }: Json): Promise<Json> =>
    socket.until((frame) => frame.request_id === request_id && frame.response !== undefined);

  test("OPH-41 each message on a connection gets its frames and its response", async () => {
    // Given a connection, when messages are sent on it, then each gets its frames and its response.
    await using socket = await connect();
    const streamed = scripted(["say one", "return two"]);
    socket.send(streamed);
    const last = await answerTo(socket, streamed);
    const frames = socket.seen.filter(({ type }) => type !== undefined);
    assertStream(frames, last);
    assert.deepEqual(textsOf(last), ["one", "two"]);
    const plain = scripted(["say one", "return two"], {});
    socket.send(plain);
    assert.deepEqual(textsOf(assertResponse(await answerTo(socket, plain))), ["one", "two"]);
    assert.equal(socket.seen.filter(({ request_id }) => request_id === plain.request_id).length, 1);
  });

  test("OPH-41 given a request that waits, when another is sent, then it is answered meanwhile", async () => {
    await using socket = await connect();
    const slow = scripted(["say waiting", "host gate.open", "return opened"]);
    socket.send(slow);
    const begun = await socket.until((frame) => frame.type === "directive");
    const quick = scripted(["return at once"]);
    socket.send(quick);
    assert.deepEqual(textsOf(await answerTo(socket, quick)), ["at once"]);
    await openGate(await sessionOf(begun.stream_id.split(":")[0]));
    assert.equal(textsOf(await answerTo(socket, slow)).at(-1), "opened");
  });

  test("OPH-41 all requests beyond the concurrency limit are answered", async () => {
    // Given more requests than are worked on at once, when they are all sent, then all are answered.
    await using socket = await connect();
    const sent = Array.from({ length: 20 }, (_, n) => scripted([`return ${n}`]));
    for (const one of sent) socket.send(one);
    for (const [n, one] of sent.entries())
      assert.deepEqual(textsOf(await answerTo(socket, one)), [String(n)]);
  });

  test("OPH-41, OPH-45 an invalid message returns an error and keeps the connection", async () => {
    // Given what is no message, when it is sent, then it is answered with an error, and the connection goes on.
    await using socket = await connect();
    for (const broken of ["{", "[]", '"text"', "{}", '{"protocol_version":"3.0.0","request_id":"old"}']) {
      socket.send(broken);
      errorOf(assertResponse(await socket.until((frame) => frame.response !== undefined)));
    }
    const sent = scripted(["return done"]);
    socket.send(sent);
    assert.deepEqual(textsOf(await answerTo(socket, sent)), ["done"]);
    socket.socket.send(Buffer.from([1, 2, 3]));
    assert.equal((await socket.closed).code, 1003);
  });

  test("OPH-41 a question answered on another connection continues the run there", async () => {
    // Given a question over the connection, when it is answered on another, then the run goes on there.
    await using first = await connect();
    const asking = scripted(["ask Which?", "return done"]);
    first.send(asking);
    const asked = await answerTo(first, asking);
    await using second = await connect();
    const reply = continued(asked, {}, { user_intent: "that" });
    second.send(reply);
    assert.deepEqual(textsOf(await answerTo(second, reply)), ["You said: that", "done"]);
  });

  test("OPH-41, OPH-12 a missing or revoked key turns a shell away, also in mid-connection", async () => {
    // Given no key or one that is revoked, when a shell connects or goes on, then it is turned away.
    const refused = await refusedUpgrade(shell.client, `${path}/ws`, { withKey: false });
    assert.equal(refused.status, 401);
    assert.equal(errorOf(assertResponse(refused.body)).code, "unauthenticated");
    const { id, key } = await shell.client.createKey();
    await using socket = await openSocket(shell.client, `${path}/ws`, {
      withKey: false,
      protocols: ["bridle.v1", `bearer.${key}`],
    });
    const sent = scripted(["return done"]);
    socket.send(sent);
    assert.deepEqual(textsOf(await answerTo(socket, sent)), ["done"]);
    await shell.client.call(`/v1/api-keys/${id}`, { method: "DELETE" });
    assert.equal((await socket.closed).code, 1008);
  });
});
