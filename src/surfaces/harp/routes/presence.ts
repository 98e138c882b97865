/** Which enforcers of one's own tenant were heard of lately. */

import { refusal } from "../../../harp/gateway/refusals.ts";
import { harpChecker } from "../check.ts";
import { type HarpRoute, noContent, ok } from "../route.ts";
import { Heartbeat } from "../schemas.ts";

const checkHeartbeat = harpChecker(Heartbeat);

export const presenceRoutes: HarpRoute[] = [
  {
    method: "POST",
    path: "/v1/presence/heartbeat",
    for: "enforcer",
    body: "required",
    isPlatform: true,
    async handle(call) {
      const { enforcerId, ...labels } = checkHeartbeat(call.json());
      await call.gateway.heartbeat(call.parties.as("enforcer", enforcerId), labels);
      return noContent;
    },
  },
  {
    method: "GET",
    path: "/v1/presence/enforcers",
    for: "party",
    body: "ignored",
    async handle(call) {
      const tenantId = call.query("tenantId");
      if (tenantId === undefined || tenantId === "") {
        throw refusal("ValidationError", "Say whose enforcers: ?tenantId=.", { param: "tenantId" });
      }
      return ok(await call.gateway.presenceIn(call.parties.any, tenantId));
    },
  },
  {
    method: "GET",
    path: "/v1/presence/enforcers/:enforcerDeviceId",
    for: "party",
    body: "ignored",
    async handle(call) {
      return ok(await call.gateway.presenceOf(call.parties.any, call.param("enforcerDeviceId")));
    },
  },
];
