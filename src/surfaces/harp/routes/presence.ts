/** Which enforcers of one's own tenant were heard of lately. */

import { refusal } from "../../../gateway/refusals.ts";
import { type HarpRoute, ok } from "../route.ts";

export const presenceRoutes: HarpRoute[] = [
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
