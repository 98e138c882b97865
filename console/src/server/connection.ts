/** Whether streams are connected, and since when not. */

import { useSyncExternalStore } from "react";

let brokenSince: Date | null = null;
const broken = new Set<object>();
const listeners = new Set<() => void>();

function update(): void {
  const next = broken.size === 0 ? null : (brokenSince ?? new Date());
  if (next === brokenSince) return;
  brokenSince = next;
  for (const listener of listeners) listener();
}

/** One for each stream: told when it has a connection, and closed when nobody needs it any more. */
export function watchConnection(): { onConnection(isConnected: boolean): void; close(): void } {
  const stream = {};
  return {
    onConnection(isConnected) {
      if (isConnected) broken.delete(stream);
      else broken.add(stream);
      update();
    },
    close() {
      broken.delete(stream);
      update();
    },
  };
}

export function useBrokenSince(): Date | null {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => brokenSince,
  );
}
