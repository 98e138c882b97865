/** Webhooks in tests: a receiver on this machine, and the operations about push configs at a server's second door. */

import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { Client, type Json, until } from "./client.ts";
import { type ServerOptions, startServer, type TestServer } from "./server.ts";

const script = fileURLToPath(new URL("./push-server.ts", import.meta.url));

export interface Received {
  headers: IncomingHttpHeaders;
  body: Json;
}

export interface Receiver extends AsyncDisposable {
  url: string;
  received: Received[];
  /** Waits until so many have come. */
  count(count: number): Promise<void>;
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
    async count(count) {
      await until(
        async () => received.length,
        (length) => length >= count,
      );
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

export interface PushOptions {
  caller?: Json;
  agent?: string;
  version?: "1.0" | "0.3";
}

export interface PushServer extends TestServer {
  client: Client;
  /** One of the operations; gives its answer, or `{ error }`. */
  push(
    operation: "create" | "get" | "list" | "delete" | "send",
    request: Json,
    options?: PushOptions,
  ): Promise<Json>;
  /** The webhooks of a task as an operator sees them. */
  configs(taskId: string): Promise<Json[]>;
}

/** Failures are tried again soon, and often. */
export const quick = { baseMs: 20, capMs: 40, attemptsMax: 15 };

export async function startPushServer(
  options: Pick<ServerOptions, "data"> & { backoff?: object; env?: Record<string, string> } = {},
): Promise<PushServer> {
  const { backoff = quick, env = {}, ...rest } = options;
  const server = await startServer({
    ...rest,
    script,
    env: { PUSH_BACKOFF: JSON.stringify(backoff), ...env },
  });
  const control = /^CONTROL (\S+)$/m.exec(server.output())?.[1];
  const client = new Client(server);
  return {
    ...server,
    client,
    async push(operation, request, given = {}) {
      const response = await fetch(`${control}/${operation}`, {
        method: "POST",
        body: JSON.stringify({ ...given, request }),
      });
      return await response.json();
    },
    configs: async (taskId) => (await client.get(`/v1/tasks/${taskId}/push-configs`)).body.data,
  };
}

/** The event ids that a task's webhooks must hear of, in order. */
export async function toBeTold(client: Client, taskId: string): Promise<string[]> {
  const { body } = await client.get(`/v1/tasks/${taskId}/events?limit=200`);
  return body.data.flatMap(({ event, id }: Json) => (event === "task.status_changed" ? [id] : []));
}

export function toldOf({ body }: Received): string {
  return body.statusUpdate.event_id;
}
