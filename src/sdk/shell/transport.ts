/** One request to the engine and what comes back, whole or as a stream. Trying again is the business of retry.ts. */

import { readFrames, readText } from "./body.ts";
import { type Directive, parseDirective } from "./directive.ts";
import { ShellError, shellError } from "./errors.ts";
import { isObject, type Json, type JsonObject, member, parseJson, requireObject } from "./json.ts";
import { parseResponse, type ResponseMessage } from "./response.ts";
import { socketMessages } from "./socket.ts";

export interface TransportSettings {
  readonly url: string;
  readonly fetch: typeof fetch;
  /** Asked before each request, so that a token can be renewed. */
  readonly headers: () => Record<string, string> | Promise<Record<string, string>>;
  readonly mayStream: boolean;
  /** With nothing heard for so long, not even a heartbeat, the line is taken for dead. */
  readonly silenceMsMax: number;
}

export interface StreamListener {
  /** `index` is the directive's place in the response that will come. */
  onDirective(directive: Directive, index: number): void;
  onProgress(progress: JsonObject): void;
}

/** An answer of the engine, errors included; throws when there is none that can be understood. */
export async function exchange(
  settings: TransportSettings,
  { request_id: requestId, body }: { request_id: string; body: string },
  listener: StreamListener,
  signal: AbortSignal,
): Promise<ResponseMessage> {
  const headers = await settings.headers();
  const line = new Line(settings, signal);
  try {
    if (isSocketUrl(settings.url))
      return await overSocket(settings, headers, { requestId, body }, listener, line);
    const response = await request(settings, headers, body, line.signal);
    line.heard();
    if (!response.ok) return await refusal(response, line);
    const type = response.headers.get("content-type") ?? "";
    const message = /^text\/event-stream\b/i.test(type)
      ? await followStream(settings, requestId, response, listener, line)
      : parseResponse(parseJson(await readText(response.body, () => line.heard()), "The engine's response"));
    requireOurs(message.requestId, requestId);
    return message;
  } catch (error) {
    throw line.explain(error);
  } finally {
    line.stop();
  }
}

async function request(
  settings: TransportSettings,
  headers: Record<string, string>,
  body: string,
  signal: AbortSignal,
): Promise<Response> {
  const accept = settings.mayStream ? "text/event-stream, application/json;q=0.9" : "application/json";
  // Called as a plain function: browsers refuse a fetch that is a method of something else.
  const { fetch } = settings;
  return await fetch(settings.url, {
    method: "POST",
    headers: { ...headers, Accept: accept, "Content-Type": "application/json" },
    body,
    signal,
    // An intent and its credentials go where they were sent and nowhere else.
    redirect: "error",
  });
}

async function followStream(
  { mayStream }: TransportSettings,
  requestId: string,
  response: Response,
  listener: StreamListener,
  line: Line,
): Promise<ResponseMessage> {
  if (!mayStream) {
    throw shellError("malformed_response", "The engine streams, which this shell did not offer.", {
      origin: "engine",
    });
  }
  const frames = new FrameOrder();
  for await (const { event, data } of readFrames(response.body, () => line.heard())) {
    const frame = requireObject(
      parseJson(data, `A frame "${event.slice(0, 64)}" of the stream`),
      "the frame",
    );
    if (event === "response") return parseResponse(frame);
    takeFrame(event, frame, { requestId, frames, listener });
  }
  throw shellError("connection_failed", "The stream ended before the engine's response.", {
    origin: "transport",
    retryable: true,
  });
}

interface Stream {
  requestId: string;
  frames: FrameOrder;
  listener: StreamListener;
}

function takeFrame(type: Json | undefined, frame: JsonObject, { requestId, frames, listener }: Stream): void {
  requireOurs(member(frame, "request_id"), requestId);
  const isInOrder = frames.next(member(frame, "sequence"));
  if (type === "progress") {
    const progress = member(frame, "progress");
    if (isObject(progress)) listener.onProgress(progress);
  } else if (type === "directive") {
    const directive = parseDirective(member(frame, "action_directive"), "action_directive");
    // What is left out here is in the response, in its order.
    if (isInOrder) listener.onDirective(directive, frames.directives++);
  }
}

export function isSocketUrl(url: string): boolean {
  return /^wss?:\/\//.test(url);
}

async function overSocket(
  { url }: TransportSettings,
  headers: Record<string, string>,
  { requestId, body }: { requestId: string; body: string },
  listener: StreamListener,
  line: Line,
): Promise<ResponseMessage> {
  const frames = new FrameOrder();
  const request = { url, headers, body, signal: line.signal, heard: () => line.heard() };
  for await (const message of socketMessages(request)) {
    const type = member(message, "type");
    if (type !== undefined) takeFrame(type, message, { requestId, frames, listener });
    else {
      const response = parseResponse(message);
      requireOurs(response.requestId, requestId);
      return response;
    }
  }
  throw shellError("connection_failed", "The stream ended before the engine's response.", {
    origin: "transport",
    retryable: true,
  });
}

/** What was meant for somebody else is not carried out here. */
function requireOurs(named: Json | undefined, requestId: string): void {
  if (named === undefined || named === requestId) return;
  throw shellError("malformed_response", "The engine's response is for another request.", {
    origin: "engine",
  });
}

/** After a gap nothing is believed to be in its place; the response will tell. */
class FrameOrder {
  directives = 0;
  #expected = 1;
  #isWhole = true;

  next(sequence: Json | undefined): boolean {
    if (sequence !== this.#expected) this.#isWhole = false;
    this.#expected += 1;
    return this.#isWhole;
  }
}

/** The statuses that may be different the next time; a repeated request is the same request, so trying costs nothing. */
const passing = new Set([408, 425, 429, 500, 502, 503, 504]);

/** The engine's own words if it has any, or what the status says. */
async function refusal(response: Response, line: Line): Promise<ResponseMessage> {
  const { status } = response;
  const retryAfterMs = waitAsked(response.headers.get("retry-after"));
  const said = errorIn(await readText(response.body, () => line.heard()));
  if (said !== null) return { ...said.message, error: delayed(said.error, retryAfterMs) };
  const isStranger = status === 401;
  const problem = isStranger ? "The engine does not accept the credentials" : "The engine cannot be used";
  throw shellError(isStranger ? "unauthenticated" : "http_error", `${problem} (HTTP ${status}).`, {
    origin: "transport",
    retryable: passing.has(status),
    details: { status },
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

/** Null for a proxy's page, say: then the status is all that there is to go by. */
function errorIn(text: string): { message: ResponseMessage; error: ShellError } | null {
  try {
    const message = parseResponse(parseJson(text, "The answer"));
    return message.error === undefined ? null : { message, error: message.error };
  } catch {
    return null;
  }
}

function delayed(error: ShellError, retryAfterMs: number | undefined): ShellError {
  if (retryAfterMs === undefined) return error;
  const { code, message, origin, retryable, details } = error;
  return new ShellError(code, message, { origin, retryable, details, retryAfterMs });
}

/** In seconds or as a date, as HTTP has it. */
function waitAsked(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** The connection of one request: given up when the caller says so, or when nothing is heard for too long. */
class Line {
  readonly #url: string;
  readonly #silenceMsMax: number;
  readonly #parent: AbortSignal;
  readonly #controller = new AbortController();
  readonly #follow = () => this.#controller.abort();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isSilent = false;

  constructor({ url, silenceMsMax }: TransportSettings, parent: AbortSignal) {
    this.#url = url;
    this.#silenceMsMax = silenceMsMax;
    this.#parent = parent;
    parent.addEventListener("abort", this.#follow, { once: true });
    if (parent.aborted) this.#follow();
    this.heard();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  heard(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#isSilent = true;
      this.#controller.abort();
    }, this.#silenceMsMax);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#parent.removeEventListener("abort", this.#follow);
  }

  explain(error: unknown): ShellError {
    if (this.#parent.aborted) return shellError("canceled", "The request was given up.");
    if (error instanceof ShellError) return error;
    const what = this.#isSilent
      ? `Nothing was heard from the engine for ${Math.round(this.#silenceMsMax / 1000)} s`
      : `The engine at ${new URL(this.#url).origin} cannot be reached, or hung up`;
    return shellError("connection_failed", `${what}.`, {
      origin: "transport",
      retryable: true,
      cause: error,
    });
  }
}
