/** The sessions that an editor has open: opened, loaded, and one prompt at a time in each. */

import {
  type AgentContext,
  type InitializeRequest,
  type LoadSessionRequest,
  type LoadSessionResponse,
  methods,
  type NewSessionRequest,
  type NewSessionResponse,
  type PromptRequest,
  type PromptResponse,
  RequestError,
} from "@agentclientprotocol/sdk";
import { readTrace } from "../../kernel/core/trace.ts";
import { isFinal, NotFound } from "../../sdk/client/index.ts";
import type { AcpSettings } from "../commands/acp.ts";
import type { Remote } from "../remote.ts";
import { blocksOf } from "./content.ts";
import { say } from "./say.ts";
import { type OpenTask, questionText, Turn } from "./turn.ts";

interface Session {
  turn: Turn | null;
  /** A task that has not ended: it waits for an answer, or the server went away while it ran. */
  open: OpenTask | null;
}

type Choice = Pick<AcpSettings, "agent" | "persona" | "workspace">;

export class Editor {
  readonly #remote: Remote;
  readonly #choice: Choice;
  readonly #sessions = new Map<string, Session>();
  #hasForms = false;
  #name: string | null = null;

  constructor(remote: Remote, choice: Choice) {
    this.#remote = remote;
    this.#choice = choice;
  }

  meet({ clientCapabilities, clientInfo }: InitializeRequest): void {
    this.#hasForms = clientCapabilities?.elicitation?.form != null;
    this.#name = clientInfo?.name ?? null;
  }

  async open({ cwd, mcpServers }: NewSessionRequest): Promise<NewSessionResponse> {
    if (mcpServers.length > 0) say("the editor's MCP servers are not used: agents have those of the server");
    const personaId = await this.#persona();
    const { id } = await this.#remote.client.sessions.create({
      workspaceId: this.#choice.workspace ?? (await this.#defaultWorkspace()),
      ...(personaId === null ? {} : { personaId }),
      metadata: { acp: { cwd, client: this.#name } },
    });
    this.#sessions.set(id, { turn: null, open: null });
    return { sessionId: id };
  }

  /** Sends the conversation again, and continues a task of it that has not ended. */
  async load({ sessionId }: LoadSessionRequest, client: AgentContext): Promise<LoadSessionResponse> {
    const { sessions, tasks } = this.#remote.client;
    const session = await sessions.get(sessionId).catch((error) => {
      throw error instanceof NotFound ? RequestError.sessionNotFound(sessionId) : error;
    });
    for await (const message of sessions.allMessages(sessionId)) {
      const sessionUpdate = message.role === "user" ? "user_message_chunk" : "agent_message_chunk";
      for (const content of blocksOf(message.parts, this.#remote.url)) {
        const update = { sessionUpdate, content, messageId: message.id } as const;
        await client.notify(methods.client.session.update, { sessionId, update });
      }
    }
    const { items } = await tasks.list({ sessionId, limit: 1 });
    const [last] = items;
    const waiting = last?.waiting_for ?? null;
    if (waiting?.kind === "input") {
      const text = questionText({ prompt: waiting.description, schema: waiting.schema });
      const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } } as const;
      await client.notify(methods.client.session.update, { sessionId, update });
    }
    const isOpen = last !== undefined && !isFinal(last);
    const open = isOpen ? { id: last.id, after: session.last_event_id ?? undefined } : null;
    this.#sessions.set(sessionId, { turn: null, open });
    return {};
  }

  async prompt(
    { sessionId, prompt, _meta }: PromptRequest,
    client: AgentContext,
    signal: AbortSignal,
  ): Promise<PromptResponse> {
    const session = this.#sessions.get(sessionId);
    if (session === undefined) throw RequestError.sessionNotFound(sessionId);
    if (session.turn !== null)
      throw RequestError.invalidRequest({ sessionId }, "the prompt before it is not over");
    const turn = new Turn(
      { remote: this.#remote, client, sessionId, hasForms: this.#hasForms },
      session.open,
    );
    // An editor that takes its request back cancels; one that has gone away only stops listening.
    const stop = () => (signal.reason instanceof RequestError ? void turn.cancel() : turn.leave());
    signal.addEventListener("abort", stop);
    session.turn = turn;
    try {
      return { stopReason: await turn.run(prompt, traceHeaders(_meta)) };
    } finally {
      signal.removeEventListener("abort", stop);
      session.open = turn.open;
      session.turn = null;
    }
  }

  async cancel(sessionId: string): Promise<void> {
    await this.#sessions.get(sessionId)?.turn?.cancel();
  }

  /** By its id, or by its name, which is that of its agent where nobody gave it another one. */
  async #persona(): Promise<string | null> {
    const { agent, persona } = this.#choice;
    if (persona !== undefined || agent === undefined) return persona ?? null;
    let named: string | null = null;
    for await (const { id, name } of this.#remote.client.personas.all()) {
      if (id === agent) return id;
      if (name === agent) named = id;
    }
    if (named !== null) return named;
    throw new Error(
      `no agent and no persona ${JSON.stringify(agent)} is known to the server at ${this.#remote.url}.`,
    );
  }

  async #defaultWorkspace(): Promise<string> {
    let first: string | null = null;
    for await (const { id } of this.#remote.items<{ id: string }>("/v1/workspaces")) {
      if (id.startsWith("workspace_default")) return id;
      first ??= id;
    }
    if (first !== null) return first;
    throw new Error("this key sees no workspace to open a session in: say which one with --workspace.");
  }
}

/** The trace that the editor's prompt is part of: the protocol keeps these names in `_meta` for it. */
function traceHeaders(meta: PromptRequest["_meta"]): Record<string, string> {
  const { traceparent, tracestate } = meta ?? {};
  return { ...readTrace(textOf(traceparent), textOf(tracestate)) };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
