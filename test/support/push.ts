/** Webhooks in tests: a receiver on this machine, and the operations about push configs over HTTP+JSON. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { Client, isFinal, type Json, until } from "./client.ts";
import { pushing } from "./push-server.ts";
import { startProcess, startServer, type TestProcess, type TestServer } from "./server.ts";

const script = fileURLToPath(new URL("./push-server.ts", import.meta.url));
const cursorUri = "urn:bridle:durable-cursor:1";

export interface Received {
  headers: IncomingHttpHeaders;
  body: Json;
}

export interface Receiver extends AsyncDisposable {
  url: string;
  received: Received[];
  bodies(): Json[];
  /** Waits until so many have come. */
  count(count: number): Promise<void>;
  /** Waits until one like this has come. */
  until(isMeant: (received: Received) => boolean): Promise<void>;
}

/** Takes everything, unless it is told how to answer. */
export async function startReceiver(
  answer: (response: ServerResponse, received: Received, index: number) => void = (response) =>
    response.writeHead(204).end(),
): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const one = { headers: request.headers, body };
    received.push(one);
    answer(response, one, received.length - 1);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    bodies: () => received.map(({ body }) => body),
    async count(count) {
      await until(
        async () => received.length,
        (length) => length >= count,
      );
    },
    async until(isMeant) {
      await until(
        async () => received.some(isMeant),
        (isThere) => isThere,
      );
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** The webhooks of one task, as a client registers and reads them. Answers are those of the server, errors included. */
export class Hooks {
  readonly #client: Client;
  readonly #path: string;

  constructor(client: Client, taskId: string, agent?: string) {
    const base = agent === undefined ? "/opvs/rest" : `/opvs/agents/${agent}/rest`;
    this.#client = client;
    this.#path = `${base}/tasks/${taskId}/pushNotificationConfigs`;
  }

  create(config: Json, headers: Record<string, string> = {}): Promise<Json> {
    return this.#call("", { body: config, headers: { ...version, ...headers } });
  }

  get(id: string): Promise<Json> {
    return this.#call(`/${encodeURIComponent(id)}`, { headers: version });
  }

  list(query = ""): Promise<Json> {
    return this.#call(query, { headers: version });
  }

  delete(id: string): Promise<Json> {
    return this.#call(`/${encodeURIComponent(id)}`, { method: "DELETE", headers: version });
  }

  async #call(path: string, options: Parameters<Client["call"]>[1]): Promise<Json> {
    return (await this.#client.call(this.#path + path, options)).body;
  }
}

const version = { "a2a-version": "1.0" };

/** Why a request was refused, and which field was wrong. */
export function refusalOf({ error }: Json): { status: number; reason: string | null; field: string | null } {
  const [detail] = error?.details ?? [];
  return {
    status: error?.code,
    reason: detail?.reason ?? null,
    field: detail?.fieldViolations?.[0].field ?? null,
  };
}

export type PushServer<Server extends TestServer = TestServer> = Server & {
  client: Client;
  /** The webhooks of a task as an operator sees them. */
  configs(taskId: string): Promise<Json[]>;
};

interface PushOptions {
  /** Kept across restarts; a fresh one otherwise. */
  data?: string;
  backoff?: object;
  /** See `push-server.ts`. */
  variables?: Record<string, string>;
}

/** Failures are tried again soon. */
export const quick = { firstMs: 20, mostMs: 40, attemptsMax: 6 };

export async function startPushServer(options: PushOptions = {}): Promise<PushServer> {
  const { backoff = quick, variables = {}, ...rest } = options;
  const config = pushing({ PUSH_BACKOFF: JSON.stringify(backoff), ...variables });
  return asPushServer(await startServer({ ...rest, config }));
}

/** In a process of its own, which can be killed. */
export async function startPushProcess(options: PushOptions = {}): Promise<PushServer<TestProcess>> {
  const { backoff = quick, variables = {}, ...rest } = options;
  const env = { PUSH_BACKOFF: JSON.stringify(backoff), ...variables };
  return asPushServer(await startProcess({ ...rest, script, env }));
}

function asPushServer<Server extends TestServer>(server: Server): PushServer<Server> {
  const client = new Client(server);
  return {
    ...server,
    client,
    configs: async (taskId) => (await client.get(`/v1/tasks/${taskId}/push-configs`)).body.data,
  };
}

/** Sends a message to the rehearsal agent and gives the task as it was made. */
export async function send(client: Client, text: string, config?: Json, headers = {}): Promise<Json> {
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] };
  const configuration = {
    returnImmediately: true,
    ...(config === undefined ? {} : { taskPushNotificationConfig: config }),
  };
  const { status, body } = await client.call("/opvs/agents/rehearsal/rest/message:send", {
    body: { message, configuration },
    headers: { ...version, ...headers },
  });
  return status === 200 ? body.task : body;
}

/** All that a task that has ended had to say, from its submission on: what a stream says of it. */
export async function story(client: Client, taskId: string): Promise<Json[]> {
  const { body } = await client.call(`/opvs/rest/tasks/${taskId}:subscribe`, {
    headers: { ...version, "a2a-extensions": cursorUri, "a2a-since": "evt_0000000000000000" },
  });
  const told: Json[] = [...body.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data));
  assert.ok(told.length > 1, body);
  return told.map(withoutCursor);
}

function withoutCursor(response: Json): Json {
  const [[name, value]] = Object.entries<Json>(response) as [[string, Json]];
  const { metadata: { [cursorUri]: _, ...metadata } = {}, ...rest } = value;
  return { [name]: Object.keys(metadata).length === 0 ? rest : { ...rest, metadata } };
}

/** A task that asks, and goes on when it is answered. */
export async function waitingTask(client: Client, questions = 1): Promise<Json> {
  const lines = Array.from({ length: questions }, (_, index) => `ask question ${index}?`);
  const { id } = await send(client, lines.join("\n"));
  return await client.untilTask(id, ({ waiting_for }) => waiting_for !== null);
}

export async function finish({ client }: PushServer, taskId: string, answers = 1): Promise<Json> {
  for (let index = 0; index < answers; index++) await answer(client, taskId, index);
  return await client.untilTask(taskId, isFinal);
}

export async function answer(client: Client, taskId: string, index: number): Promise<void> {
  await client.untilTask(taskId, (task) => task.waiting_for?.description === `question ${index}?`);
  assert.equal((await client.answer(taskId, "yes")).status, 201);
}

export async function untilState(server: PushServer, taskId: string, ...states: string[]): Promise<Json> {
  const configs = await until(
    () => server.configs(taskId),
    (found) => found.length > 0 && found.every(({ state }, index) => state === (states[index] ?? states[0])),
  );
  return configs[0];
}
