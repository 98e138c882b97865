/** Pairing: a code for an enforcer, what an approver gets for it, and the token that both keep. */

import { checker } from "../../validate.ts";
import type { HarpCall } from "../call.ts";
import { type HarpAnswer, type HarpRoute, ok } from "../route.ts";
import { PairingComplete, PairingInitiate, PairingRevoke } from "../schemas.ts";

const checkInitiate = checker(PairingInitiate);
const checkComplete = checker(PairingComplete);
const checkRevoke = checker(PairingRevoke);

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
    for: "enforcer",
    body: "required",
    isPlatform: true,
    async handle(call) {
      const { routingToken } = checkRevoke(call.json());
      await call.parties.either(["enforcer"], (principal) =>
        call.gateway.revokeToken(principal, routingToken),
      );
      return ok({ revoked: true });
    },
  },
];

async function status(call: HarpCall): Promise<HarpAnswer> {
  const nonce = call.param("nonce");
  return ok(
    await call.parties.either(["enforcer"], (principal) => call.gateway.pairingStatus(principal, nonce)),
  );
}
