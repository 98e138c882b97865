/** Found by the simulation: a child's result that arrives while the note about waiting for it is written. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Kernel } from "../../kernel/kernel.ts";
import { Activity } from "./activity.ts";
import { Outbox } from "./outbox.ts";
import { Parking } from "./parking.ts";
import { endOfTurn } from "./promises.ts";
import { Waits } from "./waits.ts";

const store: Pick<Kernel["store"], "writeFault"> = { writeFault: () => null };

test("SIM-3 a run is not dropped with the end of a wait that is over when another one has begun", async () => {
  const signal = new AbortController().signal;
  const isOver = () => false;
  const written = Promise.withResolvers<void>();
  const activity = new Activity({ isEnded: isOver, isWriting: isOver, onStepEnded() {}, onTurnTaken() {} });
  const waits = new Waits({ now: () => 0, setTimer: () => () => {} }, () => {});
  const outbox = new Outbox({ store, signal, max: 10, isOver, write: () => written.promise, onFailed() {} });
  const parked: (number | null)[] = [];
  const parking = new Parking({
    ...{ activity, waits, outbox, isOver },
    flush: async () => void (await outbox.flush()),
    park: (until) => void parked.push(until),
  });

  void waits.add({ key: "spawn:1", kind: "child", reason: "waits for a child", until: null });
  parking.consider();
  await endOfTurn();
  assert.equal(outbox.isEmpty, false, "the note is on its way");
  waits.end("spawn:1", "elapsed");
  void waits.add({ key: "sleep:1", kind: "timer", reason: "sleeps", until: 4000 });
  written.resolve();
  await endOfTurn();

  assert.deepEqual(parked, [], "it would have been dropped without a time at which to go on");
});
