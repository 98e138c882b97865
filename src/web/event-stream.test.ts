import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { EventTooLong, readEvents, type ServerSentEvent } from "./event-stream.ts";

const charsMax = 1000;

/** Reads the events of a text that comes in pieces of this many bytes. */
async function eventsOf(text: string, pieceBytes: number): Promise<ServerSentEvent[]> {
  const bytes = new TextEncoder().encode(text);
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.slice(at, at + pieceBytes);
  }
  return await all(readEvents(pieces(), charsMax));
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** The same piece for ever, until nobody reads any more. */
async function* endless(piece: string, given: { count: number }): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(piece);
  while (true) {
    given.count += 1;
    yield bytes;
  }
}

describe("Reading server-sent events", () => {
  test("parses every standard form of events alike, whatever the size of the chunks", async () => {
    // Given events in every form that the standard allows, when they come in pieces of any size, then they are the same
    // events.
    const text = [
      ": a remark\n",
      'id: 1\nevent: approval.request\ndata: {"a":"ü€😀"}\n\n',
      "event:ping\n\n",
      "data\r\ndata:  two\r\ndata: three: 3\r\n\r\n",
      "retry: 5\n\n\n",
      "event: cut\ndata: off",
    ].join("");
    const expected = [
      { id: "1", event: "approval.request", data: '{"a":"ü€😀"}' },
      { id: null, event: "ping", data: "" },
      { id: null, event: "message", data: "\n two\nthree: 3" },
    ];
    for (const pieceBytes of [1, 2, 3, 7, 1000]) assert.deepEqual(await eventsOf(text, pieceBytes), expected);
  });

  for (const [what, piece] of [
    ["a line that never ends", "x"],
    ["an event that never ends", "data: more\n"],
    ["a field that nobody knows and that never ends", `${"y".repeat(100)}\n`],
  ] as const) {
    test(`given ${what}, when it is read, then it is given up after a bounded part of it`, async () => {
      const given = { count: 0 };
      await assert.rejects(all(readEvents(endless(piece, given), charsMax)), EventTooLong);
      assert.ok(given.count * piece.length <= charsMax * 2, `${given.count} pieces were read`);
    });
  }

  test("given a reader who stops, when it stops, then the source is let go of", async () => {
    let isLetGo = false;
    async function* source() {
      try {
        yield* endless("data: x\n\n", { count: 0 });
      } finally {
        isLetGo = true;
      }
    }
    for await (const { data } of readEvents(source(), charsMax)) {
      assert.equal(data, "x");
      break;
    }
    assert.ok(isLetGo);
  });
});
