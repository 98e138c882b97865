/** The durable cursor: streams that go on where they were cut, whatever cut them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { durableCursorUri } from "../../src/kernel/core/extension-uris.ts";
import { Client, type Json, until } from "../support/client.ts";
import { startServer, withGrpc } from "../support/server.ts";
import { begin, cancel, get, play, rehearsal, reply, script, sleepLong, stateOf } from "./play.ts";
import { type CallOptions, everyBinding, type Stream, type Wire, wiresOf } from "./wire.ts";

/** The extension, perhaps with an event to go on after. */
function cursor(since?: string, more: CallOptions = {}): CallOptions {
  return { ...more, headers: { "a2a-extensions": durableCursorUri, "a2a-since": since } };
}

function metadataOf({ task, statusUpdate, artifactUpdate }: Json): Json {
  return (task ?? statusUpdate ?? artifactUpdate).metadata?.[durableCursorUri];
}

const eventIdOf = (event: Json): string => metadataOf(event)?.eventId;

/** What an event says, wherever it stands in the log. */
function contentOf(event: Json): Json {
  const [[name, update]] = Object.entries<Json>(event) as [[string, Json]];
  const { metadata: _, ...content } = update;
  return { [name]: content };
}

async function subscribe(wire: Wire, id: string, since?: string): Promise<Stream> {
  const stream = await wire.stream("SubscribeToTask", { id }, cursor(since));
  assert.equal(stream.error, null);
  return stream;
}

/** What is said to a client that goes on after the events that it has. */
async function rest(wire: Wire, id: string, had: Json[]): Promise<Json[]> {
  const since = eventIdOf(had.at(-1));
  await using stream = await subscribe(wire, id, since);
  const [first, ...updates] = await stream.rest();
  assert.equal(eventIdOf(first), since);
  assert.deepEqual(Object.keys(first), ["task"]);
  return updates;
}

const busy = ["say one", "artifact a.txt A", "stream 3", "say two", "return done"];

everyBinding("the durable cursor", (onEveryBinding) => {
  onEveryBinding("DCU-1 a stream without the extension is unchanged, also with since", async (wire) => {
    // Given a client that does not ask for it, when it streams, also with since, then nothing is different.
    const sent = { message: script(...busy) };
    await using plain = await wire.stream("SendStreamingMessage", sent, rehearsal);
    const events = await plain.rest();
    for (const event of events) assert.equal(metadataOf(event), undefined);
    assert.equal(plain.headers.get("a2a-extensions"), null);
    const { id } = events[0].task;
    const since = { headers: { "a2a-since": "evt_0000000000000001" } };
    const { error } = await wire.stream("SubscribeToTask", { id }, since);
    assert.equal(error?.reason, "UNSUPPORTED_OPERATION", "an ended task has nothing to follow");
  });

  onEveryBinding("DCU-1 a client that asks gets the place of every event, in order", async (wire) => {
    // Given a client that asks for it, when it streams, then the answer says so and every event names its place, in
    // order.
    await using stream = await wire.stream(
      "SendStreamingMessage",
      { message: script(...busy) },
      cursor(undefined, rehearsal),
    );
    assert.equal(stream.headers.get("a2a-extensions"), durableCursorUri);
    assert.equal(stream.headers.get("opvs-extensions"), durableCursorUri);
    const ids = (await stream.rest()).map(eventIdOf);
    assert.ok(ids.length > 8);
    for (const id of ids) assert.match(id, /^evt_\d{16}$/);
    assert.deepEqual(ids, ids.toSorted());
  });

  onEveryBinding("DCU-2 a stream cut after any event goes on after it and loses nothing", async (wire) => {
    // Given the stream of a task, when it is cut after every one of its events, then going on after the last gives the
    // rest, with nothing lost, also when the task has ended meanwhile.
    await using stream = await wire.stream(
      "SendStreamingMessage",
      { message: script(...busy) },
      cursor(undefined, rehearsal),
    );
    const events = await stream.rest();
    const { id } = events[0].task;
    for (let cut = 1; cut <= events.length; cut++) {
      const after = await rest(wire, id, events.slice(0, cut));
      const again = after.length - (events.length - cut);
      assert.deepEqual(after, events.slice(cut - again), `cut after ${cut}`);
      // The result is told with the end, and only the end names its place.
      if (again !== 0) assert.equal(after[0].artifactUpdate.artifact.artifactId, "result");
      assert.ok(again === 0 || again === 1);
    }
  });

  onEveryBinding("DCU-2 the pieces of a stream cut again and again are the uncut stream", async (wire) => {
    // Given a task that runs, when its stream is cut again and again while it makes events, then all pieces together
    // are what an uncut stream got.
    const lines = Array.from({ length: 60 }, (_, n) => `say ${n}`);
    const { id } = await play(wire, "ask go?", "stream 60", ...lines, "return done");
    await using whole = await subscribe(wire, id);
    const seen: Json[] = [await whole.next()];
    await wire.call("SendMessage", {
      message: reply({ id }, "go"),
      configuration: { returnImmediately: true },
    });
    const pieces = [...seen];
    for (let size = 1; stateOf(pieces.at(-1)) !== "TASK_STATE_COMPLETED"; size = (size % 7) + 1) {
      await using stream = await subscribe(wire, id, eventIdOf(pieces.at(-1)));
      assert.equal(eventIdOf(await stream.next()), eventIdOf(pieces.at(-1)));
      for (let n = 0; n < size; n++) {
        const event = await stream.next();
        if (event === undefined) break;
        if (!pieces.some((had) => isSame(had, event))) pieces.push(event);
      }
    }
    seen.push(...(await whole.rest()));
    assert.deepEqual(pieces.map(contentOf), seen.map(contentOf));
    assert.ok(seen.length > 120);
  });

  onEveryBinding(
    "DCU-2 since works under each of its names; names that disagree are refused",
    async (wire) => {
      // Given since under each of its names, when a subscription has it, then it goes on there; names that disagree are
      // refused.
      const { id } = await play(wire, "say one", "return done");
      await using all = await subscribe(wire, id, "evt_0000000000000001");
      const [first, ...updates] = await all.rest();
      assert.ok(updates.length >= 2, "from before its beginning: all of it");
      for (const name of ["a2a-since", "OPVS-Since"]) {
        const headers = { "opvs-extensions": durableCursorUri, [name]: eventIdOf(updates[0]) };
        await using stream = await wire.stream("SubscribeToTask", { id }, { headers });
        assert.deepEqual((await stream.rest()).slice(1), updates.slice(1));
      }
      const disagreeing = {
        "a2a-extensions": durableCursorUri,
        "a2a-since": eventIdOf(first),
        "opvs-since": eventIdOf(updates[0]),
      };
      const { error } = await wire.stream("SubscribeToTask", { id }, { headers: disagreeing });
      assert.equal(error?.status, "INVALID_ARGUMENT");
    },
  );

  onEveryBinding("DCU-4 going on after what is no event of this server is refused by name", async (wire) => {
    // Given something that is no event of this server, when a subscription goes on after it, then it is refused by name
    // and nothing else is told.
    const task = await begin(wire, sleepLong);
    for (const since of [
      "garbage",
      "evt_1",
      "evt_9999999999999999",
      "-1",
      "evt_00000000000000x1",
      "0".repeat(2000),
    ]) {
      const { error } = await wire.stream("SubscribeToTask", { id: task.id }, cursor(since));
      assert.equal(error?.status, "INVALID_ARGUMENT", since);
      assert.equal(error.details[0].fieldViolations[0].field, "since");
    }
    const { error } = await wire.stream(
      "SubscribeToTask",
      { id: "task_none" },
      cursor("evt_0000000000000001"),
    );
    assert.equal(error?.reason, "TASK_NOT_FOUND");
    await cancel(wire, task);
  });
});

function isSame(one: Json, other: Json): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

test("DCU-4 resuming after an expired event returns the ended task with the gap", async () => {
  // Given an ended task whose events left by age, when subscriptions go on after one of them, then the task as it ended
  // is told with the gap, and plain ones hear what they hear of an ended task.
  await using server = await startServer({ env: withGrpc, config: { retainMs: 1 } });
  const client = new Client(server);
  for (const wire of wiresOf(server)) {
    await using stream = await wire.stream(
      "SendStreamingMessage",
      { message: script("say one", "return done") },
      cursor(undefined, rehearsal),
    );
    const events = await stream.rest();
    const { id } = events[0].task;
    await until(
      async () => {
        await client.post("/v1/retention/sweep", { dry_run: false });
        return (await client.get(`/v1/tasks/${id}`)).body;
      },
      ({ trimmed }) => trimmed !== undefined,
    );
    await using late = await wire.stream("SubscribeToTask", { id }, cursor(eventIdOf(events[1])));
    const [told, ...more] = await late.rest();
    assert.deepEqual(more, []);
    assert.equal(told.task.status.state, "TASK_STATE_COMPLETED");
    assert.deepEqual(metadataOf(told), { gap: true });
    const plain = await wire.stream("SubscribeToTask", { id });
    assert.equal(plain.error?.reason, "UNSUPPORTED_OPERATION");
    assert.equal((await get(wire, { id })).status.state, "TASK_STATE_COMPLETED");
  }
});
