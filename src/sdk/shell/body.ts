/** The body of a response: text up to a limit, or server-sent events as they arrive, and never a wait without end. */

import { chunksOf, EventTooLong, readEvents, type ServerSentEvent } from "../../web/event-stream.ts";
import { type ShellError, shellError } from "./errors.ts";

/** A whole response message. Content travels as references, so a larger one is a mistake or an attack. */
const responseBytesMax = 8 * 1024 * 1024;
/** A stream may go on for hours; what it carries in that time still has an end. */
const streamBytesMax = 64 * 1024 * 1024;

type Bytes = ReadableStream<Uint8Array> | null;

export async function readText(body: Bytes, onChunk: () => void): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of boundedChunks(body, responseBytesMax, onChunk)) {
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

export async function* readFrames(body: Bytes, onChunk: () => void): AsyncGenerator<ServerSentEvent> {
  try {
    for await (const event of readEvents(boundedChunks(body, streamBytesMax, onChunk), responseBytesMax)) {
      if (event.data !== "") yield event;
    }
  } catch (error) {
    if (error instanceof EventTooLong) throw tooLarge(`A frame of the stream has`, responseBytesMax);
    throw error;
  }
}

/** `onChunk` is called for each chunk, so that the caller can tell a slow line from a dead one. */
async function* boundedChunks(
  body: Bytes,
  bytesMax: number,
  onChunk: () => void,
): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  let bytes = 0;
  const count = (length: number) => {
    onChunk();
    bytes += length;
    if (bytes > bytesMax) throw tooLarge("The engine's response has", bytesMax);
  };
  yield* chunksOf(body, count);
}

function tooLarge(what: string, bytesMax: number): ShellError {
  return shellError("response_too_large", `${what} more than ${bytesMax} bytes.`, { origin: "engine" });
}
