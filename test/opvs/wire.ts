/**
 * The protocol as it is on the wire, without anybody's client library: one shape of call for all bindings, and exactly
 * what came back. Tests that run over every binding say `onEveryBinding`.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Json } from "../support/client.ts";
import { config as opvsConfig } from "../support/opvs-server.ts";
import {
  adminKey,
  type ServerOptions,
  startProcess,
  startServer,
  type TestServer,
} from "../support/server.ts";
import { GrpcWire } from "./grpc-wire.ts";

export interface CallOptions {
  /** Null sends no credentials. */
  key?: string | null;
  /** The agent's own endpoint instead of the front door. */
  agent?: string;
  /** Added to the version, or in place of it. What is undefined is not sent. */
  headers?: Record<string, string | undefined>;
  signal?: AbortSignal;
}

/** An error, by the name of its gRPC status and by what programs read of it. */
export interface WireFailure {
  status: string;
  /** As the binding itself numbers it. */
  code: number;
  reason: string | null;
  message: string;
  details: Json[];
}

export type Outcome =
  | { result: Json; error?: undefined; headers: Headers }
  | { result?: undefined; error: WireFailure; headers: Headers };

export interface Wire {
  name: "JSON-RPC" | "HTTP+JSON" | "gRPC";
  call(operation: string, request: Json, options?: CallOptions): Promise<Outcome>;
  /** Fails as `call` does when it is refused before the first event. */
  stream(operation: string, request: Json, options?: CallOptions): Promise<Stream>;
}

export interface Stream extends AsyncDisposable {
  error: WireFailure | null;
  headers: Headers;
  /** Undefined at the end. */
  next(): Promise<Json>;
  /** All that is left. */
  rest(): Promise<Json[]>;
}

export const opvsServer = fileURLToPath(new URL("../support/opvs-server.ts", import.meta.url));
export { opvsConfig };

export function message(text: string, more: Json = {}): Json {
  return { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }], ...more };
}

export function headersFor(
  { key = adminKey, headers = {} }: CallOptions,
  more: Record<string, string>,
): Record<string, string> {
  const all = { "a2a-version": "1.0", ...more, ...headers };
  const sent = key === null ? all : { authorization: `Bearer ${key}`, ...all };
  return Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== undefined)) as Record<
    string,
    string
  >;
}

const statusOfCode: Record<number, string> = {
  [-32700]: "INVALID_ARGUMENT",
  [-32600]: "INVALID_ARGUMENT",
  [-32601]: "UNIMPLEMENTED",
  [-32602]: "INVALID_ARGUMENT",
  [-32603]: "INTERNAL",
  [-32001]: "NOT_FOUND",
  [-32002]: "FAILED_PRECONDITION",
  [-32003]: "UNIMPLEMENTED",
  [-32004]: "UNIMPLEMENTED",
  [-32005]: "INVALID_ARGUMENT",
  [-32007]: "FAILED_PRECONDITION",
  [-32008]: "FAILED_PRECONDITION",
  [-32009]: "UNIMPLEMENTED",
};

function reasonIn(details: Json[]): string | null {
  return details.find((detail) => typeof detail.reason === "string")?.reason ?? null;
}

export class JsonRpcWire implements Wire {
  readonly name = "JSON-RPC";
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  post(body: string, options: CallOptions = {}): Promise<Response> {
    const path = options.agent === undefined ? "/opvs/rpc" : `/opvs/agents/${options.agent}/rpc`;
    return fetch(this.#url + path, {
      method: "POST",
      headers: headersFor(options, { "content-type": "application/json" }),
      body,
      signal: options.signal ?? null,
    });
  }

  async call(operation: string, request: Json, options: CallOptions = {}): Promise<Outcome> {
    const response = await this.#send(operation, request, options);
    const { result, error } = (await response.json()) as Json;
    const { headers } = response;
    return error === undefined ? { result, headers } : { error: this.#failure(error, response), headers };
  }

  async stream(operation: string, request: Json, options: CallOptions = {}): Promise<Stream> {
    const response = await this.#send(operation, request, options);
    if (!isEventStream(response)) {
      const { error } = (await response.json()) as Json;
      return refused(this.#failure(error, response), response.headers);
    }
    return eventsOf(response, ({ result, error }) => {
      if (error !== undefined) throw new Error(`The stream broke off: ${error.message}`);
      return result;
    });
  }

  #send(operation: string, request: Json, options: CallOptions): Promise<Response> {
    return this.post(JSON.stringify({ jsonrpc: "2.0", id: 1, method: operation, params: request }), options);
  }

  #failure({ code, message: text, data = [] }: Json, response: Response): WireFailure {
    const status =
      response.status === 401
        ? "UNAUTHENTICATED"
        : response.status === 403
          ? "PERMISSION_DENIED"
          : (statusOfCode[code] ?? "UNKNOWN");
    return { status, code, reason: reasonIn(data), message: text, details: data };
  }
}

interface RestTarget {
  method: string;
  path: string;
  body?: Json;
}

function query(params: Json): string {
  const given = Object.entries(params).map(([name, value]) => [name, String(value)]);
  return given.length === 0 ? "" : `?${new URLSearchParams(given as [string, string][])}`;
}

const restTargets: Record<string, (request: Json) => RestTarget> = {
  SendMessage: (body) => ({ method: "POST", path: "/message:send", body }),
  SendStreamingMessage: (body) => ({ method: "POST", path: "/message:stream", body }),
  GetTask: ({ id, ...rest }) => ({
    method: "GET",
    path: `/tasks/${encodeURIComponent(id)}${query(rest)}`,
  }),
  ListTasks: (request) => ({ method: "GET", path: `/tasks${query(request)}` }),
  CancelTask: ({ id, ...body }) => ({
    method: "POST",
    path: `/tasks/${encodeURIComponent(id)}:cancel`,
    body,
  }),
  SubscribeToTask: ({ id, ...body }) => ({
    method: "POST",
    path: `/tasks/${encodeURIComponent(id)}:subscribe`,
    body,
  }),
  CreateTaskPushNotificationConfig: ({ taskId, ...body }) => ({
    method: "POST",
    path: `/tasks/${encodeURIComponent(taskId)}/pushNotificationConfigs`,
    body,
  }),
  GetTaskPushNotificationConfig: ({ taskId, id }) => ({
    method: "GET",
    path: `/tasks/${encodeURIComponent(taskId)}/pushNotificationConfigs/${encodeURIComponent(id)}`,
  }),
  ListTaskPushNotificationConfigs: ({ taskId, ...rest }) => ({
    method: "GET",
    path: `/tasks/${encodeURIComponent(taskId)}/pushNotificationConfigs${query(rest)}`,
  }),
  DeleteTaskPushNotificationConfig: ({ taskId, id }) => ({
    method: "DELETE",
    path: `/tasks/${encodeURIComponent(taskId)}/pushNotificationConfigs/${encodeURIComponent(id)}`,
  }),
  GetExtendedAgentCard: () => ({ method: "GET", path: "/extendedAgentCard" }),
};

export class RestWire implements Wire {
  readonly name = "HTTP+JSON";
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async call(operation: string, request: Json, options: CallOptions = {}): Promise<Outcome> {
    const response = await this.#send(operation, request, options);
    const { headers } = response;
    if (!response.ok) return { error: await this.#failure(response), headers };
    return { result: response.status === 204 ? {} : await response.json(), headers };
  }

  async stream(operation: string, request: Json, options: CallOptions = {}): Promise<Stream> {
    const response = await this.#send(operation, request, options);
    if (!isEventStream(response)) return refused(await this.#failure(response), response.headers);
    return eventsOf(response, (data) => {
      if (data.error !== undefined) throw new Error(`The stream broke off: ${data.error.message}`);
      return data;
    });
  }

  #send(operation: string, request: Json, options: CallOptions): Promise<Response> {
    const { tenant, ...others } = request;
    const target = restTargets[operation]?.(others);
    assert(target !== undefined, `${operation} has no address`);
    const base = options.agent === undefined ? "/opvs/rest" : `/opvs/agents/${options.agent}/rest`;
    const inTenant = tenant === undefined ? base : `${base}/${encodeURIComponent(tenant)}`;
    return fetch(this.#url + inTenant + target.path, {
      method: target.method,
      headers: headersFor(options, target.body === undefined ? {} : { "content-type": "application/json" }),
      body: target.body === undefined ? null : JSON.stringify(target.body),
      signal: options.signal ?? null,
    });
  }

  async #failure(response: Response): Promise<WireFailure> {
    const { error } = (await response.json()) as Json;
    assert.equal(error.code, response.status);
    const { status, message: text, details } = error;
    return { status, code: response.status, reason: reasonIn(details), message: text, details };
  }
}

function isEventStream(response: Response): boolean {
  return (response.headers.get("content-type") ?? "").startsWith("text/event-stream");
}

export function refused(error: WireFailure, headers: Headers): Stream {
  return {
    error,
    headers,
    next: async () => undefined,
    rest: async () => [],
    async [Symbol.asyncDispose]() {},
  };
}

function eventsOf(response: Response, open: (data: Json) => Json): Stream {
  assert(response.body !== null);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const next = async (): Promise<Json> => {
    while (true) {
      const end = text.indexOf("\n\n");
      if (end !== -1) {
        const frame = text.slice(0, end);
        text = text.slice(end + 2);
        const data = frame.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
        if (data.length > 0) return open(JSON.parse(data.join("\n")));
        continue;
      }
      const { done, value } = await reader.read();
      if (done) return undefined;
      text += value;
    }
  };
  return {
    error: null,
    headers: response.headers,
    next,
    async rest() {
      const events: Json[] = [];
      for (let event = await next(); event !== undefined; event = await next()) events.push(event);
      return events;
    },
    // A connection that broke is as good as one that was closed.
    [Symbol.asyncDispose]: () => reader.cancel().catch(() => {}),
  };
}

export interface Served {
  server: TestServer;
  wires: Wire[];
}

/** The ways to talk to one server. */
export function wiresOf({ url, grpcUrl }: Pick<TestServer, "url" | "grpcUrl">): Wire[] {
  return [new JsonRpcWire(url), new RestWire(url), new GrpcWire(grpcUrl())];
}

/** A test for each binding, in a suite of its own with one server for all of them. */
export function everyBinding(
  name: string,
  define: (
    onEveryBinding: (name: string, run: (wire: Wire, served: Served) => Promise<void>) => void,
  ) => void,
  { env = {}, isProcess = false }: { env?: NonNullable<ServerOptions["env"]>; isProcess?: boolean } = {},
): void {
  describe(name, () => {
    let served: Served | undefined;
    before(async () => {
      const server = isProcess
        ? await startProcess({ script: opvsServer, env })
        : await startServer({ config: opvsConfig, env });
      served = { server, wires: wiresOf(server) };
    });
    after(() => served?.server[Symbol.asyncDispose]());
    define((title, run) => {
      for (const binding of ["JSON-RPC", "HTTP+JSON", "gRPC"] as const) {
        test(`${title} (${binding})`, async () => {
          const wire = served?.wires.find((candidate) => candidate.name === binding);
          assert(served !== undefined && wire !== undefined);
          await run(wire, served);
        });
      }
    });
  });
}
