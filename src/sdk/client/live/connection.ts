/** One WebSocket to a session, from its ticket to its end. Another one goes on where it ended. */

import { unreadable } from "../answers.ts";
import { type BridleError, errorIn, errorOf, isPassing, isRecord } from "../errors.ts";
import { segment, type Transport } from "../transport.ts";

const subprotocol = "bridle.v1";

export interface ConnectionOptions {
  sessionId: string;
  /** Events after this one; those that happen from now on otherwise. */
  cursor: string | null;
  capabilities: readonly string[];
  /** How long nothing at all may arrive. */
  silenceMs: number;
  signal: AbortSignal;
  onFrame(frame: Record<string, unknown>, chars: number): void;
}

/** How a connection ended: the close code, and what the server had said about it. */
export interface Ended {
  code: number;
  error: BridleError | null;
  /** It was left, and did not break. */
  isOurs: boolean;
}

export class Connection {
  readonly #socket: WebSocket;
  readonly #options: ConnectionOptions;
  readonly #ready = Promise.withResolvers<string>();
  readonly #ended = Promise.withResolvers<Ended>();
  /** Stays null until the server has answered the greeting. */
  #cursor: string | null = null;
  #error: BridleError | null = null;
  #pulse: ReturnType<typeof setInterval> | undefined;
  #heardAt = performance.now();
  #isOver = false;

  /** Ready to take commands when this resolves. A ticket stands for the key, which is in no address. */
  static async open(transport: Transport, options: ConnectionOptions): Promise<Connection> {
    const { sessionId, signal, silenceMs } = options;
    const made = await transport.resource<{ ticket: string }>("ws_ticket", "/v1/ws-tickets", {
      method: "POST",
      signal,
      // A line that fell silent may be one that requests go over, too.
      timeoutMs: silenceMs,
    });
    const connection = new Connection(
      transport.openSocket(`/v1/sessions/${segment(sessionId)}/ws`, made.ticket, subprotocol),
      options,
    );
    try {
      await connection.#ready.promise;
    } catch (error) {
      signal.throwIfAborted();
      // A platform does not say why an upgrade was refused; reading the session does.
      if (isPassing(error))
        await transport.resource("session", `/v1/sessions/${segment(sessionId)}`, {
          signal,
          timeoutMs: silenceMs,
        });
      throw error;
    }
    return connection;
  }

  private constructor(socket: WebSocket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#ready.promise.catch(() => {});
    socket.addEventListener("open", () => this.#greet());
    socket.addEventListener("message", ({ data }) => this.#take(data));
    socket.addEventListener("close", ({ code }) => this.#end(code));
    socket.addEventListener("error", () => this.#end(1006));
    this.#pulse = setInterval(() => this.#feelPulse(), options.silenceMs / 3);
    options.signal.addEventListener("abort", this.leave);
    if (options.signal.aborted) this.leave();
  }

  /** The event that it goes on after. */
  get cursor(): string | null {
    return this.#cursor;
  }

  get ended(): Promise<Ended> {
    return this.#ended.promise;
  }

  send(text: string): void {
    if (this.#socket.readyState === WebSocketState.open) this.#socket.send(text);
  }

  /** Nothing more is heard of it. */
  readonly leave = (): void => this.#close(true);

  #close(isOurs: boolean): void {
    this.#socket.close(1000);
    // Nobody waits for the other side to agree.
    this.#end(isOurs ? 1000 : 1006, isOurs);
  }

  #greet(): void {
    const { cursor, capabilities } = this.#options;
    const said = { ...(cursor === null ? {} : { cursor }), host_capabilities: capabilities };
    this.send(JSON.stringify({ type: "hello", ...said }));
  }

  /** What the platform knows of the line it does not tell, so the server is asked for a sign of life. */
  #feelPulse(): void {
    const silentMs = performance.now() - this.#heardAt;
    if (silentMs > this.#options.silenceMs) this.#close(false);
    else if (silentMs > this.#options.silenceMs / 4) this.send('{"type":"ping"}');
  }

  #take(data: unknown): void {
    if (this.#isOver) return;
    this.#heardAt = performance.now();
    const frame = typeof data === "string" ? parsed(data) : null;
    if (typeof data !== "string" || frame === null) {
      this.#error = unreadable("a frame of this protocol");
      this.#close(false);
    } else if (frame.type === "error" && frame.id === undefined) {
      this.#error = errorIn(frame, null, null);
      // It is not going to be ready; what was said about it later, the server closes for.
      if (this.#cursor === null) this.#close(false);
    } else if (frame.type === "ready" && typeof frame.cursor === "string") {
      this.#cursor = frame.cursor;
      this.#ready.resolve(frame.cursor);
    } else {
      this.#options.onFrame(frame, data.length);
    }
  }

  #end(code: number, isOurs = false): void {
    this.#isOver = true;
    clearInterval(this.#pulse);
    this.#options.signal.removeEventListener("abort", this.leave);
    this.#ready.reject(this.#error ?? cutOff(code));
    this.#ended.resolve({ code, error: this.#error, isOurs });
  }
}

/** By the names of RFC 6455: not every platform has the constants in the same place. */
const WebSocketState = { open: 1 } as const;

function cutOff(code: number): BridleError {
  const message = `The connection to the session ended (${code}).`;
  return errorOf({ code: "connection_failed", message, status: null, requestId: null });
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}
