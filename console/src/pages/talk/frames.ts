/** What a client of a protocol gets to read about a task, byte by byte as the server sends it. */

import { sessionFetch } from "../../server/session.ts";
import { protocolVersion } from "../run/copies.ts";

export const frameProtocols = ["harn", "a2a"] as const;
export type FrameProtocol = (typeof frameProtocols)[number];

export const a2aHeaders = { "A2A-Version": "1.0" };
/** More are in the log. */
export const framesMax = 500;

interface Call {
  path: string;
  init: RequestInit;
  /** How a person would make the same request. */
  shown: string;
}

/** A task that has ended is not subscribed to in A2A: it is read. */
export function callFor(protocol: FrameProtocol, taskId: string, isOver: boolean): Call {
  if (protocol === "harn") {
    const path = `/v1/tasks/${taskId}/stream`;
    return {
      path,
      init: { headers: { "Harn-Agents-Protocol-Version": protocolVersion, Accept: "text/event-stream" } },
      shown: `GET ${path}`,
    };
  }
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: isOver ? "GetTask" : "SubscribeToTask",
    params: { id: taskId },
  });
  const headers = { ...a2aHeaders, "Content-Type": "application/json" };
  return { path: "/a2a/rpc", init: { method: "POST", headers, body }, shown: `POST /a2a/rpc\n${body}` };
}

/** The frames of a stream of events; an answer in one piece is one frame. */
export async function* readFrames({ path, init }: Call, signal: AbortSignal): AsyncGenerator<string> {
  const { body, headers } = await sessionFetch(path, { ...init, signal });
  if (body === null) return;
  const isStream = headers.get("Content-Type")?.startsWith("text/event-stream") ?? false;
  let rest = "";
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    rest += chunk;
    if (!isStream) continue;
    const frames = rest.split(/\r?\n\r?\n/);
    rest = frames.pop() ?? "";
    yield* frames;
  }
  if (rest.trim() !== "") yield rest;
}
