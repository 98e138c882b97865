/**
 * A remote agent made of the official library's own server, in this process: it does what the first word of a message
 * says, counts what it is given, and can be held up, taken down and brought back.
 */

import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type AgentCard,
  type AgentCardSignatureGenerator,
  type Message,
  Role,
  TaskState,
  type TaskStatus,
} from "@a2a-js/sdk";
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from "@a2a-js/sdk/server";
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import express, { type Express } from "express";

export interface RemoteOptions {
  isStreaming?: boolean;
  binding?: "JSONRPC" | "HTTP+JSON";
  tenant?: string;
  /** Refuses everything without this bearer token, but for the card. */
  token?: string;
  sign?: AgentCardSignatureGenerator;
  /** Changes the card before it is published. */
  card?: (card: AgentCard) => AgentCard;
  /** Runs before a request is answered, after the agent has it. */
  beforeAnswer?: (method: string) => Promise<void>;
}

export interface SeenRequest {
  /** `POST /rpc SendMessage`, `GET /rest/tasks/…`. */
  what: string;
  headers: Record<string, string | string[] | undefined>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
  body: any;
}

export class RemoteAgent implements AgentExecutor, AsyncDisposable {
  readonly requests: SeenRequest[] = [];
  readonly messages: Message[] = [];
  readonly taskIds = new Set<string>();
  readonly canceled: string[] = [];
  readonly options: RemoteOptions;
  readonly #released = Promise.withResolvers<void>();
  readonly #store = new InMemoryTaskStore();
  #server: Server | null = null;
  #port = 0;

  private constructor(options: RemoteOptions) {
    this.options = options;
  }

  static async start(options: RemoteOptions = {}): Promise<RemoteAgent> {
    const remote = new RemoteAgent(options);
    await remote.listen();
    return remote;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Lets every task go on that waits to be let go. */
  release(): void {
    this.#released.resolve();
  }

  async listen(): Promise<void> {
    const server = express()
      .use((request, response, next) => this.#app(request, response, next))
      .listen(this.#port, "127.0.0.1");
    await once(server, "listening");
    this.#port = (server.address() as AddressInfo).port;
    if (!this.#isBuilt) this.#app = this.#build();
    this.#isBuilt = true;
    this.#server = server;
  }

  /** Off the network; what it knows it still knows. */
  async close(): Promise<void> {
    this.#server?.close();
    this.#server?.closeAllConnections();
    this.#server = null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.release();
    await this.close();
  }

  #app: Express = express();
  #isBuilt = false;

  #build(): Express {
    const { binding = "JSONRPC", token, beforeAnswer } = this.options;
    const path = binding === "JSONRPC" ? "/rpc" : "/rest";
    const handler = new DefaultRequestHandler(
      this.#card(`${this.url}${path}`),
      this.#store,
      this,
      undefined,
      undefined,
      undefined,
      undefined,
      this.options.sign,
    );
    const app = express();
    app.use(express.json({ type: ["application/json", "application/a2a+json"] }));
    app.use((request, response, next) => {
      const { method = "" } = request.body ?? {};
      const what = `${request.method} ${request.path}${method === "" ? "" : ` ${method}`}`;
      this.requests.push({ what, headers: request.headers, body: request.body });
      const isCard = request.path.startsWith("/.well-known");
      if (token !== undefined && !isCard && request.headers.authorization !== `Bearer ${token}`) {
        response.status(401).end();
      } else next();
    });
    app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: handler }));
    if (beforeAnswer !== undefined) {
      app.use((request, response, next) => {
        const { write, end } = response;
        const held = beforeAnswer(String(request.body?.method ?? request.path));
        response.write = (...args: unknown[]) => {
          void held.then(() => Reflect.apply(write, response, args));
          return true;
        };
        response.end = (...args: unknown[]) => {
          void held.then(() => Reflect.apply(end, response, args));
          return response;
        };
        next();
      });
    }
    const options = { requestHandler: handler, userBuilder: UserBuilder.noAuthentication };
    app.use(path, binding === "JSONRPC" ? jsonRpcHandler(options) : restHandler(options));
    return app;
  }

  #card(url: string): AgentCard {
    const { isStreaming = true, binding = "JSONRPC", tenant = "", card = (same) => same } = this.options;
    return card({
      name: "Remote",
      description: "Does what it is told.",
      version: "1.0.0",
      provider: undefined,
      supportedInterfaces: [{ url, protocolBinding: binding, protocolVersion: "1.0", tenant }],
      capabilities: {
        streaming: isStreaming,
        pushNotifications: false,
        extensions: [],
        extendedAgentCard: false,
      },
      securitySchemes: {},
      securityRequirements: [],
      defaultInputModes: ["text/plain", "application/json"],
      defaultOutputModes: ["text/plain"],
      skills: [
        {
          id: "do",
          name: "Do",
          description: "Does it.",
          tags: ["test"],
          examples: [],
          inputModes: [],
          outputModes: [],
          securityRequirements: [],
        },
      ],
      signatures: [],
    });
  }

  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const { taskId, contextId, userMessage, task } = context;
    this.messages.push(userMessage);
    const text = textIn(userMessage);
    const to = new Telling(bus, taskId, contextId);
    const [word = "", ...rest] = text.split(" ");
    const argument = rest.join(" ");
    if (word === "message") {
      bus.publish(AgentEvent.message(to.message(argument)));
      bus.finished();
      return;
    }
    if (task === undefined) {
      this.taskIds.add(taskId);
      bus.publish(
        AgentEvent.task({
          id: taskId,
          contextId,
          status: to.status(TaskState.TASK_STATE_SUBMITTED),
          artifacts: [],
          history: [userMessage],
          metadata: undefined,
        }),
      );
    }
    await this.#perform(to, word, argument, task !== undefined, text);
    bus.finished();
  }

  async #perform(
    to: Telling,
    word: string,
    argument: string,
    isAnswer: boolean,
    text: string,
  ): Promise<void> {
    to.tell(TaskState.TASK_STATE_WORKING);
    if (isAnswer) {
      to.artifact("result", `answered: ${text}`);
      return to.tell(TaskState.TASK_STATE_COMPLETED);
    }
    switch (word) {
      case "ask":
        return to.tell(TaskState.TASK_STATE_INPUT_REQUIRED, argument);
      case "auth":
        to.tell(TaskState.TASK_STATE_AUTH_REQUIRED, argument);
        await this.#released.promise;
        to.tell(TaskState.TASK_STATE_WORKING);
        to.artifact("result", "authorized");
        return to.tell(TaskState.TASK_STATE_COMPLETED);
      case "fail":
        return to.tell(TaskState.TASK_STATE_FAILED, argument);
      case "reject":
        return to.tell(TaskState.TASK_STATE_REJECTED, argument);
      case "wait":
        await this.#released.promise;
        to.artifact("result", argument);
        return to.tell(TaskState.TASK_STATE_COMPLETED);
      case "pieces":
        for (const piece of argument.split(" ")) to.artifact("result", piece, true);
        return to.tell(TaskState.TASK_STATE_COMPLETED, "All pieces are there.");
      default:
        to.artifact("result", argument);
        return to.tell(TaskState.TASK_STATE_COMPLETED);
    }
  }

  async cancelTask(taskId: string, bus: ExecutionEventBus): Promise<void> {
    this.canceled.push(taskId);
    new Telling(bus, taskId, "").tell(TaskState.TASK_STATE_CANCELED);
    bus.finished();
  }
}

function textIn({ parts }: Message): string {
  return parts
    .map(({ content }) => (content?.$case === "text" ? content.value : JSON.stringify(content?.value)))
    .join("\n");
}

/** What the remote says of one task. */
class Telling {
  readonly #bus: ExecutionEventBus;
  readonly #taskId: string;
  readonly #contextId: string;
  #pieces = 0;

  constructor(bus: ExecutionEventBus, taskId: string, contextId: string) {
    this.#bus = bus;
    this.#taskId = taskId;
    this.#contextId = contextId;
  }

  message(text: string): Message {
    return {
      messageId: crypto.randomUUID(),
      contextId: this.#contextId,
      taskId: this.#taskId,
      role: Role.ROLE_AGENT,
      parts: [{ content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" }],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    };
  }

  status(state: TaskState, text?: string): TaskStatus {
    const message = text === undefined ? undefined : this.message(text);
    return { state, message, timestamp: new Date().toISOString() };
  }

  tell(state: TaskState, text?: string): void {
    const [taskId, contextId] = [this.#taskId, this.#contextId];
    this.#bus.publish(
      AgentEvent.statusUpdate({ taskId, contextId, status: this.status(state, text), metadata: undefined }),
    );
  }

  artifact(artifactId: string, text: string, isPiece = false): void {
    const [taskId, contextId] = [this.#taskId, this.#contextId];
    const { parts } = this.message(text);
    const artifact = {
      artifactId,
      name: artifactId,
      description: "",
      parts,
      metadata: undefined,
      extensions: [],
    };
    const append = isPiece && this.#pieces++ > 0;
    this.#bus.publish(
      AgentEvent.artifactUpdate({
        taskId,
        contextId,
        artifact,
        append,
        lastChunk: false,
        metadata: undefined,
      }),
    );
  }
}
