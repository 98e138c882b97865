/** A route of the binding, as data: who may call it, what it reads, and the one function that does it. */

import type { FastifyInstance, FastifyReply } from "fastify";
import { harpMediaType } from "../../harp/core/wire.ts";
import type { Role } from "../../harp/gateway/principal.ts";
import { refusal } from "../../harp/gateway/refusals.ts";
import { mayUse, type Scope } from "../../policy/caller.ts";
import { admittedBy, authenticate, hasBody, requireMediaType, requireVersion } from "./admit.ts";
import { HarpCall, type Parties } from "./call.ts";
import type { CountedParty } from "./limits.ts";
import type { HarpOptions } from "./surface.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The route is ours and no part of HARP: it speaks plain JSON, also when it refuses. */
    isPlatform?: boolean;
  }
}

export interface HarpRoute {
  method: "GET" | "POST" | "DELETE";
  path: string;
  /** Who it is for; `party` is any enforcer or approver. What is no business of the gateway is for keys with a scope. */
  for: Role | "party" | "admin" | { scope: Scope };
  /** Whether there has to be a body, may be one, or whatever comes is not looked at. */
  body: "required" | "optional" | "ignored";
  /** No part of HARP. */
  isPlatform?: boolean;
  /** The largest body that is read. */
  bodyBytesMax?: number;
  handle(call: HarpCall, options: HarpOptions): Promise<HarpAnswer | null>;
}

/** Null for a body that is empty. A route that answers by itself gives no answer at all. */
export interface HarpAnswer {
  status: number;
  body: object | null;
}

const bodyBytesMaxDefault = 64 * 1024;

export function registerRoute(app: FastifyInstance, options: HarpOptions, route: HarpRoute): void {
  const { gateway, kernel, limits, logger } = options;
  const { method, path, isPlatform = false, bodyBytesMax = bodyBytesMaxDefault } = route;
  app.route({
    method,
    url: path,
    bodyLimit: bodyBytesMax,
    config: { isPlatform },
    async onRequest(request) {
      const parties = await authenticate(kernel, request);
      requireVersion(request, logger);
      limits.call(admit(parties, route.for));
      if (route.body === "required" || (route.body === "optional" && hasBody(request))) {
        requireMediaType(request, isPlatform ? "json" : "harp");
      }
    },
    async handler(request, reply) {
      const call = new HarpCall(gateway, request, reply, admittedBy(request).parties);
      const answer = await route.handle(call, options);
      return answer === null ? reply : send(reply, answer, isPlatform);
    },
  });
}

/** The one that the call is counted by. */
function admit(parties: Parties, wanted: HarpRoute["for"]): CountedParty {
  const { first, caller } = parties;
  if (typeof wanted === "object") {
    const { tenantId, actor } = caller;
    if (mayUse(caller, wanted.scope)) return { tenantId, role: "caller", id: actor };
  } else if (first !== null && (wanted === "party" || parties.mayBe(wanted))) return first;
  throw refusal("Forbidden", "These credentials are not for this.");
}

/** As text: what is sent is exactly this. */
export function send(reply: FastifyReply, { status, body }: HarpAnswer, isPlatform = false): FastifyReply {
  reply.code(status);
  if (body === null) return reply.send();
  return reply
    .header("Content-Type", isPlatform ? "application/json; charset=utf-8" : harpMediaType)
    .send(JSON.stringify(body));
}

export const ok = (body: object): HarpAnswer => ({ status: 200, body });
export const noContent: HarpAnswer = { status: 204, body: null };
