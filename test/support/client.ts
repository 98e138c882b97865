/** A thin client of the Harn surface for tests: it sends what it is told and gives back exactly what came. */

import assert from "node:assert/strict";
import { adminKey, type TestServer } from "./server.ts";

export const protocolVersion = "agents-protocol-2026-04-25";

/** Whatever JSON the server sent; tests look into it freely. */
// biome-ignore lint/suspicious/noExplicitAny: a test that reads a field which is not there fails, which is its purpose
export type Json = any;

export interface Answer {
  status: number;
  headers: Headers;
  body: Json;
}

export interface CallOptions {
  method?: string;
  body?: unknown;
  /** Sent as it is, instead of `body` as JSON. */
  raw?: string;
  headers?: Record<string, string | undefined>;
  key?: string | null;
}

export class Client {
  readonly url: string;
  readonly key: string;

  constructor(server: Pick<TestServer, "url">, key = adminKey) {
    this.url = server.url;
    this.key = key;
  }

  as(key: string): Client {
    return new Client(this, key);
  }

  headers(extra: CallOptions["headers"] = {}, key: string | null = this.key): Record<string, string> {
    const headers = {
      "harn-agents-protocol-version": protocolVersion,
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...Object.fromEntries(Object.entries(extra).map(([name, value]) => [name.toLowerCase(), value])),
    };
    return Object.fromEntries(
      Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    );
  }

  async call(path: string, options: CallOptions = {}): Promise<Answer> {
    const { body, raw, headers = {}, key = this.key } = options;
    const text = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const method = options.method ?? (text === undefined ? "GET" : "POST");
    const json = text === undefined ? {} : { "content-type": "application/json" };
    const response = await fetch(this.url + path, {
      method,
      headers: this.headers({ ...json, ...headers }, key),
      ...(text === undefined ? {} : { body: text }),
    });
    const answer = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(answer) : answer };
  }

  get(path: string, headers?: CallOptions["headers"]): Promise<Answer> {
    return this.call(path, headers === undefined ? {} : { headers });
  }

  post(path: string, body: unknown = {}, headers?: CallOptions["headers"]): Promise<Answer> {
    return this.call(
      path,
      headers === undefined ? { body, method: "POST" } : { body, headers, method: "POST" },
    );
  }

  async createSession(body: object = {}): Promise<Json> {
    const answer = await this.post("/v1/sessions", { workspace_id: "workspace_default", ...body });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body;
  }

  /** Submits a task without waiting for it. */
  async submit(sessionId: string, text: string, body: object = {}): Promise<Json> {
    const answer = await this.post("/v1/tasks", { session_id: sessionId, input: userMessage(text), ...body });
    assert.equal(answer.status, 202, JSON.stringify(answer.body));
    return answer.body;
  }

  /** Says something in a session, on behalf of no task. */
  async append(sessionId: string, text: string, role = "user"): Promise<Json> {
    const message = { ...userMessage(text), role };
    const { status, body } = await this.post(`/v1/sessions/${sessionId}/messages`, { message });
    assert.equal(status, 201, JSON.stringify(body));
    return body;
  }

  /** A session whose turns are a user message and the agent's echo of it. */
  async sessionWithTurns(...texts: string[]): Promise<Json> {
    const session = await this.createSession();
    for (const text of texts) {
      const task = await this.submit(session.id, text);
      await this.untilTask(task.id, isFinal);
    }
    return session;
  }

  /** Has the rehearsal agent play a script and gives the task once it has ended or waits for somebody. */
  async rehearse(sessionId: string, ...lines: string[]): Promise<Json> {
    const answer = await this.post(
      "/v1/tasks",
      { session_id: sessionId, persona_id: "persona_rehearsal", input: userMessage(lines.join("\n")) },
      { prefer: "wait=30" },
    );
    assert.equal(answer.status, 202, JSON.stringify(answer.body));
    await this.#receipted(answer.body);
    return answer.body;
  }

  /** Logs and sessions are compared when the receipts are issued that follow the end of a task. */
  async #receipted(task: Json): Promise<void> {
    // The server may be one that dies now.
    if (isFinal(task)) await this.get(`/v1/tasks/${task.id}/events?limit=1`).catch(() => {});
  }

  /** Resolves when everything about an ended task is in the log: its events are answered when its receipt is issued. */
  async settled(task: Json): Promise<void> {
    assert.equal((await this.get(`/v1/tasks/${task.id}/events`)).status, 200);
  }

  /** Makes an API key; the key itself is in `key`. */
  async createKey(body: object = {}): Promise<Json> {
    const answer = await this.post("/v1/api-keys", {
      name: "test",
      actor: "tester",
      scopes: ["admin"],
      ...body,
    });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body;
  }

  /** Keeps a memory of the default workspace, unless the body says otherwise. */
  async createMemory(body: object): Promise<Json> {
    const answer = await this.post("/v1/memories", {
      scope: "workspace",
      owner_id: "workspace_default",
      provenance: { actor: "test" },
      ...body,
    });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body;
  }

  /** Makes a connector of the default workspace; its secret is in `secret`. */
  async createConnector(body: object = {}): Promise<Json> {
    const answer = await this.post("/v1/connectors", {
      provider: "webhook",
      workspace_id: "workspace_default",
      ...body,
    });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body;
  }

  /** A client with a new key that has these scopes and no others. */
  async withScopes(...scopes: string[]): Promise<Client> {
    return this.as((await this.createKey({ scopes })).key);
  }

  /** The texts of a session's transcript, in order. */
  async texts(sessionId: string): Promise<string[]> {
    const messages = await this.listAll(`/v1/sessions/${sessionId}/messages`);
    return messages.flatMap(({ parts }) => parts.map(({ text }: Json) => text));
  }

  /** The task, once the condition holds for it. */
  async untilTask(taskId: string, holds: (task: Json) => boolean): Promise<Json> {
    const task = await until(async () => (await this.get(`/v1/tasks/${taskId}`)).body, holds);
    await this.#receipted(task);
    return task;
  }

  async answer(taskId: string, text: string): Promise<Answer> {
    return await this.post(`/v1/tasks/${taskId}/messages`, { kind: "input", message: userMessage(text) });
  }

  /** Every item of a list, page by page. */
  async listAll(path: string, limit = 200): Promise<Json[]> {
    const items: Json[] = [];
    let cursor: string | null = null;
    do {
      const query: string = `${path.includes("?") ? "&" : "?"}limit=${limit}${cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`}`;
      const { status, body } = await this.get(path + query);
      assert.equal(status, 200, JSON.stringify(body));
      items.push(...body.data);
      cursor = body.page.next_cursor;
    } while (cursor !== null);
    return items;
  }
}

export function userMessage(text: string, visibility = "public"): object {
  return { role: "user", parts: [{ type: "text", text, visibility }] };
}

export function isFinal(task: Json): boolean {
  return ["COMPLETED", "FAILED", "CANCELED"].includes(task.status);
}

/** At first, and when nothing has changed for long: a look costs both sides what they could be doing instead. */
const pollMs = { first: 5, longest: 50 };
const patienceMs = 60_000;

/** Asks again until the answer is right; fails with the last answer when it never is. */
export async function until<T>(ask: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  const deadline = Date.now() + patienceMs;
  for (let pause = pollMs.first; ; pause = Math.min(pause * 1.5, pollMs.longest)) {
    const value = await ask();
    if (holds(value)) return value;
    if (Date.now() > deadline) throw new Error(`Never became true; last seen: ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** The error's code, after checking that the whole error has the protocol's shape. */
export function errorOf({ status, headers, body }: Answer, expectedStatus: number): Json {
  assert.equal(status, expectedStatus, JSON.stringify(body));
  const { error } = body;
  assert.equal(typeof error.message, "string");
  assert.equal(typeof error.type, "string");
  assert.equal(error.request_id, headers.get("x-request-id"));
  assert.match(error.request_id, /^req_/);
  assert.equal(typeof error.details, "object");
  return error;
}
