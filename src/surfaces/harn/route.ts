/**
 * A route of the Harn surface, as data: what it takes, what it gives, and the one function that does it. The same
 * table registers the routes with Fastify and describes them in `/openapi.json`.
 */

import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Static, type TSchema, Type } from "typebox";
import { requireScope } from "../../kernel/access/authorize.ts";
import type { Command, Idempotency } from "../../kernel/core/dispatch.ts";
import { HarnessError } from "../../kernel/core/errors.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { Caller, Scope } from "../../policy/caller.ts";
import { parseStrictJson } from "../../receipts/strict-json.ts";
import { pauseIfLate } from "../../slices.ts";
import type { Position } from "../../store/port.ts";
import { presentedBy } from "../credentials.ts";
import { requireBounded } from "../json-body.ts";
import { checker, readQuery } from "../validate.ts";
import { isUpgrade } from "../websocket.ts";
import type { Viewer } from "./present.ts";
import { supportedVersions, versionHeader } from "./protocol.ts";
import { rateLeftHeaders } from "./rate-limit-headers.ts";
import { refusalOfUnsupported } from "./unsupported.ts";

export interface Call<Query, Body> extends Viewer {
  kernel: Kernel;
  caller: Caller;
  /** What the caller presented to be known by. */
  credential: string;
  /** A path parameter; the router guarantees that it is there. */
  param(name: string): string;
  query: Query;
  body: Body;
  /** Carries out a command under the request's Idempotency-Key. */
  dispatch<Request, Result>(
    command: Command<Request, Result>,
    request: Request,
    /** What the request is recognized by when it is sent again, where its body is not JSON. */
    sameAs?: unknown,
  ): Promise<Result>;
  /** The event with which the last command was recorded. */
  writtenAt: Position | null;
  request: FastifyRequest;
  reply: FastifyReply;
}

export interface Route {
  method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  path: string;
  operationId: string;
  summary: string;
  tag: string;
  /** Needs neither a key nor the version header. */
  isPublic: boolean;
  /** What a key needs at least; null where every valid key will do, or none. */
  scope: Scope | null;
  /** Needs a signature over its body instead. */
  isSigned?: true;
  /** Needs a key and no version header, for programs that know nothing of the protocol. */
  isUnversioned?: true;
  status: number;
  query: TSchema | null;
  body: TSchema | null;
  bodyOptional: boolean;
  response: TSchema | null;
  /** What the body is. */
  consumes: string;
  /** What the response is, when it is not JSON. */
  produces: string | null;
  /** Whether it can be upgraded to a WebSocket, or is nothing else. */
  webSocket: "none" | "optional" | "only";
  register(app: FastifyInstance, kernel: Kernel): void;
}

type RouteOptions<Q extends TSchema, B extends TSchema> = Pick<
  Route,
  "method" | "path" | "operationId" | "summary" | "tag"
> & {
  status?: number;
  query?: Q;
  body?: B;
  bodyOptional?: boolean;
  response?: TSchema;
  produces?: string;
  /** Whether it can be upgraded to a WebSocket, or is nothing else. */
  webSocket?: Route["webSocket"];
  /** How the body is read; `strict_json` refuses what different parsers could read differently. */
  reads?: Reads;
  /** Checked before the body is read. Null where every valid key may call; further scopes are the query's or the command's. */
  scope: Scope | null;
  isUnversioned?: true;
  /** HEAD asks the same and is given no content. */
  isHeadToo?: boolean;
  handle(call: Call<Static<Q>, Static<B>>): Promise<unknown>;
};

const Nothing = Type.Object({});
/** What an absent optional body stands for. */
const emptyBody = {};

export function route<Q extends TSchema = typeof Nothing, B extends TSchema = typeof Nothing>(
  options: RouteOptions<Q, B>,
): Route {
  const { method, path, operationId, summary, tag, scope, status = 200, handle } = options;
  const { query = null, body = null, bodyOptional = false, response = null, produces = null } = options;
  const { webSocket = "none" } = options;
  // A HEAD request to a stream would never end.
  const isHeadToo = options.isHeadToo ?? (method === "GET" && produces === null && webSocket === "none");
  return {
    method,
    path,
    operationId,
    summary,
    tag,
    status,
    query,
    body,
    bodyOptional,
    response,
    consumes: mediaOf(options.reads),
    produces,
    webSocket,
    isPublic: false,
    ...(options.isUnversioned && { isUnversioned: options.isUnversioned }),
    scope,
    register(app, kernel) {
      const querySchema: TSchema = query ?? Nothing;
      const checkQuery = checker(querySchema);
      const checkBody = checker<TSchema>(body ?? Nothing);
      const refuse = refusalOfUnsupported(body ?? Nothing);
      readingAs(app, options.reads ?? "json", (reading) =>
        reading.route({
          method: isHeadToo ? [method, "HEAD"] : method,
          url: path.replaceAll(/\{(\w+)\}/g, ":$1"),
          onRequest: admit(kernel, { webSocket, scope, isUnversioned: options.isUnversioned === true }),
          ...(options.reads === "strict_json" ? { bodyLimit: strictBytesMax } : {}),
          config: {
            streamsBody: options.reads === "bytes" || options.reads === "json_lines",
            readsSlowly: options.reads === "bytes",
          },
          async handler(request, reply) {
            const { caller, credential } = admittedBy(request);
            const given =
              request.body === undefined && (bodyOptional || body === null) ? emptyBody : request.body;
            refuse?.(given);
            const call: Call<Static<Q>, Static<B>> = {
              kernel,
              store: kernel.store,
              approvals: kernel.approvals,
              caller,
              credential,
              param: (name) => pathParam(request, name),
              query: checkQuery(readQuery(querySchema, request.query)) as Static<Q>,
              body: checkBody(given) as Static<B>,
              async dispatch(command, commandRequest, sameAs = request.body) {
                const idempotency = idempotencyOf(request, sameAs);
                await pauseIfLate();
                const answer = await kernel.dispatch(command, caller, commandRequest, idempotency);
                if (answer.replayed) reply.header("Idempotent-Replayed", "true");
                call.writtenAt = answer.position;
                return answer.result;
              },
              writtenAt: null,
              request,
              reply,
            };
            const result = await handle(call);
            // A stream whose reader has gone away was begun and never sent to its end.
            if (reply.sent || reply.raw.headersSent) return reply;
            return reply.code(status).send(result);
          },
        }),
      );
    },
  };
}

/** A file of JSON lines. */
export const jsonLines = "application/jsonl";
/** Strict JSON takes its time to read. */
const strictBytesMax = 256 * 1024;

/** `bytes` and `json_lines` leave the body to the route, as a stream. */
type Reads = "json" | "strict_json" | "json_lines" | "bytes";

function mediaOf(reads: Reads = "json"): string {
  if (reads === "json_lines") return jsonLines;
  return reads === "bytes" ? "application/octet-stream" : "application/json";
}

/** A route that reads its body in its own way is registered apart from the others. */
function readingAs(app: FastifyInstance, reads: Reads, add: (app: FastifyInstance) => void): void {
  if (reads === "json") {
    add(app);
    return;
  }
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    if (reads === "bytes") {
      scope.addContentTypeParser("*", (_request, stream, done) => done(null, stream));
    } else if (reads === "json_lines") {
      scope.addContentTypeParser(jsonLines, (_request, stream, done) => done(null, stream));
    } else {
      scope.addContentTypeParser(
        "application/json",
        { parseAs: "buffer" },
        async (_request: FastifyRequest, bytes: Buffer) => readStrictJson(bytes),
      );
    }
    add(scope);
  });
}

function readStrictJson(bytes: Buffer): unknown {
  let value: unknown;
  try {
    value = parseStrictJson(bytes);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new HarnessError("invalid_request", `The body is not plain JSON: ${problem}`);
  }
  requireBounded(value);
  return value;
}

/** A body that is left to its route. */
export async function* streamOf(body: unknown): AsyncGenerator<Uint8Array> {
  if (!(body instanceof Readable)) return;
  try {
    // Who stops reading still answers.
    yield* body.iterator({ destroyOnReturn: false });
  } catch (cause) {
    const message = "The client went away before all of the content had arrived.";
    throw new HarnessError("client_closed_request", message, {}, { cause });
  }
}

/** A public page about the server: no key, no version, no input. */
export function publicRoute(
  options: Pick<Route, "path" | "operationId" | "summary" | "tag"> & {
    response: TSchema;
    handle(request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
  },
): Route {
  const { path, handle, ...described } = options;
  return {
    ...described,
    path,
    method: "GET",
    status: 200,
    query: null,
    body: null,
    bodyOptional: false,
    consumes: "application/json",
    produces: null,
    webSocket: "none",
    isPublic: true,
    scope: null,
    register(app) {
      const handler = (request: FastifyRequest, reply: FastifyReply) => handle(request, reply);
      app.route({ method: ["GET", "HEAD"], url: path, handler });
    },
  };
}

/** A page for whoever runs the server: no version, no input, and a caller that `authorize` lets in; null lets everybody in. */
export function operatorRoute(
  options: Pick<Route, "path" | "operationId" | "summary" | "tag"> & {
    produces: string;
    authorize: ((caller: Caller) => void) | null;
    handle(request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
  },
): Route {
  const { authorize, handle, produces, ...described } = options;
  return {
    ...publicRoute({ ...described, response: Nothing, handle }),
    response: null,
    produces,
    isPublic: authorize === null,
    isUnversioned: true,
    register(app, kernel) {
      app.get(described.path, async (request, reply) => {
        authorize?.((await authenticate(kernel, request, null)).caller);
        return await handle(request, reply);
      });
    },
  };
}

type Admitted = Pick<Call<unknown, unknown>, "caller" | "credential">;

const admitted = new WeakMap<FastifyRequest, Admitted>();

function admittedBy(request: FastifyRequest): Admitted {
  const found = admitted.get(request);
  if (found === undefined) throw new Error("A route was reached without authentication");
  return found;
}

/** Before the body is read: who is calling, whether we speak the same version, and whether it may be asked at all. */
function admit(
  kernel: Kernel,
  { webSocket, scope, isUnversioned }: Pick<Route, "webSocket" | "scope"> & { isUnversioned: boolean },
) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const upgrades = webSocket !== "none" && isUpgrade(request);
    const found = await authenticate(kernel, request, upgrades ? kernel.tickets : null);
    const left = kernel.rates.left(found.caller);
    if (left !== null) reply.headers(rateLeftHeaders(left));
    admitted.set(request, found);
    // A browser cannot send headers with an upgrade; the subprotocol names the version there. Who sends one means it.
    const isVersionOptional = upgrades || isUnversioned;
    if (!isVersionOptional || request.headers[versionHeader.toLowerCase()] !== undefined)
      requireVersion(request);
    if (scope !== null) requireScope(found.caller, scope);
  };
}

async function authenticate(
  kernel: Kernel,
  request: FastifyRequest,
  tickets: Kernel["tickets"] | null,
): Promise<Admitted> {
  const credential = presentedBy(request, tickets);
  const caller = credential === null ? null : await kernel.authenticate(credential, request.ip);
  if (credential === null || caller === null) {
    throw new HarnessError(
      "unauthenticated",
      "Send a valid API key or access token as Authorization: Bearer <key>.",
    );
  }
  return { caller, credential };
}

function requireVersion(request: FastifyRequest): void {
  const version = request.headers[versionHeader.toLowerCase()];
  if (typeof version === "string" && supportedVersions.includes(version)) return;
  const found = version === undefined ? "no version" : JSON.stringify(version);
  throw new HarnessError(
    "unsupported_protocol_version",
    `Send the header ${versionHeader}: ${supportedVersions.join(" or ")}; found ${found}.`,
    { param: versionHeader, details: { supported_versions: supportedVersions } },
  );
}

export function pathParam(request: FastifyRequest, name: string): string {
  const params: Record<string, unknown> = Object(request.params);
  return String(params[name]);
}

const keyCharsMax = 255;

/** The scope of a key: who asks, for which workspace, what of what. */
function idempotencyOf(request: FastifyRequest, sameAs: unknown): Idempotency | undefined {
  const key = request.headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (typeof key !== "string" || key === "" || key.length > keyCharsMax) {
    throw new HarnessError("invalid_request", `An Idempotency-Key has 1 to ${keyCharsMax} characters.`, {
      param: "Idempotency-Key",
    });
  }
  const body = sameAs ?? null;
  const workspace =
    typeof body === "object" && body !== null && "workspace_id" in body ? body.workspace_id : null;
  // Not the path as it was written: one target can be written in several ways.
  const target = JSON.stringify([request.method, request.routeOptions.url, request.params, workspace]);
  return { key, target, body };
}
