/** What administrators can do that is no part of HARP: it speaks plain JSON, so that nobody takes it for that. */

import { type HarpRoute, ok } from "../route.ts";

export const platformRoutes: HarpRoute[] = [
  {
    method: "POST",
    path: "/v1/exchanges/:requestId/cancel",
    for: "admin",
    body: "ignored",
    isPlatform: true,
    async handle(call) {
      const requestId = call.param("requestId");
      const state = await call.parties.either(["admin"], (principal) =>
        call.gateway.cancel(principal, requestId),
      );
      return ok({ requestId, state });
    },
  },
];
