/** The HTTP+JSON binding: the operation in method and path. */

import { type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import type { FastifyReply, FastifyRequest } from "fastify";
import { TaskState } from "../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { HarnessError } from "../../kernel/core/errors.ts";
import { InvalidParams, type WireError } from "./errors.ts";
import {
  admitHttp,
  jsonBodyOf,
  queryOf,
  refusalOfFastify,
  setErrorHeaders,
  setExtensionHeaders,
} from "./http.ts";
import { type OperationName, operations } from "./operations.ts";
import type { Opvs, StreamResponses } from "./opvs.ts";
import { findRoute, type Route } from "./paths.ts";
import { spellings } from "./service-parameters.ts";
import { type StreamSettings, sendStream } from "./sse.ts";

const opvsJson = "application/a2a+json";
const mediaTypes = ["application/json", opvsJson];

interface RestRoute extends Route {
  operation: OperationName;
  status?: number;
  /** Of an answer that went well. */
  headers?: Readonly<Record<string, string>>;
}

const configsPath = ["tasks", "{taskId}", "pushNotificationConfigs"];

export const restRoutes: readonly RestRoute[] = [
  { methods: ["POST"], path: ["message:send"], operation: "SendMessage" },
  { methods: ["POST"], path: ["message:stream"], operation: "SendStreamingMessage" },
  { methods: ["GET"], path: ["tasks"], operation: "ListTasks" },
  { methods: ["POST"], path: ["tasks", "{id}:cancel"], operation: "CancelTask" },
  { methods: ["GET", "POST"], path: ["tasks", "{id}:subscribe"], operation: "SubscribeToTask" },
  { methods: ["GET"], path: ["tasks", "{id}"], operation: "GetTask" },
  { methods: ["POST"], path: configsPath, operation: "CreateTaskPushNotificationConfig", status: 201 },
  { methods: ["GET"], path: configsPath, operation: "ListTaskPushNotificationConfigs" },
  { methods: ["GET"], path: [...configsPath, "{id}"], operation: "GetTaskPushNotificationConfig" },
  {
    methods: ["DELETE"],
    path: [...configsPath, "{id}"],
    operation: "DeleteTaskPushNotificationConfig",
    status: 204,
  },
  {
    methods: ["GET"],
    path: ["extendedAgentCard"],
    operation: "GetExtendedAgentCard",
    // It is made for the one who asks, who may keep it as long as a public one.
    headers: {
      "Cache-Control": "private, max-age=60",
      Vary: ["Authorization", ...spellings("Version")].join(", "),
    },
  },
];

/** First segments of paths, which therefore cannot be tenants. Where it is that of 0.3, another answers. */
const heads: ReadonlySet<string> = new Set(restRoutes.flatMap(({ path }) => path.slice(0, 1)));

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
      const call = admitHttp(opvs, request, reply, agent);
      const { route, params } = match(request.method, segments);
      call.admitted = opvs.asCurrent(call.admitted);
      const { operation, status = 200, headers = {} } = route;
      const query = queryParams(operations[operation].input, request);
      const result = await opvs.performJson(call.admitted, operation, { ...query, ...body, ...params });
      setExtensionHeaders(reply.headers(headers), call.admitted);
      if (operations[operation].kind === "unary") {
        if (status !== 204) return reply.code(status).send(result);
        return reply.removeHeader("content-type").code(status).send();
      }
      const envelope = { event: (response: object) => response, error: errorBody };
      const answer = { events: result as StreamResponses, beginsAtOnce: false };
      await sendStream(opvs, call, answer, reply, envelope, settings);
      return reply;
    } catch (error) {
      return failRest(opvs, reply, error);
    }
  };
}

export function failRest(opvs: Opvs, reply: FastifyReply, error: unknown): FastifyReply {
  const said = opvs.fail(refusalOfFastify(error, mediaTypes), reply.request.id);
  setErrorHeaders(reply, said);
  return reply.type(answerType(reply.request)).code(said.http).send(errorBody(said));
}

/** AIP-193. */
export function errorBody({ http, status, message, details }: WireError): object {
  return { error: { code: http, status, message, details } };
}

function answerType(request: FastifyRequest): string {
  return (request.headers.accept ?? "").toLowerCase().includes(opvsJson) ? opvsJson : "application/json";
}

/** Only POST has a body, and not always. */
function bodyOf(request: FastifyRequest): JsonObject {
  const body = jsonBodyOf(request, mediaTypes);
  if (body === undefined) return {};
  if (typeof body === "object" && body !== null && !Array.isArray(body)) return body;
  throw new HarnessError("invalid_request", "The body is not a JSON object.");
}

interface Match {
  route: RestRoute;
  params: JsonObject;
}

/** The operation at an address; throws where there is none. */
export function restOperation(method: string, segments: readonly string[]): OperationName {
  return match(method, segments).route.operation;
}

/** With a tenant in front of it, or without. */
function match(method: string, segments: readonly string[]): Match {
  const [first = "", ...others] = segments;
  const [tenant, path] = heads.has(first) ? [null, segments] : [first, others];
  const found = findRoute(restRoutes, method, path);
  return { ...found, params: tenant === null ? found.params : { ...found.params, tenant } };
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
