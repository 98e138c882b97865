/** What a conversation costs on disk, measured on the database file of a real server after it was stopped. */

import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Client, userMessage } from "./support/client.ts";
import { assertRebuildable } from "./support/log.ts";
import { startServer, temporaryDirectory } from "./support/server.ts";

const turns = 100;
const messageBytes = 20_000;

/** Text of this length that is like no other and cannot be made smaller. */
function textOf(turn: number, bytes: number): string {
  const words: string[] = [];
  let state = turn + 1;
  for (let length = 0; length < bytes; length += 8) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    words.push(state.toString(16).padStart(8, "0"));
  }
  return words.join("").slice(0, bytes);
}

/** Sends each text as a task of one session, one after the other, and gives by how many bytes the database grew. */
async function grownBy(data: string, sessionId: string | null, texts: string[]): Promise<Grown> {
  const file = join(data, "bridle.db");
  await using server = await startServer({ data });
  const client = new Client(server);
  const session = sessionId ?? (await client.createSession()).id;
  const before = (await stat(file)).size;
  for (const text of texts) {
    const answer = await client.post(
      "/v1/tasks",
      { session_id: session, input: userMessage(text) },
      { prefer: "wait=30" },
    );
    assert.equal(answer.body.status, "COMPLETED", JSON.stringify(answer.body));
  }
  assert.equal(await server.stop(), 0);
  return { session, bytes: (await stat(file)).size - before };
}

interface Grown {
  session: string;
  bytes: number;
}

function numbered(from: number, count: number): string[] {
  return Array.from({ length: count }, (_, n) => textOf(from + n, messageBytes));
}

test("STO-3 storage grows linearly with a conversation and keeps each text once", async (t) => {
  // Given a conversation, when it becomes twice as long, then the second half costs what the first did and each text is
  // stored once.
  await using directory = await temporaryDirectory();
  const data = directory.path;
  // The first start makes the tables; what is measured starts after it.
  const { session } = await grownBy(data, null, ["hello"]);
  const first = await grownBy(data, session, numbered(0, turns));
  const second = await grownBy(data, session, numbered(turns, turns));

  const sent = turns * messageBytes;
  t.diagnostic(`${sent} bytes sent each time, the database grew by ${first.bytes} and ${second.bytes}`);
  assert.ok(first.bytes > sent, "what was said is in the database");
  assert.ok(second.bytes <= first.bytes * 1.3);
  assert.ok(first.bytes + second.bytes < 2 * sent * 2.2);
  await assertRebuildable(data);
});

test("STO-3 a long text sent and answered 50 times costs about one copy", async (t) => {
  // Given one long text, when it is sent and answered 50 times, then it costs about one copy.
  await using directory = await temporaryDirectory();
  const data = directory.path;
  const times = 50;
  const text = textOf(0, 400_000);
  const { session } = await grownBy(data, null, ["hello"]);
  const short = await grownBy(
    data,
    session,
    Array.from({ length: times }, () => "short"),
  );
  const long = await grownBy(
    data,
    session,
    Array.from({ length: times }, () => text),
  );

  const cost = long.bytes - short.bytes;
  t.diagnostic(`${text.length} bytes ${times} times: ${cost} bytes more than a short text as often`);
  assert.ok(cost > text.length * 0.9 && cost < text.length * 1.5);
});

test("STO-10 a short task takes less than 8 KB, its receipt and all indexes among them", async (t) => {
  await using directory = await temporaryDirectory();
  const data = directory.path;
  const tasks = 40;
  const { session } = await grownBy(data, null, ["hello"]);
  const short = Array.from({ length: tasks }, () => "short");
  const { bytes } = await grownBy(data, session, short);
  t.diagnostic(`${bytes / tasks} bytes a task`);
  assert.ok(bytes / tasks < 8192, `${bytes / tasks} bytes a task`);
});
