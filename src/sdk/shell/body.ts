/** The body of a response: text up to a limit, or server-sent events as they arrive, and never a wait without end. */

import { shellError } from "./errors.ts";

/** A whole response message. Content travels as references, so a larger one is a mistake or an attack. */
const responseBytesMax = 8 * 1024 * 1024;
/** A stream may go on for hours; what it carries in that time still has an end. */
const streamBytesMax = 64 * 1024 * 1024;

export interface Frame {
  event: string;
  data: string;
}

type Bytes = ReadableStream<Uint8Array> | null;

/** The chunks of a body. `onChunk` is told of each, so that the caller can tell a slow line from a dead one. */
async function* chunksOf(body: Bytes, bytesMax: number, onChunk: () => void): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const reader = body.getReader();
  let bytes = 0;
  try {
    while (true) {
      const { done, value } = await reader.read();
      if (done) return;
      onChunk();
      bytes += value.byteLength;
      if (bytes > bytesMax) {
        throw shellError("response_too_large", `The engine's response has more than ${bytesMax} bytes.`, {
          origin: "engine",
        });
      }
      yield value;
    }
  } finally {
    // Whoever stops reading hangs up; on a body that has ended or failed this does nothing.
    await reader.cancel().catch(() => undefined);
  }
}

export async function readText(body: Bytes, onChunk: () => void): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of chunksOf(body, responseBytesMax, onChunk)) {
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** The frames of an event stream. One that the stream ends in the middle of is not given. */
export async function* readFrames(body: Bytes, onChunk: () => void): AsyncGenerator<Frame> {
  // The decoder takes the byte order mark away that a stream may begin with.
  const decoder = new TextDecoder();
  const frames = new FrameParser();
  for await (const chunk of chunksOf(body, streamBytesMax, onChunk)) {
    yield* frames.push(decoder.decode(chunk, { stream: true }));
  }
}

class FrameParser {
  #rest = "";
  #event = "";
  #data: string[] = [];
  #chars = 0;

  push(text: string): Frame[] {
    // A long line comes in many pieces, which are looked through once each.
    if (!/[\r\n]/.test(text) && !this.#rest.endsWith("\r")) {
      this.#rest += text;
      this.#checkSize(this.#chars + this.#rest.length);
      return [];
    }
    const found: Frame[] = [];
    // A line that ends in CR may have its LF in the next chunk: it waits until that is known.
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      this.#grow(line.length);
      const frame = this.#line(line);
      if (frame !== null) found.push(frame);
    }
    this.#checkSize(this.#chars + this.#rest.length);
    return found;
  }

  #line(line: string): Frame | null {
    if (line === "") return this.#end();
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#event = value;
    else if (field === "data") this.#data.push(value);
    return null;
  }

  #end(): Frame | null {
    const frame = { event: this.#event, data: this.#data.join("\n") };
    const isFrame = this.#data.length > 0;
    this.#event = "";
    this.#data = [];
    this.#chars = 0;
    return isFrame ? frame : null;
  }

  #grow(chars: number): void {
    this.#chars += chars;
    this.#checkSize(this.#chars);
  }

  #checkSize(chars: number): void {
    if (chars <= responseBytesMax) return;
    throw shellError("response_too_large", `A frame of the stream has more than ${responseBytesMax} bytes.`, {
      origin: "engine",
    });
  }
}
