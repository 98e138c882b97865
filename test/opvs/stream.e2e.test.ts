/** Streams: their shape, their order, their end, and that nobody's stream is anybody else's business. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { Client, type Json, until } from "../support/client.ts";
import type { TestServer } from "../support/server.ts";
import { cancel, follow, get, play, rehearsal, reply, script, sleepLong, stateOf } from "./play.ts";
import { everyBinding, message, type Stream, type Wire } from "./wire.ts";

const terminal = new Set(["COMPLETED", "FAILED", "CANCELED", "REJECTED"].map((name) => `TASK_STATE_${name}`));

/** The task first, then only updates about it, exactly one thing an event, and nothing after the end. */
function assertLifecycle(events: Json[]): void {
  const [first, ...updates] = events;
  assert.deepEqual(Object.keys(first), ["task"]);
  const { id, contextId } = first.task;
  for (const event of updates) {
    const [[name, update]] = Object.entries<Json>(event) as [[string, Json]];
    assert.equal(Object.keys(event).length, 1);
    assert.match(name, /^(statusUpdate|artifactUpdate)$/);
    assert.deepEqual([update.taskId, update.contextId], [id, contextId]);
  }
  const ends = events.map((event) => terminal.has(stateOf(event)));
  assert.equal(ends.indexOf(true), events.length - 1, "it ends when the task does, and not before");
}

async function sendAndFollow(wire: Wire, ...lines: string[]): Promise<Stream> {
  const stream = await wire.stream("SendStreamingMessage", { message: script(...lines) }, rehearsal);
  assert.equal(stream.error, null);
  return stream;
}

/** The events up to the first that says this. */
async function readUntil(stream: Stream, says: (event: Json) => boolean): Promise<Json[]> {
  const events: Json[] = [];
  while (true) {
    const event = await stream.next();
    assert.notEqual(event, undefined, "the stream ended early");
    events.push(event);
    if (says(event)) return events;
  }
}

const saidIn = ({ statusUpdate }: Json): string | undefined => statusUpdate?.status.message?.parts[0].text;

async function residentMb({ pid }: TestServer): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}

everyBinding("streams", (onEveryBinding) => {
  onEveryBinding("OPVS-7 a streamed answer that is a message is the only event", async (wire) => {
    // Given an agent that answers with a message, when one is streamed to it, then that message is the only event.
    await using stream = await wire.stream(
      "SendStreamingMessage",
      { message: message("hello") },
      { agent: "messenger" },
    );
    const [event, ...more] = await stream.rest();
    assert.deepEqual([Object.keys(event), more], [["message"], []]);
    assert.deepEqual(event.message.parts, [{ text: "You said hello" }]);
  });

  onEveryBinding("OPVS-8 OPVS-9 OPVS-10 OPVS-12 first the task, then updates until its end", async (wire) => {
    // Given scripts that end in every way, when they are streamed, then the task comes first, then updates alone, and
    // the end closes the stream.
    for (const [line, state] of [
      ["return fine", "COMPLETED"],
      ["fail no luck", "FAILED"],
      ["reject not my work", "REJECTED"],
    ] as const) {
      await using stream = await sendAndFollow(wire, "say one", "artifact a.txt A", "stream 3", line);
      const events = await stream.rest();
      assertLifecycle(events);
      assert.equal(stateOf(events.at(-1)), `TASK_STATE_${state}`);
      assert.ok(events.some((event) => saidIn(event) === "one"));
      const chunks = events.flatMap(({ artifactUpdate }) =>
        artifactUpdate?.artifact.name === "stream-3.txt" ? [artifactUpdate] : [],
      );
      assert.deepEqual(
        chunks.map(({ artifact, append, lastChunk }) => [artifact.parts[0].text, append, lastChunk]),
        [
          ["chunk 1 of 3\n", undefined, undefined],
          ["chunk 2 of 3\n", true, undefined],
          ["chunk 3 of 3\n", true, undefined],
          ["", true, true],
        ],
      );
    }
  });

  onEveryBinding("OPVS-10 OPVS-28 a cancel ends both streams of the task", async (wire) => {
    // Given two streams of a task, when it is canceled, then both end with that.
    await using sent = await sendAndFollow(wire, "say here", sleepLong);
    const [first] = await readUntil(sent, (event) => saidIn(event) === "here");
    const [subscribed] = await follow(wire, first.task);
    await using _ = subscribed;
    await cancel(wire, first.task);
    for (const stream of [sent, subscribed]) {
      assert.equal(stateOf((await stream.rest()).at(-1)), "TASK_STATE_CANCELED");
    }
  });

  onEveryBinding("OPVS-11 what work says is on the stream while it still works", async (wire) => {
    // Given work that says something and goes on, when it is streamed, then what it said is there while it still works.
    await using stream = await sendAndFollow(wire, "say early", "artifact a.txt A", sleepLong);
    const events = await readUntil(stream, ({ artifactUpdate }) => artifactUpdate !== undefined);
    assert.ok(events.some((event) => saidIn(event) === "early"));
    const task = await get(wire, events[0].task);
    assert.equal(task.status.state, "TASK_STATE_WORKING");
    await cancel(wire, task);
  });

  onEveryBinding("OPVS-27 OPVS-28 a subscription begins with the task and ends with it", async (wire) => {
    // Given a task that waits, when somebody subscribes, then the task as it is comes first, and the end of the task
    // ends the stream.
    const task = await play(wire, "artifact a.txt A", "ask which?", "return done");
    const [stream, first] = await follow(wire, task);
    await using _ = stream;
    assert.deepEqual(first, await get(wire, task));
    assert.equal(first.status.state, "TASK_STATE_INPUT_REQUIRED");
    await wire.call("SendMessage", { message: reply(task, "this") });
    const rest = await stream.rest();
    assertLifecycle([{ task: first }, ...rest]);
    assert.equal(stateOf(rest.at(-1)), "TASK_STATE_COMPLETED");
    assert.ok(rest.some((event) => saidIn(event) === "You said: this"));
  });

  onEveryBinding("OPVS-29 OPVS-30 subscribing to an ended task or none is refused", async (wire) => {
    // Given a task that has ended and one that never was, when somebody subscribes, then it is UnsupportedOperation and
    // TaskNotFound.
    for (const line of ["return x", "fail x", "reject x"]) {
      const { id } = await play(wire, line);
      const { error } = await wire.stream("SubscribeToTask", { id });
      assert.equal(error?.reason, "UNSUPPORTED_OPERATION");
    }
    for (const id of ["task_none", "no/such:subscribe", "%"]) {
      const { error } = await wire.stream("SubscribeToTask", { id });
      assert.equal(error?.reason, "TASK_NOT_FOUND", id);
    }
  });

  onEveryBinding("OPVS-42 an agent that does not stream refuses streams and subscriptions", async (wire) => {
    // Given an agent that does not stream, when something is streamed to it or subscribed to, then it is
    // UnsupportedOperation and nothing is made.
    const to = { agent: "plain" };
    const contextId = `no stream ${crypto.randomUUID()}`;
    const sent = await wire.call("SendMessage", { message: message("x") }, to);
    for (const { error } of [
      await wire.stream("SendStreamingMessage", { message: message("x", { contextId }) }, to),
      await wire.stream("SubscribeToTask", { id: sent.result.task.id }, to),
      await wire.stream("SubscribeToTask", { id: "task_none" }, to),
    ]) {
      assert.equal(error?.reason, "UNSUPPORTED_OPERATION");
    }
    assert.equal((await wire.call("ListTasks", { contextId })).result.totalSize, 0);
  });

  onEveryBinding(
    "OPVS-61 OPVS-62 OPVS-63 every one of many streams gets all events in order",
    async (wire, { wires }) => {
      // Given many streams of one task over all bindings, when the run makes events quickly, then each gets every one of
      // them, all in the order in which they were made.
      const says = Array.from({ length: 40 }, (_, n) => `say ${n}`);
      const task = await play(wire, "ask go?", "stream 300", ...says);
      const streams = await Promise.all(
        [...wires, ...wires, ...wires].map(async (each) => (await follow(each, task))[0]),
      );
      await wire.call("SendMessage", {
        message: reply(task, "go"),
        configuration: { returnImmediately: true },
      });
      const [one, ...others] = await Promise.all(streams.map((stream) => stream.rest()));
      assert(one !== undefined);
      for (const other of others) assert.deepEqual(other, one);
      const pieces = one.flatMap(({ artifactUpdate }) => artifactUpdate?.artifact.parts[0].text ?? []);
      assert.deepEqual(
        pieces.slice(0, 300),
        Array.from({ length: 300 }, (_, n) => `chunk ${n + 1} of 300\n`),
      );
      assert.deepEqual(
        one.map(saidIn).filter((text) => /^\d+$/.test(text ?? "")),
        Array.from({ length: 40 }, (_, n) => String(n)),
      );
    },
  );

  onEveryBinding("OPVS-64 OPVS-65 streams that close leave the others and the task alone", async (wire) => {
    // Given streams of one task, when one is closed, and then all are, then the others and the task go on.
    const task = await play(wire, "ask one?", "say between", "ask two?", "return done");
    const [leaving] = await follow(wire, task);
    const [staying] = await follow(wire, task);
    await leaving[Symbol.asyncDispose]();
    await wire.call("SendMessage", { message: reply(task, "1") });
    await readUntil(staying, (event) => saidIn(event) === "two?");
    await staying[Symbol.asyncDispose]();
    const configuration = { returnImmediately: true };
    await wire.call("SendMessage", { message: reply(task, "2"), configuration });
    await until(
      () => get(wire, task),
      ({ status }) => status.state === "TASK_STATE_COMPLETED",
    );
  });

  onEveryBinding("OPVS-65 work goes on when the client of its stream hangs up", async (wire) => {
    // Given a client that hangs up at once, when its message was streamed, then the work is done all the same.
    const stream = await sendAndFollow(wire, "sleep 20", "say on my own", "return done");
    const { task } = await stream.next();
    await stream[Symbol.asyncDispose]();
    const ended = await until(
      () => get(wire, task),
      ({ status }) => status.state === "TASK_STATE_COMPLETED",
    );
    assert.equal(ended.artifacts[0].parts[0].text, "done");
  });

  onEveryBinding(
    "SCO-1 a caller that may only read tasks is told where they stand alone",
    async (wire, { server }) => {
      // Given a caller that may read tasks and neither messages nor artifacts, when it sends, streams and follows, then
      // it is told where tasks stand and nothing of what they say or make.
      const { key } = await new Client(server).withScopes("tasks:read", "tasks:write");
      const lines = ["say hidden", "artifact a.txt hidden", "stream 2", "return hidden"];
      await using sent = await wire.stream(
        "SendStreamingMessage",
        { message: script(...lines) },
        { ...rehearsal, key },
      );
      const task = await play(wire, "ask go?", ...lines);
      const [followed, first] = await follow(wire, task, { key });
      await wire.call("SendMessage", { message: reply(task, "now") });
      const events = [...(await sent.rest()), { task: first }, ...(await followed.rest())];
      assert.ok(!/hidden|chunk/.test(JSON.stringify(events)));
      assert.equal(stateOf(events.at(-1)), "TASK_STATE_COMPLETED");
    },
  );

  onEveryBinding(
    "OPVS-64 clients that do not read 15 MB each cost the server no memory",
    async (wire, { server }) => {
      // Given clients that open a stream and do not read, when 15 MB come for each, then the server does not hold it for
      // them and others get all of it.
      await readTorrent(wire, 0);
      const before = await residentMb(server);
      await readTorrent(wire, 10);
      const after = await residentMb(server);
      // Held for them it would be 150 MB; what the collector has not come to yet is less than that.
      assert.ok(after - before < 110, `grew from ${before} MB to ${after} MB`);
    },
  );
});

/** Reads everything that a run writes, beside streams that nobody reads. */
async function readTorrent(wire: Wire, idleCount: number): Promise<void> {
  await using idle = new AsyncDisposableStack();
  const asked = await wire.call("SendMessage", { message: message("Write.") }, { agent: "torrent" });
  const { id } = asked.result.task;
  for (let n = 0; n < idleCount; n++) {
    const stream = idle.use(await wire.stream("SubscribeToTask", { id }));
    assert.equal(stream.error, null);
  }
  const configuration = { returnImmediately: true };
  await using reading = await wire.stream("SubscribeToTask", { id });
  await wire.call("SendMessage", { message: reply({ id }, "150"), configuration });
  let characters = 0;
  for (let event = await reading.next(); event !== undefined; event = await reading.next()) {
    const { task, artifactUpdate } = event;
    for (const { parts } of artifactUpdate ? [artifactUpdate.artifact] : (task?.artifacts ?? [])) {
      characters += parts[0].text.length;
    }
  }
  assert.equal(characters, 150 * 100_000);
}
