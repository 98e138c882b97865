/** Change a session: its summary and metadata, until when it takes work, and whether it takes any now. */

import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import type { SessionChanges, SessionRecord } from "../kinds/session.ts";
import { assertNotErased } from "../retention/erasure/assert-not-erased.ts";
import { expiryOf } from "./create-session.ts";

export const updateSession: Command<{ sessionId: string; changes: SessionChanges }, SessionRecord> = {
  name: "update_session",
  scope: "sessions:write",
  decide(unit, { sessionId, changes }) {
    const session = unit.require("session", sessionId);
    assertNotErased(session);
    const { state, expires_at: expiresAt } = changes;
    if (Object.keys(changes).length === 0) return session;
    if (state !== undefined && session.state !== "ACTIVE" && session.state !== "PAUSED") {
      throw new HarnessError(
        "invalid_state_transition",
        `Session ${sessionId} is ${session.state} for good.`,
        {
          param: "state",
          details: { session_id: sessionId, from: session.state, to: state },
        },
      );
    }
    const expiry = expiresAt === undefined ? {} : { expires_at: expiryOf(unit, expiresAt) };
    return unit.emit(session, "vendor.bridle.session.updated", { changes: { ...changes, ...expiry } });
  },
};
