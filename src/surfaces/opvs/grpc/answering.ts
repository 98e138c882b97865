/** What is done with a request on the gRPC port, whichever protocol it came by. */

import type { IncomingHttpHeaders } from "node:http";
import { constants } from "node:http2";
import { Code, ConnectError, createConnectRouter, createContextValues } from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerRequest } from "@connectrpc/connect/protocol";
import {
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import type { Logger } from "pino";
import { tooManyValues } from "../../large-bodies.ts";
import { SiteGuard, type SiteRules } from "../../site-guard.ts";
import type { Opvs } from "../opvs.ts";
import { Binding, type Peer, peerKey } from "./binding.ts";
import { allowOrigin, type Request, type Response } from "./cors.ts";
import { countedBody } from "./counted.ts";
import { createPeerAddress } from "./peer-address.ts";
import { connectErrorOf } from "./refusals.ts";
import { addServices, gate } from "./services.ts";
import { encodeStatusMessage, respellStatusMessage } from "./status-message.ts";
import { type GrpcWatch, tellOfCall } from "./watch.ts";

export interface Answering extends SiteRules {
  opvs: Opvs;
  logger: Logger;
  newRequestId(): string;
  /** How often a connection is asked whether it is still there, and a stream whether it may be. */
  heartbeatMs: number;
  /** The largest message that is read. */
  bodyBytesMax: number;
  /** Addresses of proxies that are believed when they say for whom they ask. */
  trustedProxies: readonly string[];
  /** Whether new work is taken. */
  isReady(): boolean;
  /** Aborted when the server stops: ends open calls. */
  stopped: AbortSignal;
  /** Who counts calls; nobody when left out. */
  watch?: GrpcWatch | null;
}

/** Longest a client may take to send its message. */
const requestMs = 60_000;
/** A deadline further away than a timer can count is none. */
const deadlineMsMax = 2 ** 31 - 1;
const hourMs = 60 * 60_000;
const deadlineUnitMs: Record<string, number> = { H: hourMs, M: 60_000, S: 1000 };

/**
 * Does what Connect's own adapter does, but a request that cannot be read is answered instead of ending the process, and
 * what goes wrong with a connection goes to our log.
 */
export function createAnswering(options: Answering): (request: Request, response: Response) => void {
  const { opvs, logger, bodyBytesMax, trustedProxies, isReady, newRequestId, stopped } = options;
  const binding = new Binding(opvs, options.heartbeatMs);
  const router = createConnectRouter({
    // Whoever can speak Connect's own protocol can speak REST.
    connect: false,
    acceptCompression: [compressionGzip],
    readMaxBytes: bodyBytesMax,
    shutdownSignal: stoppingOf(stopped),
    requestGate: (context) => gate(binding, context),
  });
  addServices(router, binding, isReady);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  const origins = new Set(options.corsOrigins);
  const guard = new SiteGuard(options);
  const addressOf = createPeerAddress(trustedProxies);

  async function answer(request: Request, response: Response): Promise<void> {
    const refusal = refusalOf(guard, request);
    if (refusal !== null) return refuse(request, response, refusal);
    if (allowOrigin(origins, request, response)) return;
    const handler = handlers.get(request.url?.split("?", 1)[0] ?? "");
    if (handler === undefined) return refuse(request, response, unknownMethod);
    limitTime(request);
    dropRest(request);
    dropFarDeadline(request.headers);
    const requestId = newRequestId();
    response.setHeader("X-Request-Id", requestId);
    const address = addressOf(request.socket.remoteAddress ?? "", textOf(request.headers["x-forwarded-for"]));
    const peer: Peer = { address, requestId, refused: null };
    const values = createContextValues().set(peerKey, peer);
    const call = countedCall(universalRequestFromNodeRequest(request, response, undefined, values), handler);
    const ended = tellOfCall(options, { requestId, method: handler.method });
    let trailer: Headers | undefined;
    response.once("close", () => {
      const unsaid = response.writableEnded ? 0 : Code.Canceled;
      // In gRPC-Web the status is in the body.
      ended(Number(trailer?.get("grpc-status") ?? peer.refused ?? unsaid));
    });
    try {
      const answer = await handler(call);
      trailer = answer.trailer;
      for (const status of [answer.header, trailer]) if (status !== undefined) respellStatusMessage(status);
      await universalResponseToNodeResponse(answer, response);
    } catch (error) {
      // Mostly clients that hang up in the middle.
      logger.debug(
        { event: "grpc.not_answered", err: error, request_id: requestId },
        "A gRPC call was not answered",
      );
      if (!response.headersSent) endWith(response, 400);
    }
  }

  /** With a body of which no more is parsed than the event loop can bear. */
  function countedCall(call: UniversalServerRequest, { method }: UniversalHandler): UniversalServerRequest {
    const isJson = call.header.get("content-type")?.includes("+json") === true;
    const requestId = call.contextValues?.get(peerKey).requestId ?? newRequestId();
    const refusal = () => connectErrorOf(opvs.fail(tooManyValues(), requestId));
    const counted = { input: method.input, isJson, bytesMax: bodyBytesMax, refusal };
    return isBytes(call.body) ? { ...call, body: countedBody(call.body, counted) } : call;
  }

  return (request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (!response.headersSent) endWith(response, 400);
      logger.debug({ event: "grpc.not_a_call", err: error }, "What came to the gRPC port was not a call");
    });
  };
}

function isBytes(body: UniversalServerRequest["body"]): body is AsyncIterable<Uint8Array> {
  return typeof body === "object" && body !== null && Symbol.asyncIterator in body;
}

/** The same moment, with words for those whose calls it ends. */
function stoppingOf(stopped: AbortSignal): AbortSignal {
  const stopping = new AbortController();
  const words =
    "The server is stopping. What it was given goes on when it is back; the same message asks for it again.";
  const stop = () => stopping.abort(new ConnectError(words, Code.Unavailable));
  if (stopped.aborted) stop();
  else stopped.addEventListener("abort", stop, { once: true });
  return stopping.signal;
}

interface Refusal {
  code: Code;
  message: string;
  /** For clients that do not speak gRPC. */
  http: number;
}

const unknownMethod: Refusal = { code: Code.Unimplemented, message: "There is no such method.", http: 404 };

/** What pages of other sites are refused with. */
function refusalOf(guard: SiteGuard, { method = "", headers, socket }: Request): Refusal | null {
  const refusal = guard.refusalOf({ method, headers, localAddress: socket.localAddress });
  return refusal === null ? null : { code: Code.PermissionDenied, message: refusal.message, http: 403 };
}

/** Before a method is reached: as a status of gRPC, or of HTTP for everybody else. */
function refuse({ headers }: Request, response: Response, { code, message, http }: Refusal): void {
  const contentType = headers["content-type"] ?? "";
  const isGrpc = contentType.startsWith("application/grpc");
  if (isGrpc) {
    response.setHeader("Content-Type", contentType);
    response.setHeader("Grpc-Status", String(code));
    response.setHeader("Grpc-Message", encodeStatusMessage(message));
  }
  endWith(response, isGrpc ? 200 : http);
}

function endWith(response: Response, status: number): void {
  response.statusCode = status;
  response.end();
}

/** Hangs up on a client that does not come to the end of its message. */
function limitTime(request: Request): void {
  const patience = setTimeout(() => {
    if ("stream" in request) request.stream.close(constants.NGHTTP2_CANCEL);
    else request.destroy();
  }, requestMs);
  const done = () => clearTimeout(patience);
  request.once("end", done).once("close", done);
}

/** A client that is still sending when it has its answer must come to its end, or the call would stay open. */
function dropRest(request: Request): void {
  // For HTTP/1.1 it is done already.
  if (!("stream" in request)) return;
  const { stream } = request;
  stream.once("finish", () => stream.removeAllListeners("data").resume());
}

function dropFarDeadline(headers: IncomingHttpHeaders): void {
  const [, count, unit = ""] = /^(\d{1,8})([HMS])$/.exec(textOf(headers["grpc-timeout"]) ?? "") ?? [];
  if (Number(count) * (deadlineUnitMs[unit] ?? 0) > deadlineMsMax) delete headers["grpc-timeout"];
}

function textOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(",") : value;
}
