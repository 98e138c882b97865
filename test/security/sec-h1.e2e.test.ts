/** SEC-H1: a log must not smuggle in a task that runs. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Attack, foreignLog, startAttack } from "../support/attack.ts";
import { errorOf, type Json } from "../support/client.ts";
import { importInto, type Log } from "../support/exported-log.ts";

let attack: Attack;
before(async () => {
  attack = await startAttack();
});
after(() => attack[Symbol.asyncDispose]());

const mark = { is_copy: true, source_task_id: "task_x", mode: "exact", original_event_id: null };

function eventsOfTask(log: Log): Json[] {
  const taskId = log.event("task.submitted").resource.id;
  return log.events.filter(({ task_id }) => task_id === taskId);
}

const smuggled: Record<string, (log: Log) => void> = {
  "an end that is a copy": (log) => {
    log.event("task.completed").replay = mark;
  },
  "all but its beginning copied": (log) => {
    for (const event of eventsOfTask(log)) if (event.event !== "task.submitted") event.replay = mark;
  },
  "an end that is a copy, in a task that claims to be a replay": (log) => {
    const { task } = log.event("task.submitted").payload;
    task.replay = {
      ...{ source_task_id: task.id, mode: "exact", substitutions: { inline: {} }, secret_overrides: {} },
      ...{ checkpoint: null, allow_live: ["step"], reason: null, segment: "x" },
    };
    log.event("task.completed").replay = mark;
  },
  "an end that is a copy, in a task that claims to be a retry": (log) => {
    const { task } = log.event("task.submitted").payload;
    task.retry_of = { task_id: task.id, first_task_id: task.id, from_step: null };
    log.event("task.completed").replay = mark;
  },
  "no end": (log) => log.remove(log.event("task.completed")),
  "a status that is none": (log) => {
    log.event("task.submitted").payload.task.status = "RUNNING";
  },
};

for (const [what, change] of Object.entries(smuggled)) {
  test(`SEC-H1 a task with ${what} is not imported and never runs`, async () => {
    const { attacker } = attack;
    const log = await foreignLog(attack);
    change(log);
    errorOf(await importInto(attacker, log.text()), 400);
    errorOf(await attacker.get(`/v1/tasks/${log.event("task.submitted").resource.id}`), 404);
  });
}

test("SEC-H1 an imported task counts against no quota, says who brought it, and runs nothing live", async () => {
  const { attacker } = attack;
  const log = await foreignLog(attack, "say hello", "return done");
  const { task } = log.event("task.submitted").payload;
  task.quota_ids = ["quota_of_somebody"];
  const { status, body } = await importInto(attacker, log.text());
  assert.equal(status, 201, JSON.stringify(body));
  const { body: imported } = await attacker.get(`/v1/tasks/${task.id}`);
  assert.equal(imported.imported.by, (await attacker.get(`/v1/sessions/${body.id}`)).body.imported.by);
  const events = await attacker.listAll(`/v1/events?task_id=${task.id}`);
  assert.ok(events.length > 0);
  for (const event of events) assert.deepEqual(event.imported, imported.imported);
  const live = { mode: "with_overrides", metadata: { allow_live: ["step"] } };
  errorOf(await attacker.post(`/v1/tasks/${task.id}/replay`, live), 422);
});
