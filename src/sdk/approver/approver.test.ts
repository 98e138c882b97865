import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  activeKeyOf,
  awaiting,
  publishedRandomness,
  requestOf,
  sessionV1,
  v1,
  v1NowMs,
  variantOfV1,
} from "../../../test/support/approval-samples.ts";
import {
  all,
  before,
  decided,
  holding,
  keys,
  opened,
  other,
  requestFor,
  requestNamed,
} from "../../../test/support/approver-world.ts";
import type { Json } from "../../../test/support/client.ts";
import { emitted, page, refuse, send } from "../../../test/support/scripted-gateway.ts";
import { decodeBase64url, encodeBase64url } from "../../harp/core/base64url.ts";
import { canonicalText, withPrefix } from "../../harp/core/canonical.ts";
import { encrypt } from "../../harp/core/ciphers.ts";
import { checkDecision } from "../../harp/core/enforcement.ts";
import { sealArtifact } from "../../harp/core/seal.ts";
import type { ApprovalRequest } from "../../harp/core/wire.ts";
import type { PendingRequest } from "./approver.ts";

const key = await activeKeyOf(keys);

/** What an approver makes of one request in its inbox. */
async function openingOf(request: Json): Promise<PendingRequest> {
  await using world = await before(holding(request));
  const [found = assert.fail("it is listed")] = await all(world.approver.inbox());
  return found;
}

function changed(request: ApprovalRequest, members: object): Json {
  return {
    ...request,
    body: { ...request.body, ciphertextRef: { ...request.body.ciphertextRef, ...members } },
  };
}

/** Sealed as V1 is, around whatever text. */
async function sealedAround(text: string): Promise<ApprovalRequest> {
  const random = await publishedRandomness();
  const sealed = await sealArtifact(v1, [keys.x25519.publicKey], { random });
  const [contentKey, nonce] = [new Uint8Array(random.contentKey), new Uint8Array(random.nonce)];
  const plaintext = new TextEncoder().encode(text);
  const bytes = await encrypt(contentKey, nonce, plaintext, decodeBase64url(sealed.aad));
  const data = encodeBase64url(bytes.subarray(0, plaintext.length));
  return requestOf(v1, { ...sealed, data, tag: encodeBase64url(bytes.subarray(plaintext.length)) });
}

/** The same text with one bit of its first character's six flipped. */
function flipped(text: string): string {
  return (text.startsWith("A") ? "B" : "A") + text.slice(1);
}

describe("What an approver opens", () => {
  test("HARP-40 each recipient device opens a sealed request; a third learns it is not for it", async () => {
    // Given a request that is sealed to this device and another, when the inbox is read, then all of it is there; a
    // third device is told that it is not for it.
    const request = await requestFor(v1, {});
    const found = await openingOf({ ...request, body: { ...request.body, metadata: { repoName: "said" } } });
    assert.ok(found.isOpened);
    assert.deepEqual(found.artifact, v1);
    assert.deepEqual([found.terms, found.metadata], [null, { repoName: "said" }]);
    const forOthers = requestOf(v1, await sealArtifact(v1, [other.publicKey]));
    const closed = await openingOf(forOthers);
    assert.ok(!closed.isOpened);
    assert.deepEqual(
      [closed.problem.code, closed.problem.details.reason],
      ["HARP_ERR_POLICY_DENY", "not_addressed"],
    );
  });

  test("HARP-41 a tampered sealed request stays closed while the others open", async () => {
    // Given any part of a sealed request changed on its way, when the inbox is read, then it stays closed and the others
    // do not.
    const request = await requestFor();
    const { data, tag, nonce, aad, epk, recipients } = request.body.ciphertextRef as Json;
    const forgeries = [
      { data: flipped(data) },
      { tag: flipped(tag) },
      { nonce: flipped(nonce) },
      { aad: flipped(aad) },
      { epk: flipped(epk) },
      { recipients: recipients.map((each: Json) => ({ ...each, wrapped: flipped(each.wrapped) })) },
      { data: undefined },
      { kind: "reference" },
    ];
    await using world = await before(
      holding(...forgeries.map((forgery) => changed(request, forgery)), request),
    );
    const found = await all(world.approver.inbox());
    assert.deepEqual(
      found.map(({ isOpened }) => isOpened),
      [...forgeries.map(() => false), true],
    );
    for (const closed of found.slice(0, -1)) {
      assert.doesNotMatch(JSON.stringify(closed), /Refactor|acme/, "nothing is shown of it");
    }
  });

  test("HARP-42 rejects a message that differs from what was sealed", async () => {
    // Given a message that says something else than what was sealed, when it is opened, then it is refused.
    const request = await requestFor();
    const lies: Json[] = [
      { ...request, requestId: "another" },
      { ...request, expiresAt: "2026-02-21T12:20:00Z" },
      { ...request, body: { ...request.body, artifactHash: withPrefix("0".repeat(64)) } },
      { ...request, body: { ...request.body, artifactType: "command.review" } },
    ];
    for (const lie of lies) {
      const found = await openingOf(lie);
      assert.ok(!found.isOpened, JSON.stringify(lie).slice(0, 200));
      assert.equal(found.problem.code, "HARP_ERR_HASH_MISMATCH");
    }
    const listed = { ...(await requestFor()), expiresAt: v1.expiresAt };
    await using world = await before(({ path }, response) => {
      assert.match(path, /inbox/);
      const item = { requestId: "another", envelope: listed };
      send(response, 200, emitted("inbox.page", { items: [item], nextCursor: null }));
    });
    const [elsewhere] = await all(world.approver.inbox());
    assert.equal(elsewhere?.isOpened, false, "nor one that is listed under another name");
  });

  test("HARP-43, HARP-44 rejects a seal of another profile or of a non-artifact by its error code", async () => {
    // Given a seal of another profile, or around something else than an artifact, when it is opened, then it is refused
    // by its code.
    const request = await requestFor();
    for (const members of [{ alg: "XChaCha20-Poly1305" }, { kdf: "none" }, { profile: "harp-e2e-2" }]) {
      const found = await openingOf(changed(request, members));
      assert.equal(found.isOpened || found.problem.code, "HARP_ERR_UNSUPPORTED");
    }
    const text = canonicalText(v1);
    const wrongHash = { ...v1, payload: { ...v1.payload, title: "Something else" } };
    for (const plaintext of [
      `${text} `,
      text.replace("{", '{"artifactHashAlg":"SHA-256",'),
      canonicalText(wrongHash),
      canonicalText({ ...v1, more: 1 }),
      "not JSON",
    ]) {
      const found = await openingOf(await sealedAround(plaintext));
      assert.ok(!found.isOpened, plaintext.slice(0, 100));
    }
    assert.ok((await openingOf(await sealedAround(text))).isOpened, "it is what is inside that was refused");
  });

  test("HARP-123 future and expired artifacts stay closed; an expired one can be read, not signed", async () => {
    // Given an artifact from the future, or one that has expired, when the inbox is read, then it stays closed; the
    // expired one can be looked at and never signed.
    const future = await variantOfV1({ createdAt: "2026-02-21T12:03:00Z" });
    const early = await openingOf(await requestFor(future));
    assert.equal(early.isOpened || early.problem.details.reason, "future_dated");
    await using world = await before(holding(await requestFor()));
    world.clock.nowMs = Date.parse(v1.expiresAt);
    const [late] = await all(world.approver.inbox());
    assert.ok(late?.isOpened === false);
    assert.equal(late.problem.details.reason, "artifact_expired");
    const [shown] = await all(world.approver.expired());
    assert.ok(shown?.isOpened);
    assert.deepEqual(shown.artifact, v1);
    await assert.rejects(world.approver.approve(shown), { code: "HARP_ERR_EXPIRED" });
    world.clock.nowMs = v1NowMs;
    await assert.rejects(world.approver.approve(shown), { code: "HARP_ERR_POLICY_DENY" });
    assert.deepEqual(world.gateway.at("/v1/decisions"), []);
    assert.equal(world.gateway.heard[1]?.path, "/v1/approvers/app-01/inbox/expired?limit=10");
  });

  test("reads all pages of the inbox but stops following a gateway with endless pages", async () => {
    // Given pages, when the inbox is read, then all are; a gateway that always has another one is not followed for ever.
    const [first, second] = [await requestNamed("r1"), await requestNamed("r2")];
    await using world = await before(({ path }, response) => {
      const isSecond = path.endsWith("cursor=a%26b");
      send(response, 200, isSecond ? page([second]) : page([first], "a&b"));
    });
    const found = await all(world.approver.inbox());
    assert.deepEqual(
      found.map(({ requestId, isOpened }) => [requestId, isOpened]),
      [
        ["r1", true],
        ["r2", true],
      ],
    );
    assert.equal((await world.approver.get("r2"))?.requestId, "r2");
    assert.equal(await world.approver.get("r3"), null);
    await using endless = await before((_, response) => send(response, 200, page([], "more")));
    await assert.rejects(all(endless.approver.inbox()), { code: "SenselessAnswer" });
    assert.ok(endless.gateway.heard.length <= 1000);
  });
});

describe("What an approver signs", () => {
  test("an enforcer that knows the key accepts exactly what was approved or denied", async () => {
    // Given an opened request, when it is approved or denied, then an enforcer that knows the key accepts exactly that.
    for (const verdict of ["approve", "deny"] as const) {
      await using world = await before(holding(await requestFor()));
      const request = await opened(world.approver);
      assert.deepEqual(await world.approver[verdict](request, { reason: "looked at it" }), decided);
      const [sent] = world.gateway.at("/v1/decisions");
      const { msgType, requestId, sender, body, createdAt } = sent?.body ?? {};
      assert.deepEqual(
        [msgType, requestId, sender],
        ["decision.submit", v1.requestId, { approverId: "app-01" }],
      );
      assert.equal(createdAt, new Date(v1NowMs).toISOString());
      assert.equal(body.reason, "looked at it");
      assert.match(body.decisionHash, /^sha256:/);
      const decision = await checkDecision({ requestId, body }, awaiting(v1, [key]));
      assert.equal(decision.decision, verdict === "approve" ? "allow" : "deny");
      assert.deepEqual([decision.scope, decision.expiresAt], ["once", v1.expiresAt]);
    }
  });

  test("an approval is for one use unless the offered terms are asked for", async () => {
    // Given terms that an enforcer offers, when it is approved, then it is for one use unless asked for all of it.
    await using world = await before(holding(await requestFor(sessionV1)));
    const request = await opened(world.approver);
    assert.equal(request.terms?.scope, "session");
    await world.approver.approve(request);
    await world.approver.approve(request, { useOfferedTerms: true });
    const decisions = world.gateway.at("/v1/decisions").map(({ body }) => body);
    const scopes = await Promise.all(
      decisions.map(async ({ requestId, body }) => {
        return (await checkDecision({ requestId, body }, awaiting(sessionV1, [key]))).scope;
      }),
    );
    assert.deepEqual(scopes, ["once", "session"]);
  });

  test("signs nothing that another approver opened, and nothing copied or altered", async () => {
    // Given something that this approver did not open itself, or tries to change, when it is to be signed, then nothing
    // is.
    await using world = await before(holding(await requestFor()));
    await using stranger = await before(holding(await requestFor()));
    const request = await opened(world.approver);
    const copies = [{ ...request }, await opened(stranger.approver), structuredClone(request)];
    for (const copy of copies) {
      await assert.rejects(world.approver.approve(copy), { code: "HARP_ERR_POLICY_DENY" });
      await assert.rejects(world.approver.deny(copy), { code: "HARP_ERR_POLICY_DENY" });
    }
    const artifact: Json = request.artifact;
    assert.throws(() => {
      artifact.payload.steps[0] = "something else";
    }, TypeError);
    assert.deepEqual(world.gateway.at("/v1/decisions"), []);
  });

  test("signs nothing when the opened request has expired by the time of the decision", async () => {
    // Given an opened request, when it has expired by the time of the decision, then nothing is signed.
    await using world = await before(holding(await requestFor()));
    const request = await opened(world.approver);
    world.clock.nowMs = Date.parse(v1.expiresAt);
    await assert.rejects(world.approver.approve(request), { code: "HARP_ERR_EXPIRED" });
    await assert.rejects(world.approver.deny(request), { code: "HARP_ERR_EXPIRED" });
    world.clock.nowMs -= 1;
    await world.approver.approve(request);
    assert.equal(world.gateway.at("/v1/decisions").length, 1);
  });

  test("resends the same decision while the gateway is unavailable, but not after a refusal", async () => {
    // Given a gateway that is away for a moment, when a decision is sent, then it is sent again as it was; one that says
    // no is not asked again.
    let failures = 2;
    const request = await requestFor();
    await using world = await before((heard, response) => {
      if (heard.path !== "/v1/decisions" || failures === 0) return holding(request)(heard, response);
      failures -= 1;
      response.destroy();
    });
    await world.approver.approve(await opened(world.approver));
    const bodies = world.gateway.at("/v1/decisions").map(({ text }) => text);
    assert.equal(bodies.length, 3);
    assert.equal(new Set(bodies).size, 1, "one decision, however often it is sent");
    assert.deepEqual(world.pauses, [500, 1000]);
    await using refusing = await before((heard, response) => {
      if (heard.path !== "/v1/decisions") return holding(request)(heard, response);
      refuse(response, 409, "AlreadyDecidedConflict");
    });
    await assert.rejects(refusing.approver.approve(await opened(refusing.approver)), {
      code: "AlreadyDecidedConflict",
    });
    assert.equal(refusing.gateway.at("/v1/decisions").length, 1);
  });

  test("asks the gateway for the status or refresh of an ended request, by either route", async () => {
    // Given a request that is over, when it is asked about or asked for anew, then the gateway is asked, by either way.
    const status = { requestId: "r", state: "expired", createdAt: v1.createdAt, expiresAt: v1.expiresAt };
    await using world = await before(({ path }, response) => {
      if (path === "/v1/exchanges/r") send(response, 200, emitted("exchange.status", status));
      else if (path === "/v1/exchanges/r%20s/refresh") send(response, 200, { status: "forwarded" });
      else if (path === "/v1/requests/r/refresh?enforcerDeviceId=e%201")
        refuse(response, 503, "EnforcerOffline");
      else refuse(response, 404, "ExchangeNotFound");
    });
    assert.equal((await world.approver.status("r"))?.state, "expired");
    assert.equal(await world.approver.status("s"), null);
    await world.approver.refresh("r s");
    await assert.rejects(world.approver.refresh("r", { enforcerId: "e 1" }), { code: "EnforcerOffline" });
  });
});

test("the browser library imports nothing from Node.js or third parties", () => {
  // Given the library for browsers, when all that it imports is followed, then none of it is of Node.js or of anybody
  // else.
  const seen = new Set<string>();
  const follow = (file: string) => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const [, name = ""] of readFileSync(file, "utf8").matchAll(/from "([^"]+)"/g)) {
      assert.match(name, /^\.{1,2}\//, `${file} imports ${name}`);
      follow(resolve(dirname(file), name));
    }
  };
  follow(fileURLToPath(new URL("./approver.ts", import.meta.url)));
  assert.ok(seen.size > 10);
  for (const file of seen)
    assert.doesNotMatch(readFileSync(file, "utf8"), /\b(Buffer|process|require)\b[.(]/, file);
});
