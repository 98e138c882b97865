/** As little of a HARP client as the benchmark needs, on bare `node:http`, so that its own work weighs little. */

import { Agent, type IncomingMessage, request } from "node:http";

export interface Envelope {
  msgType: string;
  requestId: string;
  msgId?: string;
  createdAt: string;
  sender: object;
  recipient?: object;
  body: Record<string, unknown>;
}

export interface Party {
  role: "enforcer" | "approver";
  id: string;
  key: string;
}

interface Call {
  method?: string;
  key?: string;
  headers?: Record<string, string>;
  body?: unknown;
}

export class GatewayClient {
  readonly #url: string;
  readonly #key: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  readonly #streams: IncomingMessage[] = [];

  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  async party(role: Party["role"], id: string): Promise<Party> {
    const { key } = await this.#json("/v1/api-keys", 201, {
      key: this.#key,
      headers: {
        "content-type": "application/json",
        "harn-agents-protocol-version": "agents-protocol-2026-04-25",
      },
      body: { name: id, actor: id, scopes: [`harp:${role}:${id}`] },
    });
    return { role, id, key: String(key) };
  }

  async submit(envelope: Envelope, { key }: Party): Promise<void> {
    await this.#json("/v1/artifacts", 202, { key, body: envelope });
  }

  async decide(envelope: Envelope, { key }: Party): Promise<void> {
    await this.#json("/v1/decisions", 200, { key, body: envelope });
  }

  async acknowledge({ role, id, key }: Party, requestId: string, msgId: string): Promise<void> {
    const createdAt = new Date().toISOString();
    const body = { msgId, status: "processed", ackAt: createdAt };
    const sender = { [`${role}Id`]: id };
    await this.#json("/v1/acks", 200, {
      key,
      body: { msgType: "ack.submit", requestId, createdAt, sender, body },
    });
  }

  async inbox({ role, id, key }: Party): Promise<void> {
    await this.#json(`/v1/${role}s/${id}/inbox`, 200, { key });
  }

  async status(): Promise<void> {
    await this.#json("/v1/status", 200, {});
  }

  /** Gives every message of a party's stream, from those that wait there on. */
  async listen({ role, id, key }: Party, take: (envelope: Envelope) => void): Promise<void> {
    const response = await this.#send(
      `/v1/sse/${role}s/${id}`,
      { key, headers: { accept: "text/event-stream" } },
      false,
    );
    if (response.statusCode !== 200)
      throw new Error(`The stream of ${id} was refused: ${response.statusCode}`);
    this.#streams.push(response);
    let text = "";
    response.setEncoding("utf8");
    response.on("error", () => {});
    response.on("data", (chunk: string) => {
      text += chunk;
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const data = /^data: ?(\{.*)$/m.exec(block)?.[1];
        if (data !== undefined) take(JSON.parse(data));
      }
    });
  }

  close(): void {
    for (const stream of this.#streams) stream.destroy();
    this.#agent.destroy();
  }

  async #json(path: string, expected: number, call: Call): Promise<Record<string, unknown>> {
    const response = await this.#send(path, call, true);
    const text = (await response.setEncoding("utf8").toArray()).join("");
    if (response.statusCode !== expected) throw new Error(`${path} was ${response.statusCode}: ${text}`);
    return JSON.parse(text);
  }

  /** A stream has a connection of its own. */
  #send(path: string, call: Call, isShared: boolean): Promise<IncomingMessage> {
    const content = call.body === undefined ? undefined : JSON.stringify(call.body);
    const headers = {
      "x-harp-version": "0.2",
      ...(content === undefined
        ? {}
        : { "content-type": "application/harp+json", "content-length": Buffer.byteLength(content) }),
      ...(call.key === undefined ? {} : { authorization: `Bearer ${call.key}` }),
      ...call.headers,
    };
    return new Promise((resolve, reject) => {
      const sent = request(
        this.#url + path,
        {
          method: call.method ?? (content === undefined ? "GET" : "POST"),
          headers,
          agent: isShared ? this.#agent : new Agent(),
        },
        resolve,
      );
      sent.on("error", reject);
      sent.end(content);
    });
  }
}
