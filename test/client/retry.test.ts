/** What the client makes of what comes over the wire, cut wherever a network cuts. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createClient, RateLimited, Unauthenticated, Unavailable } from "../../src/sdk/client/index.ts";
import { chunksOf, readEvents, type ServerSentEvent } from "../../src/web/event-stream.ts";

function refusal(code: string, status: number, retryAfter: string): Response {
  const error = { code, message: "Not now.", type: "x", param: null, request_id: "req_1", details: {} };
  return new Response(JSON.stringify({ error }), { status, headers: { "retry-after": retryAfter } });
}

/** A client to whom these are answered, one after the other, and what it sent. */
function clientAnswered(...answers: Response[]) {
  const sent: Headers[] = [];
  const answer: typeof fetch = async (_input, init) => {
    sent.push(new Headers(init?.headers));
    return answers.shift() ?? assert.fail("It asked too often");
  };
  return { sent, bridle: createClient({ url: "http://server.example/base", key: "k", fetch: answer }) };
}

test("CLT-6 the client retries a temporary refusal under one idempotency key", async () => {
  // Given a server that refuses for now, when it takes the request later, then the client has sent it under one key.
  const session = new Response(JSON.stringify({ object: "session", id: "session_1" }));
  const { bridle, sent } = clientAnswered(
    refusal("rate_limited", 429, "0"),
    refusal("service_unavailable", 503, "0"),
    new Response("<html>Bad gateway</html>", { status: 502 }),
    session,
  );
  assert.equal((await bridle.sessions.create()).id, "session_1");
  const keys = new Set(sent.map((headers) => headers.get("idempotency-key")));
  assert.deepEqual([sent.length, keys.size], [4, 1]);
});

test("CLT-5 the client does not wait out a very long retry delay, and the error names it", async () => {
  // Given a server that asks for more patience than anybody has, when it refuses, then the error says for how long.
  const { bridle, sent } = clientAnswered(refusal("rate_limited", 429, "3600"));
  await assert.rejects(bridle.sessions.list(), (error) => {
    assert.ok(error instanceof RateLimited && !(error instanceof Unavailable));
    assert.deepEqual([error.retryAfterMs, error.requestId, sent.length], [3_600_000, "req_1", 1]);
    return true;
  });
});

test("CLT-4 refused or cut streams resume after the last event, and a final refusal throws", async () => {
  // Given streams that are refused for now, cut off and at last forbidden, when events are followed, then each
  // connection goes on after the last event, and the error is thrown.
  const body = { object: "event", event: "x", resource: {}, payload: {} };
  const frame = (id: string) => `id: ${id}\nevent: x\ndata: ${JSON.stringify({ ...body, id })}\n\n`;
  const { error } = JSON.parse(await refusal("unauthenticated", 401, "0").text());
  const { bridle, sent } = clientAnswered(
    refusal("service_unavailable", 503, "0"),
    new Response(`${frame("evt_1")}${frame("evt_2")}id: evt_3\ndata: {"obj`),
    new Response(`${frame("evt_3")}event: error\ndata: ${JSON.stringify({ error })}\n\n`),
  );
  const seen: string[] = [];
  const reading = async () => {
    for await (const { id } of bridle.events()) seen.push(id);
  };
  await assert.rejects(reading(), Unauthenticated);
  assert.deepEqual(seen, ["evt_1", "evt_2", "evt_3"]);
  assert.deepEqual(
    sent.map((headers) => headers.get("last-event-id")),
    [null, null, "evt_2"],
  );
});

test("CLT-4 frames cut anywhere, even within a letter, parse the same; a cut last one is dropped", async () => {
  // Given frames cut anywhere, also within a letter, when they are read, then they are the same, and the last that was
  // cut off is none.
  const frames: ServerSentEvent[] = [
    { id: "evt_1", event: "task.created", data: '{"text":"grüße 🚀"}' },
    { id: null, event: "message", data: "two\nlines" },
    { id: "evt_2", event: "error", data: "" },
  ];
  for (const newline of ["\n", "\r\n", "\r"]) {
    const text = ["retry: 1000", "", ": heartbeat", "", ...frames.flatMap(linesOf), "id: evt_3", "data: cut"];
    const bytes = new TextEncoder().encode(text.join(newline));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 20 }), async (cuts) => {
        const found: ServerSentEvent[] = [];
        for await (const frame of readEvents(chunksOf(streamOf(bytes, cuts)), 1000)) found.push(frame);
        assert.deepEqual(found, frames);
      }),
      { numRuns: 100 },
    );
  }
});

function linesOf({ id, event, data }: ServerSentEvent): string[] {
  const said = data.split("\n").map((line) => `data: ${line}`);
  return [...(id === null ? [] : [`id: ${id}`]), `event: ${event}`, ...said, ""];
}

function streamOf(bytes: Uint8Array, cuts: readonly number[]): ReadableStream<Uint8Array> {
  const ends = [...cuts, bytes.length].sort((a, b) => a - b);
  return new ReadableStream({
    start(controller) {
      for (const [n, end] of ends.entries()) controller.enqueue(bytes.slice(ends[n - 1] ?? 0, end));
      controller.close();
    },
  });
}
