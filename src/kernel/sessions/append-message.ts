/** Append a message to a session, outside any task. */

import type { Command } from "../core/dispatch.ts";
import type { MessageInput, MessageRecord } from "../kinds/message.ts";
import { openSession } from "../tasks/submit-task.ts";
import { appendMessage as append } from "../tasks/tasks.ts";

export const appendMessage: Command<{ sessionId: string; message: MessageInput }, MessageRecord> = {
  name: "append_message",
  scope: "messages:write",
  decide(unit, { sessionId, message: input }) {
    const session = openSession(unit, sessionId);
    const message = append(unit, { session, taskId: null }, input);
    unit.emit(session, "session.message_appended", { message_id: message.id, role: message.role });
    return message;
  },
};
