/** Requests to one server under one key, each tried again when it got lost, and every failure as a `BridleError`. */

import { readJson, refusalIn, unreadable } from "./answers.ts";
import { BridleError, errorOf, isRecord } from "./errors.ts";
import { retrying } from "./retry.ts";
import type { Page } from "./types.ts";

const protocolVersion = "agents-protocol-2026-04-25";
const defaultTimeoutMs = 60_000;
const defaultRetries = 5;

export interface ClientOptions {
  /** Where the server is, e.g. `http://127.0.0.1:8080`. */
  url: string;
  /** An API key or an access token. */
  key: string;
  /** How long one attempt at a request may take. */
  timeoutMs?: number;
  /** How often a request that got lost is sent again. */
  retries?: number;
  /** Instead of the platform's own. */
  fetch?: typeof fetch;
  WebSocket?: typeof WebSocket;
}

export interface Ask {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  query?: Record<string, string | number | undefined>;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is. */
  content?: { bytes: Uint8Array<ArrayBuffer> | string | Blob | ReadableStream<Uint8Array>; mimeType: string };
  headers?: Record<string, string>;
  /** Of a write: made for it unless given, and the same with every attempt. */
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
  /** How long one attempt may take, where that is another time than for most. */
  timeoutMs?: number;
}

export interface Transport {
  /** The answer, once it has begun; never one that says an error. Not tried again: that is for who reads it. */
  open(path: string, ask: Ask): Promise<Response>;
  /** What `read` makes of the answer. */
  request<T>(path: string, ask: Ask, read: (response: Response) => Promise<T>): Promise<T>;
  /** The resource of this kind that is answered with. */
  resource<T>(kind: string, path: string, ask?: Ask): Promise<T>;
  page<T>(path: string, ask?: Ask): Promise<Page<T>>;
  /** A WebSocket, which a ticket opens in place of the key. */
  openSocket(path: string, ticket: string, protocol: string): WebSocket;
}

export function createTransport(options: ClientOptions): Transport {
  const base = baseOf(options.url);
  const { key, timeoutMs = defaultTimeoutMs, retries = defaultRetries } = options;
  const send = options.fetch ?? fetch;

  const open: Transport["open"] = async (path, ask) => {
    const response = await connected(`Nobody answers at ${base.origin}.`, ask.signal, () =>
      send(addressOf(base, path, ask.query), requestOf(ask, key)),
    );
    if (!response.ok) throw await refusalIn(response);
    return response;
  };

  const request: Transport["request"] = async (path, ask, read) => {
    // One key for all attempts: however often the server gets to see the request, it is done once.
    const isWrite = ask.method !== undefined && ask.method !== "GET";
    const known = isWrite ? { ...ask, idempotencyKey: ask.idempotencyKey ?? crypto.randomUUID() } : ask;
    const attempt = async () => {
      const inTime = AbortSignal.timeout(ask.timeoutMs ?? timeoutMs);
      const signal = ask.signal === undefined ? inTime : AbortSignal.any([ask.signal, inTime]);
      // Only our own patience ends here: what `open` throws otherwise says more.
      const late = `${base.origin} did not answer in time.`;
      const response = await connected(late, ask.signal, () => open(path, { ...known, signal }));
      return await connected(`The answer of ${base.origin} was cut off.`, ask.signal, () => read(response));
    };
    return await retrying(attempt, retries, ask.signal);
  };

  return {
    open,
    request,
    openSocket(path, ticket, protocol) {
      const Socket = options.WebSocket ?? globalThis.WebSocket;
      if (Socket === undefined)
        throw new TypeError("This platform has no WebSocket: give one to createClient");
      const address = addressOf(base, path, { ticket });
      address.protocol = address.protocol.replace("http", "ws");
      return new Socket(address, protocol);
    },
    async resource<T>(kind: string, path: string, ask: Ask = {}) {
      const value = await request(path, ask, readJson);
      if (!isRecord(value) || value.object !== kind) throw unreadable(`a ${kind}`);
      // A server that says this kind of itself gives all of it: its answers are made from the schemas of these types.
      return value as T;
    },
    async page<T>(path: string, ask: Ask = {}) {
      const value = await request(path, ask, readJson);
      if (!isRecord(value) || !Array.isArray(value.data) || !isRecord(value.page)) throw unreadable("a list");
      const next = value.page.next_cursor;
      // As above.
      return { items: value.data as T[], nextCursor: typeof next === "string" ? next : null };
    },
  };
}

/** A failure of the network as an error of ours; what the caller aborted stays what it is. */
export async function connected<T>(
  failure: string,
  signal: AbortSignal | undefined,
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act();
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof BridleError) throw error;
    throw errorOf({
      code: "connection_failed",
      message: failure,
      status: null,
      requestId: null,
      cause: error,
    });
  }
}

function requestOf(ask: Ask, key: string): RequestInit {
  const { method = "GET", body, content, headers = {}, idempotencyKey, signal } = ask;
  const json = body === undefined ? null : JSON.stringify(body);
  const mimeType = content?.mimeType ?? (json === null ? null : "application/json");
  return {
    method,
    headers: {
      Authorization: `Bearer ${key}`,
      "Harn-Agents-Protocol-Version": protocolVersion,
      ...(mimeType === null ? {} : { "Content-Type": mimeType }),
      ...(idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey }),
      ...headers,
    },
    body: content?.bytes ?? json,
    ...(content?.bytes instanceof ReadableStream ? { duplex: "half" } : {}),
    // A key is for the server it was given for, and for no other.
    redirect: "error",
    signal: signal ?? null,
  };
}

function baseOf(url: string): URL {
  const base = URL.parse(url);
  if (base === null || !/^https?:$/.test(base.protocol))
    throw new TypeError("url must be an http or https URL");
  if (base.username !== "" || base.password !== "")
    throw new TypeError("url must not hold credentials: give them as key");
  if (!base.pathname.endsWith("/")) base.pathname += "/";
  return base;
}

function addressOf(base: URL, path: string, query: Ask["query"] = {}): URL {
  const address = new URL(path.replace(/^\//, ""), base);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) address.searchParams.set(name, String(value));
  }
  return address;
}

/** An id as a part of a path, whatever it holds. */
export function segment(id: string): string {
  if (id === "" || id === "." || id === "..") throw new TypeError("An id must not be empty");
  return encodeURIComponent(id);
}
