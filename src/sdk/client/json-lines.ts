/** Files of JSON lines, taken and given a line at a time: a log may be longer than memory. */

import { readJson, unreadable } from "./answers.ts";
import { connected, type Transport } from "./transport.ts";
import type { CallOptions, WriteOptions } from "./types.ts";

const cutOff = "What the server sent was cut off.";

/** Far above what an event holds; a line that never ends is none. */
const lineCharsMax = 64 * 1024 * 1024;
const blobChars = 1024 * 1024;
const mimeType = "application/jsonl";

/** Text of any size that can be sent again, or lines as they come, which are sent once. */
export type Lines = string | Blob | AsyncIterable<string>;

/** A stream that breaks off is an error, never an end. */
export async function* readLines(
  transport: Transport,
  path: string,
  { signal }: CallOptions,
): AsyncGenerator<string, void, undefined> {
  const response = await transport.open(path, { signal });
  const reader = response.body?.getReader();
  if (reader === undefined) throw unreadable("a file of lines", response);
  const decoder = new TextDecoder();
  let text = "";
  try {
    while (true) {
      const { done, value } = await connected(cutOff, signal, () => reader.read());
      if (done) break;
      const lines = (text + decoder.decode(value, { stream: true })).split("\n");
      text = lines.pop() ?? "";
      if (text.length > lineCharsMax) throw unreadable("a file of lines", response);
      yield* lines;
    }
    if (text !== "") yield text;
  } finally {
    // Whoever leaves in the middle hangs up; that it was hung up already is no matter.
    await reader.cancel().catch(() => {});
  }
}

/** What the server made of it. */
export async function sendLines(
  transport: Transport,
  path: string,
  lines: Lines,
  { idempotencyKey, signal }: WriteOptions,
): Promise<unknown> {
  const ask = { method: "POST", idempotencyKey, signal } as const;
  if (typeof lines === "string" || lines instanceof Blob) {
    return await transport.request(path, { ...ask, content: { bytes: lines, mimeType } }, readJson);
  }
  const bytes = sendsStreams() ? streamOf(lines) : await blobOf(lines);
  const response = await transport.open(path, { ...ask, content: { bytes, mimeType } });
  return await connected(cutOff, signal, () => readJson(response));
}

/** Browsers send streams over HTTP/2 only; what is gathered in blobs they keep on disk if it is much. */
function sendsStreams(): boolean {
  return /^(?:Node|Deno|Bun)/.test(globalThis.navigator?.userAgent ?? "Node");
}

async function blobOf(lines: AsyncIterable<string>): Promise<Blob> {
  const blobs: Blob[] = [];
  let text = "";
  for await (const line of lines) {
    text += `${line}\n`;
    if (text.length < blobChars) continue;
    blobs.push(new Blob([text]));
    text = "";
  }
  return new Blob([...blobs, text]);
}

function streamOf(lines: AsyncIterable<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const iterator = lines[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done === true) controller.close();
      else controller.enqueue(encoder.encode(`${value}\n`));
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}
