/**
 * OPVS over HTTP, as a Fastify plugin: JSON-RPC and HTTP+JSON for the default agent and for every agent by its name,
 * under our own prefix and under that of A2A.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { prefixes } from "./addresses.ts";
import { jsonRpc } from "./json-rpc.ts";
import type { Opvs } from "./opvs.ts";
import { rest } from "./rest.ts";
import type { StreamSettings } from "./sse.ts";
import { v03Head, v03Rest } from "./v03/rest.ts";

export function opvsHttp(opvs: Opvs, settings: StreamSettings): (app: FastifyInstance) => Promise<void> {
  const answerRpc = jsonRpc(opvs, settings);
  const answerRest = rest(opvs, settings);
  const answerV03Rest = v03Rest(opvs, settings);
  return async (app) => {
    // Bodies are read by the bindings, which have their own words for what is wrong with them.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", { parseAs: "string" }, (_request, text, done) => done(null, text));
    for (const prefix of prefixes) {
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
