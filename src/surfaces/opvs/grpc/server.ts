/**
 * The gRPC port: HTTP/2 for gRPC, HTTP/1.1 beside it for gRPC-Web, with TLS when there are certificates. What a
 * connection can do to the server is bounded here; what a call may do is for the binding.
 */

import { once } from "node:events";
import { createServer as createHttp1Server } from "node:http";
import { createServer as createHttp2Server, createSecureServer, type ServerHttp2Session } from "node:http2";
import { isIPv6, type Server, type Socket } from "node:net";
import { type Tls, tlsOptions } from "../../tls.ts";
import { type Answering, createAnswering } from "./answering.ts";
import { watchOver } from "./sessions.ts";
import { speakBoth } from "./two-protocols.ts";

export interface GrpcOptions extends Answering {
  /** 0 lets the system choose. */
  port: number;
  /** A certificate and its key, as PEM; without them nothing is encrypted. */
  tls: Tls | null;
}

export interface Grpc {
  server: Server;
  /** Gives the address at which it is found. */
  listen(): Promise<string>;
  /** Lets calls that are open come to their end, for a moment. */
  close(): Promise<void>;
}

/** Calls at once on one connection; clients queue the rest. */
const streamsMax = 1000;
/** What one connection may make us keep, in megabytes: a window for each of its calls. */
const sessionMegabytesMax = 64;
/** Longest a client may take to say which protocol it speaks. */
const handshakeMs = 10_000;
const keepAliveTimeoutMs = 72_000;
const closeMsMax = 1000;

const limits = {
  settings: { maxConcurrentStreams: streamsMax },
  maxSessionMemory: sessionMegabytesMax,
  keepAliveTimeout: keepAliveTimeoutMs,
  handshakeTimeout: handshakeMs,
};

export function createGrpc(options: GrpcOptions): Grpc {
  const { host, port, tls, heartbeatMs } = options;
  const answer = createAnswering(options);
  const http2 =
    tls === null
      ? createHttp2Server(limits, answer)
      : createSecureServer({ ...limits, ...tlsOptions(tls), allowHTTP1: true }, answer);
  const listener: Server =
    tls === null ? speakBoth(createHttp1Server(limits, answer), http2, handshakeMs) : http2;
  const sessions = new Set<ServerHttp2Session>();
  http2.on("session", (session) => {
    remember(sessions, session);
    watchOver(session, heartbeatMs);
  });
  const sockets = new Set<Socket>();
  listener.on("connection", (socket) => remember(sockets, socket));
  return {
    server: listener,
    async listen() {
      listener.listen(port, host);
      await once(listener, "listening").catch(explain);
      return `${tls === null ? "http" : "https"}://${addressOf(listener)}`;
    },
    async close() {
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      for (const session of sessions) session.close();
      const impatience = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, closeMsMax);
      await closed;
      clearTimeout(impatience);
    },
  };
}

/** Two ports can be taken; this says which one it was. */
function explain(error: unknown): never {
  if (!(error instanceof Error && "code" in error && error.code === "EADDRINUSE")) throw error;
  throw new Error(
    `the gRPC port is taken (${error.message}). Choose another with --grpc-port, or have none with --grpc-port off.`,
  );
}

/** For as long as it is open. */
function remember<T extends ServerHttp2Session | Socket>(all: Set<T>, one: T): void {
  all.add(one);
  one.once("close", () => all.delete(one));
}

/** Who listens everywhere is found on the machine itself. */
function addressOf(listener: Server): string {
  const bound = listener.address();
  if (bound === null || typeof bound === "string") throw new Error("the gRPC port is not a port");
  const { address, port } = bound;
  if (isIPv6(address)) return `[${address === "::" ? "::1" : address}]:${port}`;
  return `${address === "0.0.0.0" ? "127.0.0.1" : address}:${port}`;
}
