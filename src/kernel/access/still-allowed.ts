/** Whether the credentials that a connection was opened with still hold: asked now and then, and at once when a key ends. */

import type { AdminKeyHolder } from "../../policy/admin-key.ts";
import type { Authenticate } from "./authenticate.ts";
import type { CallerCache } from "./caller-cache.ts";

export interface StillAllowed {
  (): Promise<boolean>;
  /** Calls `check` whenever a key ended and the answer may be another. Returns the way to stop it. */
  watch(check: () => void): () => void;
}

/** For callers without a credential: nothing but time ends what they were allowed. */
export function untilTime(holds: () => boolean): StillAllowed {
  return Object.assign(async () => holds(), { watch: () => () => {} });
}

export function createStillAllowed(
  authenticate: Authenticate,
  { known, adminKey }: { known: CallerCache; adminKey: AdminKeyHolder },
): (credential: string) => StillAllowed {
  const watch = (check: () => void) => {
    const stops = [known.onEnd(check), adminKey.onChange(check)];
    return () => {
      for (const stop of stops) stop();
    };
  };
  // From which address it may be used was checked when the connection was opened.
  return (credential) => Object.assign(async () => (await authenticate(credential)) !== null, { watch });
}
