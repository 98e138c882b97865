/** Asking an enforcer to ask again, at the address of each edition of the binding. */

import { refusal } from "../../../harp/gateway/refusals.ts";
import type { HarpCall } from "../call.ts";
import { type HarpAnswer, type HarpRoute, ok } from "../route.ts";

export const refreshRoutes: HarpRoute[] = [
  {
    method: "POST",
    path: "/v1/requests/:requestId/refresh",
    for: "approver",
    body: "ignored",
    async handle(call) {
      const enforcerId = call.query("enforcerDeviceId");
      if (enforcerId === undefined || enforcerId === "") {
        const param = "enforcerDeviceId";
        throw refusal("ValidationError", "Say which enforcer is meant: ?enforcerDeviceId=.", { param });
      }
      return await forward(call, enforcerId);
    },
  },
  {
    method: "POST",
    path: "/v1/exchanges/:requestId/refresh",
    for: "approver",
    body: "ignored",
    handle: (call) => forward(call, null),
  },
];

async function forward(call: HarpCall, enforcerId: string | null): Promise<HarpAnswer> {
  const requestId = call.param("requestId");
  await call.parties.either(["approver"], (principal) =>
    call.gateway.refresh(principal, requestId, enforcerId),
  );
  return ok({ status: "forwarded" });
}
