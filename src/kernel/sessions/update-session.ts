/** Change what a session says about itself: its summary and its metadata. */

import type { Command } from "../core/dispatch.ts";
import type { SessionChanges, SessionRecord } from "../kinds/session.ts";
import { assertNotErased } from "../retention/erasure/assert-not-erased.ts";

export const updateSession: Command<{ sessionId: string; changes: SessionChanges }, SessionRecord> = {
  name: "update_session",
  scope: "sessions:write",
  decide(unit, { sessionId, changes }) {
    const session = unit.require("session", sessionId);
    assertNotErased(session);
    if (Object.keys(changes).length === 0) return session;
    return unit.emit(session, "vendor.bridle.session.updated", { changes });
  },
};
