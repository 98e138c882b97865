/** What the enforcer records while it looks after a permission request: whom it asks, what the gateway has, what is over. */

import { audit } from "../approvals/audit.ts";
import { close, openExchanges, permissionIdOf } from "../approvals/exchanges.ts";
import type { Command } from "../dispatch.ts";
import { exchangesOf, isLive, type PermissionRequestRecord } from "../resources/permission-request.ts";

/** Puts a pending request to everybody who has to be asked. Gives the request; null when it is gone. */
export const askApprovers: Command<{ permissionRequestId: string }, PermissionRequestRecord | null> = {
  name: "ask_approvers",
  scope: "admin",
  async decide(unit, { permissionRequestId }) {
    const request = await unit.find("permission_request", permissionRequestId);
    if (request === undefined || request.status !== "pending") return request ?? null;
    const task = await unit.find("task", request.task_id);
    if (task?.pending?.permission_request_id !== request.id) return request;
    return await openExchanges(unit, request, task);
  },
};

export type ExchangeNote =
  /** The gateway has it. */
  | { note: "submitted" }
  /** The gateway knows that it is over. */
  | { note: "settled" }
  /** It cannot be decided as it is; the approver is asked anew while the request waits. */
  | { note: "closed"; reason: string }
  /** The gateway does not take it now. */
  | { note: "delayed"; problem: string };

export const noteExchange: Command<{ requestId: string } & ExchangeNote, null> = {
  name: "note_exchange",
  scope: "admin",
  async decide(unit, { requestId, ...noted }) {
    const request = await unit.find("permission_request", permissionIdOf(requestId));
    const exchange = request && exchangesOf(request).find(({ request_id }) => request_id === requestId);
    if (request === undefined || exchange === undefined) return null;
    const about = { request_id: requestId };
    switch (noted.note) {
      case "submitted":
        if (exchange.state === "CREATED") unit.emit(request, "vendor.bridle.approval.submitted", about);
        break;
      case "settled":
        if (!exchange.is_settled) unit.emit(request, "vendor.bridle.approval.settled", about);
        break;
      case "closed":
        if (isLive(exchange)) close(unit, request, requestId, noted.reason);
        break;
      case "delayed":
        // Said once, however often it is tried.
        if (exchange.reason !== null) break;
        unit.emit(request, "vendor.bridle.approval.delayed", { ...about, problem: noted.problem });
        await audit(unit, "transport.failed", {
          requestId,
          code: "HARP_ERR_TRANSPORT",
          problem: noted.problem,
        });
        break;
    }
    return null;
  },
};
