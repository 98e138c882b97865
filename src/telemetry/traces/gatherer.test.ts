/** What becomes spans, of tasks that are remembered and of those that are not. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { settingsOf, TracedStage } from "../../../test/support/traced-stage.ts";
import { asRecorded, type RecordedEvent } from "../../kernel/core/events.ts";
import type { Tracing } from "../../kernel/core/trace.ts";
import { defineAgent } from "../../runtime/agents/agent.ts";
import { ContentReader } from "./content.ts";
import { Gatherer } from "./gatherer.ts";
import { Otel } from "./otel.ts";
import type { SpanFacts } from "./span.ts";

const minute = 60_000;
/** Of an event that is in no log. */
const unplaced = { sequence: 1, previous: null };

const patient = defineAgent({
  name: "patient",
  version: "1.0.0",
  run: async (ctx) => {
    await ctx.sleep(10 * minute);
    await ctx.approve({ action: "publish", payload: {}, risk: "high" });
    return await ctx.step("work", () => "done");
  },
});

const all: Tracing = { isSampled: () => true };

function gathererFor({ kernel }: TracedStage, tracing = all, seenAt = 0): Gatherer {
  const { store, redactor, searchTexts } = kernel;
  return new Gatherer({
    kernel,
    tracing,
    readerFor: (tenantId) =>
      new ContentReader({ source: store.of(tenantId), redactor, searchTexts, isWanted: false }),
    seenAt,
  });
}

async function logOf({ kernel }: TracedStage): Promise<RecordedEvent[]> {
  return (await kernel.store.events({ after: 0, limit: 1000 })).map(asRecorded);
}

async function spansOf(gatherer: Gatherer, events: readonly RecordedEvent[]): Promise<SpanFacts[]> {
  const spans: SpanFacts[] = [];
  for (const event of events) spans.push(...(await gatherer.take(event)));
  return spans;
}

test("TRC-3 sleeps, approvals and steps each become a named span from start to end", async () => {
  // Given a task that sleeps, waits for an approval and works, when it has ended, then each is a span of its name, from
  // its beginning to its end.
  await using world = await TracedStage.begin([patient]);
  const began = world.stage.clock.now();
  const decide = () => {
    world.pass(3 * minute);
    return true;
  };
  await world.run("patient", { approvals: decide });
  const spans = await spansOf(gathererFor(world), await logOf(world));
  const times = spans.map(({ name, startedAt, endedAt }) => [
    name,
    (Date.parse(startedAt) - began) / minute,
    (Date.parse(endedAt) - began) / minute,
  ]);
  assert.deepEqual(times, [
    ["sleep", 0, 10],
    ["approve", 10, 13],
    ["step work", 13, 13],
    ["invoke_agent patient", 0, 13],
  ]);
  assert.equal(spans[1]?.attributes["bridle.approved"], true);
});

test("TRC-3, TRC-13 a hand-off span names the server and nothing else of the address", async () => {
  // Given a hand-off, when it has ended, then its span says which server was asked, and nothing else of the address.
  await using world = await TracedStage.begin([patient]);
  const taskId = await world.run("patient", { approvals: [true] });
  const log = await logOf(world);
  const [sample] = log.filter((event) => event.event === "span.started");
  assert.ok(sample !== undefined);
  const about = {
    step: "handoff:1",
    kind: "handoff",
    name: "https://user:hunter22@remote.example:8443/a?key=hidden",
  };
  // A remote agent is a server; here it is only what the log says of it.
  const at = (ms: number) => new Date(world.stage.clock.now() + ms).toISOString();
  const begun = asRecorded({ ...sample, ...unplaced, payload: about, createdAt: at(0) });
  const ended = asRecorded({
    ...{ ...sample, ...unplaced },
    ...{ event: "span.completed", payload: { ...about, result: { output: { inline: null } } } },
    createdAt: at(5000),
  });
  const gatherer = gathererFor(world);
  await spansOf(
    gatherer,
    log.filter(({ event }) => event === "task.submitted"),
  );
  world.pass(5000);
  const [span, ...more] = await spansOf(gatherer, [begun, ended]);
  assert.deepEqual(more, []);
  assert.equal(span?.name, "invoke_agent");
  assert.equal(span.kind, "client");
  assert.equal(span.attributes["server.address"], "remote.example");
  assert.equal(span.attributes["server.port"], 8443);
  assert.equal(span.attributes["bridle.task.id"], taskId);
  assert.equal(Date.parse(span.endedAt) - Date.parse(span.startedAt), 5000);
  assert.doesNotMatch(JSON.stringify(span), /hunter22|hidden/);
});

test("TRC-9 a step whose start was evicted from memory still gets a complete span", async () => {
  // Given more tasks than are remembered, when a step ends whose beginning was forgotten, then its span is whole.
  await using world = await TracedStage.begin([patient]);
  await world.run("patient", { approvals: [true] });
  const log = await logOf(world);
  const gatherer = gathererFor(world);
  const asleep = log.findIndex((event) => event.event === "span.started") + 1;
  assert.deepEqual(await spansOf(gatherer, log.slice(0, asleep)), []);
  const submitted = log.find((event) => event.event === "task.submitted");
  assert.ok(submitted?.event === "task.submitted");
  for (let n = 0; n < 2000; n++) {
    const id = `task_other_${n}`;
    const task = { ...submitted.payload.task, id };
    await gatherer.take(asRecorded({ ...submitted, ...unplaced, taskId: id, payload: { task } }));
  }
  let reads = 0;
  const { store } = world.kernel;
  const { of } = store;
  store.of = (tenantId) => {
    reads += 1;
    return of(tenantId);
  };
  const spans = await spansOf(gatherer, log.slice(asleep));
  assert.ok(reads > 0, "it was forgotten, and read again");
  assert.deepEqual(spans, await spansOf(gathererFor(world), log));
  assert.equal(spans[0]?.name, "sleep");
});

test("TRC-16 does not trace an imported session's old events, only what happens here", async () => {
  // Given a session that was imported, when its old events are in the log, then they are not traced, and what happens
  // here is.
  await using world = await TracedStage.begin([patient]);
  await world.run("patient", { approvals: [true] });
  const imported = await logOf(world);
  world.pass(30 * minute);
  const seenAt = world.stage.clock.now();
  await world.run("patient", { approvals: [true] });
  const own = (await logOf(world)).slice(imported.length);
  const gatherer = gathererFor(world, all, seenAt);
  assert.deepEqual(await spansOf(gatherer, imported), []);
  assert.equal((await spansOf(gatherer, own)).length, 4);
});

test("TRC-8 a ratio sampler keeps or drops each trace as a whole, as it decided at first", async () => {
  // Given a sampler that takes a part, when tasks are traced, then each trace is there as a whole or not at all, as the
  // sampler said when it was asked before.
  await using world = await TracedStage.begin([patient]);
  const env = { OTEL_TRACES_EXPORTER: "console", OTEL_TRACES_SAMPLER_ARG: "0.5" };
  const tasks: string[] = [];
  for (let n = 0; n < 32; n++) tasks.push(await world.run("patient", { approvals: [true] }));
  const log = await logOf(world);
  for (const name of ["traceidratio", "parentbased_traceidratio"]) {
    const otel = new Otel(settingsOf({ ...env, OTEL_TRACES_SAMPLER: name }), "1.0.0");
    const counts = new Map(tasks.map((task) => [task, 0]));
    for (const { attributes, traceId } of await spansOf(gathererFor(world, otel), log)) {
      const task = String(attributes["bridle.task.id"]);
      counts.set(task, (counts.get(task) ?? 0) + 1);
      assert.ok(otel.isSampled(traceId, null));
    }
    assert.deepEqual(
      [...new Set(counts.values())].filter((count) => count !== 0 && count !== 4),
      [],
    );
    // Ids are new each time, but there are enough of them.
    assert.equal(new Set(counts.values()).size, 2, "some are there, some are not");
  }
});
