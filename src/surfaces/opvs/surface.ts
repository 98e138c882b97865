/**
 * OPVS over HTTP, as a Fastify plugin: JSON-RPC and HTTP+JSON for the default agent and for every agent by its name,
 * under our own prefix and under that of A2A.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Caller } from "../../policy/caller.ts";
import { textOf } from "../json-body.ts";
import { requireSmallBody, requireSmallUnless } from "../small-body.ts";
import { prefixes } from "./addresses.ts";
import { NoSuchOperation } from "./errors.ts";
import { callerDecorator, senderOf } from "./http.ts";
import { failJsonRpc, jsonRpc } from "./json-rpc.ts";
import type { OperationName } from "./operations.ts";
import { type Opvs, requireOperation } from "./opvs.ts";
import { failRest, rest, restOperation } from "./rest.ts";
import type { StreamSettings } from "./sse.ts";
import { failV03Rest, v03Head, v03Operation, v03Rest } from "./v03/rest.ts";

export function opvsHttp(opvs: Opvs, settings: StreamSettings): (app: FastifyInstance) => Promise<void> {
  const answerRpc = jsonRpc(opvs, settings);
  const answerRest = rest(opvs, settings);
  const answerV03Rest = v03Rest(opvs, settings);
  return async (app) => {
    // Bodies are read by the bindings, which have their own words for what is wrong with them.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body: Buffer, done) =>
      done(null, textOf(body)),
    );
    app.decorateRequest(callerDecorator, null);
    // By a callback, since most callers are known at once.
    app.addHook("onRequest", (request, _reply, done) => {
      const caller = opvs.identify(senderOf(request));
      const admit = (found: Caller | null) => {
        requireAdmission(request, found);
        request.setDecorator(callerDecorator, found);
      };
      if (caller instanceof Promise) caller.then(admit).then(() => done(), done);
      else {
        admit(caller);
        done();
      }
    });
    app.setErrorHandler((error, request, reply) => failOpvs(opvs, error, request, reply));
    for (const prefix of prefixes) {
      // Also what is not there is said in the protocol's own words.
      await app.register(
        async (inside) =>
          inside.setNotFoundHandler((request, reply) =>
            failOpvs(
              opvs,
              new NoSuchOperation(
                "No operation of A2A has this method and path; the agent card lists the interfaces.",
              ),
              request,
              reply,
            ),
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
              const [head = "", ...below] = restSegments(request);
              return head === v03Head
                ? answerV03Rest(request, reply, agentOf(request), below)
                : answerRest(request, reply, agentOf(request), [head, ...below]);
            },
          });
        }
      }
    }
  };
}

const anonymousBytesMax = 256 * 1024;

/** Before the body is read: who calls and, where the address names the operation, whether they may. Others send little. */
function requireAdmission(request: FastifyRequest, caller: Caller | null): void {
  if (caller === null) requireSmallBody(request, anonymousBytesMax, "Without credentials");
  else if (isJsonRpc(request)) requireSmallUnless(request, caller, ["tasks:write"]);
  else requireOperation(caller, operationOf(request));
}

function operationOf(request: FastifyRequest): OperationName {
  const [head = "", ...below] = restSegments(request);
  return head === v03Head
    ? v03Operation(request.method, below)
    : restOperation(request.method, [head, ...below]);
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
  if (isJsonRpc(request)) return failJsonRpc(opvs, reply, error);
  return restSegments(request)[0] === v03Head
    ? failV03Rest(opvs, reply.type("application/json"), error)
    : failRest(opvs, reply, error);
}

function isJsonRpc({ url }: FastifyRequest): boolean {
  return /^\/[^/]+(?:\/agents\/[^/]+)?\/rpc\/?$/.test(url.split("?", 1)[0] ?? "");
}

export function agentOf({ params }: FastifyRequest): string | null {
  const { agent }: { agent?: string } = Object(params);
  return agent ?? null;
}

/** What follows `rest/`, read from the address as it was sent: an id may hold an escaped slash. */
function restSegments({ url }: FastifyRequest): string[] {
  const [path = ""] = url.split("?");
  const below = /^\/[^/]+(?:\/agents\/[^/]+)?\/rest\/(.*?)\/?$/.exec(path)?.[1] ?? "";
  return below.split("/").map(decoded);
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
