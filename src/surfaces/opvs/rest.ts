/** The HTTP+JSON binding: the operation in method and path. */

import { type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import type { FastifyReply, FastifyRequest } from "fastify";
import { TaskState } from "../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { HarnessError } from "../../kernel/errors.ts";
import { InvalidParams, UnknownOperation, type WireError } from "./errors.ts";
import {
  admitHttp,
  mediaTypeOf,
  parseJson,
  queryOf,
  refusalOfFastify,
  requireMediaType,
  tellError,
  tellParameters,
} from "./http.ts";
import { type OperationName, operations } from "./operations.ts";
import type { Opvs, StreamResponses } from "./opvs.ts";
import { type StreamSettings, sendStream } from "./sse.ts";
import { readMessage } from "./validate.ts";

const opvsJson = "application/a2a+json";
const mediaTypes = ["application/json", opvsJson];

interface RestRoute {
  methods: readonly string[];
  /** Segments; one in braces takes any text, one with a suffix after a colon the text before that. */
  path: readonly string[];
  operation: OperationName;
  status?: number;
}

const routes: readonly RestRoute[] = [
  { methods: ["POST"], path: ["message:send"], operation: "SendMessage" },
  { methods: ["POST"], path: ["message:stream"], operation: "SendStreamingMessage" },
  { methods: ["GET"], path: ["tasks"], operation: "ListTasks" },
  { methods: ["POST"], path: ["tasks", "{id}:cancel"], operation: "CancelTask" },
  { methods: ["GET", "POST"], path: ["tasks", "{id}:subscribe"], operation: "SubscribeToTask" },
  { methods: ["GET"], path: ["tasks", "{id}"], operation: "GetTask" },
  { methods: ["GET"], path: ["extendedAgentCard"], operation: "GetExtendedAgentCard" },
];

/** First segments of paths, which therefore cannot be tenants. */
const heads: ReadonlySet<string> = new Set(routes.flatMap(({ path }) => path.slice(0, 1)));

export function rest(opvs: Opvs, settings: StreamSettings) {
  /** `segments` are those of the address after the binding's own. */
  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    agent: string | null,
    segments: readonly string[],
  ): Promise<FastifyReply> => {
    reply.type(answerType(request));
    try {
      const body = bodyOf(request);
      const call = await admitHttp(opvs, request, reply, agent);
      const { route, params } = match(request.method, segments);
      const { operation, status = 200 } = route;
      const { input } = operations[operation];
      const message = readMessage(input, { ...queryParams(input, request), ...body, ...params });
      const result = await opvs.perform(call.admitted, operation, message);
      tellParameters(reply, call.admitted);
      if (operations[operation].kind === "unary") {
        return status === 204 ? reply.code(status).send() : reply.code(status).send(result);
      }
      const envelope = { event: (response: object) => response, error: errorBody };
      await sendStream(opvs, call, result as StreamResponses, reply, envelope, settings);
      return reply;
    } catch (error) {
      return failRest(opvs, reply, error);
    }
  };
}

export function failRest(opvs: Opvs, reply: FastifyReply, error: unknown): FastifyReply {
  const said = opvs.fail(refusalOfFastify(error, mediaTypes), reply.request.id);
  tellError(reply, said);
  return reply.type(answerType(reply.request)).code(said.http).send(errorBody(said));
}

function errorBody({ http, status, message, details }: WireError): object {
  return { error: { code: http, status, message, details } };
}

function answerType(request: FastifyRequest): string {
  return (request.headers.accept ?? "").toLowerCase().includes(opvsJson) ? opvsJson : "application/json";
}

/** Only POST has a body, and not always. */
function bodyOf(request: FastifyRequest): JsonObject {
  const text = String(request.body ?? "");
  if (request.method !== "POST" || (text === "" && mediaTypeOf(request) === "")) return {};
  requireMediaType(request, mediaTypes);
  if (text === "") return {};
  const body = parseJson(text);
  if (typeof body === "object" && body !== null && !Array.isArray(body)) return body as JsonObject;
  throw new HarnessError("invalid_request", "The body is not a JSON object.");
}

interface Match {
  route: RestRoute;
  params: JsonObject;
}

/** With a tenant in front of it, or without. */
function match(method: string, segments: readonly string[]): Match {
  const [first = "", ...others] = segments;
  const [tenant, path] = heads.has(first) ? [null, segments] : [first, others];
  for (const route of routes) {
    const params = route.methods.includes(method) ? paramsOf(route.path, path) : null;
    if (params !== null) return { route, params: tenant === null ? params : { ...params, tenant } };
  }
  throw new UnknownOperation("There is no operation at this address.");
}

function paramsOf(pattern: readonly string[], segments: readonly string[]): JsonObject | null {
  if (pattern.length !== segments.length) return null;
  const params: JsonObject = {};
  for (const [index, part] of pattern.entries()) {
    const segment = segments[index] ?? "";
    const [, name, suffix = ""] = /^\{(\w+)\}(:\w+)?$/.exec(part) ?? [];
    if (name === undefined) {
      if (part !== segment) return null;
      continue;
    }
    const value = segment.slice(0, segment.length - suffix.length);
    if (!segment.endsWith(suffix) || value === "") return null;
    params[name] = value;
  }
  return params;
}

/** What a query says in words; numbers and times are read as the definition reads them. */
function queryParams(input: DescMessage, request: FastifyRequest): JsonObject {
  if (request.method !== "GET" && request.method !== "DELETE") return {};
  const params = new Map<string, JsonValue>();
  for (const [name, value] of queryOf(request)) {
    const field = input.fields.find(({ jsonName, name: original }) => jsonName === name || original === name);
    if (field === undefined) continue;
    if (params.has(field.jsonName)) {
      throw new InvalidParams([{ field: field.jsonName, description: "is given more than once" }]);
    }
    const isFlag = field.scalar === ScalarType.BOOL && (value === "true" || value === "false");
    if (isFlag) params.set(field.jsonName, value === "true");
    else params.set(field.jsonName, field.fieldKind === "enum" ? stateName(value) : value);
  }
  return Object.fromEntries(params);
}

/** `working` is as good as `TASK_STATE_WORKING`. */
function stateName(value: string): string {
  const short = value.toUpperCase().replaceAll("-", "_");
  return short in TaskState && Number.isNaN(Number(short)) ? `TASK_STATE_${short}` : value;
}
