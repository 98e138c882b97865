/**
 * A client of a HARP gateway over HTTP, by fetch alone. Whatever a gateway answers is bounded and read before it is
 * believed to have a shape; whatever goes wrong is a `GatewayRefusal`.
 */

import { chunksOf, EventTooLong, readEvents, type ServerSentEvent } from "../../web/event-stream.ts";
import { GatewayRefusal } from "./gateway-link.ts";
import { HarpError } from "./harp-error.ts";
import { isObject, type Reader } from "./read.ts";
import { harpMediaType, harpVersion, harpVersionHeader } from "./wire.ts";

export interface GatewayAddress {
  /** Where `/v1/...` is: `https://gateway.example`, `http://127.0.0.1:8080/harp`. */
  url: string;
  /** The API key, as a bearer token. */
  key: string;
  /** Instead of the platform's own. */
  fetch?: typeof fetch;
}

export interface Call {
  method?: "GET" | "POST" | "DELETE";
  body?: object;
  headers?: Record<string, string>;
  /** The largest answer that is read. */
  bytesMax?: number;
  signal?: AbortSignal;
}

/** For tests; the defaults are what a gateway over a bad line needs. */
export interface Limits {
  /** For a whole answer, or for a stream to begin. */
  answerMs: number;
  /** A stream that says nothing for this long is dead: gateways say something every 30 seconds. */
  idleMs: number;
  /** One event: an artifact of 2 MiB as base64url, and what is around it. */
  eventCharsMax: number;
}

const limitsDefault: Limits = { answerMs: 30_000, idleMs: 120_000, eventCharsMax: 4 * 1024 * 1024 };
/** Far above any answer that is not a page of artifacts. */
const answerBytesMax = 256 * 1024;
/** What somebody else wrote, as far as it is passed on. */
const messageCharsMax = 500;

export class GatewayClient {
  readonly url: string;
  readonly #key: string;
  readonly #limits: Limits;
  readonly #send: typeof fetch;

  constructor({ url, key, fetch: send }: GatewayAddress, limits: Partial<Limits> = {}) {
    this.url = baseUrl(url);
    if (!/^[\x21-\x7e]+$/.test(key)) throw new TypeError("The API key has characters that no key has.");
    this.#key = key;
    this.#limits = { ...limitsDefault, ...limits };
    // Looked up when it is called, as the name itself would be.
    this.#send = send ?? ((...request) => fetch(...request));
  }

  /** Calls and reads the answer, which is undefined when there is none (204). */
  async call<Answer>(path: string, read: Reader<Answer>, call: Call = {}): Promise<Answer> {
    const { answerMs } = this.#limits;
    const patience = new Patience(answerMs, call.signal);
    try {
      const response = await this.#fetch(path, call, patience);
      const text = await this.#told(patience, () => readText(response, call.bytesMax ?? answerBytesMax));
      if (!response.ok) throw refusalIn(response.status, parsed(text));
      return sensible(() => read(parsed(text), "answer"));
    } finally {
      patience.end();
    }
  }

  /** Events as they come, keep-alives too, until the gateway ends the stream or the signal says so. */
  async *events(path: string, signal: AbortSignal): AsyncGenerator<ServerSentEvent> {
    const { answerMs, idleMs, eventCharsMax } = this.#limits;
    const patience = new Patience(answerMs, signal);
    try {
      const response = await this.#fetch(path, { headers: { Accept: "text/event-stream" } }, patience);
      const body = await this.#told(patience, () => streamIn(response));
      const heard = () => patience.restart(idleMs);
      heard();
      const events = readEvents(chunksOf(body, heard), eventCharsMax);
      while (true) {
        const { done, value } = await this.#told(patience, () => events.next());
        if (done === true) return;
        // Whoever takes their time over an event is not the gateway's fault.
        patience.rest();
        yield value;
        heard();
      }
    } finally {
      // Which also cuts the connection, if it is still there.
      patience.end();
    }
  }

  async #fetch(path: string, call: Call, patience: Patience): Promise<Response> {
    const { method = call.body === undefined ? "GET" : "POST", body } = call;
    return await this.#told(patience, () =>
      this.#send(this.url + path, {
        method,
        headers: {
          Authorization: `Bearer ${this.#key}`,
          Accept: harpMediaType,
          [harpVersionHeader]: harpVersion,
          ...(body === undefined ? {} : { "Content-Type": harpMediaType }),
          ...call.headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        // The key is for this address, not for one that it names.
        redirect: "error",
        signal: patience.signal,
      }),
    );
  }

  /** Does it, and says what it means when it fails. */
  async #told<Result>(patience: Patience, doIt: () => Promise<Result>): Promise<Result> {
    try {
      return await doIt();
    } catch (error) {
      if (error instanceof GatewayRefusal) throw error;
      patience.throwIfAskedTo();
      if (error instanceof EventTooLong) throw senseless(error.message);
      const why = patience.isOver ? "it does not answer in time" : causeOf(error);
      throw new GatewayRefusal("Unreachable", 503, `The gateway at ${this.url} cannot be reached: ${why}.`, {
        isRetryable: true,
      });
    }
  }
}

/** Ends what takes too long, and what is no longer wanted. */
class Patience {
  readonly #controller = new AbortController();
  readonly #wanted: AbortSignal | undefined;
  readonly #stop = () => this.#controller.abort();
  #timer: ReturnType<typeof setTimeout>;
  isOver = false;

  constructor(ms: number, wanted?: AbortSignal) {
    wanted?.throwIfAborted();
    this.#wanted = wanted;
    wanted?.addEventListener("abort", this.#stop);
    this.#timer = this.#start(ms);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  restart(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = this.#start(ms);
  }

  rest(): void {
    clearTimeout(this.#timer);
  }

  throwIfAskedTo(): void {
    this.#wanted?.throwIfAborted();
  }

  #start(ms: number): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      this.isOver = true;
      this.#controller.abort();
    }, ms);
  }

  /** Nothing is waited for any more: what still runs is cut. */
  end(): void {
    clearTimeout(this.#timer);
    this.#wanted?.removeEventListener("abort", this.#stop);
    this.#controller.abort();
  }
}

function baseUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new TypeError("A gateway's address is an http or https URL.");
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new TypeError("A gateway's address has no credentials, no query and no fragment.");
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

async function readText(response: Response, bytesMax: number): Promise<string> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of chunksOf(response.body)) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw senseless(`it has more than ${bytesMax} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

async function streamIn(response: Response): Promise<ReadableStream<Uint8Array>> {
  if (!response.ok) throw refusalIn(response.status, parsed(await readText(response, answerBytesMax)));
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith("text/event-stream") && response.body !== null) return response.body;
  throw senseless("it is no stream of events");
}

/** Undefined for what is empty, or no JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What was refused, as far as somebody who speaks HARP refused it. */
function refusalIn(status: number, value: unknown): GatewayRefusal {
  const body = errorIn(value);
  if (body === null || typeof body.code !== "string" || !/^\w{1,64}$/.test(body.code)) {
    // A proxy, or another kind of server: it is not the gateway that said no.
    return new GatewayRefusal(
      "NotAGateway",
      status,
      `The answer is none of a HARP gateway: HTTP ${status}.`,
      {
        isRetryable: true,
      },
    );
  }
  const message = typeof body.message === "string" ? body.message.slice(0, messageCharsMax) : body.code;
  const details = isObject(body.details) ? body.details : {};
  return new GatewayRefusal(body.code, status, message, { isRetryable: details.retryable === true, details });
}

/** In an envelope; Bridle's own endpoints say it in plain JSON. */
function errorIn(value: unknown): Record<string, unknown> | null {
  if (!isObject(value)) return null;
  const body = value.msgType === "error" ? value.body : value.error;
  return isObject(body) ? body : null;
}

/** Of an answer: what it was read as, or that it cannot be read. */
function sensible<Answer>(read: () => Answer): Answer {
  try {
    return read();
  } catch (error) {
    if (error instanceof HarpError) throw senseless(error.message);
    throw error;
  }
}

/** Null when the gateway says that it knows no such thing. */
export async function orNull<Answer>(ask: () => Promise<Answer>): Promise<Answer | null> {
  try {
    return await ask();
  } catch (error) {
    const isGone = error instanceof GatewayRefusal && error.status === 404 && !isNoAnswer(error);
    if (isGone) return null;
    throw error;
  }
}

/** There is nobody behind this address who could know. */
export function isNoAnswer({ code }: GatewayRefusal): boolean {
  return code === "NotAGateway" || code === "RouteNotFound" || code === "MethodNotAllowed";
}

function senseless(why: string): GatewayRefusal {
  const what = why.slice(0, messageCharsMax).replace(/\.$/, "");
  // Nothing was refused: the same may be understood when the gateway is itself again.
  return new GatewayRefusal("SenselessAnswer", 502, `The gateway's answer makes no sense: ${what}.`, {
    isRetryable: true,
  });
}

/** What fetch says about it is often in the cause only. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return "it failed";
  const { cause } = error;
  if (cause instanceof Error && "code" in cause && typeof cause.code === "string") return cause.code;
  return (cause instanceof Error ? cause.message : error.message)
    .replace(/\.$/, "")
    .slice(0, messageCharsMax);
}
