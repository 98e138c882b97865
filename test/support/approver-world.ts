/** For tests: an approver of the published examples, before a gateway that says whatever it is told to. */

import assert from "node:assert/strict";
import type { Artifact } from "../../src/harp/core/artifact.ts";
import { generateKeyPair } from "../../src/harp/core/ciphers.ts";
import { sealArtifact } from "../../src/harp/core/seal.ts";
import type { ApprovalRequest } from "../../src/harp/core/wire.ts";
import { Approver, type OpenedRequest } from "../../src/sdk/approver/approver.ts";
import { publishedApprover, requestOf, v1, v1NowMs, variantOfV1 } from "./approval-samples.ts";
import type { Json } from "./client.ts";
import {
  emitted,
  page,
  type Reply,
  refuse,
  type ScriptedGateway,
  scriptedGateway,
  send,
} from "./scripted-gateway.ts";

export const keys = await publishedApprover();
/** Every sealed artifact is for us and for somebody else. */
export const other = await generateKeyPair("X25519", false);
export const decided = { state: "decided", decidedAt: "2026-02-21T12:02:00Z", duplicate: false };

let made = 0;

/** A request as the gateway has it, about V1 or whatever else. */
export async function requestFor(artifact: Artifact = v1, changes: object = {}): Promise<ApprovalRequest> {
  made += 1;
  const sealed = await sealArtifact(artifact, [keys.x25519.publicKey, other.publicKey]);
  return { ...requestOf(artifact, sealed), msgId: `msg-for-${made}`, ...changes };
}

export async function requestNamed(requestId: string): Promise<ApprovalRequest> {
  return await requestFor(await variantOfV1({ requestId }));
}

export interface World extends AsyncDisposable {
  gateway: ScriptedGateway;
  approver: Approver;
  clock: { nowMs: number };
  pauses: number[];
}

/** Our approver, at the time of V1, before a gateway that answers like this. */
export async function before(reply: Reply): Promise<World> {
  const gateway = await scriptedGateway(reply);
  const clock = { nowMs: v1NowMs };
  const pauses: number[] = [];
  const approver = new Approver({
    url: gateway.url,
    key: "k",
    approverId: "app-01",
    keys,
    clock: () => clock.nowMs,
    waiting: {
      random: () => 0.5,
      async pause(ms) {
        pauses.push(ms);
      },
    },
  });
  return { gateway, approver, clock, pauses, [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() };
}

/** A gateway with these in its inbox, which takes every decision and acknowledgement. */
export function holding(...requests: Json[]): Reply {
  return ({ path }, response) => {
    if (path.startsWith("/v1/approvers/app-01/inbox")) send(response, 200, page(requests));
    else if (path === "/v1/decisions") send(response, 200, emitted("decision.accepted", decided));
    else if (path === "/v1/acks") send(response, 200, emitted("ack.accepted", {}));
    else refuse(response, 404, "RouteNotFound");
  };
}

export async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** The first request of the inbox, which must open. */
export async function opened(approver: Approver): Promise<OpenedRequest> {
  const [request] = await all(approver.inbox());
  assert.ok(request?.isOpened, JSON.stringify(request));
  return request;
}
