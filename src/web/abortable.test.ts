import assert from "node:assert/strict";
import { test } from "node:test";
import { abortable, abortableEvents } from "./abortable.ts";

/** Counts, and says how far it came and whether it was left. */
function counting() {
  const state = { given: 0, isLeft: false };
  async function* events() {
    try {
      while (true) {
        state.given += 1;
        yield state.given;
      }
    } finally {
      state.isLeft = true;
    }
  }
  return { state, events: events() };
}

test("GRP-16 ending a call closes the event source, which has produced no event ahead", async () => {
  // Given a reader that does not come back for the next event, when its call ends, then the source is left and made no
  // event ahead.
  const { state, events } = counting();
  const call = new AbortController();
  const reader = abortableEvents(events, call.signal);
  assert.deepEqual(await reader.next(), { done: false, value: 1 });
  assert.deepEqual(state, { given: 1, isLeft: false });
  call.abort();
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(state, { given: 1, isLeft: true });
});

test("GRP-11 given a source that waits for ever, when the call ends, then its reader hears why", async () => {
  async function* silent(): AsyncGenerator<number> {
    await new Promise(() => undefined);
  }
  const call = new AbortController();
  const next = abortableEvents(silent(), call.signal).next();
  call.abort(new Error("too late"));
  await assert.rejects(next, /too late/);
  await assert.rejects(abortable(new Promise(() => undefined), call.signal), /too late/);
});
