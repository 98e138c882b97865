/** A conversation with an agent: what was said, what is being written, and what it waits for. */

import { useState } from "react";
import { type BridleClient, isFinal, type Message, type Task } from "../client/index.ts";
import { asError, type Followed, useFollowed } from "./follow.ts";
import { textAfter } from "./use-task.ts";

export interface UseSession {
  /** One that is there; otherwise the first message makes one. Keep its id to come back to it. */
  sessionId?: string | null;
  /** Who is given the messages; the server's default agent unless given. */
  agent?: string;
}

export interface SessionState extends Followed {
  sessionId: string | null;
  /** The transcript, oldest first. */
  messages: readonly Message[];
  /** What the agent writes at this moment. */
  text: string;
  /** The newest task, which says what it waits for. */
  task: Task | null;
  status: "ready" | "working" | "asking";
  /** Says something: a task, or the answer when the task asked a question. */
  send(text: string): Promise<void>;
  cancel(): Promise<void>;
}

type Conversation = Pick<SessionState, "messages" | "text" | "task">;
const empty: Conversation = { messages: [], text: "", task: null };
const changing = /^task\./;

export function useSession(
  client: BridleClient,
  { sessionId: given = null, agent }: UseSession = {},
): SessionState {
  const [made, setMade] = useState<string | null>(null);
  const [state, setState] = useState(empty);
  const [sendError, setSendError] = useState<Error | null>(null);
  const sessionId = given ?? made;
  const followed = useFollowed(sessionId, async (signal, onConnection) => {
    if (sessionId === null) return;
    const set = (change: (now: Conversation) => Partial<Conversation>) => {
      if (!signal.aborted) setState((now) => ({ ...now, ...change(now) }));
    };
    set(() => empty);
    const add = (message: Message) =>
      set(({ messages }) =>
        messages.some(({ id }) => id === message.id) ? {} : { messages: [...messages, message] },
      );
    for await (const event of client.events({ sessionId, signal, onConnection })) {
      if (signal.aborted) return;
      set(({ text }) => ({ text: textAfter(text, event) }));
      if (event.event === "user.message" || event.event === "agent.message") add(event.payload.message);
      if (changing.test(event.event) && event.resource.object === "task") {
        const task = await client.tasks.get(event.resource.id, { signal });
        if (task.parent_task_id === null) set(() => ({ task }));
      }
    }
  });
  const { task } = state;
  return {
    ...state,
    ...followed,
    error: followed.error ?? sendError,
    sessionId,
    status: statusOf(task),
    async send(text) {
      setSendError(null);
      try {
        if (task !== null && statusOf(task) === "asking")
          return void (await client.tasks.answer(task.id, text));
        const id = sessionId ?? (await client.sessions.create()).id;
        const request = { sessionId: id, input: text, ...(agent === undefined ? {} : { agent }) };
        const submitted = await client.tasks.submit(request);
        setMade(id);
        setState((now) => ({ ...now, task: submitted }));
      } catch (error) {
        setSendError(asError(error));
      }
    },
    async cancel() {
      if (task !== null) await client.tasks.cancel(task.id);
    },
  };
}

function statusOf(task: Task | null): SessionState["status"] {
  if (task === null || isFinal(task)) return "ready";
  return task.status === "INPUT_REQUIRED" ? "asking" : "working";
}
