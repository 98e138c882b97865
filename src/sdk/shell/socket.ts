/** One request over a WebSocket of its own: the frames of its stream, and then the response. */

import { shellError } from "./errors.ts";
import { isObject, type JsonObject, member, parseJson } from "./json.ts";

const subprotocol = "bridle.v1";
/** As large as a whole response may be over HTTP. */
const frameCharsMax = 8 * 1024 * 1024;

export interface SocketRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
  /** Aborted when nobody waits any longer. */
  signal: AbortSignal;
  /** Something was heard. */
  heard(): void;
}

/** What the engine sends, in order; ends with the first message that is no frame of a stream. */
export async function* socketMessages({
  url,
  headers,
  body,
  signal,
  heard,
}: SocketRequest): AsyncGenerator<JsonObject> {
  const arrived: string[] = [];
  let news = Promise.withResolvers<void>();
  const over = { how: "" };
  const tell = () => {
    news.resolve();
    news = Promise.withResolvers<void>();
  };
  const end = (how: string) => {
    over.how ||= how;
    tell();
  };
  const socket = new WebSocket(url, protocolsFor(headers));
  socket.addEventListener("open", () => {
    heard();
    socket.send(body);
  });
  socket.addEventListener("message", ({ data }) => {
    heard();
    if (typeof data === "string" && data.length <= frameCharsMax) arrived.push(data);
    else end("it sent a message that cannot be read");
    tell();
  });
  socket.addEventListener("error", () => end("the connection was refused or broke"));
  socket.addEventListener("close", () => end("it hung up before its response"));
  const abandon = () => end("it was given up");
  signal.addEventListener("abort", abandon, { once: true });
  try {
    while (true) {
      const text = arrived.shift();
      if (text === undefined) {
        if (over.how !== "" || signal.aborted) throw broken(over.how);
        await news.promise;
        continue;
      }
      const message = parseJson(text, "A message of the engine");
      if (!isObject(message)) throw broken("it sent something that is no object");
      yield message;
      if (member(message, "type") === undefined) return;
    }
  } finally {
    signal.removeEventListener("abort", abandon);
    socket.close();
  }
}

/** A browser sends no headers with an upgrade, so the key goes as a subprotocol, and other headers cannot go at all. */
function protocolsFor(headers: Record<string, string>): string[] {
  const protocols: string[] = [];
  for (const [name, value] of Object.entries(headers)) {
    const [scheme = "", key = ""] = value.split(" ");
    if (name.toLowerCase() !== "authorization" || scheme.toLowerCase() !== "bearer" || key === "") {
      throw shellError(
        "invalid_argument",
        `The header ${name} cannot be sent over a WebSocket: only Authorization: Bearer <key> can.`,
      );
    }
    protocols.push(subprotocol, `bearer.${key}`);
  }
  return protocols;
}

function broken(how: string) {
  return shellError("connection_failed", `The WebSocket to the engine ended: ${how}.`, {
    origin: "transport",
    retryable: true,
  });
}
