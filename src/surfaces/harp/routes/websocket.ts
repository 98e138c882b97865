/** The WebSocket of an enforcer or an approver: what waits for it goes out, what it submits comes in. */

import type { Role } from "../../../harp/gateway/principal.ts";
import { refusal } from "../../../harp/gateway/refusals.ts";
import { FrameSocket } from "../../frame-socket.ts";
import { closeCodes } from "../../websocket.ts";
import { admittedBy } from "../admit.ts";
import type { HarpCall } from "../call.ts";
import type { HarpRoute } from "../route.ts";
import { WsConnection } from "../ws-connection.ts";

const webSocketPath = "/v1/ws";

export const webSocketRoutes: HarpRoute[] = [
  {
    method: "GET",
    path: webSocketPath,
    for: "party",
    body: "ignored",
    async handle(call, options) {
      const { role, id } = claimed(call);
      const principal = call.parties.as(role, id);
      const { isStillAllowed } = admittedBy(call.request);
      // Once it is accepted it cannot be refused as a request is.
      call.gateway.channels.requireRoom({ tenantId: principal.tenantId, role, id });
      const socket = await options.sockets.accept(call.request, call.reply, isStillAllowed);
      if (socket === null) return null;
      const frames = new FrameSocket(socket);
      const connection = new WsConnection(options, { role, id, principal, isStillAllowed }, frames);
      socket.on("pong", () => connection.heard());
      try {
        await connection.open();
      } catch (error) {
        const about = { event: "gateway.channel_failed", err: error, request_id: call.request.id };
        options.logger.warn(about, "A WebSocket of the gateway could not be opened");
        await frames.close(closeCodes.failed, "the channel could not be opened");
      }
      return null;
    },
  },
];

function claimed(call: HarpCall): { role: Role; id: string } {
  const [role, id] = [call.query("role"), call.query("id")];
  if (role !== "enforcer" && role !== "approver") {
    throw refusal("ValidationError", "Say as what: ?role=enforcer or ?role=approver.", { param: "role" });
  }
  if (id === undefined || id === "") {
    throw refusal("ValidationError", `Say as whom: the id of the ${role}, ?id=.`, { param: "id" });
  }
  return { role, id };
}
