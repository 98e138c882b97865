/** Schedules: one task a tick, whatever happens to the server between two of them. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { nextTick } from "../../src/kernel/schedules/schedules.ts";
import { Client, errorOf, isFinal, type Json, until } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import { createPersona, createQuota, workerServer } from "../support/policy.ts";
import { startProcess, type TestProcess, temporaryDirectory } from "../support/server.ts";

const everySecond = "* * * * * *";

describe("schedules", () => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let server: TestProcess;
  let client: Client;

  const tasksOf = async (scheduleId: string): Promise<Json[]> =>
    (await client.listAll("/v1/tasks")).filter(({ metadata }) => metadata.schedule_id === scheduleId);
  const firedBy = async (scheduleId: string): Promise<Json[]> =>
    (await client.listAll("/v1/events")).filter(
      ({ event, resource }) => event === "vendor.bridle.schedule.fired" && resource?.id === scheduleId,
    );
  const patch = (id: string, body: object) => client.call(`/v1/personas/${id}`, { method: "PATCH", body });

  before(async () => {
    directory = await temporaryDirectory();
    server = await startProcess({ data: directory.path, script: workerServer });
    client = new Client(server);
  });
  after(async () => {
    await server.kill();
    await assertRebuildable(directory.path);
    await directory[Symbol.asyncDispose]();
  });

  test("SCH-1 a schedule creates one task per tick in one session across a kill until stopped", async () => {
    // Given a schedule for every second, when the server is killed and started again, then each tick has one task, in
    // one session, until it is stopped.
    const persona = await createPersona(client, { schedules: [{ cron: everySecond, input: { ops: [] } }] });
    const [{ id }] = persona.schedules;
    await until(
      () => tasksOf(id),
      (tasks) => tasks.length >= 2,
    );
    await server.kill();
    server = await startProcess({ data: directory.path, script: workerServer });
    client = new Client(server);
    const before = (await tasksOf(id)).length;
    await until(
      () => tasksOf(id),
      (tasks) => tasks.length >= before + 2 && tasks.every(isFinal),
    );
    await patch(persona.id, { schedules: [] });
    const tasks = await tasksOf(id);
    const ticks = tasks.map(({ metadata }) => metadata.tick);
    assert.equal(new Set(ticks).size, ticks.length, "no tick has two tasks");
    assert.equal((await firedBy(id)).length, tasks.length, "no tick is without one");
    assert.equal(new Set(tasks.map(({ session_id }) => session_id)).size, 1);
    for (const tick of ticks) assert.match(tick, /\.000Z$/);
  });

  test("SCH-2 ticks refused by a closed session or a used-up quota are recorded, others go on", async () => {
    // Given one schedule whose session is closed and one whose quota is used up, when they are due, then that is
    // recorded and others go on.
    const session = await client.createSession();
    const quota = await createQuota(client, { limits: { tasks: 0 } });
    const closed = await createPersona(client, {
      schedules: [{ cron: everySecond, session_id: session.id }],
    });
    await client.post(`/v1/sessions/${session.id}/close`);
    const limited = await createPersona(client, { quota_id: quota.id, schedules: [{ cron: everySecond }] });
    const healthy = await createPersona(client, { schedules: [{ cron: everySecond }] });
    const refusals = async (persona: Json) =>
      (await firedBy(persona.schedules[0].id)).map(({ payload }) => payload.refused?.code);
    await until(
      () => tasksOf(healthy.schedules[0].id),
      (tasks) => tasks.length >= 2,
    );
    assert.ok(
      (
        await until(
          () => refusals(closed),
          ({ length }) => length >= 2,
        )
      ).every((code) => code === "conflict"),
    );
    assert.ok(
      (
        await until(
          () => refusals(limited),
          ({ length }) => length >= 2,
        )
      ).every((code) => code === "policy_violation"),
    );
    for (const { id } of [closed, limited, healthy]) await patch(id, { schedules: [] });
    assert.match((await client.get(`/v1/quotas/${quota.id}`)).body.exhaustion_reason, /^tasks/);
  });

  test("SCH-3 an invalid schedule is rejected naming the field and creates no persona", async () => {
    // Given schedules that cannot be, when a persona is to have them, then the field is named and no persona made.
    const before = (await client.listAll("/v1/personas")).length;
    for (const [schedule, param] of [
      [{ cron: "now and then" }, "schedules[1].cron"],
      [{ cron: "61 * * * *" }, "schedules[1].cron"],
      [{ cron: everySecond, time_zone: "Mars/Phobos" }, "schedules[1].time_zone"],
    ] as const) {
      const fields = { name: "x", version: "1", entry_workflow: "worker", description: "" };
      const policy = { autonomy_tier: "shadow", receipt_policy: "optional" };
      const schedules = [{ cron: "0 0 * * *" }, schedule];
      const answer = await client.post("/v1/personas", { ...fields, ...policy, schedules });
      assert.equal(errorOf(answer, 400).param, param);
    }
    assert.equal((await client.listAll("/v1/personas")).length, before);
  });

  test("SCH-4 clock changes keep a daily schedule once a day and an hourly one every hour", () => {
    // Given a time zone, when its clocks change, then a daily time comes once a day and an hourly one every hour.
    const ticks = (cron: string, from: string, count: number) => {
      const seen: string[] = [];
      for (let at = Date.parse(from); seen.length < count; at = Date.parse(seen.at(-1) ?? ""))
        seen.push(nextTick({ cron, time_zone: "Europe/Berlin" }, at) ?? assert.fail());
      return seen.map((tick) => tick.slice(5, 16));
    };
    assert.deepEqual(ticks("30 2 * * *", "2026-03-27T12:00:00Z", 3), [
      "03-28T01:30",
      // Half past two does not exist that day.
      "03-29T01:00",
      "03-30T00:30",
    ]);
    assert.deepEqual(ticks("30 2 * * *", "2026-10-24T12:00:00Z", 2), ["10-25T00:30", "10-26T01:30"]);
    assert.deepEqual(ticks("0 * * * *", "2026-10-24T23:30:00Z", 3), [
      "10-25T00:00",
      "10-25T01:00",
      "10-25T02:00",
    ]);
    assert.equal(nextTick({ cron: "0 0 30 2 *" }, 0), null);
  });
});
