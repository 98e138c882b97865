/**
 * Ends connections of clients that take nothing of what is sent to them, or send nothing of what they announced, for minutes. What
 * waits for them is bounded, but they would keep a descriptor and a reader of the log for ever.
 */

import type { Server, Socket } from "node:net";

/** How many times within the allowed time a connection is looked at. */
const looks = 4;

interface Progress {
  flushed: number;
  read: number;
  since: number;
}

export class StalledClients {
  readonly #stalledMs: number;
  readonly #open = new Map<Socket, Progress>();
  readonly #uploading = new WeakSet<Socket>();

  constructor(stalledMs: number) {
    this.#stalledMs = stalledMs;
  }

  /** Looks after all connections of a server, until it is closed. */
  watch(server: Server): void {
    server.on("connection", (socket: Socket) => this.#add(socket));
    server.on("secureConnection", (socket: Socket) => this.#add(socket));
    const timer = setInterval(() => this.#look(), this.#stalledMs / looks).unref();
    server.once("close", () => clearInterval(timer));
  }

  /** From now on, until it is called back, the client is the one to send. */
  expectUpload(socket: Socket): () => void {
    this.#uploading.add(socket);
    return () => this.#uploading.delete(socket);
  }

  #add(socket: Socket): void {
    this.#open.set(socket, { flushed: -1, read: -1, since: performance.now() });
    socket.once("close", () => this.#open.delete(socket));
  }

  #look(): void {
    const now = performance.now();
    for (const [socket, progress] of this.#open) {
      const flushed = socket.bytesWritten - socket.writableLength;
      const read = socket.bytesRead;
      const isTaking = socket.writableLength === 0 || flushed !== progress.flushed;
      const isSending = !this.#uploading.has(socket) || read !== progress.read;
      const since = isTaking && isSending ? now : progress.since;
      this.#open.set(socket, { flushed, read, since });
      if (now - since >= this.#stalledMs) socket.destroy();
    }
  }
}
