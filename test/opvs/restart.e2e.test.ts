/** What clients hold in their hands when the server stops, is killed, and comes back. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { durableCursorUri } from "../../src/kernel/core/extension-uris.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { type Json, until } from "../support/client.ts";
import { readWholeLog } from "../support/log.ts";
import { startProcess, type TestProcess, temporaryDirectory } from "../support/server.ts";
import { play, rehearsal, reply, script, stateOf } from "./play.ts";
import { message, opvsServer, type Wire, wiresOf } from "./wire.ts";

const start = (data: string): Promise<TestProcess> => startProcess({ script: opvsServer, data });

const trace = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", tracestate: "a=1" };

async function onEach<T>(server: TestProcess, run: (wire: Wire, n: number) => Promise<T>): Promise<T[]> {
  return await Promise.all(wiresOf(server).map(run));
}

async function tasksIn(wire: Wire, contextId: string): Promise<Json[]> {
  return (await wire.call("ListTasks", { contextId })).result.tasks;
}

test("DED-1, DED-4, TRC-3 clients resend after a restart and get the same tasks and traces", async () => {
  // Given clients that wait for answers and follow streams, when the server stops and comes back, then they are told to
  // send the same again, and get the same tasks, which are still in their traces.
  await using directory = await temporaryDirectory();
  await using before = await start(directory.path);
  // Ends some time after the server is back, by the clock and not by how long it was up.
  const requests = wiresOf(before).map(({ name }) => ({
    message: { ...script("sleep 6000", "return done"), contextId: `waiting ${name}` },
  }));
  const to = { ...rehearsal, headers: trace };
  const blocked = onEach(before, (wire, n) => wire.call("SendMessage", requests[n], to));
  const ended = await onEach(before, async (wire) => {
    const said = { message: message(`ended ${wire.name}`) };
    return { said, task: (await wire.call("SendMessage", said)).result.task };
  });
  const [first] = wiresOf(before);
  assert(first !== undefined);
  const children = await first.call(
    "SendMessage",
    { message: message("go") },
    { agent: "delegator", headers: trace },
  );
  const running = await onEach(before, async (wire) => {
    const [task] = await until(
      () => tasksIn(wire, `waiting ${wire.name}`),
      (tasks) => tasks.length === 1,
    );
    const stream = await wire.stream("SubscribeToTask", { id: task.id });
    return { task, broken: assert.rejects(stream.rest(), /stopping/) };
  });
  await before.stop();

  for (const { broken } of running) await broken;
  for (const { error } of await blocked) {
    assert.match(error?.message ?? "", /the same message asks for it again/);
    assert.match(error?.status ?? "", /UNAVAILABLE|INTERNAL/);
  }
  await using after = await start(directory.path);
  await onEach(after, async (wire, n) => {
    const again = await wire.call("SendMessage", requests[n], to);
    assert.equal(again.result.task.id, running[n]?.task.id);
    assert.equal(again.result.task.status.state, "TASK_STATE_COMPLETED");
    assert.equal((await tasksIn(wire, `waiting ${wire.name}`)).length, 1);
    const known = await wire.call("SendMessage", ended[n]?.said);
    assert.deepEqual(known.result.task, ended[n]?.task);
  });
  await after.stop();

  const parentId = children.result.task.id;
  const store = await openSqliteStore(directory.path);
  const records = (await readWholeLog(store)).flatMap(({ event, payload }): Json[] =>
    event === "task.submitted" ? [(payload as Json).task] : [],
  );
  const child = records.find(({ parent_task_id }) => parent_task_id === parentId);
  const traceOf = async (id: string) => Object(await store.get("task", id)).body.trace;
  const kept = await Promise.all([...running.map(({ task }) => task.id), parentId].map(traceOf));
  const ofChild = await traceOf(child.id);
  const none = await Promise.all(ended.map(({ task }) => traceOf(task.id)));
  await store.close();
  for (const found of kept) assert.deepEqual(found, trace);
  // It is in the same trace, under the step that spawned it.
  const [, traceId, callerId] = trace.traceparent.split("-");
  assert.match(ofChild.traceparent, new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
  assert.ok(!ofChild.traceparent.includes(callerId));
  assert.equal(ofChild.tracestate, trace.tracestate);
  for (const found of none) assert.equal(found, undefined);
});

test("DCU-3 streams of a repeatedly killed server resume and deliver every event once", async () => {
  // Given streams of a run that makes events quickly, when the server is killed in the middle again and again, then each
  // goes on after its last event and has everything once.
  await using directory = await temporaryDirectory();
  const headers = { "a2a-extensions": durableCursorUri };
  const eventIdOf = ({ task, statusUpdate, artifactUpdate }: Json): string =>
    (task ?? statusUpdate ?? artifactUpdate).metadata[durableCursorUri].eventId;
  const says = Array.from({ length: 300 }, (_, n) => `say ${n}`);
  const held = new Map<string, Json[]>();
  let id = "";
  for (const stopAfter of [20, 120, Number.POSITIVE_INFINITY]) {
    await using server = await start(directory.path);
    const [first] = wiresOf(server);
    assert(first !== undefined);
    const isNew = id === "";
    if (isNew) id = (await play(first, "ask go?", ...says, "return done")).id;
    let opened = 0;
    const followed = onEach(server, async (wire) => {
      const had = held.get(wire.name) ?? [];
      const since = had.length === 0 ? undefined : eventIdOf(had.at(-1));
      held.set(wire.name, had);
      try {
        // The server may die of what another stream has heard, before this one is open or has its first.
        await using stream = await wire.stream(
          "SubscribeToTask",
          { id },
          { headers: { ...headers, "a2a-since": since } },
        );
        const task = await stream.next();
        if (had.length === 0) had.push(task);
        opened++;
        if (isNew && opened === wiresOf(server).length) {
          await first.call("SendMessage", {
            message: reply({ id }, "go"),
            configuration: { returnImmediately: true },
          });
        }
        for (let event = await stream.next(); event !== undefined; event = await stream.next()) {
          had.push(event);
          if (had.length === stopAfter) server.process.kill("SIGKILL");
        }
      } catch (error) {
        assert.notEqual(stopAfter, Number.POSITIVE_INFINITY, String(error));
      }
    });
    await followed;
  }
  const [one, ...others] = [...held.values()];
  assert(one !== undefined);
  for (const other of others) assert.deepEqual(other, one);
  assert.equal(stateOf(one.at(-1)), "TASK_STATE_COMPLETED");
  const said = one.flatMap(({ statusUpdate }) => statusUpdate?.status.message?.parts[0].text ?? []);
  assert.deepEqual(
    said.filter((text: string) => /^\d+$/.test(text)),
    says.map((line) => line.slice(4)),
  );
});
