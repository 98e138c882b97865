/**
 * Requests to a remote agent: both spellings of the service parameters, credentials where they belong and nowhere else,
 * no redirects, and no more of an answer than can be kept.
 */

import type { Fetch } from "../../policy/outbound.ts";
import { RemoteProblem } from "./problems.ts";

/** An answer of a remote is kept in memory and then in the log. */
const answerBytesMax = 8 * 1024 * 1024;

export interface RemoteFetchOptions {
  fetch: Fetch;
  /** Whether this URL may be told the token. */
  mayHaveToken: (url: URL) => boolean;
  token: string | null;
  /** Sent with every request: what the caller's own request was traced by. */
  headers: Record<string, string>;
}

export function createRemoteFetch({ fetch, mayHaveToken, token, headers: own }: RemoteFetchOptions): Fetch {
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const headers = new Headers(init?.headers);
    for (const [name, value] of Object.entries(own)) headers.set(name, value);
    spellBothWays(headers);
    if (token !== null && mayHaveToken(url)) headers.set("Authorization", `Bearer ${token}`);
    const response = await fetch(url, { ...init, headers });
    assertUsable(response, url);
    return bounded(response);
  };
}

/** The public specification's names and ours are the same parameters. */
function spellBothWays(headers: Headers): void {
  for (const name of ["Version", "Extensions", "Since"]) {
    const value = headers.get(`A2A-${name}`);
    if (value !== null) headers.set(`OPVS-${name}`, value);
  }
}

/** What the client library would only call an error. */
function assertUsable({ status }: Response, { origin }: URL): void {
  if (status === 401 || status === 403) {
    throw new RemoteProblem("remote_denied", `${origin} does not accept the credentials (HTTP ${status}).`);
  }
  if (status === 408 || status === 429 || (status >= 502 && status <= 504)) {
    throw new RemoteProblem("remote_unavailable", `${origin} is not available now (HTTP ${status}).`, {
      isPassing: true,
    });
  }
}

/** Streams may be long; what is one answer may not. */
function bounded(response: Response): Response {
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  if (response.body === null || isStream) return response;
  let bytes = 0;
  const counted = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        if (bytes > answerBytesMax) {
          const problem = `The remote agent answers with more than ${answerBytesMax} bytes.`;
          controller.error(new RemoteProblem("remote_too_large", problem));
        } else controller.enqueue(chunk);
      },
    }),
  );
  const { status, statusText, headers } = response;
  return new Response(counted, { status, statusText, headers });
}
