/** What an erased session does not do any more: give its content away, or take new content in. */

import { HarnessError } from "../errors.ts";
import type { SessionRecord } from "../resources/session.ts";

export function assertNotErased({ id, erasure }: SessionRecord): void {
  if (erasure === undefined) return;
  throw new HarnessError("conflict", `The content of session ${id} was erased, by request.`, {
    details: { session_id: id, erasure_requested_at: erasure.requested_at },
  });
}
