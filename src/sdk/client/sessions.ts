/** Sessions and what was said in them. */

import { unreadable } from "./answers.ts";
import { isRecord } from "./errors.ts";
import { type Lines, readLines, sendLines } from "./json-lines.ts";
import { createListed, everyItem, type Listed } from "./lists.ts";
import { connectSession } from "./live/connect.ts";
import type { ConnectSession, LiveSession } from "./live/live-session.ts";
import { segment, type Transport } from "./transport.ts";
import type {
  CallOptions,
  CreateSessionRequest,
  Message,
  MessageInput,
  Page,
  PageOptions,
  Session,
  WriteOptions,
} from "./types.ts";

export interface CreateSession extends WriteOptions {
  /** The default one unless given. */
  workspaceId?: string;
  personaId?: string;
  initialMessages?: MessageInput[];
  metadata?: Record<string, unknown>;
}

export interface ListSessions extends PageOptions {
  workspaceId?: string;
}

export interface ForkSession extends WriteOptions {
  /** Up to this event; all of it otherwise. */
  atEventId?: string;
  branchId?: string;
  metadata?: Record<string, unknown>;
}

/** Newest first. */
export interface Sessions extends Listed<Session, ListSessions> {
  create(request?: CreateSession): Promise<Session>;
  get(id: string, options?: CallOptions): Promise<Session>;
  /** The transcript, oldest message first. */
  messages(id: string, options?: PageOptions): Promise<Page<Message>>;
  allMessages(id: string, options?: PageOptions): AsyncGenerator<Message, void, undefined>;
  /** Its events as they happen, commands to it, and a host for its tasks, over a WebSocket that is opened again when it breaks. */
  connect(id: string, options?: ConnectSession): Promise<LiveSession>;
  /** Tasks that still run in it are canceled. */
  close(id: string, options?: WriteOptions): Promise<Session>;
  /** A new session with the transcript of this one. */
  fork(id: string, options?: ForkSession): Promise<Session>;
  /** Its whole log, line by line, for `import` on another server. */
  export(id: string, options?: CallOptions): AsyncGenerator<string, void, undefined>;
  /** Takes over a log. All of it or nothing; lines that come one by one are sent once, whatever happens. */
  import(lines: Lines, options?: WriteOptions): Promise<Session>;
}

export function createSessions(transport: Transport): Sessions {
  const at = (id: string) => `/v1/sessions/${segment(id)}`;
  const messages: Sessions["messages"] = (id, { limit, cursor, signal } = {}) =>
    transport.page<Message>(`${at(id)}/messages`, { query: { limit, cursor }, signal });
  return {
    ...createListed<Session, ListSessions>(transport, "/v1/sessions", ({ workspaceId }) => ({
      workspace_id: workspaceId,
    })),
    create({ workspaceId = "workspace_default", personaId, initialMessages, metadata, ...rest } = {}) {
      const body: { [Name in keyof CreateSessionRequest]: CreateSessionRequest[Name] | undefined } = {
        workspace_id: workspaceId,
        persona_id: personaId,
        initial_messages: initialMessages,
        metadata,
      };
      return transport.resource<Session>("session", "/v1/sessions", { method: "POST", body, ...rest });
    },
    get(id, { signal } = {}) {
      return transport.resource<Session>("session", at(id), { signal });
    },
    messages,
    allMessages: (id, options) => everyItem((page: PageOptions) => messages(id, page), options),
    connect: (id, options = {}) => connectSession(transport, id, options),
    close(id, { idempotencyKey, signal } = {}) {
      return transport.resource<Session>("session", `${at(id)}/close`, {
        method: "POST",
        idempotencyKey,
        signal,
      });
    },
    fork(id, { atEventId, branchId, metadata, ...rest } = {}) {
      const body = { at_event_id: atEventId, branch_id: branchId, metadata };
      return transport.resource<Session>("session", `${at(id)}/fork`, { method: "POST", body, ...rest });
    },
    export: (id, options = {}) => readLines(transport, `${at(id)}/export`, options),
    async import(lines, options = {}) {
      const value = await sendLines(transport, "/v1/sessions/import", lines, options);
      if (!isRecord(value) || value.object !== "session") throw unreadable("a session");
      // As with every resource: a server that says this kind of itself gives all of it.
      return value as Session;
    },
  };
}
