/** The gRPC binding in the shape of the others: JSON of the definition goes in and comes out. */

import assert from "node:assert/strict";
import {
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromJson,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
import { ConnectError, type Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { BadRequestSchema, ErrorInfoSchema } from "../../proto/generated/google/rpc/error_details_pb.js";
import { A2AService } from "../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { grpcStatus } from "../../src/surfaces/opvs/errors.ts";
import type { Json } from "../support/client.ts";
import {
  type CallOptions,
  headersFor,
  type Outcome,
  refused,
  type Stream,
  type Wire,
  type WireFailure,
} from "./wire.ts";

export class GrpcWire implements Wire {
  readonly name = "gRPC";
  readonly #transport: Transport;

  constructor(baseUrl: string) {
    this.#transport = createGrpcTransport({ baseUrl });
  }

  async call(operation: string, request: Json, options: CallOptions = {}): Promise<Outcome> {
    const method = A2AService.methods.find(({ name }) => name === operation);
    assert(method !== undefined && isUnary(method), operation);
    const input = fromJson(method.input, addressed(request, options), { ignoreUnknownFields: true });
    try {
      const answer = await this.#transport.unary(
        method,
        options.signal,
        undefined,
        headersFor(options, {}),
        input,
      );
      return { result: withRequired(method, shown(method.output, answer.message)), headers: answer.header };
    } catch (error) {
      return { error: failureOf(error), headers: metadataOf(error) };
    }
  }

  async stream(operation: string, request: Json, options: CallOptions = {}): Promise<Stream> {
    const method = A2AService.methods.find(({ name }) => name === operation);
    assert(method !== undefined && isStreaming(method), operation);
    const input = fromJson(method.input, addressed(request, options), { ignoreUnknownFields: true });
    const leaving = new AbortController();
    const signal = AbortSignal.any([
      leaving.signal,
      ...(options.signal === undefined ? [] : [options.signal]),
    ]);
    async function* one() {
      yield input;
    }
    const answer = await this.#transport.stream(method, signal, undefined, headersFor(options, {}), one());
    const events = answer.message[Symbol.asyncIterator]();
    try {
      let first: Promise<IteratorResult<Json>> | null = Promise.resolve(await events.next());
      const next = async () => {
        const { done, value } = await (first ?? events.next());
        first = null;
        return done === true ? undefined : shown(method.output, value);
      };
      return {
        error: null,
        headers: answer.header,
        next,
        async rest() {
          const all: Json[] = [];
          for (let event = await next(); event !== undefined; event = await next()) all.push(event);
          return all;
        },
        async [Symbol.asyncDispose]() {
          leaving.abort();
        },
      };
    } catch (error) {
      return refused(failureOf(error), metadataOf(error));
    }
  }
}

/** The library leaves out milliseconds that are zero; times on this wire are numbers. */
export function shown<D extends DescMessage>(schema: D, message: MessageShape<D>): Json {
  const text = JSON.stringify(toJson<D, undefined>(schema, message));
  return JSON.parse(text.replaceAll(/("\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)Z"/g, '$1.000Z"'));
}

/** Protobuf does not write what is empty; whoever reads it finds it all the same. */
function withRequired({ name }: DescMethodUnary, result: Json): Json {
  return name === "ListTasks" ? { tasks: [], nextPageToken: "", totalSize: 0, ...result } : result;
}

/** gRPC has no paths: the agent goes into the tenant. */
function addressed(request: Json, { agent }: CallOptions): Json {
  return agent === undefined ? request : { ...request, tenant: `${request.tenant ?? ""}@${agent}` };
}

function isUnary(method: { methodKind: string }): method is DescMethodUnary {
  return method.methodKind === "unary";
}

function isStreaming(method: { methodKind: string }): method is DescMethodServerStreaming {
  return method.methodKind === "server_streaming";
}

function metadataOf(error: unknown): Headers {
  return error instanceof ConnectError ? error.metadata : new Headers();
}

function failureOf(error: unknown): WireFailure {
  assert(error instanceof ConnectError, String(error));
  const { code, rawMessage: message } = error;
  const status = Object.entries(grpcStatus).find(([, number]) => number === Number(code))?.[0] ?? "UNKNOWN";
  const details = [ErrorInfoSchema, BadRequestSchema].flatMap((schema) =>
    error.findDetails(schema).map(
      (detail): Json => ({
        "@type": `type.googleapis.com/${schema.typeName}`,
        ...Object(toJson<typeof schema, undefined>(schema, detail)),
      }),
    ),
  );
  const reason = details.find((detail) => typeof detail.reason === "string")?.reason ?? null;
  return { status, code, reason, message, details };
}
