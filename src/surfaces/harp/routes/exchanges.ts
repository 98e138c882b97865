/** Exchanges: submit, decide, acknowledge, look, wait, take back. */

import { refusal } from "../../../harp/gateway/refusals.ts";
import type { HarpCall } from "../call.ts";
import { readAbout, readAck, readArtifact, readDecision } from "../read.ts";
import { type HarpRoute, noContent, ok } from "../route.ts";

/** What is read of an artifact before it is too large: two megabytes as base64, and room for the rest. */
export const artifactBytesMax = 3 * 1024 * 1024;

const waitSecondsMax = 60;
const waitSecondsDefault = "30";

export const exchangeRoutes: HarpRoute[] = [
  {
    method: "POST",
    path: "/v1/artifacts",
    for: "enforcer",
    body: "required",
    bodyBytesMax: artifactBytesMax,
    async handle(call) {
      const envelope = readArtifact(call.json(), call.nowMs);
      const principal = call.parties.as("enforcer", envelope.sender.enforcerId ?? "");
      return { status: 202, body: await call.gateway.submitArtifact(principal, envelope) };
    },
  },
  {
    method: "POST",
    path: "/v1/decisions",
    for: "approver",
    body: "required",
    async handle(call) {
      const envelope = readDecision(call.json(), call.nowMs);
      const principal = call.parties.as("approver", envelope.sender.approverId ?? "");
      return ok(await call.gateway.submitDecision(principal, envelope));
    },
  },
  {
    method: "POST",
    path: "/v1/acks",
    for: "party",
    body: "required",
    async handle(call) {
      const envelope = readAck(call.json(), call.nowMs);
      const { enforcerId, approverId } = envelope.sender;
      const principal =
        approverId === undefined
          ? call.parties.as("enforcer", enforcerId ?? "")
          : call.parties.as("approver", approverId);
      return ok(await call.gateway.acknowledge(principal, envelope));
    },
  },
  {
    method: "GET",
    path: "/v1/exchanges/:requestId",
    for: "party",
    body: "ignored",
    async handle(call) {
      const requestId = call.param("requestId");
      return ok(
        await call.parties.either(["enforcer", "approver", "admin"], (principal) =>
          call.gateway.exchangeStatus(principal, requestId),
        ),
      );
    },
  },
  {
    method: "GET",
    path: "/v1/exchanges/:requestId/wait",
    for: "enforcer",
    body: "ignored",
    async handle(call, { stopped }) {
      const requestId = call.param("requestId");
      const timeoutMs = waitSeconds(call) * 1000;
      const gone = new AbortController();
      call.reply.raw.once("close", () => gone.abort());
      const signal = AbortSignal.any([gone.signal, stopped]);
      const delivered = await call.parties.either(["enforcer"], (principal) =>
        call.gateway.waitForDecision(principal, requestId, { timeoutMs, signal }),
      );
      return delivered === null ? noContent : ok(delivered);
    },
  },
  {
    method: "POST",
    path: "/v1/exchanges/:requestId/withdraw",
    for: "enforcer",
    body: "optional",
    async handle(call) {
      const requestId = call.param("requestId");
      if (call.text() !== "") readAbout(call.json(), requestId, call.nowMs);
      return ok(
        await call.parties.either(["enforcer"], (principal) => call.gateway.withdraw(principal, requestId)),
      );
    },
  },
];

function waitSeconds(call: HarpCall): number {
  const text = call.query("timeout") ?? waitSecondsDefault;
  if (!/^-?\d{1,9}$/.test(text)) {
    throw refusal("ValidationError", "timeout is a whole number of seconds.", { param: "timeout" });
  }
  return Math.min(Math.max(Number(text), 1), waitSecondsMax);
}
