/** Sending prompts and session events to an enforcer: bare objects, hashed as they are, and what came back. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type Prompt, promptHashOf } from "../../src/harp/core/prompt.ts";
import { type SessionSnapshot, snapshotHashOf } from "../../src/harp/core/session.ts";
import type { Answer, Client, Json } from "./client.ts";

const mediaType = "application/harp+json";

export interface HarpCallOptions {
  method?: string;
  headers?: Record<string, string | undefined>;
  key?: string | null;
}

/** What is text is sent as it is. */
export async function harpCall(
  client: Client,
  path: string,
  body?: object | string,
  { method, headers = {}, key = client.key }: HarpCallOptions = {},
): Promise<Answer> {
  const text = typeof body === "object" ? JSON.stringify(body) : body;
  const response = await fetch(`${client.url}/harp${path}`, {
    method: method ?? (text === undefined ? "GET" : "POST"),
    headers: client.headers(
      { ...(text === undefined ? {} : { "content-type": mediaType }), ...headers },
      key,
    ),
    ...(text === undefined ? {} : { body: text }),
  });
  const answer = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith(mediaType) ?? false;
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(answer) : answer };
}

export const sendPrompt = (client: Client, prompt: object | string) => harpCall(client, "/v1/prompt", prompt);
export const tell = (client: Client, event: object | string) => harpCall(client, "/v1/session/event", event);
export const readSession = (client: Client, sessionId: string) =>
  harpCall(client, `/v1/session/${encodeURIComponent(sessionId)}`);

export async function promptFor(sessionId: string, changes: Partial<Prompt> = {}): Promise<Prompt> {
  const prompt = {
    requestId: randomUUID(),
    sessionId,
    artifactType: "prompt.send" as const,
    createdAt: new Date().toISOString(),
    target: "agentChat" as const,
    text: "Please summarize the plan.",
    promptHashAlg: "SHA-256" as const,
    ...changes,
  };
  return { ...prompt, promptHash: await promptHashOf(prompt) };
}

export async function snapshotOf(
  sessionId: string,
  changes: Partial<SessionSnapshot> = {},
): Promise<SessionSnapshot> {
  const snapshot = {
    sessionId,
    eventType: "session.snapshot" as const,
    snapshotId: randomUUID(),
    snapshotType: "summary" as const,
    createdAt: new Date().toISOString(),
    payload: { summary: "All is well." },
    snapshotHashAlg: "SHA-256" as const,
    ...changes,
  };
  return { ...snapshot, snapshotHash: await snapshotHashOf(snapshot) };
}

/** The ack, after checking that the whole of it has the protocol's shape. */
export function ackOf({ status, headers, body }: Answer, prompt: Prompt): Json {
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(headers.get("x-harp-version"), "0.2");
  const { requestId, promptHash, status: said, ackAt, details, ...rest } = body;
  assert.deepEqual([requestId, promptHash], [prompt.requestId, prompt.promptHash]);
  assert.match(ackAt, /^\d{4}-\d\d-\d\dT/);
  assert.deepEqual(rest, {});
  return { status: said, details };
}

/** The details of an error, after checking that the whole of it is an envelope. */
export function harpErrorOf({ status, body }: Answer, expected: number, harpCode?: string): Json {
  assert.equal(status, expected, JSON.stringify(body));
  assert.equal(body.msgType, "error", JSON.stringify(body));
  const { code, message, details } = body.body;
  assert.equal(typeof code, "string");
  assert.equal(typeof message, "string");
  assert.equal(typeof details.retryable, "boolean");
  if (harpCode !== undefined) assert.equal(details.harpCode, harpCode, JSON.stringify(body));
  return { code, ...details };
}
