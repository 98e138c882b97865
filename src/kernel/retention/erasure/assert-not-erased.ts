/** What an erased session does not do any more: give its content away, or take new content in. */

import { HarnessError } from "../../core/errors.ts";
import type { SessionRecord } from "../../kinds/session.ts";

/** Most sessions are erased within this time. */
const retryAfterSeconds = 2;

/** A log with gaps cannot be taken elsewhere. */
export function assertWhole(session: SessionRecord): void {
  assertNotErased(session);
  const { id, trimmed_through_event_id } = session;
  if (trimmed_through_event_id === undefined) return;
  throw new HarnessError("conflict", `Part of the log of session ${id} has left it by age.`, {
    details: { session_id: id, trimmed_through_event_id },
  });
}

export function assertNotErased({ id, erasure }: SessionRecord): void {
  if (erasure === undefined) return;
  if (erasure.erased_at === null) {
    throw new HarnessError("resource_locked", `Session ${id} is being erased. Try again in a moment.`, {
      details: { session_id: id, retry_after_seconds: retryAfterSeconds },
    });
  }
  throw new HarnessError("conflict", `The content of session ${id} was erased, by request.`, {
    details: { session_id: id, erasure_requested_at: erasure.requested_at },
  });
}
