/** WebSockets at three in the morning: clients that do not read, do not answer, are a thousand, or lose their key; a server that stops. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { WebSocket } from "ws";
import { Client, errorOf, isFinal, type Json, until, userMessage } from "../support/client.ts";
import { residentMb, settled } from "../support/memory.ts";
import {
  startProcess,
  startServer,
  type TestProcess,
  type TestServer,
  temporaryDirectory,
} from "../support/server.ts";
import { openSession, openSocket, refusedUpgrade } from "../support/socket.ts";

const socketServer = fileURLToPath(new URL("../support/socket-server.ts", import.meta.url));
const slowAgentServer = fileURLToPath(new URL("../support/slow-agent-server.ts", import.meta.url));

const messages = 600;
const chars = 100_000;
/** What a process that produces so much takes for itself, whoever listens; five clients' backlogs would be 300 MB and more. */
const growthMbMax = 150;

/** Sixty megabytes of events. */
async function talk(client: Client, sessionId: string): Promise<void> {
  const { id } = await client.submit(sessionId, "", {
    persona_id: "persona_talkative",
    input: { messages, chars },
  });
  await client.untilTask(id, isFinal);
}

describe("Slow consumers", () => {
  let server: TestProcess;
  let client: Client;
  before(async () => {
    server = await startProcess({ script: socketServer });
    client = new Client(server);
  });
  after(() => server[Symbol.asyncDispose]());

  test("WSK-11 memory stays bounded while clients stop reading, later they get all in order", async () => {
    // Given clients that stop reading, when 60 MB of events are produced, then the server's memory does not grow by what
    // they miss, and reading on they get everything in order.
    const warm = await client.createSession();
    await talk(client, warm.id);
    const { id: sessionId } = await client.createSession();
    const sockets = await Promise.all([1, 2, 3, 4].map(() => openSession(client, sessionId)));
    const stream = await openSocket(client, `/v1/sessions/${sessionId}/events/stream`);
    sockets.push(stream);
    for (const { socket } of sockets) socket.pause();
    const before = await residentMb(server, "VmHWM");
    await talk(client, sessionId);
    await settled(() => residentMb(server));
    const peak = await residentMb(server, "VmHWM");
    assert.ok(peak - before < growthMbMax, `grew from ${before} MB to ${peak} MB`);

    const listed: string[] = [];
    for (let cursor = ""; ; ) {
      const { body } = await client.get(`/v1/sessions/${sessionId}/events?limit=20${cursor}`);
      listed.push(...body.data.map(({ id }: Json) => id));
      if (!body.page.has_more) break;
      cursor = `&after_event_id=${listed.at(-1)}`;
    }
    for (const socket of sockets) {
      socket.socket.resume();
      const ids: string[] = [];
      while (ids.at(-1) !== listed.at(-1)) {
        const { event } = await socket.until("event");
        ids.push(event.id);
        socket.seen.length = 0;
      }
      // The stream begins with the session's own creation, a connection with what happens from then on.
      assert.deepEqual(ids, socket === stream ? listed : listed.slice(1));
      socket.socket.terminate();
    }
  });

  test("WSK-11 throttles a client that does not read its answers and still serves others", async () => {
    // Given a client that commands and does not read, when its commands' answers fill the line, then the server stops
    // reading from it and goes on serving others.
    const { id: sessionId } = await client.createSession();
    await using greedy = await openSession(client, sessionId);
    greedy.socket.pause();
    const frames = 500;
    const written = async () =>
      Number((await client.get(`/v1/sessions/${sessionId}`)).body.last_event_id.slice(4));
    const before = await written();
    for (let n = 0; n < frames; n++)
      greedy.send({ type: "message.append", message: userMessage("x".repeat(50_000)) });
    await settled(written);
    // A server that went on reading would have carried out all of them, two events each.
    const done = ((await written()) - before) / 2;
    assert.ok(done < frames - 50, `${done} of ${frames}`);
    assert.equal((await client.rehearse(sessionId, "return well")).status, "COMPLETED");
  });
});

describe("Many connections", () => {
  const count = 1000;

  test("WSK-14 1,000 idle connections cost little memory each, and one event reaches all", async () => {
    // Given 1,000 idle connections, when memory is measured, then each costs little, and one event reaches all.
    await using server = await startProcess();
    const client = new Client(server);
    const { id: sessionId } = await client.createSession();
    await client.settled(await client.rehearse(sessionId, "say warm"));
    const before = await residentMb(server);
    const url = `${client.url.replace("http", "ws")}/v1/sessions/${sessionId}/ws`;
    const headers = { authorization: `Bearer ${client.key}` };
    const sockets: WebSocket[] = [];
    const got: Promise<string>[] = [];
    const open = async () => {
      const socket = new WebSocket(url, { headers });
      sockets.push(socket);
      await once(socket, "open");
      socket.send(JSON.stringify({ type: "hello" }));
      await once(socket, "message");
      got.push(once(socket, "message").then(([data]) => JSON.parse(String(data)).event.payload.message?.id));
    };
    try {
      for (let n = 0; n < count; n += 50) await Promise.all(Array.from({ length: 50 }, open));
      await settled(() => residentMb(server));
      const perSocketKb = (((await residentMb(server)) - before) * 1024) / count;
      assert.ok(perSocketKb < 80, `${perSocketKb} KB a connection`);
      const { body } = await client.post(`/v1/sessions/${sessionId}/messages`, {
        message: userMessage("all"),
      });
      const ids = await Promise.all(got);
      assert.equal(ids.length, count);
      assert.deepEqual(new Set(ids), new Set([body.id]));
    } finally {
      for (const socket of sockets) socket.terminate();
    }
  });
});

describe("Heartbeats", () => {
  let server: TestServer;
  let client: Client;
  before(async () => {
    server = await startServer({ config: { heartbeatMs: 300 } });
    client = new Client(server);
  });
  after(() => server[Symbol.asyncDispose]());

  test("WSK-12 a client that answers pings stays, one that does not is disconnected", async () => {
    // Given pings, when one client answers them and another does not, then the one stays and the other is ended.
    const { id } = await client.createSession();
    await using alive = await openSession(client, id);
    const url = `${client.url.replace("http", "ws")}/v1/sessions/${id}/ws`;
    const headers = { authorization: `Bearer ${client.key}` };
    const dead = new WebSocket(url, { headers, autoPong: false });
    await once(dead, "open");
    const [code] = await once(dead, "close");
    assert.equal(code, 1006);
    for (let n = 0; n < 6; n++) await once(alive.socket, "ping");
    assert.equal((await alive.ask({ type: "ping" })).type, "pong");
  });

  test("WSK-13 revoking a key closes its connection, active or listening, and runs no command", async () => {
    // Given a key that is revoked, when its connection commands, or only listens, then it is ended and nothing is done.
    const { id } = await client.createSession();
    const key = await client.createKey();
    const mine = client.as(key.key);
    await using commanding = await openSession(mine, id);
    await using listening = await openSession(mine, id);
    await using streaming = await openSocket(mine, "/v1/events/stream");
    await client.call(`/v1/api-keys/${key.id}`, { method: "DELETE" });
    commanding.send({ id: "late", type: "message.append", message: userMessage("x") });
    for (const { closed } of [commanding, listening, streaming]) assert.equal((await closed).code, 1008);
    assert.deepEqual(await client.texts(id), []);
  });
});

describe("Ends", () => {
  test("WSK-13 a stopping server rejects commands and connections, then says it goes away", async () => {
    // Given a server that is stopping, when a client is connected, then its commands are refused, new connections too,
    // and at last it is told that the server goes away.
    await using directory = await temporaryDirectory();
    await using server = await startProcess({ script: slowAgentServer, flags: ["--grace-ms", "20000"] });
    const client = new Client(server);
    const { id } = await client.createSession();
    await using socket = await openSession(client, id);
    await client.submit(id, directory.path, { persona_id: "persona_slow" });
    await until(async () => existsSync(join(directory.path, "attempts")), Boolean);
    const stopped = server.stop();
    await until(
      async () => (await client.get("/ready")).body.status,
      (status) => status === "draining",
    );
    const error = await socket.refusal({ type: "message.append", message: userMessage("x") });
    assert.equal(error.code, "service_unavailable");
    const answer = await refusedUpgrade(client, `/v1/sessions/${id}/ws`);
    assert.equal(errorOf(answer, 503).code, "service_unavailable");
    await writeFile(join(directory.path, "release"), "");
    assert.equal((await socket.closed).code, 1001);
    assert.equal(await stopped, 0);
  });

  test("WSK-13 a stopping server does not wait for a client that does not read", async () => {
    // Given a client that does not read, when the server stops, then it does not wait for it.
    await using server = await startProcess();
    const client = new Client(server);
    const { id } = await client.createSession();
    await using socket = await openSession(client, id);
    socket.socket.pause();
    for (let n = 0; n < 40; n++)
      await client.post(`/v1/sessions/${id}/messages`, { message: userMessage("x".repeat(500_000)) });
    const begun = performance.now();
    assert.equal(await server.stop(), 0);
    assert.ok(performance.now() - begun < 5000);
  });
});
