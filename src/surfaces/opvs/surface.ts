/**
 * OPVS over HTTP, as a Fastify plugin: JSON-RPC and HTTP+JSON for the default agent and for every agent by its name,
 * under our own prefix and under that of A2A.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { HarnessError } from "../../kernel/errors.ts";
import { textOf } from "../json-body.ts";
import { prefixes } from "./addresses.ts";
import { NoSuchOperation } from "./errors.ts";
import { arrivalOf } from "./http.ts";
import { failJsonRpc, jsonRpc } from "./json-rpc.ts";
import type { Opvs } from "./opvs.ts";
import { failRest, rest } from "./rest.ts";
import type { StreamSettings } from "./sse.ts";
import { v03Head, v03Rest } from "./v03/rest.ts";

export function opvsHttp(opvs: Opvs, settings: StreamSettings): (app: FastifyInstance) => Promise<void> {
  const answerRpc = jsonRpc(opvs, settings);
  const answerRest = rest(opvs, settings);
  const answerV03Rest = v03Rest(opvs, settings);
  return async (app) => {
    // Bodies are read by the bindings, which have their own words for what is wrong with them.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", { parseAs: "buffer" }, async (_request: FastifyRequest, body: Buffer) =>
      textOf(body),
    );
    // Who is not known sends little, or nothing.
    app.addHook("onRequest", async (request) => {
      const caller = await opvs.identify(arrivalOf(request, agentOf(request), new AbortController().signal));
      if (caller === null && bodyBytesOf(request) > anonymousBytesMax) {
        throw new HarnessError(
          "payload_too_large",
          `Without credentials a body has at most ${anonymousBytesMax} bytes.`,
        );
      }
    });
    app.setErrorHandler((error, request, reply) => failOpvs(opvs, error, request, reply));
    for (const prefix of prefixes) {
      // Also what is not there is said in the protocol's own words.
      await app.register(
        async (inside) =>
          inside.setNotFoundHandler((request, reply) =>
            failOpvs(opvs, new NoSuchOperation("There is nothing at this address."), request, reply),
          ),
        { prefix },
      );
      for (const base of [prefix, `${prefix}/agents/:agent`]) {
        app.post(`${base}/rpc`, (request, reply) => answerRpc(request, reply, agentOf(request)));
        for (const method of ["GET", "POST", "DELETE"] as const) {
          app.route({
            method,
            url: `${base}/rest/*`,
            handler: (request: FastifyRequest, reply: FastifyReply) => {
              const [head, ...below] = segmentsAfter(base, request);
              return head === v03Head
                ? answerV03Rest(request, reply, agentOf(request), below)
                : answerRest(request, reply, agentOf(request), [head ?? "", ...below]);
            },
          });
        }
      }
    }
  };
}

const anonymousBytesMax = 256 * 1024;

/** As much as there may be, where it is not said. */
function bodyBytesOf({ headers }: FastifyRequest): number {
  if (headers["transfer-encoding"] !== undefined) return Number.POSITIVE_INFINITY;
  return Number(headers["content-length"] ?? 0);
}

/** Whether an address is one of ours. */
export function isOpvsAddress({ url }: FastifyRequest): boolean {
  return prefixes.some((prefix) => url.startsWith(`${prefix}/`));
}

/** What is refused before a binding is reached, in the words of the one that was meant. */
export function failOpvs(
  opvs: Opvs,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const [path = ""] = request.url.split("?");
  const isJsonRpc = /^\/[^/]+(?:\/agents\/[^/]+)?\/rpc\/?$/.test(path);
  return isJsonRpc ? failJsonRpc(opvs, reply, error) : failRest(opvs, reply, error);
}

export function agentOf({ params }: FastifyRequest): string | null {
  const { agent }: { agent?: string } = Object(params);
  return agent ?? null;
}

/** Read from the address as it was sent: an id may hold an escaped slash. */
function segmentsAfter(base: string, { url }: FastifyRequest): string[] {
  const [path = ""] = url.split("?");
  const ownCount = `${base}/rest`.split("/").length;
  return path
    .replace(/\/$/, "")
    .split("/")
    .slice(ownCount)
    .map((segment) => decoded(segment));
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
