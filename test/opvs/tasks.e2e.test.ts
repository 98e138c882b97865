/** Reading tasks and canceling them. */

import assert from "node:assert/strict";
import { Client, type Json } from "../support/client.ts";
import { begin, cancel, get, keyOf, play, sleepLong } from "./play.ts";
import { everyBinding, type Wire } from "./wire.ts";

/** Ids that no task has, some of them made to be taken for something else. */
const strangeIds = ["task_none", "task_none:cancel", "a/b", "%2e%2e%2f", "täsk", "' or 1=1 --", "tasks"];

/** An error without the words that repeat the id. */
async function refusalOf(wire: Wire, operation: string, id: string, key?: string): Promise<Json> {
  const { error } = await wire.call(operation, { id }, key === undefined ? {} : { key });
  assert(error !== undefined, `${operation} of ${id} is refused`);
  const { status, code, reason, message } = error;
  return { status, code, reason, message: message.replaceAll(id, "ID") };
}

everyBinding("tasks", (onEveryBinding) => {
  onEveryBinding("OPVS-14 OPVS-25 reading or canceling an unknown task is TaskNotFound", async (wire) => {
    // Given ids that no task has, when they are read or canceled, then it is TaskNotFound.
    for (const id of strangeIds) {
      for (const operation of ["GetTask", "CancelTask"]) {
        const { reason, status } = await refusalOf(wire, operation, id);
        assert.deepEqual([reason, status], ["TASK_NOT_FOUND", "NOT_FOUND"], `${operation} ${id}`);
      }
    }
  });

  onEveryBinding(
    "OPVS-15 tasks of others are exactly like tasks that are not there",
    async (wire, { server }) => {
      // Given tasks of others, when a caller of another tenant or of another workspace reads or cancels one, then it
      // hears exactly what it hears of a task that is not there.
      const client = new Client(server);
      const workspace = (await client.post("/v1/workspaces", { name: "elsewhere", root: "/elsewhere" })).body;
      const bound = (await client.createKey({ workspace_ids: [workspace.id] })).key;
      const task = await begin(wire, sleepLong);
      for (const key of [await keyOf(server, "tenant_other"), bound]) {
        for (const operation of ["GetTask", "CancelTask"]) {
          const absent = await refusalOf(wire, operation, "task_00000000000000000000000000000000", key);
          assert.deepEqual(await refusalOf(wire, operation, task.id, key), absent);
          assert.equal(absent.reason, "TASK_NOT_FOUND");
        }
        const stream = await wire.stream("SubscribeToTask", { id: task.id }, { key });
        assert.equal(stream.error?.reason, "TASK_NOT_FOUND");
      }
      assert.match((await get(wire, task)).status.state, /WORKING|SUBMITTED/);
      await cancel(wire, task);
    },
  );

  onEveryBinding("OPVS-14 a task at the address of another agent is TaskNotFound", async (wire) => {
    // Given a task of one agent, when it is asked for at the address of another, then it is TaskNotFound.
    const task = await play(wire, "return x");
    for (const operation of ["GetTask", "CancelTask"]) {
      const { error } = await wire.call(operation, { id: task.id }, { agent: "messenger" });
      assert.equal(error?.reason, "TASK_NOT_FOUND");
    }
    assert.deepEqual(await get(wire, task, {}, { agent: "rehearsal" }), task);
  });

  onEveryBinding("OPVS-23 a canceled task is answered with its reason and what it made", async (wire) => {
    // Given tasks that run or wait, when each is canceled, then the answer is the task, canceled, with the reason that
    // was given and what it had made.
    for (const line of [sleepLong, "ask which?", "approve spending"]) {
      const { id } = await begin(wire, "artifact a.txt A", line);
      await using stream = await wire.stream("SubscribeToTask", { id });
      for (let event = await stream.next(); ; event = await stream.next()) {
        if (event.artifactUpdate !== undefined || event.task?.artifacts !== undefined) break;
      }
      const { result } = await wire.call("CancelTask", { id, metadata: { reason: "changed my mind" } });
      assert.equal(result.id, id);
      assert.equal(result.status.state, "TASK_STATE_CANCELED");
      assert.match(result.status.message.parts[0].text, /changed my mind/);
      assert.equal(result.artifacts[0].name, "a.txt");
      assert.deepEqual(await get(wire, { id }), result);
    }
  });

  onEveryBinding("OPVS-24 canceling an ended task is TaskNotCancelable and changes nothing", async (wire) => {
    // Given tasks that completed, failed or were rejected, when they are canceled, then it is TaskNotCancelable and
    // they stay as they are.
    for (const line of ["return fine", "fail no luck", "reject no"]) {
      const task = await play(wire, line);
      const { error } = await wire.call("CancelTask", { id: task.id });
      assert.deepEqual([error?.reason, error?.status], ["TASK_NOT_CANCELABLE", "FAILED_PRECONDITION"]);
      assert.deepEqual(await get(wire, task), task);
    }
  });

  onEveryBinding(
    "OPVS-26 a task canceled many times is canceled once, all answers are equal",
    async (wire, { server }) => {
      // Given a running task, when it is canceled many times, at once and again, then it was canceled once and every
      // answer is the same.
      const task = await begin(wire, sleepLong);
      const answers = await Promise.all(Array.from({ length: 10 }, () => cancel(wire, task)));
      answers.push(await cancel(wire, task));
      for (const answer of answers) assert.deepEqual(answer, answers[0]);
      const events = await new Client(server).listAll(`/v1/tasks/${task.id}/events`);
      assert.equal(events.filter(({ event }) => event === "task.canceled").length, 1);
      assert.equal(events.filter(({ event }) => event === "user.cancel_requested").length, 1);
    },
  );

  onEveryBinding("OPVS-24 OPVS-26 a task canceled as it ends has one end", async (wire) => {
    // Given tasks that are about to end, when they are canceled just then, then each has one end, and the answers agree
    // with it.
    const tasks = await Promise.all(Array.from({ length: 12 }, () => begin(wire, "sleep 5", "return done")));
    for (const task of tasks) {
      const { result, error } = await wire.call("CancelTask", { id: task.id });
      const { status } = await get(wire, task);
      if (error === undefined) assert.deepEqual(status, result.status);
      else assert.deepEqual([error.reason, status.state], ["TASK_NOT_CANCELABLE", "TASK_STATE_COMPLETED"]);
    }
  });
});
