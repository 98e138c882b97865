/** Waiting no longer than a call lasts. */

/** What a promise gives, or the end of the call if that comes first. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** The same for events: one is asked for when the last was taken, so nothing gathers before a slow reader. */
export async function* abortableEvents<T>(events: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = events[Symbol.asyncIterator]();
  // One that is waiting for its next event leaves when it has that; nobody waits for it.
  const leave = () => void iterator.return?.().catch(() => undefined);
  // Also when the reader never comes back for the next one: a client can break off in the middle of an answer.
  signal.addEventListener("abort", leave, { once: true });
  try {
    while (true) {
      const next = await abortable(iterator.next(), signal);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", leave);
    leave();
  }
}
