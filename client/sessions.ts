/** Sessions and what was said in them. */

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

export interface Sessions {
  create(request?: CreateSession): Promise<Session>;
  get(id: string, options?: CallOptions): Promise<Session>;
  /** Newest first. */
  list(options?: PageOptions & { workspaceId?: string }): Promise<Page<Session>>;
  /** The transcript, oldest message first. */
  messages(id: string, options?: PageOptions): Promise<Page<Message>>;
}

export function createSessions(transport: Transport): Sessions {
  return {
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
      return transport.resource<Session>("session", `/v1/sessions/${segment(id)}`, { signal });
    },
    list({ workspaceId, limit, cursor, signal } = {}) {
      const query = { workspace_id: workspaceId, limit, cursor };
      return transport.page<Session>("/v1/sessions", { query, signal });
    },
    messages(id, { limit, cursor, signal } = {}) {
      const query = { limit, cursor };
      return transport.page<Message>(`/v1/sessions/${segment(id)}/messages`, { query, signal });
    },
  };
}
