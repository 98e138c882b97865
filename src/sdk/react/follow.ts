/** What the hooks have in common: work that lasts as long as the component, and its end and errors. */

import { useEffect, useState } from "react";

export interface Followed {
  /** Why it does not go on: the key is wrong, or what is followed does not exist. Broken connections are no errors. */
  error: Error | null;
  isConnected: boolean;
}

/**
 * Runs while the component is there, again when `key` changes, and not at all for null. What `work` sets after its signal was aborted belongs to
 * nobody, so it checks the signal before it sets anything.
 */
export function useFollowed(
  key: string | null,
  work: (signal: AbortSignal, onConnection: (isConnected: boolean) => void) => Promise<void>,
): Followed {
  const [state, setState] = useState<Followed>({ error: null, isConnected: false });
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is followed is named by the key
  useEffect(() => {
    if (key === null) return;
    const stop = new AbortController();
    const { signal } = stop;
    setState({ error: null, isConnected: false });
    const onConnection = (isConnected: boolean) => {
      if (!signal.aborted) setState((now) => ({ ...now, isConnected }));
    };
    work(signal, onConnection).catch((error: unknown) => {
      if (!signal.aborted) setState({ error: asError(error), isConnected: false });
    });
    return () => stop.abort();
  }, [key]);
  return state;
}

export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
