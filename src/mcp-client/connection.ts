/**
 * The one connection to a server: made when it is first needed, kept, and made again when it broke, later and later while
 * that fails. Nothing is done while nobody calls: whoever needs the connection has it tried, once.
 */

import type { Client } from "@modelcontextprotocol/client";
import type { Logger } from "pino";
import { backoffMs } from "../web/backoff.ts";
import { pause } from "../web/pause.ts";
import { withTimeout } from "../web/timeout.ts";
import { isUnknownSession, toMcpError, unreachable } from "./failures.ts";
import { McpError, type McpServerSettings } from "./mcp.ts";
import { currentCall, type Questions } from "./questions.ts";
import type { FlatAnswer } from "./running-call.ts";
import { httpTransport, processTransport, type Transport, trackEnd } from "./transports.ts";

/** For starting a process, shaking hands and all. */
const connectMs = 30_000;
/** A server from before versions were negotiated may say nothing at all when it is asked. */
const probeMs = 10_000;
/** The first wait after a failure; it doubles with every other one. */
const backoff = { firstMs: 250, mostMs: 30_000 };
/** Who calls waits for the next attempt so long, and is told at once when it is further away. */
const patienceMs = 5_000;
const sessionEndMs = 1_000;

export interface ConnectionOptions {
  version: string;
  logger?: Logger | undefined;
}

export class Connection {
  readonly #name: string;
  readonly #settings: McpServerSettings;
  readonly #options: ConnectionOptions;
  readonly #questions: Questions;
  readonly #onToolsChanged: () => void;
  #client: Promise<Client> | null = null;
  /** What `#client` came to, while it is good. */
  #opened: Client | null = null;
  #failures = 0;
  #retryAt = 0;
  #lastProblem: McpError | null = null;
  /** Whether it speaks the protocol from before 2026-07-28; a process need not be started twice to find out again. */
  #isLegacy = false;
  #isClosed = false;
  /** How many things are under way on each. */
  readonly #uses = new Map<Client, number>();
  /** All that have not ended. */
  readonly #transports = new Set<Transport>();

  constructor(
    name: string,
    settings: McpServerSettings,
    options: ConnectionOptions,
    questions: Questions,
    onToolsChanged: () => void,
  ) {
    this.#name = name;
    this.#settings = settings;
    this.#options = options;
    this.#questions = questions;
    this.#onToolsChanged = onToolsChanged;
  }

  /** Sends something; throws `McpError`. A session that the server no longer knew is opened again, and it is sent once more. */
  async use<T>(send: (client: Client) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const client = await this.#open();
      try {
        return await this.#count(client, send);
      } catch (error) {
        if (attempt > 1 || !isUnknownSession(error)) throw toMcpError(this.#name, error);
        if (this.#opened === client) this.renew();
      }
    }
  }

  /** What is sent from now on is sent on a new connection. */
  renew(): void {
    const old = this.#opened;
    if (old === null) return;
    this.#forget();
    if (!this.#uses.has(old)) void endSession(old).catch(() => {});
  }

  /** Also ends an attempt that is under way, with its process. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#onToolsChanged();
    if (this.#opened !== null) await endSession(this.#opened).catch(() => {});
    await Promise.all([...this.#transports].map((transport) => transport.close().catch(() => {})));
  }

  /** Throws `McpError` within a bounded time. */
  async #open(): Promise<Client> {
    if (this.#isClosed) throw this.#closed();
    if (this.#client !== null) return await this.#client;
    // Nothing that the connection hears on its own belongs to the call that happens to be the first.
    const client = currentCall.exit(() => this.#connect());
    this.#client = client;
    client.catch(() => {
      if (this.#client === client) this.#client = null;
    });
    return await client;
  }

  /** A connection that was replaced ends with the last thing that was sent on it. */
  async #count<T>(client: Client, send: (client: Client) => Promise<T>): Promise<T> {
    this.#uses.set(client, (this.#uses.get(client) ?? 0) + 1);
    try {
      const answer = await send(client);
      this.#failures = 0;
      return answer;
    } finally {
      const others = (this.#uses.get(client) ?? 1) - 1;
      if (others > 0) this.#uses.set(client, others);
      else {
        this.#uses.delete(client);
        if (this.#opened !== client) void endSession(client).catch(() => {});
      }
    }
  }

  async #connect(): Promise<Client> {
    const waitMs = this.#retryAt - performance.now();
    if (waitMs > patienceMs && this.#lastProblem !== null) throw this.#lastProblem;
    if (waitMs > 0) await pause(waitMs);
    return await this.#attempt(await this.#makeClient(), await this.#makeTransport());
  }

  async #attempt(client: Client, transport: Transport): Promise<Client> {
    // From here to the start of a process nothing is waited for: `close` finds every one.
    if (this.#isClosed) throw this.#closed();
    this.#transports.add(transport);
    trackEnd(transport, () => this.#transports.delete(transport));
    const prior = this.#isLegacy && "command" in this.#settings ? { prior: { kind: "legacy" as const } } : {};
    client.onclose = () => this.#broke(client);
    try {
      await withTimeout(connectMs, client.connect(transport, { timeout: connectMs, ...prior }));
      if (client.transport === undefined) throw unreachable(this.#name, "its connection broke", false);
    } catch (error) {
      this.#isLegacy = false;
      void transport.close().catch(() => {});
      const { code, message } = toMcpError(this.#name, error);
      // Whatever it was, no call was made yet.
      const problem = new McpError(code === "mcp_timeout" ? "mcp_unavailable" : code, message);
      this.#failed(problem);
      throw problem;
    }
    this.#isLegacy = client.getProtocolEra() === "legacy";
    this.#opened = client;
    this.#questions.connected();
    return client;
  }

  async #makeTransport(): Promise<Transport> {
    const settings = this.#settings;
    return "command" in settings
      ? await processTransport(this.#name, settings, this.#options.logger)
      : await httpTransport(settings);
  }

  async #makeClient(): Promise<Client> {
    const { Client } = await import("@modelcontextprotocol/client");
    const client = new Client(
      { name: "bridle", version: this.#options.version },
      {
        capabilities: { elicitation: { form: {} } },
        versionNegotiation: { mode: "auto", probe: { timeoutMs: probeMs } },
        inputRequired: { autoFulfill: false },
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: this.#onToolsChanged } },
      },
    );
    client.setRequestHandler("elicitation/create", async ({ params }, { mcpReq }): Promise<FlatAnswer> => {
      if (params.mode === "url") return { action: "decline" };
      const schema = JSON.parse(JSON.stringify(params.requestedSchema));
      return await this.#questions.ask({ message: params.message, schema }, mcpReq.signal);
    });
    return client;
  }

  #broke(client: Client): void {
    if (this.#opened !== client || this.#isClosed) return;
    this.#failed(unreachable(this.#name, "its connection broke", false));
    this.#forget();
  }

  #closed(): McpError {
    return unreachable(this.#name, "all connections were closed", false);
  }

  #forget(): void {
    this.#client = null;
    this.#opened = null;
    this.#onToolsChanged();
  }

  #failed(problem: McpError): void {
    this.#failures++;
    // One process asks, so there is nothing to spread.
    this.#retryAt = performance.now() + backoffMs(backoff, this.#failures, () => 1);
    this.#lastProblem = problem;
    this.#options.logger?.warn(
      { event: "mcp.connection_failed", mcpServer: this.#name, failures: this.#failures },
      `MCP: ${problem.message}`,
    );
  }
}

/** A session is ended by saying so, a process by ending its input. */
async function endSession(client: Client): Promise<void> {
  const { transport } = client;
  if (hasSession(transport)) await withTimeout(sessionEndMs, transport.terminateSession()).catch(() => {});
  await client.close();
}

function hasSession(transport: object | undefined): transport is { terminateSession(): Promise<void> } {
  return transport !== undefined && "terminateSession" in transport;
}
