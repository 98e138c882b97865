/**
 * A door before another server, for hand-offs between two of them: it has the card of one of its agents, passes everything
 * on with a key of its own, counts it, and can keep answers from coming back.
 */

import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { adminKey, type TestServer } from "./server.ts";

export interface BridleFront extends AsyncDisposable {
  url: string;
  /** What was passed on: the JSON-RPC method of each request. */
  methods: string[];
  headers: IncomingMessage["headers"][];
  /** While this is set, the other server hears everything and its answers to this method are lost. */
  lost: string | null;
}

export async function startFront(behind: TestServer, agent: string): Promise<BridleFront> {
  const { hostname, port } = new URL(behind.url);
  const server = createServer((incoming, response) => void pass(incoming, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const front: BridleFront = {
    url,
    methods: [],
    headers: [],
    lost: null,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };

  async function pass(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    if (incoming.url?.endsWith("agent-card.json")) {
      response.setHeader("content-type", "application/json").end(JSON.stringify(cardOf(url, agent)));
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const { method = "" } = JSON.parse(body.toString("utf8"));
    front.methods.push(method);
    front.headers.push(incoming.headers);
    const headers = { ...incoming.headers, host: `${hostname}:${port}`, authorization: `Bearer ${adminKey}` };
    const outgoing = request({ hostname, port, path: incoming.url, method: "POST", headers }, (answer) => {
      if (front.lost === method) {
        answer.resume();
        return;
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    response.on("close", () => outgoing.destroy());
    outgoing.on("error", () => response.destroy());
    outgoing.end(body);
  }

  return front;
}

function cardOf(url: string, agent: string): object {
  return {
    name: agent,
    description: "An agent of another server.",
    version: "1.0.0",
    supportedInterfaces: [
      { url: `${url}/opvs/agents/${agent}/rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
    ],
    capabilities: {
      streaming: true,
      extensions: [{ uri: "urn:bridle:durable-cursor:1" }, { uri: "urn:bridle:delegation:1" }],
    },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "do", name: "Do", description: "Does it.", tags: ["test"] }],
  };
}
