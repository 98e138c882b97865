/** Server-sent events (WHATWG HTML, section 9.2), read from a body that nobody vouches for: what never ends is cut off. */

export interface ServerSentEvent {
  /** Its own; that of an earlier event does not count for it. */
  id: string | null;
  /** `message` for what has no name. */
  event: string;
  /** Empty for an event that only has a name, such as a keep-alive. */
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
  let id: string | null = null;
  let event = "";
  let data: string[] = [];
  let heldChars = 0;
  for await (const line of readLines(chunks, charsMax)) {
    if (line === "") {
      if (data.length > 0 || event !== "") yield { id, event: event || "message", data: data.join("\n") };
      [id, event, data, heldChars] = [null, "", [], 0];
      continue;
    }
    heldChars += line.length;
    if (heldChars > charsMax) throw new EventTooLong(`An event has more than ${charsMax} characters.`);
    const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "id") id = value;
    else if (field === "event") event = value;
    else if (field === "data") data.push(value);
  }
}

/** Lines end in LF, CR LF or CR. */
async function* readLines(chunks: AsyncIterable<Uint8Array>, charsMax: number): AsyncGenerator<string> {
  // The decoder takes the byte order mark away that a stream may begin with.
  const decoder = new TextDecoder();
  // In pieces, which are put together once: a line that comes byte by byte must not cost its square.
  let pieces: string[] = [];
  let heldChars = 0;
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    if (text === "") continue;
    // After a CR there may come the LF that belongs to it.
    const isAfterCr = pieces.at(-1)?.endsWith("\r") === true;
    pieces.push(text);
    heldChars += text.length;
    if (isAfterCr || /[\r\n]/.test(text)) {
      const lines = pieces.join("").split(/\r\n|\n|\r(?!$)/);
      const rest = lines.pop() ?? "";
      [pieces, heldChars] = [[rest], rest.length];
      yield* lines;
    }
    if (heldChars > charsMax) throw new EventTooLong(`A line has more than ${charsMax} characters.`);
  }
}

/** By hand, since not every browser lets a stream be iterated. Whoever stops reading cancels the body. */
export async function* chunksOf(
  body: ReadableStream<Uint8Array>,
  onChunk: (bytes: number) => void = () => {},
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    while (true) {
      const { done, value } = await reader.read();
      if (done) return;
      onChunk(value.byteLength);
      yield value;
    }
  } finally {
    // It may have failed already, in which case there is nothing left to cancel.
    await reader.cancel().catch(() => {});
  }
}
