/** Pairing an approver with an enforcer by a code, and who of the enforcers is there: a hint, and never more than that. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Answer, type Json, until } from "../support/client.ts";
import {
  accepted,
  fresh,
  type Gateway,
  type Party,
  pair,
  refusal,
  startGateway,
  type Tenant,
} from "../support/harp.ts";
import { openSse, openWs } from "../support/harp-channels.ts";

let gateway: Gateway;

before(async () => {
  gateway = await startGateway({ movable: true });
});
after(() => gateway[Symbol.asyncDispose]());

const minuteMs = 60_000;

function ok({ status, body }: Answer): Json {
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.msgType, undefined, "bare, and no envelope");
  return body;
}

const labels = { enforcerLabel: "Antigravity", workspaceName: "airlock", publicKey: "BASE64URL_KEY" };

async function initiate(enforcer: Party): Promise<Json> {
  return ok(await enforcer.post("/v1/pairing/initiate", { enforcerId: enforcer.id, ...labels }));
}

function resolve(approver: Party, code: string): Promise<Answer> {
  return approver.get(`/v1/pairing/resolve/${code}`);
}

function complete(approver: Party, nonce: string, body: object = {}): Promise<Answer> {
  return approver.post("/v1/pairing/complete", { nonce, approverId: approver.id, ...body });
}

describe("Pairing", () => {
  test("HARP-72 pairing introduces both sides and its token routes to that approver alone", async () => {
    // Given an enforcer and an approver, when they pair, then each learns of the other, and the token routes the next
    // artifact to that approver alone.
    const { id, enforcer, approver } = await gateway.tenant();
    const other = await gateway.approver(id);
    const { code, nonce, expiresAt } = await initiate(enforcer);
    const statusPath = `/v1/pairing/${nonce}/status`;
    assert.deepEqual(ok(await enforcer.get(statusPath)), { nonce, state: "initiated", expiresAt });
    assert.deepEqual(ok(await resolve(approver, code)), {
      nonce,
      enforcerId: enforcer.id,
      ...labels,
      expiresAt,
    });
    assert.equal(ok(await enforcer.get(statusPath)).state, "resolved");
    const { routingToken, ...rest } = ok(await complete(approver, nonce, { publicKey: "APPROVER_KEY" }));
    assert.deepEqual(rest, { enforcerLabel: labels.enforcerLabel, workspaceName: labels.workspaceName });
    assert.match(routingToken, /^rt-[A-Za-z0-9_-]{43}$/);
    const status = ok(await enforcer.get(statusPath));
    assert.deepEqual(
      { ...status, completedAt: "" },
      {
        nonce,
        state: "completed",
        expiresAt,
        approverId: approver.id,
        publicKey: "APPROVER_KEY",
        routingToken,
        completedAt: "",
      },
    );
    assert.ok(Math.abs(Date.parse(status.completedAt) - gateway.now()) < 5 * minuteMs);
    assert.deepEqual(ok(await enforcer.get(`/v1/pairing/status/${nonce}`)), status);
    const { requestId } = await enforcer.submit({ body: { metadata: { routingToken } } });
    assert.equal((await approver.item(requestId)).status, "Pending");
    assert.equal(await other.item(requestId), undefined);
  });

  test("HARP-72 pairing takes null for what is absent and ignores members that it does not know", async () => {
    const { enforcer, approver } = await gateway.tenant();
    const request = { enforcerId: enforcer.id, publicKey: null, workspaceName: null, deviceId: "d1" };
    const { code, nonce } = ok(await enforcer.post("/v1/pairing/initiate", request));
    const { enforcerLabel, publicKey } = ok(await resolve(approver, code.toLowerCase()));
    assert.deepEqual([enforcerLabel, publicKey], [undefined, undefined]);
    ok(await complete(approver, nonce, { publicKey: null, deviceName: "phone" }));
  });

  test("HARP-73 given a code, when its time has passed, then it is 404 and its session has expired", async () => {
    const { enforcer, approver } = await gateway.tenant();
    const { code, nonce, expiresAt } = await initiate(enforcer);
    gateway.moveTo(expiresAt);
    gateway.moveBy(1000);
    refusal(await resolve(approver, code), 404, "PairingNotFound");
    refusal(await complete(approver, nonce), 404, "PairingNotFound");
    assert.equal(ok(await enforcer.get(`/v1/pairing/${nonce}/status`)).state, "expired");
  });

  test("HARP-73 completing a resolved session too late answers 404 without a token", async () => {
    // Given a session that was resolved in time, when it is completed too late, then it is 404 and there is no token.
    const { enforcer, approver } = await gateway.tenant();
    const { code, nonce, expiresAt } = await initiate(enforcer);
    ok(await resolve(approver, code));
    gateway.moveTo(expiresAt);
    gateway.moveBy(1000);
    refusal(await complete(approver, nonce), 404, "PairingNotFound");
    const status = ok(await enforcer.get(`/v1/pairing/${nonce}/status`));
    assert.deepEqual([status.state, status.routingToken], ["expired", undefined]);
  });

  test("HARP-74 a resolved code answers 404 again; only its resolver completes it, once", async () => {
    // Given a code that was resolved, when it is resolved again, by whomever, then it is 404; completing is for who
    // resolved it, once.
    const { id, enforcer, approver } = await gateway.tenant();
    const other = await gateway.approver(id);
    const { code, nonce } = await initiate(enforcer);
    refusal(await complete(approver, nonce), 404, "PairingNotFound");
    ok(await resolve(approver, code));
    for (const party of [approver, other]) refusal(await resolve(party, code), 404, "PairingNotFound");
    const foreign = await complete(other, nonce);
    assert.ok([403, 404].includes(foreign.status), String(foreign.status));
    const forged = await complete(approver, nonce, { approverId: other.id });
    refusal(forged, 403, "Forbidden");
    const { routingToken } = ok(await complete(approver, nonce));
    refusal(await complete(approver, nonce), 409, "PairingCompletedConflict");
    assert.equal(ok(await enforcer.get(`/v1/pairing/${nonce}/status`)).routingToken, routingToken);
  });

  test("HARP-74 concurrent uses of one code resolve it and complete it exactly once", async () => {
    // Given one code that many present at once, when all are answered, then exactly one has it; likewise for completing.
    const { id, enforcer } = await gateway.tenant();
    const approvers = await Promise.all(Array.from({ length: 4 }, () => gateway.approver(id)));
    const { code, nonce } = await initiate(enforcer);
    const answers = await Promise.all(approvers.map((approver) => resolve(approver, code)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 404, 404, 404]);
    const winner = approvers[answers.findIndex(({ status }) => status === 200)] ?? assert.fail();
    const completions = await Promise.all(Array.from({ length: 4 }, () => complete(winner, nonce)));
    assert.deepEqual(completions.map(({ status }) => status).sort(), [200, 409, 409, 409]);
  });

  test("HARP-75 each new code is unique, eight clear characters, valid ten minutes at most", async () => {
    // Given new codes, when they are looked at, then each is eight clear characters, different, and good for ten minutes
    // at most.
    const { enforcer } = await gateway.tenant();
    const codes = new Set<string>();
    for (let n = 0; n < 5; n++) {
      const { code, nonce, expiresAt } = await initiate(enforcer);
      assert.match(code, /^[A-HJ-NP-Z2-9]{8}$/);
      assert.match(nonce, /^pn-[A-Za-z0-9_-]{43}$/);
      const lifeMs = Date.parse(expiresAt) - gateway.now();
      assert.ok(lifeMs > 0 && lifeMs <= 10 * minuteMs, String(lifeMs));
      codes.add(code);
    }
    assert.equal(codes.size, 5);
  });

  test("HARP-75 guessing too many codes answers 429, even for a correct code", async () => {
    // Given somebody who guesses codes, when there are too many, then it is 429, and a code that is right does not help.
    const { id, enforcer, approver } = await gateway.tenant();
    const { code } = await initiate(enforcer);
    let guesses = 0;
    const limited = await until(
      () => {
        guesses += 1;
        return resolve(approver, `AAAA${String(2222 + guesses).replaceAll(/[01]/g, "9")}`);
      },
      ({ status }) => status === 429,
    );
    refusal(limited, 429, "RateLimited");
    assert.match(limited.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
    assert.ok(guesses < 100, `${guesses} guesses`);
    refusal(await resolve(approver, code), 429, "RateLimited");
    // All of a tenant together cannot do what one of them cannot.
    const helpers = await Promise.all(Array.from({ length: 20 }, () => gateway.approver(id)));
    const statuses: number[] = [];
    for (let round = 0; round < 25 && !statuses.includes(429); round++) {
      for (const helper of helpers) statuses.push((await resolve(helper, "AAAAAAAA")).status);
    }
    assert.ok(statuses.includes(429), "the tenant has a limit too");
    // Nobody elsewhere notices.
    const elsewhere = await gateway.tenant();
    await pair(elsewhere.enforcer, elsewhere.approver);
  });

  test("HARP-76 a routing token routes nothing for another enforcer or tenant", async () => {
    // Given a routing token, when another enforcer or tenant uses it, then it routes nothing.
    const { id, enforcer, approver } = await gateway.tenant();
    const routingToken = await pair(enforcer, approver);
    const strangers = [await gateway.enforcer(id), (await gateway.tenant()).enforcer];
    for (const stranger of strangers) {
      const artifact = stranger.artifact({ body: { metadata: { routingToken } } });
      refusal(await stranger.post("/v1/artifacts", artifact), 422, "NoApproverAvailable");
      assert.equal(await approver.item(artifact.requestId), undefined);
    }
    await enforcer.submit({ body: { metadata: { routingToken } } });
  });

  test("HARP-76 either side can revoke a routing token, and a revoked one is refused as such", async () => {
    const { id, enforcer, approver } = await gateway.tenant();
    const routingToken = await pair(enforcer, approver);
    const revoke = async ({ key }: Party, body: object = { routingToken }) => {
      const response = await fetch(`${gateway.base}/v1/pairing/revoke`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      return response.status;
    };
    for (const stranger of [
      await gateway.enforcer(id),
      await gateway.approver(id),
      (await gateway.tenant()).enforcer,
    ]) {
      const status = await revoke(stranger);
      assert.ok(status === 403 || status === 404, String(status));
    }
    const metadata = { routingToken };
    const before = await enforcer.submit({ body: { metadata } });
    assert.ok((await revoke(enforcer)) < 300);
    const artifact = enforcer.artifact({ body: { metadata } });
    const refused = refusal(await enforcer.post("/v1/artifacts", artifact), 422, "PairingRevoked");
    assert.equal(refused.details.retryable, false);
    assert.equal((await approver.item(before.requestId)).status, "Pending", "what was sent before stays");
    const another = await pair(enforcer, approver);
    assert.equal(await revoke(enforcer, {}), 400, "nothing is named");
    assert.equal(await revoke(enforcer, { enforcerId: enforcer.id }), 403);
    assert.ok((await revoke(approver, { enforcerId: enforcer.id })) < 300);
    const later = enforcer.artifact({ body: { metadata: { routingToken: another } } });
    refusal(await enforcer.post("/v1/artifacts", later), 422, "PairingRevoked");
  });

  test("HARP-102 a pairing refuses outsiders and discloses nothing to them", async () => {
    // Given a pairing, when somebody without a part in it looks or acts, then it is refused and nothing is told.
    const { id, enforcer, approver } = await gateway.tenant();
    const { code, nonce } = await initiate(enforcer);
    const otherEnforcer = await gateway.enforcer(id);
    const stranger = await gateway.tenant();
    refusal(await otherEnforcer.get(`/v1/pairing/${nonce}/status`), 404, "PairingNotFound");
    refusal(await stranger.enforcer.get(`/v1/pairing/${nonce}/status`), 404, "PairingNotFound");
    refusal(await stranger.approver.get(`/v1/pairing/resolve/${code}`), 404, "PairingNotFound");
    refusal(await enforcer.get(`/v1/pairing/resolve/${code}`), 403, "Forbidden");
    const forged = { enforcerId: enforcer.id };
    refusal(await otherEnforcer.post("/v1/pairing/initiate", forged), 403, "Forbidden");
    refusal(await approver.post("/v1/pairing/initiate", forged), 403, "Forbidden");
    ok(await resolve(approver, code));
  });
});

/** The record of an enforcer as others see it, once something holds for it. Asking oneself would be a sign of life. */
async function presence({ enforcer, approver, id }: Tenant, holds: (record: Json) => boolean): Promise<Json> {
  return await until(async () => {
    const record = ok(await approver.get(`/v1/presence/enforcers/${enforcer.id}`));
    const listed = ok(await approver.get(`/v1/presence/enforcers?tenantId=${id}`));
    assert.deepEqual(
      listed.map(({ enforcerDeviceId }: Json) => enforcerDeviceId),
      [enforcer.id],
    );
    return record;
  }, holds);
}

const online = ({ status }: Json) => status === "online";
const offline = ({ status }: Json) => status === "offline";

describe("Presence", () => {
  test("HARP-69 an enforcer is online with its labels on hello and offline at disconnect", async () => {
    // Given an enforcer, when it connects, says hello and goes, then it is online, has its labels, and is offline at
    // once.
    const tenant = await gateway.tenant();
    const { enforcer } = tenant;
    const channel = await openWs(enforcer);
    const connected = await presence(tenant, online);
    assert.equal(connected.transport, "websocket");
    assert.ok(Math.abs(Date.parse(connected.lastSeenAt) - gateway.now()) < 5 * minuteMs);
    channel.send({
      msgType: "hello",
      capabilities: { push: true, artifactTypes: ["command-approval"], limits: { perMinute: 5 } },
      build: "a member that HARP does not name",
      workspaceName: "airlock",
      enforcerLabel: "Antigravity",
    });
    const greeted = await presence(tenant, ({ enforcerLabel }) => enforcerLabel !== undefined);
    assert.deepEqual(
      { ...greeted, lastSeenAt: "" },
      {
        enforcerDeviceId: enforcer.id,
        status: "online",
        lastSeenAt: "",
        transport: "websocket",
        workspaceName: "airlock",
        enforcerLabel: "Antigravity",
        capabilities: { push: true, artifactTypes: ["command-approval"], limits: { perMinute: 5 } },
      },
    );
    await channel.close();
    await presence(tenant, offline);
  });

  test("HARP-69 an enforcer stays online until its last channel closes", async () => {
    // Given two channels of an enforcer, when one is closed, then it is online until the other is closed too.
    const tenant = await gateway.tenant();
    const { enforcer } = tenant;
    const socket = await openWs(enforcer);
    const stream = await openSse(enforcer);
    await presence(tenant, online);
    await socket.close();
    assert.equal((await presence(tenant, ({ transport }) => transport === "sse")).status, "online");
    await stream.close();
    await presence(tenant, offline);
  });

  test("HARP-69 a polling enforcer is online until ten minutes without a request", async () => {
    // Given an enforcer that only polls, when it was heard from, then it is online, and offline when it was not for ten
    // minutes.
    const { enforcer, approver } = await gateway.tenant();
    await enforcer.inbox();
    const path = `/v1/presence/enforcers/${enforcer.id}`;
    const record = await until(
      async () => ok(await approver.get(path)),
      ({ status }) => status === "online",
    );
    assert.equal(record.transport, "poll");
    gateway.moveBy(11 * minuteMs);
    assert.equal(ok(await approver.get(path)).status, "offline");
    assert.equal(ok(await approver.get(path)).lastSeenAt, record.lastSeenAt);
  });

  test("HARP-69 any call and a heartbeat are signs of life, and a heartbeat has the labels", async () => {
    const { id, enforcer, approver } = await gateway.tenant();
    const path = `/v1/presence/enforcers/${enforcer.id}`;
    ok(await enforcer.get(`/v1/presence/enforcers?tenantId=${id}`));
    assert.equal(ok(await approver.get(path)).status, "online");
    gateway.moveBy(11 * minuteMs);
    const beat = (body: object) =>
      fetch(`${gateway.base}/v1/presence/heartbeat`, {
        method: "POST",
        headers: { authorization: `Bearer ${enforcer.key}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    assert.equal((await beat({ enforcerId: enforcer.id, enforcerLabel: "Cursor", other: 1 })).status, 204);
    assert.equal((await beat({ enforcerId: approver.id })).status, 403);
    const seen = ok(await approver.get(path));
    assert.deepEqual([seen.status, seen.enforcerLabel], ["online", "Cursor"]);
  });

  test("HARP-70 a decision is delivered even if presence says offline or nothing", async () => {
    // Given presence that says offline, or nothing at all, when a decision is made, then it is delivered all the same.
    const { enforcer, approver } = await gateway.tenant();
    const submitted = await enforcer.submit({ lifeMs: 60 * minuteMs });
    gateway.moveBy(20 * minuteMs);
    const record = await approver.get(`/v1/presence/enforcers/${enforcer.id}`);
    if (record.status === 200) assert.equal(record.body.status, "offline");
    accepted(await approver.decide(submitted), 200, "decision.accepted");
    accepted(await enforcer.wait(submitted.requestId), 200, "decision.deliver");
    assert.equal((await enforcer.item(submitted.requestId)).status, "Undelivered");
  });

  test("HARP-70 a decision is delivered on an open channel that counts as offline", async () => {
    // Given an open channel that was silent for so long that it counts as offline, when a decision is made, then it is
    // delivered on it.
    const { enforcer, approver } = await gateway.tenant();
    await using channel = await openSse(enforcer);
    const submitted = await enforcer.submit({ lifeMs: 60 * minuteMs });
    gateway.moveBy(20 * minuteMs);
    await approver.decide(submitted);
    await channel.about(submitted.requestId, "decision.deliver");
  });

  test("HARP-71 presence discloses nothing to another tenant or without a tenant", async () => {
    // Given presence in a tenant, when somebody of another asks, or names no tenant, then nothing is told.
    const tenant = await gateway.tenant();
    const { id, enforcer, approver } = tenant;
    const stranger = await gateway.tenant();
    await using _channel = await openWs(enforcer);
    await presence(tenant, online);
    refusal(await stranger.enforcer.get(`/v1/presence/enforcers/${enforcer.id}`), 404, "EnforcerNotFound");
    refusal(await stranger.approver.get(`/v1/presence/enforcers?tenantId=${id}`), 403, "Forbidden");
    const own = ok(await stranger.approver.get(`/v1/presence/enforcers?tenantId=${stranger.id}`));
    assert.ok(own.every(({ enforcerDeviceId }: Json) => enforcerDeviceId !== enforcer.id));
    refusal(await approver.get("/v1/presence/enforcers"), 400, "ValidationError");
    refusal(await approver.get("/v1/presence/enforcers?tenantId="), 400, "ValidationError");
    refusal(await approver.get(`/v1/presence/enforcers/${fresh("enf")}`), 404, "EnforcerNotFound");
    const [record] = ok(await approver.get(`/v1/presence/enforcers?tenantId=${id}`));
    assert.equal(record.enforcerDeviceId, enforcer.id);
  });
});
