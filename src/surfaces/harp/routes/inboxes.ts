/** Inboxes: what waits for an approver, what it let expire, and what an enforcer has not acknowledged. */

import { type InboxName, pageItemsDefault, pageItemsMax } from "../../../harp/gateway/inboxes.ts";
import type { Role } from "../../../harp/gateway/principal.ts";
import { refusal } from "../../../harp/gateway/refusals.ts";
import type { HarpCall } from "../call.ts";
import { type HarpAnswer, type HarpRoute, noContent, ok } from "../route.ts";

export const inboxRoutes: HarpRoute[] = [
  {
    method: "GET",
    path: "/v1/approvers/:approverId/inbox",
    for: "approver",
    body: "ignored",
    handle: (call) => page(call, "approver", "pending"),
  },
  {
    method: "GET",
    path: "/v1/approvers/:approverId/inbox/expired",
    for: "approver",
    body: "ignored",
    handle: (call) => page(call, "approver", "expired"),
  },
  {
    method: "DELETE",
    path: "/v1/approvers/:approverId/inbox/:requestId",
    for: "approver",
    body: "ignored",
    async handle(call) {
      const approverId = call.param("approverId");
      const principal = call.parties.as("approver", approverId);
      await call.gateway.dismiss(principal, approverId, call.param("requestId"));
      return noContent;
    },
  },
  {
    method: "GET",
    path: "/v1/enforcers/:enforcerId/inbox",
    for: "enforcer",
    body: "ignored",
    handle: (call) => page(call, "enforcer", "undelivered"),
  },
];

async function page(call: HarpCall, role: Role, name: InboxName): Promise<HarpAnswer> {
  const id = call.param(`${role}Id`);
  const principal = call.parties.as(role, id);
  const request = { cursor: call.query("cursor"), limit: limitOf(call) };
  return ok(await call.gateway.inboxPage(principal, { role, id }, name, request));
}

function limitOf(call: HarpCall): number {
  const text = call.query("limit");
  if (text === undefined) return pageItemsDefault;
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= pageItemsMax) return limit;
  throw refusal("ValidationError", `limit is a whole number from 1 to ${pageItemsMax}.`, { param: "limit" });
}
