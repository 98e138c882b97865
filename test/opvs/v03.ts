/** 0.3 as it is on the wire, without anybody's client library. */

import type { Json } from "../support/client.ts";
import { adminKey } from "../support/server.ts";

export interface Asked {
  path: string;
  method?: string;
  body?: Json;
  /** Sent as it is, instead of `body`. */
  raw?: string;
  headers?: Record<string, string>;
  key?: string;
}

export interface Answered {
  status: number;
  type: string;
  headers: Headers;
  text: string;
  body: Json;
}

function send(
  url: string,
  { path, method = "POST", body, raw, headers, key = adminKey }: Asked,
): Promise<Response> {
  const text = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  return fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    ...(text === undefined ? {} : { body: text }),
  });
}

/** The text of a stream as it comes. */
export async function* listen(url: string, asked: Asked): AsyncGenerator<string> {
  const { body } = await send(url, asked);
  if (body !== null) yield* body.pipeThrough(new TextDecoderStream());
}

export async function ask(url: string, asked: Asked): Promise<Answered> {
  const response = await send(url, asked);
  const answer = await response.text();
  const [type = ""] = (response.headers.get("content-type") ?? "").split(";");
  const read = type === "application/json" && answer !== "" ? JSON.parse(answer) : undefined;
  return { status: response.status, type, headers: response.headers, text: answer, body: read };
}

export function rpc(method: string, params: Json, more: Partial<Asked> = {}): Asked {
  return { path: "/opvs/rpc", body: { jsonrpc: "2.0", id: 7, method, params }, ...more };
}

export const kinded = (text: string, more: Json = {}) => ({
  message: {
    kind: "message",
    messageId: crypto.randomUUID(),
    role: "user",
    parts: [{ kind: "text", text }],
    ...more,
  },
});
export const wrapped = (text: string) => ({
  message: { messageId: crypto.randomUUID(), role: "ROLE_USER", content: [{ text }] },
});
export const current = (text: string) => ({
  message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] },
});

/** The frames of a stream, each with its name. */
export function frames(text: string): { event: string; data: Json }[] {
  return text
    .split("\n\n")
    .filter((frame) => frame.includes("data: "))
    .map((frame) => ({
      event: /^event: (.*)$/m.exec(frame)?.[1] ?? "message",
      data: JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? "null"),
    }));
}

export const rehearsal = { path: "/opvs/agents/rehearsal/rpc" };

export async function startedTask(url: string): Promise<string> {
  const params = { ...kinded("sleep 600000"), configuration: { blocking: false } };
  const { body } = await ask(url, rpc("message/send", params, rehearsal));
  return body.result.id;
}
