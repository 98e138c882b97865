/**
 * The crash rules, on a real server that is really killed. What this cannot show is a disk that lies about fsync: a
 * killed process loses its memory, not the machine's.
 */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { isThorough, randomFrom, seed } from "./runner/seed.ts";
import { Client, isFinal, type Json, until, userMessage } from "./support/client.ts";
import { assertRebuildable } from "./support/log.ts";
import { startProcess, startServer, type TestProcess, temporaryDirectory } from "./support/server.ts";
import { openStream } from "./support/sse.ts";

const rounds = isThorough ? 50 : 4;
const workers = 12;

const scripts = [
  "return quick",
  "step a\nstep b\nsay hello\nreturn done",
  "stream 5\ncheckpoint c\nstep z\nreturn end",
];

interface Request {
  key: string;
  body: Json;
  /** The answer, once one was received. */
  accepted: Json | null;
}

async function send(client: Client, request: Request): Promise<void> {
  const { status, body } = await client.post("/v1/tasks", request.body, { "idempotency-key": request.key });
  assert.equal(status, 202, JSON.stringify(body));
  if (request.accepted !== null)
    assert.equal(body.id, request.accepted.id, "a retry gets the original answer");
  request.accepted = body;
}

/** Follows everything, reconnecting with the last id it has seen, and keeps the ids. */
class Follower {
  readonly ids: string[] = [];
  #stopped = false;
  #close = () => {};

  async run(client: Client): Promise<void> {
    this.#stopped = false;
    const last = this.ids.at(-1);
    try {
      const stream = await openStream(
        client,
        "/v1/events/stream",
        last === undefined ? {} : { "last-event-id": last },
      );
      this.#close = stream.close;
      for await (const frame of stream.frames) {
        assert.notEqual(frame.event, "error", JSON.stringify(frame.data));
        assert.equal(frame.id, frame.data.id);
        this.ids.push(frame.data.id);
        if (this.#stopped) return;
      }
    } catch (error) {
      // The server died while the stream was being opened.
      if (!(error instanceof TypeError)) throw error;
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#close();
  }
}

describe("the crash rules", () => {
  test("CRA-1 CRA-2 CRA-3 CRA-4 random kills under load lose, double or reorder nothing accepted", async (t) => {
    // Given a server killed at random moments under load, when it is started again, then nothing accepted is lost,
    // doubled or reordered.
    const random = randomFrom(seed);
    await using directory = await temporaryDirectory();
    const requests: Request[] = [];
    const follower = new Follower();
    let sessionId = "";

    for (let round = 0; round < rounds; round++) {
      await using server = await startProcess({ data: directory.path });
      const client = new Client(server);
      if (round === 0) sessionId = (await client.createSession()).id;
      const following = follower.run(client);
      const unanswered = requests.filter(({ accepted }) => accepted === null);
      const again = requests.filter(() => random() < 0.05);
      const work = [...unanswered, ...again];
      const newRequest = (): Request => {
        const script = scripts[Math.floor(random() * scripts.length)] ?? "";
        const body = { session_id: sessionId, persona_id: "persona_rehearsal", input: userMessage(script) };
        const request = { key: `key-${requests.length}`, body, accepted: null };
        requests.push(request);
        return request;
      };
      const dead = { yet: false };
      const load = Array.from({ length: workers }, async () => {
        while (!dead.yet) {
          const request = work.pop() ?? newRequest();
          // An answer that never came is exactly what a client has to live with.
          await send(client, request).catch((error) => {
            if (error instanceof assert.AssertionError) throw error;
          });
        }
      });
      await new Promise((resolve) => setTimeout(resolve, 30 + random() * 400));
      await server.kill();
      dead.yet = true;
      await Promise.all(load);
      await following;
    }

    await using server = await startServer({ data: directory.path });
    const client = new Client(server);
    const following = follower.run(client);
    await Promise.all(requests.map((request) => send(client, request)));
    const tasks = await until(
      () => client.listAll(`/v1/sessions/${sessionId}/tasks`),
      (all) => all.every(isFinal),
    );
    assert.deepEqual(
      tasks.map((task) => task.id).sort(),
      requests.map(({ accepted }) => accepted.id).sort(),
      "one task for each request, no more and no fewer",
    );
    assert.deepEqual(
      tasks.filter((task) => task.status !== "COMPLETED").map((task) => task.failure),
      [],
    );
    const events = await client.listAll("/v1/events");
    await until(
      async () => follower.ids.length,
      (length) => length >= events.length,
    );
    follower.stop();
    await following;
    assert.deepEqual(
      follower.ids,
      events.map((event) => event.id),
      "the resumed stream is the log",
    );
    t.diagnostic(`${requests.length} tasks, ${events.length} events, ${rounds} kills`);
    await server.stop();
    await assertRebuildable(directory.path);
  });

  const running: TestProcess[] = [];
  after(async () => {
    for (const server of running) await server[Symbol.asyncDispose]();
  });

  for (const point of ["commit.begun", "commit.written", "commit.durable"] as const) {
    for (const visit of [3, 4, 6, 9]) {
      test(`CRA-5 CRA-4 retries take effect once if the server dies at ${point} the ${visit}th time`, async () => {
        // Given a server that dies at ${point} the ${visit}th time, when its clients try again, then each request took
        // effect once.
        await using directory = await temporaryDirectory();
        const fragile = await startProcess({
          data: directory.path,
          env: { BRIDLE_FAIL_POINT: `${point}:${visit}` },
        });
        running.push(fragile);
        const first = new Client(fragile);
        const requests: { path: string; key: string; body: Json; accepted: Json | null }[] = [];
        const attempt = async (client: Client, request: (typeof requests)[number]) => {
          const answer = await client.post(request.path, request.body, { "idempotency-key": request.key });
          if (request.accepted !== null) {
            assert.equal(answer.body.id, request.accepted.id);
            assert.equal(answer.headers.get("idempotent-replayed"), "true");
          }
          request.accepted = answer.body;
          return answer;
        };
        let lastReplayed: string | null = null;
        for (let n = 0; n < 50; n++) {
          const request = {
            path: "/v1/sessions",
            key: `session-${n}`,
            body: { workspace_id: "workspace_default" },
            accepted: null,
          };
          requests.push(request);
          try {
            await attempt(first, request);
          } catch (error) {
            if (error instanceof assert.AssertionError) throw error;
            break;
          }
        }
        assert.equal(
          requests.at(-1)?.accepted,
          null,
          "the server died before it could answer the last request",
        );
        await until(
          async () => fragile.process.signalCode,
          (signal) => signal === "SIGKILL",
        );

        await using server = await startServer({ data: directory.path });
        const client = new Client(server);
        for (const request of requests) {
          const { headers } = await attempt(client, request);
          lastReplayed = headers.get("idempotent-replayed");
        }
        // On disk but not answered: the retry finds the answer. Not on disk: the retry makes it.
        assert.equal(lastReplayed, point === "commit.durable" ? "true" : null);
        const sessions = await client.listAll("/v1/sessions");
        assert.equal(sessions.length, requests.length);
        await server.stop();
        await assertRebuildable(directory.path);
      });
    }
  }
});
