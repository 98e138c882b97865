/** What is in an answer, never more of it than is reasonable. */

import { type BridleError, errorIn, errorOf } from "./errors.ts";

/** Of an answer that is no file; longer ones are no answer to anything asked here. */
const answerBytesMax = 64 * 1024 * 1024;

export async function readBytes(response: Response, bytesMax: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    chunks.push(next.value);
    length += next.value.length;
    if (length <= bytesMax) continue;
    await reader?.cancel();
    throw unreadable(`of at most ${bytesMax} bytes`, response);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

export async function readText(response: Response): Promise<string> {
  return new TextDecoder().decode(await readBytes(response, answerBytesMax));
}

export async function readJson(response: Response): Promise<unknown> {
  const text = await readText(response);
  try {
    return JSON.parse(text);
  } catch {
    throw unreadable("JSON", response);
  }
}

/** The error that an answer says, or that it says none. */
export async function refusalIn(response: Response): Promise<BridleError> {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  const retryAfterMs = Number.isNaN(seconds) ? null : seconds * 1000;
  // What is not JSON, or was cut off, came from something between here and the server.
  const body = await readJson(response).catch(() => null);
  return errorIn(body, response.status, retryAfterMs) ?? unreadable("an error of this protocol", response);
}

export function unreadable(expected: string, response?: Response): BridleError {
  return errorOf({
    code: "unreadable_answer",
    message: `The answer is not ${expected}.`,
    status: response?.status ?? null,
    requestId: response?.headers.get("x-request-id") ?? null,
  });
}
