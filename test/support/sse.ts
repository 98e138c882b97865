/** A small reader of server-sent events: frames as they are on the wire. */

import type { Client, Json } from "./client.ts";

export interface Frame {
  id: string | null;
  event: string | null;
  data: Json;
}

export interface Stream extends AsyncDisposable {
  status: number;
  headers: Headers;
  frames: AsyncGenerator<Frame>;
  /** Hangs up. */
  close(): void;
}

export async function openStream(
  client: Client,
  path: string,
  headers: Record<string, string> = {},
): Promise<Stream> {
  return await streamOf(client, path, { headers: { accept: "text/event-stream", ...headers } });
}

/** The stream that a request is answered with; by POST when it has a body. */
export async function streamOf(
  client: Client,
  path: string,
  { headers, body }: { headers: Record<string, string>; body?: object },
): Promise<Stream> {
  const controller = new AbortController();
  const sent =
    body === undefined
      ? { headers: client.headers(headers) }
      : {
          method: "POST",
          headers: client.headers({ "content-type": "application/json", ...headers }),
          body: JSON.stringify(body),
        };
  const response = await fetch(client.url + path, { ...sent, signal: controller.signal });
  const close = () => controller.abort();
  return {
    status: response.status,
    headers: response.headers,
    frames: readFrames(response),
    close,
    async [Symbol.asyncDispose]() {
      close();
    },
  };
}

async function* readFrames(response: Response): AsyncGenerator<Frame> {
  if (response.body === null) return;
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const chunk of response.body) {
      text += decoder.decode(chunk, { stream: true });
      let end = text.indexOf("\n\n");
      while (end !== -1) {
        const frame = parseFrame(text.slice(0, end));
        text = text.slice(end + 2);
        if (frame !== null) yield frame;
        end = text.indexOf("\n\n");
      }
    }
  } catch (error) {
    // A connection that was cut ends the stream; what had arrived whole was given.
    if (!(error instanceof Error)) throw error;
  }
}

/** Comments and `retry` are not frames. */
function parseFrame(block: string): Frame | null {
  const frame: Frame = { id: null, event: null, data: null };
  let seen = false;
  for (const line of block.split("\n")) {
    const [, field, value = ""] = /^(id|event|data): ?(.*)$/.exec(line) ?? [];
    if (field === undefined) continue;
    seen = true;
    if (field === "data") frame.data = JSON.parse(value);
    else if (field === "id") frame.id = value;
    else frame.event = value;
  }
  return seen ? frame : null;
}

/** The next frames, up to and including the first for which the condition holds, or to the end of the stream. */
export async function take(
  frames: AsyncGenerator<Frame>,
  isLast: (frame: Frame) => boolean,
): Promise<Frame[]> {
  const taken: Frame[] = [];
  while (true) {
    const next = await frames.next();
    if (next.done) return taken;
    taken.push(next.value);
    if (isLast(next.value)) return taken;
  }
}
