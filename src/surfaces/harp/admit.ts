/** Who gets to the gateway, settled before a byte of the body is read: over what, as whom, in which version, how often. */

import type { FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { harpMediaType, harpVersion, harpVersionHeader } from "../../harp/core/wire.ts";
import { refusal } from "../../harp/gateway/refusals.ts";
import type { StillAllowed } from "../../kernel/access/still-allowed.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { RateLimit } from "../../policy/rate-limit.ts";
import { isLoopbackAddress } from "../loopback.ts";
import { Parties } from "./call.ts";

export interface Admitted {
  parties: Parties;
  /** Whether the credentials still hold. */
  isStillAllowed: StillAllowed;
}

const admitted = new WeakMap<FastifyRequest, Admitted>();

export function admittedBy(request: FastifyRequest): Admitted {
  const found = admitted.get(request);
  if (found === undefined) throw new Error("A route was reached without authentication");
  return found;
}

export async function authenticate(kernel: Kernel, request: FastifyRequest): Promise<Parties> {
  const credential = bearerOf(request);
  const caller = credential === null ? null : await kernel.authenticate(credential, request.ip);
  if (credential === null || caller === null) {
    throw refusal("Unauthenticated", "Send a valid API key or access token as Authorization: Bearer <key>.");
  }
  const parties = new Parties(caller);
  const isStillAllowed = kernel.stillAllowed(credential);
  admitted.set(request, { parties, isStillAllowed });
  return parties;
}

function bearerOf({ headers }: FastifyRequest): string | null {
  const [scheme, key] = (headers.authorization ?? "").split(" ");
  return scheme?.toLowerCase() === "bearer" && key ? key : null;
}

/** Without TLS only what stays on this machine is served. A proxy that is believed says for itself how it was asked. */
export function requireSecure(request: FastifyRequest, logger: Logger): void {
  const { protocol, ip, raw } = request;
  if (protocol === "https" || (isLoopbackAddress(raw.socket.remoteAddress) && isLoopbackAddress(ip))) return;
  const about = {
    event: "gateway.insecure",
    request_id: request.id,
    from: ip,
    route: request.routeOptions.url,
  };
  logger.warn(about, "A request to the gateway came without TLS and was refused");
  throw refusal("InsecureTransport", "This gateway is reached by https and wss only.");
}

/** What a client may say that it speaks; who says nothing speaks ours. */
const supportedVersion = /^0\.2(\.\d{1,9})?$/;
const supportedRange = ">=0.2.0 <0.3.0";

export function requireVersion({ headers, id }: FastifyRequest, logger: Logger): void {
  const version = headers[harpVersionHeader.toLowerCase()];
  if (version === undefined || (typeof version === "string" && supportedVersion.test(version))) return;
  const about = { event: "gateway.version_unsupported", request_id: id, supported: supportedRange };
  logger.warn(about, "A request to the gateway named another version of HARP and was refused");
  throw refusal("UnsupportedVersion", `This gateway speaks HARP ${harpVersion}.`, {
    supported: supportedRange,
  });
}

const charset = '(;\\s*charset="?utf-8"?\\s*)?$';
const mediaTypes = {
  // Clients whose HTTP library sets the type itself send plain JSON; the body is the same.
  harp: new RegExp(`^application/(harp\\+)?json\\s*${charset}`, "i"),
  json: /^application\/json\s*(;|$)/i,
};

export function requireMediaType({ headers }: FastifyRequest, allowed: "harp" | "json"): void {
  if (mediaTypes[allowed].test(headers["content-type"] ?? "")) return;
  const wanted = allowed === "harp" ? harpMediaType : "application/json";
  throw refusal("UnsupportedMediaType", `Send the body as Content-Type: ${wanted}.`);
}

export function hasBody({ headers }: FastifyRequest): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** One more call of this one; refused when there were too many. */
export function countCall(limit: RateLimit, who: string): void {
  const seconds = limit.secondsToWait(who);
  if (seconds > 0) {
    throw refusal("RateLimited", `Too many calls. Try again in ${seconds} seconds.`, {
      retryAfterSeconds: seconds,
    });
  }
  limit.count(who);
}
