/** The HTTP+JSON binding of 0.3, below `/v1` of the address at which 1.0 has it too. */

import type { FastifyReply, FastifyRequest } from "fastify";
import { NotJson } from "../../json-body.ts";
import type { ProtocolVersion } from "../call.ts";
import { admitHttp, jsonBodyOf, queryOf, setErrorHeaders, setExtensionHeaders } from "../http.ts";
import type { OperationName } from "../operations.ts";
import type { Opvs } from "../opvs.ts";
import { findRoute, nothingHere } from "../paths.ts";
import { errorBody } from "../rest.ts";
import { type StreamSettings, sendStream } from "../sse.ts";
import { answerTo, performFor } from "./calls.ts";
import { showError } from "./errors.ts";
import { v03Routes } from "./routes.ts";

/** What is no JSON has a number of its own, which is that of JSON-RPC. */
const notJsonCode = -32700;

/** The first segment of all its paths. */
export const v03Head = "v1";

export function v03Rest(opvs: Opvs, settings: StreamSettings) {
  /** `segments` are those of the address after the version's own. */
  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    agent: string | null,
    segments: readonly string[],
  ): Promise<FastifyReply> => {
    reply.type("application/json");
    let version: ProtocolVersion = "0.3";
    try {
      const body = jsonBodyOf(request, ["application/json"]) ?? null;
      const call = admitHttp(opvs, request, reply, agent);
      version = call.admitted.version;
      if (version !== "0.3") throw nothingHere();
      const { route, params } = findRoute(v03Routes, request.method, segments);
      const { taskId = "", configId = "" } = params;
      const query = queryOf(request);
      const asked = { taskId, configId, body, query: (name: string) => query.get(name) ?? undefined };
      const answer = await answerTo(route.call, performFor(opvs, call.admitted), asked);
      setExtensionHeaders(reply, call.admitted);
      if ("result" in answer) {
        if (route.status !== 204) return reply.code(route.status).send(answer.result);
        return reply.removeHeader("content-type").code(route.status).send();
      }
      const envelope = { event: (event: object) => event, error: showError };
      await sendStream(opvs, call, answer, reply, envelope, settings);
      return reply;
    } catch (error) {
      return failV03Rest(opvs, reply, error, version);
    }
  };
}

/** The operation at an address of 0.3; throws where there is none. */
export function v03Operation(method: string, segments: readonly string[]): OperationName {
  return findRoute(v03Routes, method, segments).route.operation;
}

export function failV03Rest(
  opvs: Opvs,
  reply: FastifyReply,
  error: unknown,
  version: ProtocolVersion = "0.3",
): FastifyReply {
  const said = opvs.fail(error, reply.request.id);
  setErrorHeaders(reply, said);
  if (error instanceof NotJson) said.jsonRpc = notJsonCode;
  return reply.code(said.http).send(version === "0.3" ? showError(said) : errorBody(said));
}
