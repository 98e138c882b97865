/** Events as a server sends them, for tests of those who read them. */

import type { BridleEvent, Message } from "../../src/sdk/client/index.ts";

const times = { created_at: "2026-04-25T19:00:00.000Z", updated_at: "2026-04-25T19:00:00.000Z" };

/** All of an event of `task_1` except its kind and its payload. */
export const envelope = {
  id: "evt_1",
  object: "event",
  ...times,
  metadata: {},
  resource: { object: "task", id: "task_1" },
  sequence: 1,
  trace_id: null,
  span_id: null,
  parent_span_id: null,
  session_id: null,
  task_id: "task_1",
  workspace_id: null,
  actor: null,
  previous_event_id: null,
  receipt_id: null,
  replayed: false,
  replay: null,
} satisfies Omit<BridleEvent, "event" | "payload">;

export const emptyMessage: Message = {
  id: "msg_1",
  object: "message",
  ...times,
  metadata: {},
  workspace_id: "workspace_1",
  session_id: null,
  task_id: "task_1",
  role: "agent",
  parts: [],
};
