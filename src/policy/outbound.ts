/**
 * The one way out of the process for addresses that somebody else chose: webhooks, other agents, the keys they publish.
 *
 * Invariants
 *   O1  A name is resolved once for a request, and every address that it has must be one that may be reached.
 *   O2  The connection goes to an address that was checked; what the name means a moment later does not matter.
 *   O3  Redirects are not followed: the address behind them was checked by nobody.
 *   O4  What is said about a failure holds neither the URL nor what its name resolved to.
 */

import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { pipeline, Readable } from "node:stream";
import { rangeOf } from "./address-range.ts";
import { isReachable, type Reach } from "./reachable.ts";

export interface OutboundOptions {
  /** Also to loopback and private addresses, and without TLS: for development. */
  allowPrivate: boolean;
  /** Addresses and ranges that are never reached, beside those that nobody may. */
  blockedRanges?: readonly string[];
  /** All addresses of a name. */
  resolve?: (host: string) => Promise<LookupAddress[]>;
}

/** How long and how much. Null is no limit, for streams that are read as they come. */
export interface OutboundLimits {
  /** Until there is a connection, the look-up of the name included. */
  connectMs: number;
  /** Until the answer begins, from the start. */
  headersMs: number;
  /** Until the answer has ended, from the start. */
  totalMs: number | null;
  answerBytesMax: number | null;
}

export interface OutboundRequest extends Partial<OutboundLimits> {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array | AsyncIterable<Uint8Array> | null;
  signal?: AbortSignal;
}

export interface OutboundAnswer {
  status: number;
  headers: Headers;
  /** Bounded in size and time. It must be read to its end, or left with `discard`. */
  body: AsyncIterable<Uint8Array>;
  discard(): void;
}

export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

export interface Outbound {
  /** The URL, if by what is written in it it may be asked; its name is looked up when it is. */
  check(url: string | URL): URL;
  request(url: string | URL, request?: OutboundRequest): Promise<OutboundAnswer>;
  /** The same for libraries that want a `fetch`. */
  fetch: Fetch;
  fetchWithin(limits: Partial<OutboundLimits>): Fetch;
}

/** It was not sent, and never will be as long as things are as they are. */
export class OutboundRefused extends Error {
  override name = "OutboundRefused";
}

/** It was sent, or it was tried. */
export class OutboundFailed extends Error {
  override name = "OutboundFailed";
}

/** The answer pointed elsewhere, and that is not followed. Whoever wants to go there asks anew. */
export class OutboundRedirected extends OutboundFailed {
  override name = "OutboundRedirected";
  readonly status: number;
  // Not a property of its own, which a log would show (O4).
  readonly #location: string | null;

  constructor(status: number, location: string | null) {
    super(`The answer was ${status}: redirects are not followed.`);
    this.status = status;
    this.#location = location;
  }

  /** Where it pointed, as the answer wrote it: perhaps relative, perhaps no URL at all. */
  get location(): string | null {
    return this.#location;
  }
}

const defaultLimits: OutboundLimits = {
  connectMs: 10_000,
  headersMs: 30_000,
  totalMs: null,
  answerBytesMax: null,
};

/** Those with which an answer points elsewhere. 304 does not. */
const redirects: ReadonlySet<number> = new Set([300, 301, 302, 303, 305, 307, 308]);
/** Those that have no body by definition. */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

type Resolve = NonNullable<OutboundOptions["resolve"]>;
interface Rules {
  reach: Reach;
  resolve: Resolve;
}

export function createOutbound(options: OutboundOptions): Outbound {
  const { allowPrivate, blockedRanges = [], resolve = (name) => lookup(name, { all: true }) } = options;
  const rules: Rules = { reach: { allowPrivate, blocked: blockedRanges.map(rangeOf) }, resolve };
  const check = (url: string | URL) => checked(url, rules.reach);
  const request = (url: string | URL, given: OutboundRequest = {}) => send(check(url), given, rules);
  const fetchWithin =
    (limits: Partial<OutboundLimits>): Fetch =>
    async (input, init) => {
      // Before anything else looks at it, and perhaps repeats it in an error.
      const url = check(input instanceof Request ? input.url : input);
      const asked = new Request(input instanceof Request ? input : url, init);
      const answer = await request(url, { ...limits, ...(await readRequest(asked, init)) });
      return toResponse(answer);
    };
  return { check, request, fetch: fetchWithin({}), fetchWithin };
}

function checked(given: string | URL, reach: Reach): URL {
  const { allowPrivate } = reach;
  const url = typeof given === "string" ? URL.parse(given) : given;
  if (url === null) throw new OutboundRefused("It is not a URL.");
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new OutboundRefused("Only https URLs can be asked.");
  }
  if (url.protocol === "http:" && !allowPrivate) {
    throw new OutboundRefused("Only https URLs can be asked; this server does not allow plain http.");
  }
  if (url.username !== "" || url.password !== "") {
    throw new OutboundRefused("A URL must not hold a user name or a password.");
  }
  const host = hostOf(url);
  if (host === "") throw new OutboundRefused("It names no host.");
  const isLocal = host === "localhost" || host.endsWith(".localhost");
  if (isLocal && !allowPrivate) throw notPublic();
  if (isIP(host) !== 0 && !isReachable(host, reach)) throw notPublic();
  return url;
}

/** The parser has brought every way to write an address into one; brackets and the dot of the root are left. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.+$/, "");
}

function notPublic(): OutboundRefused {
  return new OutboundRefused("Its host is not a public address.");
}

/** Runs through until the answer begins; what is left of the time is for its body. */
async function send(url: URL, given: OutboundRequest, rules: Rules): Promise<OutboundAnswer> {
  const { signal, ...rest } = given;
  const limits = { ...defaultLimits, ...rest };
  signal?.throwIfAborted();
  const timers = new Timers();
  const ended = new AbortController();
  const giveUp = (problem: string) => ended.abort(new OutboundFailed(problem));
  const onAbort = () => ended.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  const finish = () => {
    timers.clear();
    signal?.removeEventListener("abort", onAbort);
  };
  try {
    timers.set("connect", limits.connectMs, () => giveUp("There was no connection in time."));
    timers.set("headers", limits.headersMs, () => giveUp("There was no answer in time."));
    if (limits.totalMs !== null) {
      timers.set("total", limits.totalMs, () => giveUp("There was no complete answer in time."));
    }
    const addresses = await abortable(addressesOf(hostOf(url), rules), ended.signal);
    const request = start(url, given, addresses);
    const response = await answerOf(request, ended.signal, () => timers.clear("connect"));
    timers.clear("headers");
    return toAnswer(response, limits.answerBytesMax, ended.signal, finish);
  } catch (error) {
    finish();
    throw error;
  }
}

async function addressesOf(host: string, { reach, resolve }: Rules): Promise<LookupAddress[]> {
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  let found: LookupAddress[];
  try {
    found = await resolve(host);
  } catch (error) {
    throw failure("Its host has no address", error);
  }
  if (found.length === 0) throw new OutboundFailed("Its host has no address.");
  // One that may not be reached among others is no accident.
  if (!found.every(({ address }) => isReachable(address, reach))) throw notPublic();
  return found;
}

function start(
  url: URL,
  { method = "GET", headers = {}, body = null }: OutboundRequest,
  addresses: LookupAddress[],
): ClientRequest {
  const [first] = addresses;
  const pinned: LookupFunction = (_host, { all }, done) => {
    if (all === true) done(null, addresses);
    else done(null, first?.address ?? "", first?.family);
  };
  const length = typeof body === "string" || body instanceof Uint8Array ? Buffer.byteLength(body) : null;
  const request = (url.protocol === "https:" ? requestHttps : requestHttp)({
    hostname: hostOf(url),
    port: url.port === "" ? null : Number(url.port),
    path: url.pathname + url.search,
    method,
    headers: {
      "accept-encoding": "identity",
      ...headers,
      host: url.host.replace(/\.+(?=:\d+$|$)/, ""),
      ...(length === null ? {} : { "content-length": length }),
    },
    // A connection of its own: one from a pool was opened by the look-up of somebody else.
    agent: false,
    lookup: pinned,
  });
  if (body === null || length !== null) request.end(body);
  // Its failure is the request's, which is listened to.
  else pipeline(Readable.from(body), request, () => {});
  return request;
}

function answerOf(
  request: ClientRequest,
  ended: AbortSignal,
  onConnected: () => void,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const onEnded = () => {
      reject(ended.reason);
      request.destroy();
    };
    request.on("socket", (socket) => {
      socket.once("encrypted" in socket ? "secureConnect" : "connect", onConnected);
    });
    request.on("error", (error) => reject(failure("The connection failed", error)));
    // Not every way to end without an answer is an error: a switch to another protocol, say.
    request.on("close", () => reject(new OutboundFailed("There was no answer.")));
    request.on("response", (response) => {
      ended.removeEventListener("abort", onEnded);
      const { statusCode = 0 } = response;
      if (!redirects.has(statusCode)) return resolve(response);
      request.destroy();
      reject(new OutboundRedirected(statusCode, response.headers.location ?? null));
    });
    ended.addEventListener("abort", onEnded);
    if (ended.aborted) onEnded();
  });
}

function toAnswer(
  response: IncomingMessage,
  bytesMax: number | null,
  ended: AbortSignal,
  finish: () => void,
): OutboundAnswer {
  const onEnded = () => response.destroy(ended.reason);
  ended.addEventListener("abort", onEnded);
  if (ended.aborted) onEnded();
  response.once("close", () => {
    ended.removeEventListener("abort", onEnded);
    finish();
  });
  // An answer that nobody reads can end badly as well.
  response.on("error", () => {});
  const headers = new Headers();
  for (const [name, values] of Object.entries(response.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  return {
    status: response.statusCode ?? 0,
    headers,
    body: bounded(response, bytesMax, ended),
    discard: () => response.destroy(),
  };
}

async function* bounded(
  response: IncomingMessage,
  bytesMax: number | null,
  ended: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    for await (const chunk of response) {
      const part: Uint8Array = chunk;
      bytes += part.length;
      if (bytesMax !== null && bytes > bytesMax) {
        throw new OutboundFailed(`The answer has more than ${bytesMax} bytes.`);
      }
      yield part;
    }
  } catch (error) {
    if (error instanceof OutboundFailed) throw error;
    throw ended.aborted ? ended.reason : failure("The answer broke off", error);
  }
}

async function readRequest(asked: Request, init: RequestInit | undefined): Promise<OutboundRequest> {
  const { method, headers, body } = asked;
  // Not that of the request, which no longer hears of its origin once the request is collected.
  const signal = init?.signal ?? asked.signal;
  const isStream = init !== undefined && "duplex" in init && body !== null;
  const whole = body === null || isStream ? null : new Uint8Array(await asked.arrayBuffer());
  return { method, headers: Object.fromEntries(headers), body: isStream ? body : whole, signal };
}

function toResponse(answer: OutboundAnswer): Response {
  const { status, headers } = answer;
  if (status < 200 || status > 599) {
    answer.discard();
    throw new OutboundFailed(`The answer has the status ${status}, which means nothing.`);
  }
  if (!bodiless.has(status)) return new Response(streamOf(answer.body), { status, headers });
  answer.discard();
  return new Response(null, { status, headers });
}

/** `ReadableStream.from` is not among the types of browsers, with which the types of the client are checked too. */
function streamOf(body: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const pieces = body[Symbol.asyncIterator]();
  // Nothing is read before somebody asks for it.
  const lazily = { highWaterMark: 0 };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = await pieces.next();
        if (piece.done === true) controller.close();
        else controller.enqueue(piece.value);
      },
      async cancel(reason) {
        await pieces.return?.(reason);
      },
    },
    lazily,
  );
}

/** The kind of the error and not its message, which repeats names and addresses (O4). */
function failure(problem: string, error: unknown): OutboundFailed {
  const code =
    error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
  return new OutboundFailed(code === null ? `${problem}.` : `${problem} (${code}).`);
}

function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", onAbort));
}

/** Timers by name, so that none is left when it is over. */
class Timers {
  readonly #timers = new Map<string, NodeJS.Timeout>();

  set(name: string, ms: number, then: () => void): void {
    this.#timers.set(name, setTimeout(then, ms));
  }

  clear(only?: string): void {
    for (const [name, timer] of this.#timers) if (only === undefined || only === name) clearTimeout(timer);
  }
}
