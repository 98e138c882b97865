/** Compaction: older turns are folded away, and nothing is lost by it. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { Client, errorOf, isFinal, type Json, userMessage } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import { startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: TestServer;
let client: Client;

before(async () => {
  directory = await temporaryDirectory();
  server = await startServer({ data: directory.path });
  client = new Client(server);
});
after(async () => {
  assert.equal(await server.stop(), 0);
  await assertRebuildable(directory.path);
  await server[Symbol.asyncDispose]();
  await directory[Symbol.asyncDispose]();
});

const compact = (id: string, keep_last: number, body: object = {}) =>
  client.post(`/v1/sessions/${id}/compact`, { keep_last, ...body });

describe("compacting", () => {
  test("CMP-1 a compacted session keeps the last turns and names all the rest", async () => {
    // Given turns with an artifact, when the session is compacted, then the transcript has the last turns and the
    // session names all the rest.
    const { id } = await client.createSession({
      initial_messages: [{ ...userMessage("be kind"), role: "system" }],
    });
    const first = await client.rehearse(id, "artifact a.txt text", "return one");
    await client.rehearse(id, "return two");
    await client.rehearse(id, "return three");
    const before = await client.listAll(`/v1/sessions/${id}/messages`);
    const log = await client.listAll(`/v1/sessions/${id}/events`);

    const { status, body } = await compact(id, 1, { summary: "They counted." });

    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.object, "session.compact_result");
    assert.deepEqual([body.compacted_turn_count, body.kept_turn_count], [2, 1]);
    assert.equal(body.session.summary, "They counted.");
    const [compaction] = body.session.compactions;
    const artifacts = await client.listAll(`/v1/artifacts?task_id=${first.id}`);
    assert.equal(artifacts.length, 1);
    assert.deepEqual(
      compaction.artifact_ids,
      artifacts.map((artifact) => artifact.id),
    );
    assert.deepEqual(await client.texts(id), ["be kind", "return three", "three"]);

    const from = log.findIndex((event) => event.id === compaction.from_event_id);
    const through = log.findIndex((event) => event.id === compaction.through_event_id);
    assert.equal(log[from].payload.message.id, before[1].id, "it begins with the first turn");
    assert.equal(
      log[through + 1].payload.message.id,
      before[5].id,
      "it ends before the first turn that is left",
    );
    assert.equal(compaction.event_count, through - from + 1);
    assert.equal(compaction.message_count, 4);
    for (const message of before) {
      assert.deepEqual((await client.get(`/v1/messages/${message.id}`)).body, message);
    }
    const events = await client.listAll(`/v1/sessions/${id}/events`);
    assert.deepEqual(events.slice(0, log.length), log, "no event went");
    const { compacted_at: _, ...told } = compaction;
    const { event, payload } = events.at(-1);
    assert.equal(event, "session.compacted");
    assert.deepEqual(payload, { ...told, compacted_at: compaction.compacted_at });
    assert.deepEqual((await client.get(`/v1/sessions/${id}`)).body.compactions, body.session.compactions);
  });

  test("CMP-1 given no summary, when a session is compacted, then a sentence says how much it was", async () => {
    const { id } = await client.sessionWithTurns("a", "b");
    const { body } = await compact(id, 1);
    assert.equal(body.session.summary, "1 earlier turn with 2 messages and 0 artifacts.");
  });

  test("CMP-1 given nothing to fold away, when a session is compacted, then nothing is recorded", async () => {
    const { id } = await client.sessionWithTurns("a");
    for (const keep of [1, 5]) {
      const { body } = await compact(id, keep);
      assert.deepEqual([body.compacted_turn_count, body.kept_turn_count], [0, 1]);
      assert.deepEqual(body.session.compactions, []);
    }
    const events = await client.listAll(`/v1/sessions/${id}/events`);
    assert.ok(!events.some(({ event }) => event === "session.compacted"));
  });

  test("CMP-1 compaction refuses a key without the scope, a closed session and bad numbers", async () => {
    // Given a key that may not write sessions, a closed session and bad numbers, when compaction is asked for, then it
    // is refused.
    const { id } = await client.sessionWithTurns("a");
    const reader = await client.withScopes("sessions:read");
    errorOf(await reader.post(`/v1/sessions/${id}/compact`, { keep_last: 0 }), 403);
    for (const keep of [-1, 1.5, "1", null]) {
      assert.equal(
        errorOf(await client.post(`/v1/sessions/${id}/compact`, { keep_last: keep }), 400).param,
        "keep_last",
      );
    }
    assert.equal(errorOf(await compact(id, 0, { summary: "" }), 400).param, "summary");
    await client.post(`/v1/sessions/${id}/close`);
    errorOf(await compact(id, 0), 409);
    const stranger = client.as((await client.createKey({ tenant_id: "tenant_stranger" })).key);
    errorOf(await stranger.post(`/v1/sessions/${id}/compact`, { keep_last: 0 }), 404);
  });

  test("CMP-1 a page cursor from before the compaction continues with what is left", async () => {
    // Given a compacted session, when a message is asked for with a page in hand, then the walk goes on with what is
    // left.
    const { id } = await client.sessionWithTurns("a", "b", "c");
    const { body: page } = await client.get(`/v1/sessions/${id}/messages?limit=1`);
    await compact(id, 1);
    const { body: rest } = await client.get(`/v1/sessions/${id}/messages?cursor=${page.page.next_cursor}`);
    assert.deepEqual(
      rest.data.map(({ parts }: Json) => parts[0].text),
      ["c", "c"],
    );
  });
});

describe("what still runs", () => {
  test("CMP-2 compaction stops before the turn of a waiting task, which then completes", async () => {
    // Given a task that waits in the second of three turns, when all is to be compacted, then only the first turn goes
    // and the task ends well.
    const { id } = await client.sessionWithTurns("a");
    const waiting = await client.rehearse(id, "ask who?", "return thanks");
    await client.append(id, "third");
    const { body } = await compact(id, 0);
    assert.deepEqual([body.compacted_turn_count, body.kept_turn_count], [1, 2]);
    await client.answer(waiting.id, "me");
    const ended = await client.untilTask(waiting.id, isFinal);
    assert.equal(ended.status, "COMPLETED");
    assert.equal((await compact(id, 0)).body.kept_turn_count, 0);
    assert.deepEqual(await client.texts(id), []);
  });

  test("CMP-2 tasks submitted during compactions leave every turn kept or folded, once", async () => {
    // Given tasks that are submitted while a session is compacted again and again, when all is over, then every turn is
    // either left or folded away, once.
    const { id } = await client.createSession();
    const texts = Array.from({ length: 30 }, (_, index) => `t${index}`);
    const submitted = Promise.all(texts.map((text) => client.submit(id, text)));
    const compacted: Json[] = [];
    for (let round = 0; round < 10; round++) compacted.push(await compact(id, 1));
    for (const task of await submitted) {
      assert.equal((await client.untilTask(task.id, isFinal)).status, "COMPLETED");
    }
    for (const { status, body } of compacted) assert.equal(status, 200, JSON.stringify(body));
    const { body } = await client.get(`/v1/sessions/${id}`);
    const folded = body.compactions.reduce((sum: number, { message_count }: Json) => sum + message_count, 0);
    assert.equal(folded + (await client.texts(id)).length, 60);
  });
});

// A model: what a session shows, each message with the event it came by, and what was folded away of it.
interface Said {
  text: string;
  role: string;
  event: string;
}
interface Model {
  id: string;
  shown: Said[];
  folded: { said: Said[]; through: string }[];
}

function turnStarts(said: Said[]): number[] {
  return said.flatMap(({ role }, index) => (role === "user" ? [index] : []));
}

type Step =
  | { do: "say"; role: "user" | "assistant" | "system" }
  | { do: "compact" | "truncate"; keep: number }
  | { do: "fork"; back: number };

const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("say" as const),
      role: fc.constantFrom("user", "assistant", "system"),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("compact" as const), keep: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("truncate" as const), keep: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("fork" as const), back: fc.nat(8) }) },
);

async function eventOf(id: string, message: Json): Promise<string> {
  const events = await client.listAll(`/v1/sessions/${id}/events`);
  return events.find(({ payload }) => payload.message?.id === message.id).id;
}

const moves = {
  async say(model: Model, role: string, text: string) {
    const message = await client.append(model.id, text, role);
    model.shown.push({ text, role, event: await eventOf(model.id, message) });
  },
  async compact(model: Model, keep: number) {
    const starts = turnStarts(model.shown);
    const { body } = await compact(model.id, keep);
    const going = Math.max(0, starts.length - keep);
    assert.equal(body.compacted_turn_count, going);
    if (going === 0) return;
    const [first = 0] = starts;
    const end = starts[going] ?? model.shown.length;
    const through = body.session.compactions.at(-1).through_event_id;
    model.folded.push({ said: model.shown.splice(first, end - first), through });
  },
  async truncate(model: Model, keep: number) {
    const { status } = await client.post(`/v1/sessions/${model.id}/truncate`, { keep_first: keep });
    assert.equal(status, 200);
    const end = turnStarts(model.shown)[keep];
    if (end !== undefined) model.shown.length = end;
  },
  /** From an event of this very session: what it shows up to there, with what was folded away across it. */
  async fork(model: Model, back: number): Promise<Model | null> {
    const own = (await client.listAll(`/v1/sessions/${model.id}/events`)).map((event) => event.id);
    const at = own.at(-1 - back);
    if (at === undefined) return null;
    const { status, body } = await client.post(`/v1/sessions/${model.id}/fork`, { at_event_id: at });
    assert.equal(status, 201, JSON.stringify(body));
    const until = (said: Said[]) => said.filter(({ event }) => event <= at);
    const isOver = ({ through }: Model["folded"][number]) => through <= at;
    const unfolded = model.folded.filter((fold) => !isOver(fold)).flatMap(({ said }) => said);
    const shown = until([...model.shown, ...unfolded]).sort((a, b) => (a.event < b.event ? -1 : 1));
    return { id: body.id, shown, folded: model.folded.filter(isOver) };
  },
};

test("CMP-3 any mix of messages, compactions, truncations and forks matches a simple model", async () => {
  // Given any order of messages, compactions, truncations and forks, when the transcripts are read, then they are those
  // of a simple model.
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 5, maxLength: 25 }), async (script) => {
      const { id } = await client.createSession();
      const models: Model[] = [{ id, shown: [], folded: [] }];
      for (const [index, step] of script.entries()) {
        const model = models.at(-1);
        assert.ok(model !== undefined);
        if (step.do === "say") await moves.say(model, step.role, `m${index}`);
        else if (step.do === "fork")
          models.push(...[await moves.fork(model, step.back)].filter((made) => made !== null));
        else await moves[step.do](model, step.keep);
      }
      for (const { id: session, shown } of models) {
        assert.deepEqual(
          await client.texts(session),
          shown.map(({ text }) => text),
        );
      }
    }),
    { numRuns: 15 },
  );
});
