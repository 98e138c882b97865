/** The JSON-RPC 2.0 binding: one address, the operation in the body. */

import type { JsonValue } from "@bufbuild/protobuf";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type ErrorDetail, InvalidParams, UnknownOperation, type WireError } from "./errors.ts";
import {
  admitHttp,
  NotJson,
  parseSyntax,
  refusalOfFastify,
  requireMediaType,
  requireSound,
  tellError,
  tellParameters,
  UnreadableBody,
} from "./http.ts";
import { isOperation, operations } from "./operations.ts";
import type { Opvs, StreamResponses } from "./opvs.ts";
import { type StreamSettings, sendStream } from "./sse.ts";
import { readMessage } from "./validate.ts";

type Id = string | number | null;

interface RpcRequest {
  id: Id;
  method: string;
  params: JsonValue;
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
    try {
      requireMediaType(request, mediaTypes);
      const text = String(request.body ?? "");
      const body = parseSyntax(text);
      id = idOf(body);
      requireSound(body, text);
      const call = await admitHttp(opvs, request, reply, agent);
      const { method, params } = requestOf(body, id);
      if (!isOperation(method)) throw new UnknownOperation();
      const message = readMessage(operations[method].input, params);
      const result = await opvs.perform(call.admitted, method, message);
      tellParameters(reply, call.admitted);
      if (operations[method].kind === "unary") return reply.send({ jsonrpc: "2.0", id, result });
      const envelope = {
        event: (response: object) => ({ jsonrpc: "2.0", id, result: response }),
        error: (error: WireError) => errorBody(id, error),
      };
      await sendStream(opvs, call, result as StreamResponses, reply, envelope, settings);
      return reply;
    } catch (error) {
      return sendError(opvs, reply, id, error);
    }
  };
}

/** What never became a request. */
export function failJsonRpc(opvs: Opvs, reply: FastifyReply, error: unknown): FastifyReply {
  if (!(error instanceof UnknownOperation)) {
    return sendError(opvs, reply, null, refusalOfFastify(error, mediaTypes));
  }
  const message = "Request payload validation error: requests are sent by POST";
  return reply
    .code(405)
    .header("Allow", "POST")
    .send(errorBody(null, { jsonRpc: -32600, message }));
}

function sendError(opvs: Opvs, reply: FastifyReply, id: Id, error: unknown): FastifyReply {
  if (error instanceof NotJson) return reply.send(errorBody(id, { jsonRpc: -32700, message: error.message }));
  if (error instanceof RpcError)
    return reply.send(errorBody(id, { jsonRpc: error.code, message: error.message }));
  const said = opvs.fail(error, reply.request.id);
  tellError(reply, said);
  const isTelling = tellingStatuses.has(said.http) || error instanceof UnreadableBody;
  return reply.code(isTelling ? said.http : 200).send(errorBody(id, said));
}

function errorBody(
  id: Id,
  { jsonRpc, message, details = [] }: { jsonRpc: number; message: string; details?: ErrorDetail[] },
): object {
  const data = details.length === 0 ? {} : { data: details };
  return { jsonrpc: "2.0", id, error: { code: jsonRpc, message, ...data } };
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
  return { id, method: request.method, params: params as JsonValue };
}
