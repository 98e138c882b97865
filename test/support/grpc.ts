/** Servers with a gRPC port within the test, and what clients of it need. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type CallOptions, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { A2AService, Role } from "../../proto/generated/lf/a2a/v1/a2a_pb.js";
import type { ServerConfig } from "../../src/server/config.ts";
import { type Server, startServer } from "../../src/server/server.ts";
import { adminKey, temporaryDirectory } from "./server.ts";

export interface GrpcServer extends AsyncDisposable {
  server: Server;
  url: string;
  grpcUrl: string;
}

/** In this process, with a data directory of its own. */
export async function startGrpcServer(settings: Partial<ServerConfig> = {}): Promise<GrpcServer> {
  const directory = await temporaryDirectory();
  const server = await startServer({
    port: 0,
    grpcPort: 0,
    dataDirectory: directory.path,
    apiKey: adminKey,
    ...settings,
  });
  assert.ok(server.grpcUrl !== null);
  let stopped: Promise<unknown> | null = null;
  return {
    server: {
      ...server,
      stop: (graceMs) => {
        const stopping = server.stop(graceMs);
        stopped = stopping;
        return stopping;
      },
    },
    url: server.url,
    grpcUrl: server.grpcUrl,
    async [Symbol.asyncDispose]() {
      await (stopped ?? server.stop(0));
      await directory[Symbol.asyncDispose]();
    },
  };
}

function read(name: string): string {
  return readFileSync(new URL(`./tls/${name}`, import.meta.url), "utf8");
}

/** A certificate for this machine that vouches for itself, good for a hundred years. */
export const tls = { cert: read("localhost.crt"), key: read("localhost.key") };

/** What a call of 1.0 says beside its message. */
export function callOptions(metadata: Record<string, string> = {}, key: string = adminKey): CallOptions {
  return { headers: { authorization: `Bearer ${key}`, "a2a-version": "1.0", ...metadata } };
}

export const transports: Record<string, (baseUrl: string) => Transport> = {
  "gRPC over HTTP/2": (baseUrl) => createGrpcTransport({ baseUrl }),
  "gRPC-Web over HTTP/1.1": (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
  "gRPC-Web over HTTP/2": (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "2" }),
};

export function grpcClient(baseUrl: string) {
  return createClient(A2AService, createGrpcTransport({ baseUrl }));
}

let messages = 0;

/** A message for the agent that plays scripts. */
export function script(text: string) {
  messages += 1;
  return {
    tenant: "@rehearsal",
    message: {
      messageId: `message-${messages}`,
      role: Role.USER,
      parts: [{ content: { case: "text" as const, value: text } }],
    },
  };
}

/** What a call was refused with. */
export async function refusalOf(call: () => Promise<unknown>): Promise<ConnectError> {
  try {
    await call();
  } catch (error) {
    assert.ok(error instanceof ConnectError, String(error));
    return error;
  }
  assert.fail("it was not refused");
}

/** What was read of a stream before it was refused, and with what. */
export async function readUntilRefused<T>(
  stream: AsyncIterable<T>,
): Promise<{ events: T[]; refusal: ConnectError }> {
  const events: T[] = [];
  const refusal = await refusalOf(async () => {
    for await (const event of stream) events.push(event);
  });
  return { events, refusal };
}
