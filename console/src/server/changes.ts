/** What changes on the server from now on, told in bundles: a busy server changes more than anybody can see. */

import type { BridleEvent } from "bridle/client";
import { bridle } from "./bridle.ts";
import { watchConnection } from "./connection.ts";
import { endIfRefused, may, type Session } from "./session.ts";

const gatherMs = 400;

interface Changes {
  /** What an event is about that is wanted; null for all others. */
  idOf(event: BridleEvent): string | null;
  onChanged(ids: ReadonlySet<string>): Promise<void>;
}

/** Whether the key may follow the log, and see where it ends. For others lists are read again every few seconds. */
export function mayFollow(session: Session | null): boolean {
  return may(session, "events:read") && may(session, "sessions:read");
}

export const pollMs = 5000;

/** Returns the way to stop it. */
export function followChanges({ idOf, onChanged }: Changes): () => void {
  const gone = new AbortController();
  const connection = watchConnection();
  let changed = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | null = null;
  const tell = async () => {
    const told = changed;
    changed = new Set();
    await onChanged(told).catch(() => {
      // The next change reads it again; a lost connection has a banner.
    });
    timer = changed.size === 0 ? null : setTimeout(tell, gatherMs);
  };
  const note = (event: BridleEvent) => {
    const id = idOf(event);
    if (id === null) return;
    changed.add(id);
    timer ??= setTimeout(tell, gatherMs);
  };
  const read = async () => {
    const { signal } = gone;
    const { onConnection } = connection;
    const after = await newestEvent(signal);
    for await (const event of bridle.events({ after, signal, onConnection })) note(event);
  };
  // Aborted or not allowed: what is shown stays as it is.
  read().catch(endIfRefused);
  return () => {
    gone.abort();
    connection.close();
    if (timer !== null) clearTimeout(timer);
  };
}

/** About where the log ends: the last event of the session in which a task changed last. */
async function newestEvent(signal: AbortSignal): Promise<string | undefined> {
  const { items } = await bridle.tasks.list({ since: new Date(0), limit: 1, signal });
  const [task] = items;
  if (task === undefined) return undefined;
  const session = await bridle.sessions.get(task.session_id, { signal });
  return session.last_event_id ?? undefined;
}
