/** Server-sent events, frame by frame. A frame that was cut off is no frame. */

export interface Frame {
  id: string | null;
  event: string;
  data: string;
}

/** Far above what an event holds; a stream that never ends a frame is none. */
const frameCharsMax = 64 * 1024 * 1024;

/** `onSign` is called with everything that arrives, also with what says nothing but that the server is there. */
export async function* framesOf(body: ReadableStream<Uint8Array>, onSign: () => void): AsyncGenerator<Frame> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let text = "";
  try {
    while (true) {
      const { done, value } = await reader.read();
      if (done) return;
      onSign();
      text = (text + decoder.decode(value, { stream: true })).replaceAll("\r\n", "\n");
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      if (text.length > frameCharsMax) throw new Error("A frame of the stream does not end");
      for (const block of blocks) {
        const frame = frameIn(block);
        if (frame !== null) yield frame;
      }
    }
  } finally {
    // Whoever leaves in the middle hangs up; that it was hung up already is no matter.
    await reader.cancel().catch(() => {});
  }
}

/** Null for comments and for what is said about the stream itself. */
function frameIn(block: string): Frame | null {
  let id: string | null = null;
  let event = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const [, field, value = ""] = /^(id|event|data): ?(.*)$/.exec(line) ?? [];
    if (field === "id") id = value;
    else if (field === "event") event = value;
    else if (field === "data") data.push(value);
  }
  return data.length === 0 ? null : { id, event, data: data.join("\n") };
}
