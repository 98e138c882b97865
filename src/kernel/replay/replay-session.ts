/** Replay a session: nothing runs, but the log says that its history was asked for, and up to where it is told. */

import type { Command } from "../core/dispatch.ts";
import { eventId } from "../core/events.ts";
import type { SessionRecord } from "../kinds/session.ts";

export const replaySession: Command<{ sessionId: string }, SessionRecord> = {
  name: "replay_session",
  scope: "events:read",
  decide(unit, { sessionId }) {
    const session = unit.require("session", sessionId);
    const [last] = unit.events({ sessionId, after: 0, limit: 1, newestFirst: true });
    return unit.emit(session, "session.replayed", { through_event_id: eventId(last?.position ?? 0) });
  },
};
