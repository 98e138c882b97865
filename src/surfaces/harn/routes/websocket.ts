/** WebSocket sessions, and the tickets with which browsers open them. */

import { timestamp } from "../../../kernel/core/clock.ts";
import { getRecord } from "../../../kernel/core/read.ts";
import { refusalOf } from "../../server-facts.ts";
import { type Route, route } from "../route.ts";
import { WsTicket } from "../schemas-keys.ts";
import type { HarnOptions } from "../surface.ts";
import { Hosts } from "../ws/hosts.ts";
import { serveSession } from "../ws/session.ts";

const tag = "WebSocket";

export function webSocketRoutes(options: HarnOptions): Route[] {
  const { kernel, facts, sockets } = options;
  const deps = { ...options, hosts: new Hosts(kernel) };
  return [
    route({
      method: "GET",
      path: "/v1/sessions/{session_id}/ws",
      operationId: "openSessionWebSocket",
      scope: "events:read",
      summary: "Upgrade to a WebSocket: events out, commands in, and a host for tasks that need one.",
      tag,
      status: 101,
      webSocket: "only",
      async handle({ caller, credential, param, request, reply }) {
        const { id: sessionId } = await getRecord(kernel, caller, "session", param("session_id"));
        if (facts.isStopping()) throw refusalOf(facts);
        const isStillAllowed = kernel.stillAllowed(credential);
        const socket = await sockets.accept(request, reply, isStillAllowed);
        const openedBy = { credential, address: request.ip };
        if (socket !== null) serveSession(deps, { sessionId, caller, openedBy }, socket);
      },
    }),
    route({
      method: "POST",
      path: "/v1/ws-tickets",
      operationId: "createWsTicket",
      scope: "events:read",
      summary:
        "Make a ticket that opens one WebSocket (`?ticket=`), once and soon, for clients without headers.",
      tag,
      status: 201,
      response: WsTicket,
      async handle({ credential }) {
        const { ticket, validMs } = kernel.tickets.issue(credential);
        return { object: "ws_ticket", ticket, expires_at: timestamp(kernel.clock.now() + validMs) };
      },
    }),
  ];
}
