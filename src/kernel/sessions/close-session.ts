/** Close a session: it takes no more work, and what still runs in it is canceled. */

import type { Command } from "../core/dispatch.ts";
import type { SessionRecord } from "../kinds/session.ts";
import { cancelTasks } from "../tasks/cancel-task.ts";

export const closeSession: Command<{ sessionId: string }, SessionRecord> = {
  name: "close_session",
  scope: "sessions:write",
  isAllowedWithoutRoom: true,
  decide(unit, { sessionId }) {
    const session = unit.require("session", sessionId);
    return session.state === "CLOSED" ? session : unit.emit(session, "session.closed", {});
  },
  // Once it is closed nothing new comes in, so this finds everything.
  afterwards: (deps, caller, { id }) =>
    cancelTasks(deps, caller, { sessionId: id }, "The session was closed."),
};
