/** An editor: a real `bridle acp` process, driven by the client side of the protocol's library. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import {
  type ClientConnection,
  type CreateElicitationResponse,
  client,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type PromptResponse,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import type { Json } from "./client.ts";
import { environment, main } from "./server.ts";

export interface EditorOptions {
  flags?: string[];
  env?: Record<string, string>;
  /** What the person does when asked for permission: an option's id, or nothing at all. */
  permit?: (params: Json) => string | Promise<never>;
  /** What the person does with a form; without it the editor has none. */
  fill?: (params: Json) => CreateElicitationResponse;
}

export class TestEditor implements AsyncDisposable {
  readonly process: ChildProcess;
  readonly connection: ClientConnection;
  readonly updates: SessionUpdate[] = [];
  readonly lines: string[] = [];
  /** What the agent said of itself. */
  agent: Json = null;
  readonly #listeners = new Set<() => void>();

  constructor(url: string, { flags = [], env = {}, permit, fill }: EditorOptions) {
    this.process = spawn(process.execPath, [main, "acp", "--url", url, ...flags], {
      env: { ...environment, ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    const { stdin, stdout, stderr } = this.process;
    if (stdin === null || stdout === null || stderr === null) throw new Error("no pipes");
    stderr.setEncoding("utf8").on("data", (text: string) => this.lines.push(text));
    const app = client({ name: "test-editor" }).onNotification(
      methods.client.session.update,
      ({ params }) => {
        this.updates.push(params.update);
        for (const listener of this.#listeners) listener();
      },
    );
    app.onRequest(methods.client.session.requestPermission, async ({ params }) => {
      const optionId = await permit?.(params);
      return {
        outcome: optionId === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId },
      };
    });
    if (fill !== undefined) app.onRequest(methods.client.elicitation.create, ({ params }) => fill(params));
    this.connection = app.connect(ndJsonStream(Writable.toWeb(stdin), Readable.toWeb(stdout)));
  }

  static async start(server: { url: string }, options: EditorOptions = {}): Promise<TestEditor> {
    const editor = new TestEditor(server.url, options);
    editor.agent = await editor.connection.agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { name: "test-editor", version: "1" },
      clientCapabilities: options.fill === undefined ? {} : { elicitation: { form: {} } },
    });
    return editor;
  }

  async open(cwd = "/work/project"): Promise<string> {
    const { sessionId } = await this.connection.agent.request(methods.agent.session.new, {
      cwd,
      mcpServers: [],
    });
    return sessionId;
  }

  async load(sessionId: string): Promise<void> {
    await this.connection.agent.request(methods.agent.session.load, { sessionId, cwd: "/", mcpServers: [] });
  }

  async prompt(sessionId: string, text: string, _meta: Record<string, string> = {}): Promise<PromptResponse> {
    const prompt = [{ type: "text" as const, text }];
    return await this.connection.agent.request(methods.agent.session.prompt, { sessionId, prompt, _meta });
  }

  async cancel(sessionId: string): Promise<void> {
    await this.connection.agent.notify(methods.agent.session.cancel, { sessionId });
  }

  /** Resolves with the first update that is such, once there is one. */
  async until(matches: (update: Json) => boolean): Promise<Json> {
    while (true) {
      const found = this.updates.find(matches);
      if (found !== undefined) return found;
      const changed = Promise.withResolvers<void>();
      this.#listeners.add(changed.resolve);
      await changed.promise;
      this.#listeners.delete(changed.resolve);
    }
  }

  /** The texts of one kind of update, in order. */
  texts(kind: SessionUpdate["sessionUpdate"] = "agent_message_chunk"): string[] {
    return this.updates.flatMap((update: Json) =>
      update.sessionUpdate === kind ? [update.content.text] : [],
    );
  }

  /** As an editor that quits. Gives the exit code. */
  async quit(): Promise<number | null> {
    this.process.stdin?.end();
    if (this.process.exitCode === null && this.process.signalCode === null) await once(this.process, "exit");
    return this.process.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const isRunning = this.process.exitCode === null && this.process.signalCode === null;
    const exited = isRunning ? once(this.process, "exit") : null;
    this.process.kill("SIGKILL");
    await exited;
    this.connection.close();
  }
}
