/** Pairing: a code for an enforcer, what an approver gets for it, and the token that both keep. */

import type { Role } from "../../../harp/gateway/principal.ts";
import type { HarpCall } from "../call.ts";
import { harpChecker } from "../check.ts";
import { type HarpAnswer, type HarpRoute, ok } from "../route.ts";
import { PairingComplete, PairingInitiate, PairingRevoke } from "../schemas.ts";

const checkInitiate = harpChecker(PairingInitiate);
const checkComplete = harpChecker(PairingComplete);
const checkRevoke = harpChecker(PairingRevoke);

export const pairingRoutes: HarpRoute[] = [
  {
    method: "POST",
    path: "/v1/pairing/initiate",
    for: "enforcer",
    body: "required",
    async handle(call, { limits }) {
      const request = checkInitiate(call.json());
      const principal = call.parties.as("enforcer", request.enforcerId);
      limits.newCode(principal);
      return ok(await call.gateway.initiatePairing(principal, request));
    },
  },
  {
    method: "GET",
    path: "/v1/pairing/resolve/:code",
    for: "approver",
    body: "ignored",
    async handle(call, { limits }) {
      const principal = call.parties.the("approver");
      limits.pairing(principal);
      return ok(await call.gateway.resolvePairing(principal, call.param("code")));
    },
  },
  {
    method: "GET",
    path: "/v1/pairing/:nonce/status",
    for: "enforcer",
    body: "ignored",
    handle: status,
  },
  {
    method: "GET",
    path: "/v1/pairing/status/:nonce",
    for: "enforcer",
    body: "ignored",
    handle: status,
  },
  {
    method: "POST",
    path: "/v1/pairing/complete",
    for: "approver",
    body: "required",
    async handle(call) {
      const request = checkComplete(call.json());
      const principal = call.parties.as("approver", request.approverId);
      return ok(await call.gateway.completePairing(principal, request));
    },
  },
  {
    method: "POST",
    path: "/v1/pairing/revoke",
    for: "party",
    body: "required",
    isPlatform: true,
    async handle(call) {
      const { routingToken, enforcerId = "" } = checkRevoke(call.json());
      const wanted = routingToken === undefined ? { enforcerId } : { routingToken };
      // By the name of an enforcer it is always an approver who asks.
      const roles: Role[] = routingToken === undefined ? ["approver"] : ["enforcer", "approver"];
      await call.parties.either(roles, (principal) => call.gateway.revokePairing(principal, wanted));
      return ok({ status: "revoked" });
    },
  },
];

async function status(call: HarpCall): Promise<HarpAnswer> {
  const nonce = call.param("nonce");
  return ok(
    await call.parties.either(["enforcer"], (principal) => call.gateway.pairingStatus(principal, nonce)),
  );
}
