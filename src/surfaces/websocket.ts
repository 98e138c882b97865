/**
 * WebSocket connections, for every surface. An upgrade goes through the same routes, hooks and errors as every request;
 * a route that wants it accepts it when everything is checked, and until then a refusal is an ordinary answer.
 *
 * Once open, a connection is pinged; one that shows no sign of life, or whose credentials are no longer good, is ended,
 * and all of them are when the server stops.
 */

import { type IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type WebSocket, WebSocketServer } from "ws";
import type { StillAllowed } from "../kernel/access/still-allowed.ts";
import { HarnessError } from "../kernel/core/errors.ts";

/** Pings in a row that may stay without an answer. A client that does not read does not answer either. */
const missedMaxDefault = 2;
/** How long a closing handshake may take when the server stops. */
const stopMsMax = 500;

/** Why a connection was closed (RFC 6455, 7.4.1). */
export const closeCodes = {
  done: 1000,
  goingAway: 1001,
  notText: 1003,
  refused: 1008,
  tooLarge: 1009,
  failed: 1011,
} as const;

export interface WebSocketOptions {
  /** The largest frame that is read. */
  payloadBytesMax: number;
  heartbeatMs: number;
  /** How many pings in a row may stay without an answer. */
  missedMax?: number;
  /** The subprotocol that is spoken, for clients that ask for one; null when there is none. */
  protocol: string | null;
  /** Aborted when the server stops. */
  stopped: AbortSignal;
}

interface Upgrade {
  socket: Socket;
  head: Buffer;
  response: ServerResponse;
}

/** How long a connection whose credentials ended has to close. */
const refusedMsMax = 500;
interface Connection {
  missed: number;
  isStillAllowed: StillAllowed;
}

/** Requests that are upgrades, and what is needed to accept them. */
const upgrades = new WeakMap<IncomingMessage, Upgrade>();

export function isUpgrade(request: FastifyRequest): boolean {
  return upgrades.has(request.raw);
}

/** What the HTTP server must treat as an upgrade; a client that offers another protocol is answered as if it had not. */
export function wantsWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
}

export class WebSockets {
  readonly #server: WebSocketServer;
  readonly #open = new Map<WebSocket, Connection>();
  readonly #stopped: AbortSignal;
  readonly #missedMax: number;

  constructor(options: WebSocketOptions) {
    const { payloadBytesMax, heartbeatMs, missedMax = missedMaxDefault, protocol, stopped } = options;
    this.#stopped = stopped;
    this.#missedMax = missedMax;
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: payloadBytesMax,
      // Never the first one that is offered: that can be the client's key.
      handleProtocols: (offered) => (protocol !== null && offered.has(protocol) ? protocol : false),
    });
    const heartbeat = setInterval(() => this.#beat(), heartbeatMs);
    heartbeat.unref();
    stopped.addEventListener("abort", () => {
      clearInterval(heartbeat);
      this.#endAll();
    });
  }

  /** How many connections are open. */
  get openCount(): number {
    return this.#open.size;
  }

  /** Sends upgrades through the routes of the server. */
  listen(app: FastifyInstance): void {
    app.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      if (!(socket instanceof Socket)) throw new Error("An upgrade came over something that is no socket");
      // Until it is accepted nobody else listens, and a client may hang up at any time.
      socket.on("error", () => socket.destroy());
      const response = new ServerResponse(request);
      response.shouldKeepAlive = false;
      response.assignSocket(socket);
      response.once("finish", () => socket.end(() => socket.destroy()));
      upgrades.set(request, { socket, head, response });
      app.routing(request, response);
    });
  }

  /** Turns the request into a connection; nothing when the client did not shake hands properly or has gone. */
  async accept(
    { raw }: FastifyRequest,
    reply: FastifyReply,
    isStillAllowed: StillAllowed,
  ): Promise<WebSocket | null> {
    const upgrade = upgrades.get(raw);
    if (upgrade === undefined) {
      throw new HarnessError("invalid_request", "This address takes WebSocket upgrades only.", {
        param: "Upgrade",
      });
    }
    if (this.#stopped.aborted) throw new HarnessError("service_unavailable", "The server is stopping.");
    const { socket, head, response } = upgrade;
    upgrades.delete(raw);
    reply.hijack();
    response.detachSocket(socket);
    return await new Promise((resolve) => {
      socket.once("close", () => resolve(null));
      this.#server.handleUpgrade(raw, socket, head, (accepted) => {
        this.#keep(accepted, isStillAllowed);
        resolve(accepted);
      });
    });
  }

  #keep(socket: WebSocket, isStillAllowed: StillAllowed): void {
    const connection: Connection = { missed: 0, isStillAllowed };
    const isAlive = () => {
      connection.missed = 0;
    };
    this.#open.set(socket, connection);
    socket.on("pong", isAlive);
    socket.on("message", isAlive);
    // What is wrong with a frame is told to the peer in the closing handshake.
    socket.on("error", () => {});
    const unwatch = isStillAllowed.watch(() => void this.#checkCredentials(socket, connection));
    socket.on("close", () => {
      unwatch();
      this.#open.delete(socket);
    });
  }

  #beat(): void {
    for (const [socket, connection] of this.#open) {
      if (connection.missed > this.#missedMax) {
        socket.terminate();
        continue;
      }
      connection.missed += 1;
      if (socket.readyState === socket.OPEN) socket.ping();
      void this.#checkCredentials(socket, connection);
    }
  }

  async #checkCredentials(socket: WebSocket, { isStillAllowed }: Connection): Promise<void> {
    // A store that cannot answer now says nothing about the credentials; the next beat asks again.
    const isAllowed = await isStillAllowed().catch(() => true);
    if (isAllowed || socket.readyState !== socket.OPEN) return;
    socket.close(closeCodes.refused, "The credentials are no longer valid.");
    // Whoever does not answer to that is not waited for.
    setTimeout(() => socket.terminate(), refusedMsMax).unref();
  }

  #endAll(): void {
    for (const socket of this.#open.keys()) socket.close(closeCodes.goingAway, "The server is stopping.");
    setTimeout(() => {
      for (const socket of this.#open.keys()) socket.terminate();
    }, stopMsMax).unref();
  }
}
