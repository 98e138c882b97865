import assert from "node:assert/strict";
import { test } from "node:test";
import { WorkQueue, type WorkQueueOptions } from "./work-queue.ts";

/** A queue whose work goes on until it is let go. */
function heldQueue(options: Partial<WorkQueueOptions> = {}) {
  const begun: string[] = [];
  const held = new Map<string, PromiseWithResolvers<boolean>>();
  const errors: unknown[] = [];
  const queue = new WorkQueue({
    concurrency: 2,
    work(id, signal) {
      begun.push(id);
      const turn = Promise.withResolvers<boolean>();
      signal.addEventListener("abort", () => turn.reject(signal.reason));
      held.set(id, turn);
      return turn.promise;
    },
    onError: (error) => errors.push(error),
    ...options,
  });
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
  return { queue, begun, held, errors, settled };
}

test("RUN-5 the queue takes turns and works on each item once at a time", async () => {
  const { queue, begun, held, settled } = heldQueue();
  for (const id of ["a1", "a2", "a3"]) queue.add(id, "a");
  queue.add("b1", "b");
  await settled();
  assert.deepEqual(begun, ["a1", "a2"]);
  // It changed while it was worked on, so it is worked on once more.
  queue.add("a1", "a");
  held.get("a1")?.resolve(false);
  await settled();
  assert.deepEqual(begun, ["a1", "a2", "a3"]);
  held.get("a2")?.resolve(false);
  await settled();
  assert.deepEqual(begun, ["a1", "a2", "a3", "b1"]);
  held.get("a3")?.resolve(false);
  await settled();
  assert.deepEqual(begun.at(-1), "a1");
});

test("RUN-5 work that is interrupted is no error, and what fails is reported", async () => {
  const { queue, held, errors, settled } = heldQueue();
  queue.add("a", "t");
  queue.add("b", "t");
  await settled();
  queue.interrupt("a");
  held.get("b")?.reject(new Error("no disk"));
  await settled();
  assert.deepEqual(errors.map(String), ["Error: no disk"]);
  assert.deepEqual([queue.isWorkingOn("a"), queue.isWorkingOn("b")], [false, false]);
});

test("RUN-5 an item that is restarted is begun anew, and one that is new is not interrupted", async () => {
  const { queue, begun, held, settled } = heldQueue();
  queue.restart("a", "t");
  await settled();
  assert.deepEqual(begun, ["a"]);
  queue.restart("a", "t");
  await settled();
  assert.deepEqual(begun, ["a", "a"]);
  held.get("a")?.resolve(false);
  await settled();
  assert.equal(queue.isWorkingOn("a"), false);
});

test("RUN-5 a queue that stops begins nothing more and interrupts after its grace", async () => {
  const { queue, begun, settled } = heldQueue();
  for (const id of ["a", "b", "c"]) queue.add(id, "t");
  await settled();
  await queue.stop(0);
  assert.deepEqual(begun, ["a", "b"]);
});
