/**
 * What a request presents to say who is calling: `Authorization: Bearer <key>`. An upgrade to a WebSocket, which a browser
 * sends without headers, may also offer the subprotocols `bridle.v1, bearer.<key>` or bring a ticket as `?ticket=`.
 *
 * Nothing that a browser adds by itself is enough (`console/sessions.ts` says what its cookie is good for), so a page of another origin can open a connection
 * only with a credential that it was given; `site-guard.ts` refuses it even then, unless its origin is allowed.
 */

import type { FastifyRequest } from "fastify";
import { HarnessError } from "../kernel/core/errors.ts";
import type { Tickets } from "../policy/tickets.ts";

export const subprotocol = "bridle.v1";
const bearerPrefix = "bearer.";
/** What people call a key when they put it into an address, where it ends up in logs and histories. */
const keyNames = ["access_token", "api_key", "apikey", "authorization", "bearer", "key", "token"];

/** `tickets` are taken by upgrades only. A ticket that is there decides, and is used up. */
export function presentedBy(request: FastifyRequest, tickets: Tickets | null): string | null {
  if (tickets === null) return bearerOf(request);
  const query: Record<string, unknown> = { ...Object(request.query) };
  if (keyNames.some((name) => Object.hasOwn(query, name))) {
    throw new HarnessError(
      "unauthenticated",
      "A key does not belong in an address. Send a header or a subprotocol, or get a ticket from POST /v1/ws-tickets.",
    );
  }
  const { ticket } = query;
  if (ticket !== undefined) return typeof ticket === "string" ? tickets.redeem(ticket) : null;
  return bearerOf(request) ?? offeredKey(request);
}

function bearerOf({ headers }: FastifyRequest): string | null {
  const [scheme, key] = (headers.authorization ?? "").split(" ");
  return scheme?.toLowerCase() === "bearer" && key ? key : null;
}

function offeredKey({ headers }: FastifyRequest): string | null {
  const offered = (headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
  const bearer = offered.find((name) => name.startsWith(bearerPrefix));
  return bearer === undefined || !offered.includes(subprotocol)
    ? null
    : bearer.slice(bearerPrefix.length) || null;
}
