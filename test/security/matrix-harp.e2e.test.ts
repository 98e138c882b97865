/**
 * Who reaches what at the gateway and at the enforcer: every route of HARP, called by everybody. A gateway knows tenants,
 * enforcers and approvers, and no workspaces: an enforcer or approver is that party whatever its key is bound to, so there
 * the columns of the two bound keys say `reached`, except where an administrator acts on the whole tenant.
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { harpRoutes } from "../../src/surfaces/harp/surface.ts";
import type { Client } from "../support/client.ts";
import {
  fresh,
  type Gateway,
  mediaType,
  type Party,
  pair,
  type Submitted,
  startGateway,
} from "../support/harp.ts";
import { promptFor } from "../support/prompts.ts";

type Outcome = "unauthenticated" | "denied" | "not_found" | "reached";
const visitors = ["no key", "no scope", "another tenant", "another workspace", "bound key"] as const;
type Visitor = (typeof visitors)[number];
type Row = Record<Visitor, Outcome>;

/** About something of ours. The visitor of another tenant is a party of the same names there. */
const partys: Row = {
  "no key": "unauthenticated",
  "no scope": "denied",
  "another tenant": "not_found",
  "another workspace": "reached",
  "bound key": "reached",
};
/** In the caller's own tenant: nothing of ours is in the answer. */
const ownPlace: Row = { ...partys, "another tenant": "reached" };
const wholeTenant: Row = { ...partys, "another workspace": "denied", "bound key": "denied" };
const inWorkspace: Row = { ...partys, "another workspace": "not_found" };

/** What one call is made with. */
interface Attempt {
  submitted: Submitted;
  enforcer: Party;
  approver: Party;
}
interface Call {
  row: Row;
  path(attempt: Attempt): string;
  body?(attempt: Attempt): object | Promise<object>;
}

const exchange = (rest = "") => ({
  row: partys,
  path: ({ submitted }: Attempt) => `/v1/exchanges/${submitted.requestId}${rest}`,
});
const inbox = (rest = "") => ({
  row: ownPlace,
  path: ({ approver }: Attempt) => `/v1/approvers/${approver.id}/inbox${rest}`,
});

const calls: Record<string, Call> = {
  "POST /v1/artifacts": {
    row: ownPlace,
    path: () => "/v1/artifacts",
    body: ({ enforcer }) => enforcer.artifact(),
  },
  "POST /v1/decisions": {
    row: partys,
    path: () => "/v1/decisions",
    body: ({ approver, submitted }) => approver.decision(submitted),
  },
  "POST /v1/acks": {
    row: partys,
    path: () => "/v1/acks",
    async body({ enforcer, approver, submitted: { requestId, ...submitted } }) {
      await approver.decide({ requestId, ...submitted });
      const { envelope } = await enforcer.item(requestId);
      return enforcer.ackOf(requestId, envelope.msgId);
    },
  },
  "GET /v1/exchanges/:requestId": exchange(),
  "GET /v1/exchanges/:requestId/wait": exchange("/wait?timeout=0"),
  "POST /v1/exchanges/:requestId/withdraw": exchange("/withdraw"),
  "POST /v1/exchanges/:requestId/refresh": exchange("/refresh"),
  "POST /v1/exchanges/:requestId/cancel": { ...exchange("/cancel"), row: wholeTenant },
  "POST /v1/requests/:requestId/refresh": {
    row: partys,
    path: ({ submitted, enforcer }) =>
      `/v1/requests/${submitted.requestId}/refresh?enforcerDeviceId=${enforcer.id}`,
  },
  "GET /v1/approvers/:approverId/inbox": inbox(),
  "GET /v1/approvers/:approverId/inbox/expired": inbox("/expired"),
  "DELETE /v1/approvers/:approverId/inbox/:requestId": {
    row: partys,
    path: ({ approver, submitted }) => `/v1/approvers/${approver.id}/inbox/${submitted.requestId}`,
  },
  "GET /v1/enforcers/:enforcerId/inbox": {
    row: ownPlace,
    path: ({ enforcer }) => `/v1/enforcers/${enforcer.id}/inbox`,
  },
  "GET /v1/presence/enforcers": {
    row: { ...partys, "another tenant": "denied" },
    path: () => `/v1/presence/enforcers?tenantId=${tenantId}`,
  },
  "GET /v1/presence/enforcers/:enforcerDeviceId": {
    row: partys,
    path: () => `/v1/presence/enforcers/${seen.id}`,
  },
  "POST /v1/pairing/initiate": {
    row: ownPlace,
    path: () => "/v1/pairing/initiate",
    body: ({ enforcer }) => ({ enforcerId: enforcer.id }),
  },
  "GET /v1/pairing/resolve/:code": {
    row: partys,
    path: () => `/v1/pairing/resolve/${pairing.code}`,
  },
  "GET /v1/pairing/:nonce/status": { row: partys, path: () => `/v1/pairing/${pairing.nonce}/status` },
  "GET /v1/pairing/status/:nonce": { row: partys, path: () => `/v1/pairing/status/${pairing.nonce}` },
  "POST /v1/pairing/complete": {
    row: partys,
    path: () => "/v1/pairing/complete",
    async body({ approver }) {
      await approver.get(`/v1/pairing/resolve/${pairing.code}`);
      return { nonce: pairing.nonce, approverId: approver.id };
    },
  },
  "POST /v1/presence/heartbeat": {
    row: ownPlace,
    path: () => "/v1/presence/heartbeat",
    body: ({ enforcer }) => ({ enforcerId: enforcer.id }),
  },
  "POST /v1/pairing/revoke": {
    row: partys,
    path: () => "/v1/pairing/revoke",
    body: () => ({ routingToken: pairing.token }),
  },
  "GET /v1/sse/approvers/:id": { row: ownPlace, path: ({ approver }) => `/v1/sse/approvers/${approver.id}` },
  "GET /v1/sse/enforcers/:id": { row: ownPlace, path: ({ enforcer }) => `/v1/sse/enforcers/${enforcer.id}` },
  "GET /v1/ws": { row: ownPlace, path: ({ approver }) => `/v1/ws?role=approver&id=${approver.id}` },
  "POST /v1/prompt": { row: inWorkspace, path: () => "/v1/prompt", body: () => promptFor(sessionId) },
  "POST /v1/session/event": {
    // What is told of a session is the tenant's, and no workspace's.
    row: { ...wholeTenant, "another tenant": "reached" },
    path: () => "/v1/session/event",
    body: () => told(fresh("told")),
  },
  "GET /v1/session/:sessionId": {
    row: { ...partys, "another workspace": "not_found", "bound key": "not_found" },
    path: () => `/v1/session/${toldSession}`,
  },
};

const tenantId = "tenant_ours";
const toldSession = "told-session";
let gateway: Gateway;
let ours: { admin: Client; enforcer: Party; approver: Party };
/** An enforcer that the gateway has heard of in our tenant. */
let seen: Party;
let sessionId: string;
let pairing: { code: string; nonce: string; token: string };
let keys: Record<Visitor, string | null>;

function told(id: string): object {
  const createdAt = new Date().toISOString();
  return { sessionId: id, eventType: "session.start", createdAt, agentHost: "host-1" };
}

before(async () => {
  gateway = await startGateway({ settings: { pairingsPerMinute: 1000 } });
  const { enforcer, approver } = await gateway.tenant(tenantId);
  const admin = await gateway.adminOf(tenantId);
  ours = { admin, enforcer, approver };
  seen = await gateway.enforcer(tenantId);
  await seen.inbox();
  const workspace = (await admin.post("/v1/workspaces", { name: "Ours", root: "ours" })).body.id;
  const other = (await admin.post("/v1/workspaces", { name: "Other", root: "other" })).body.id;
  sessionId = (await admin.createSession({ workspace_id: workspace })).id;
  const scopes = ["admin", `harp:enforcer:${enforcer.id}`, `harp:approver:${approver.id}`];
  const keyOf = async (body: object) =>
    String((await gateway.admin.createKey({ actor: "visitor", scopes, tenant_id: tenantId, ...body })).key);
  keys = {
    "no key": null,
    "no scope": await keyOf({ scopes: ["metrics:read"] }),
    "another tenant": await keyOf({ tenant_id: "tenant_other" }),
    "another workspace": await keyOf({ workspace_ids: [other] }),
    "bound key": await keyOf({ workspace_ids: [workspace] }),
  };
  await call(admin.key, "POST", "/v1/session/event", told(toldSession));
});
after(() => gateway[Symbol.asyncDispose]());

/** A pairing that has begun, and the token of one that is complete. */
async function beginPairing(): Promise<typeof pairing> {
  const { enforcer, approver } = ours;
  const token = await pair(enforcer, approver);
  const { code, nonce } = (await enforcer.post("/v1/pairing/initiate", { enforcerId: enforcer.id })).body;
  return { code, nonce, token };
}

async function call(
  key: string | null,
  method: string,
  path: string,
  body?: object,
  type = mediaType,
): Promise<{ outcome: Outcome; text: string }> {
  const gone = new AbortController();
  const response = await fetch(gateway.base + path, {
    method,
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "content-type": type }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: gone.signal,
  });
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const text = isStream ? "" : await response.text();
  gone.abort();
  const isOffline = text.includes("EnforcerOffline");
  assert.ok((response.status < 500 && response.status !== 429) || isOffline, `${method} ${path}: ${text}`);
  if (response.status === 401) return { outcome: "unauthenticated", text };
  if (response.status === 403) return { outcome: "denied", text };
  const isAbsent = response.status === 404 || text.includes("No session of this name");
  return { outcome: isAbsent ? "not_found" : "reached", text };
}

const routes = harpRoutes({ isEnforcer: true });

test("SEC-MATRIX every route of HARP has a row", () => {
  const names = routes.map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual(names.sort(), Object.keys(calls).sort());
});

for (const { method, path, isPlatform = false } of routes) {
  const {
    row,
    path: pathOf,
    body,
  } = calls[`${method} ${path}`] ?? assert.fail(`${method} ${path} has no row`);
  test(`SEC-MATRIX ${method} ${path} of HARP`, async () => {
    const { enforcer, approver } = ours;
    for (const visitor of visitors) {
      // Somebody before may have ended what was there.
      const submitted = await enforcer.submit();
      if (path.startsWith("/v1/pairing")) pairing = await beginPairing();
      const key = keys[visitor];
      const attempt = { submitted, enforcer, approver };
      const sent = await body?.(attempt);
      const { outcome, text } = await call(
        key,
        method,
        pathOf(attempt),
        sent,
        isPlatform ? "application/json" : mediaType,
      );
      assert.equal(outcome, row[visitor], `${visitor}: ${text}`);
      if (visitor === "another tenant" && outcome === "reached") {
        for (const mark of [submitted.artifactHash, submitted.envelope.body.ciphertext.data, toldSession]) {
          assert.ok(!text.includes(mark), `${visitor} sees ${mark}: ${text}`);
        }
      }
    }
  });
}
