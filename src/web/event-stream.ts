/** Server-sent events, read from a body that nobody vouches for: what never ends is cut off. */

export interface ServerSentEvent {
  /** `message` for what has no name. */
  event: string;
  data: string;
}

/** An event is longer than anything that is read. */
export class EventTooLong extends Error {
  override name = "EventTooLong";
}

/** Until the bytes end. An event that is not whole by then is none. */
export async function* readEvents(
  chunks: AsyncIterable<Uint8Array>,
  charsMax: number,
): AsyncGenerator<ServerSentEvent> {
  let event = "";
  let data: string[] = [];
  let heldChars = 0;
  for await (const line of readLines(chunks, charsMax)) {
    if (line === "") {
      // Without data it is a keep-alive, which is worth hearing of too.
      if (data.length > 0 || event !== "") yield { event: event || "message", data: data.join("\n") };
      [event, data, heldChars] = ["", [], 0];
      continue;
    }
    heldChars += line.length;
    if (heldChars > charsMax) throw new EventTooLong(`An event has more than ${charsMax} characters.`);
    const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "event") event = value;
    else if (field === "data") data.push(value);
  }
}

async function* readLines(chunks: AsyncIterable<Uint8Array>, charsMax: number): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  // In pieces, which are put together once: a line that comes byte by byte must not cost its square.
  let pieces: string[] = [];
  let heldChars = 0;
  for await (const chunk of chunks) {
    const parts = decoder.decode(chunk, { stream: true }).split("\n");
    const last = parts.pop() ?? "";
    for (const part of parts) {
      const line = pieces.join("") + part;
      [pieces, heldChars] = [[], 0];
      yield line.endsWith("\r") ? line.slice(0, -1) : line;
    }
    pieces.push(last);
    heldChars += last.length;
    if (heldChars > charsMax) throw new EventTooLong(`A line has more than ${charsMax} characters.`);
  }
}

/** By hand, since not every browser lets a stream be iterated. Whoever stops reading cancels the body. */
export async function* chunksOf(
  body: ReadableStream<Uint8Array>,
  onChunk: () => void = () => {},
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    while (true) {
      const { done, value } = await reader.read();
      if (done) return;
      onChunk();
      yield value;
    }
  } finally {
    // It may have failed already, in which case there is nothing left to cancel.
    await reader.cancel().catch(() => {});
  }
}
