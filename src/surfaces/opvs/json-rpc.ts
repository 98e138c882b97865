/** The JSON-RPC 2.0 binding: one address, the operation in the body. */

import type { JsonObject } from "@bufbuild/protobuf";
import type { FastifyReply, FastifyRequest } from "fastify";
import { NotJson, parseSyntax, requireSound } from "../json-body.ts";
import type { ProtocolVersion } from "./call.ts";
import { InvalidParams, NoSuchOperation, type WireError } from "./errors.ts";
import {
  admitHttp,
  type HttpCall,
  refusalOfFastify,
  requireMediaType,
  setErrorHeaders,
  setExtensionHeaders,
  UnreadableBody,
} from "./http.ts";
import { isOperation, operations } from "./operations.ts";
import type { Admitted, Opvs, StreamResponses } from "./opvs.ts";
import { type Events, type StreamSettings, sendStream } from "./sse.ts";
import { answerTo, performFor } from "./v03/calls.ts";
import { showError as showV03Error } from "./v03/errors.ts";
import { v03Method } from "./v03/methods.ts";

type Id = string | number | null;

interface RpcRequest {
  id: Id;
  method: string;
  params: JsonObject;
}

/** An error that only this binding has a number for. */
class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const mediaTypes = ["application/json"];
/** Statuses that say something to those who do not read the body: proxies, and clients that have to wait. */
const tellingStatuses = new Set([401, 403, 413, 429, 503]);

export function jsonRpc(opvs: Opvs, settings: StreamSettings) {
  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    agent: string | null,
  ): Promise<FastifyReply> => {
    let id: Id = null;
    let version: ProtocolVersion = "1.0";
    try {
      requireMediaType(request, mediaTypes);
      const text = String(request.body ?? "");
      const body = parseSyntax(text);
      id = idOf(body);
      requireSound(body, text);
      const call = admitHttp(opvs, request, reply, agent);
      version = versionOf(body, call.admitted);
      const answer = await answerOf(opvs, call, requestOf(body, id));
      setExtensionHeaders(reply, call.admitted);
      if ("result" in answer) return reply.send({ jsonrpc: "2.0", id, result: answer.result });
      const envelope = {
        event: (event: object) => ({ jsonrpc: "2.0", id, result: event }),
        error: (error: WireError) => errorBody(id, showError(error, version)),
      };
      await sendStream(opvs, call, answer, reply, envelope, settings);
      return reply;
    } catch (error) {
      return sendError(opvs, reply, id, error, version);
    }
  };
}

/** What never became a request. */
export function failJsonRpc(opvs: Opvs, reply: FastifyReply, error: unknown): FastifyReply {
  if (!(error instanceof NoSuchOperation)) {
    return sendError(opvs, reply, null, refusalOfFastify(error, mediaTypes), "1.0");
  }
  const message = "Request payload validation error: requests are sent by POST";
  return reply
    .code(405)
    .header("Allow", "POST")
    .send(errorBody(null, { code: -32600, message }));
}

type Answer = { result: unknown } | Events;

async function answerOf(opvs: Opvs, call: HttpCall, { method, params }: RpcRequest): Promise<Answer> {
  if (isOperation(method)) {
    call.admitted = opvs.asCurrent(call.admitted);
    const result = await opvs.performJson(call.admitted, method, params);
    return operations[method].kind === "unary"
      ? { result }
      : { events: result as StreamResponses, beginsAtOnce: false };
  }
  const inV03 = call.admitted.version === "0.3" ? v03Method(method) : null;
  if (inV03 === null) throw new NoSuchOperation("Method not found");
  return await answerTo(inV03, performFor(opvs, call.admitted), params);
}

/** Names of operations are in use since 1.0: whoever calls one reads answers of 1.0, also those that refuse. */
function versionOf(body: unknown, { version }: Admitted): ProtocolVersion {
  const { method }: { method?: unknown } = Object(body);
  return typeof method === "string" && isOperation(method) ? "1.0" : version;
}

function sendError(
  opvs: Opvs,
  reply: FastifyReply,
  id: Id,
  error: unknown,
  version: ProtocolVersion,
): FastifyReply {
  if (error instanceof NotJson) return reply.send(errorBody(id, { code: -32700, message: error.message }));
  if (error instanceof RpcError) {
    return reply.send(errorBody(id, { code: error.code, message: error.message }));
  }
  const said = opvs.fail(error, reply.request.id);
  setErrorHeaders(reply, said);
  const isTelling = tellingStatuses.has(said.http) || error instanceof UnreadableBody;
  const status = isTelling ? said.http : 200;
  return reply.code(status).send(errorBody(id, showError(said, version)));
}

function showError(error: WireError, version: ProtocolVersion): object {
  if (version === "0.3") return showV03Error(error);
  const { jsonRpc: code, message, details } = error;
  return { code, message, ...(details.length === 0 ? {} : { data: details }) };
}

function errorBody(id: Id, error: object): object {
  return { jsonrpc: "2.0", id, error };
}

/** The id goes back with every answer, also with one that says what is wrong with the rest. */
function idOf(body: unknown): Id {
  const { id }: { id?: unknown } = Object(Array.isArray(body) ? undefined : body);
  return typeof id === "string" || Number.isInteger(id) ? (id as Id) : null;
}

function requestOf(body: unknown, id: Id): RpcRequest {
  const invalid = (problem: string) => new RpcError(-32600, `Request payload validation error: ${problem}`);
  if (Array.isArray(body)) throw invalid("batches are not taken");
  if (typeof body !== "object" || body === null) throw invalid("it is not an object");
  const request: { jsonrpc?: unknown; id?: unknown; method?: unknown; params?: unknown } = body;
  if (request.jsonrpc !== "2.0") throw invalid('jsonrpc is not "2.0"');
  if (request.id !== undefined && request.id !== id) throw invalid("id is no string, integer or null");
  if (typeof request.method !== "string" || request.method === "") throw invalid("method is missing");
  const params = request.params ?? {};
  if (typeof params !== "object" || Array.isArray(params)) {
    throw new InvalidParams([{ field: "params", description: "is an object with named members" }]);
  }
  if (Object.hasOwn(params, "")) {
    throw new InvalidParams([{ field: "params", description: "has a member without a name" }]);
  }
  return { id, method: request.method, params: params as JsonObject };
}
