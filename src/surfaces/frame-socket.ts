/**
 * JSON frames over a WebSocket, bounded both ways: nothing more is read while a frame is being worked on, and whoever
 * sends waits once the client does not keep up. What a slow client misses waits in the log, not in memory.
 */

import type { WebSocket } from "ws";
import { hasTooManyValues, valuesMax } from "../kernel/core/json-values.ts";
import { nextFrame } from "../slices.ts";
import { closeCodes } from "./websocket.ts";

/** What may wait for the client before the sender does. */
const bufferBytesMax = 64 * 1024;
/** A close reason has at most 123 bytes (RFC 6455, 5.5). */
const reasonCharsMax = 40;

export class FrameSocket {
  readonly #socket: WebSocket;
  readonly #gone = new AbortController();
  /** Resolves when everything sent so far has left. */
  #flushed: Promise<void> = Promise.resolve();

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("close", () => this.#gone.abort());
    if (socket.readyState !== socket.OPEN) this.#gone.abort();
  }

  /** Aborted when the connection is over. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Sends a frame; resolves when the next one may follow. What a client that has gone would have got is dropped. */
  async send(frame: object): Promise<void> {
    if (this.gone.aborted) return;
    const written = new Promise<void>((resolve) => {
      this.#socket.send(JSON.stringify(frame), () => resolve());
    });
    this.#flushed = written;
    if (this.#socket.bufferedAmount > bufferBytesMax) await written;
    await nextFrame();
  }

  /** Ends the connection once everything sent before has left. */
  async close(code: number, reason: string): Promise<void> {
    await this.#flushed;
    this.#socket.close(code, reason.slice(0, reasonCharsMax));
  }

  /** Gives each text frame to the handler, one after the other. Only text is spoken here. */
  onText(handle: (text: string) => Promise<void>): void {
    const waiting: string[] = [];
    let isBusy = false;
    const work = async () => {
      isBusy = true;
      this.#socket.pause();
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        if (!this.gone.aborted) await handle(next);
      }
      isBusy = false;
      this.#socket.resume();
    };
    this.#socket.on("message", (data, isBinary) => {
      // What comes behind the end is not listened to.
      if (this.#socket.readyState !== this.#socket.OPEN) return;
      if (isBinary) {
        this.#socket.close(closeCodes.notText, "Frames are JSON text.");
        return;
      }
      if (data instanceof Buffer && hasTooManyValues(data)) {
        this.#socket.close(closeCodes.tooLarge, `More than ${valuesMax} values.`);
        return;
      }
      waiting.push(String(data));
      if (!isBusy) void work();
    });
  }
}
