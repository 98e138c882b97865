/** A request that a button sends: busy while it runs and after it succeeded, until the parent removes the button; ready again after an error. */

import { useState } from "react";

export function useRequest(): {
  isBusy: boolean;
  /** What the last request failed with; null otherwise. */
  error: unknown;
  send(request: () => Promise<void>): Promise<void>;
} {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const send = async (request: () => Promise<void>) => {
    setBusy(true);
    setError(null);
    try {
      await request();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return { isBusy, error, send };
}
