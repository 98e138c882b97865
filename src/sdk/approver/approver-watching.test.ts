import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { requestOf, v1, v1NowMs } from "../../../test/support/approval-samples.ts";
import {
  before,
  holding,
  keys,
  opened,
  requestFor,
  requestNamed,
  type World,
} from "../../../test/support/approver-world.ts";
import {
  beginStream,
  emitted,
  page,
  refuse,
  scriptedGateway,
  send,
} from "../../../test/support/scripted-gateway.ts";
import {
  exportSecrets,
  generateApproverKeys,
  newEnforcerBundle,
  readApproverBundle,
} from "../../harp/core/keys.ts";
import { sealArtifact } from "../../harp/core/seal.ts";
import { Approver, type PendingRequest } from "./approver.ts";

describe("What an approver watches", () => {
  /** Watches until this many came, and gives what came. */
  async function watched({ approver }: World, count: number): Promise<PendingRequest[]> {
    const stop = new AbortController();
    const found: PendingRequest[] = [];
    for await (const request of approver.watch(stop.signal)) {
      found.push(request);
      if (found.length === count) stop.abort();
    }
    return found;
  }

  test("watching yields each waiting or new request once and acknowledges the opened ones", async () => {
    // Given requests that wait and others that come, some again, when they are watched, then each comes once and what
    // was opened is acknowledged.
    const [waiting, coming] = [await requestNamed("r1"), await requestNamed("r2")];
    const closed = { ...(await requestNamed("r3")), expiresAt: "2027-01-01T00:00:00Z" };
    await using world = await before((heard, response) => {
      if (heard.path !== "/v1/sse/approvers/app-01") return holding(waiting)(heard, response);
      const push = beginStream(response);
      for (const request of [waiting, closed, closed, coming, coming]) push("approval.request", request);
      push("exchange.withdrawn", emitted("exchange.withdrawn", {}));
      push("approval.request", "nothing");
      push("approval.request", waiting);
      return undefined;
    });
    const found = await watched(world, 3);
    assert.deepEqual(
      found.map(({ requestId, isOpened }) => [requestId, isOpened]),
      [
        ["r1", true],
        ["r3", false],
        ["r2", true],
      ],
    );
    assert.deepEqual(
      world.gateway.at("/v1/acks").map(({ body }) => [body.requestId, body.body.msgId, body.body.status]),
      [
        ["r1", waiting.msgId, "received"],
        ["r2", coming.msgId, "received"],
      ],
    );
  });

  test("HARP-99 watching reconnects with growing delays and resets them after the gateway spoke", async () => {
    // Given a gateway that is lost again and again, when it is watched, then it is come back to later and later, and
    // from the start once it spoke.
    let rounds = 0;
    const request = await requestFor();
    await using world = await before((heard, response) => {
      if (heard.path.includes("/sse/")) {
        const push = beginStream(response);
        if (rounds === 9) push("ping", "");
        return void response.end();
      }
      if (!heard.path.includes("/inbox")) return holding()(heard, response);
      rounds += 1;
      if (rounds <= 7) return refuse(response, 503, "ServiceUnavailable", { retryable: true });
      send(response, 200, page(rounds === 11 ? [request] : []));
    });
    const found = await watched(world, 1);
    assert.equal(found[0]?.requestId, v1.requestId);
    const halves = [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 500, 1000];
    assert.deepEqual(world.pauses, halves);
  });

  test("watching polls the inbox of a gateway without streams", async () => {
    // Given a gateway without streams, when it is watched, then its inbox is looked at again and again.
    let looks = 0;
    const request = await requestFor();
    await using world = await before((heard, response) => {
      if (!heard.path.includes("/inbox")) return holding()(heard, response);
      looks += 1;
      send(response, 200, page(looks === 3 ? [request] : []));
    });
    assert.equal((await watched(world, 1))[0]?.isOpened, true);
    assert.equal(world.gateway.at("/v1/sse/").length, 1);
    assert.deepEqual(world.pauses, [10_000, 10_000]);
  });

  test("given a gateway that refuses for good, when it is watched, then that is told", async () => {
    await using world = await before((_, response) => refuse(response, 403, "Forbidden"));
    await assert.rejects(watched(world, 1), { code: "Forbidden" });
    assert.deepEqual(world.pauses, []);
  });
});

describe("How an approver pairs", () => {
  const found = {
    nonce: "pn-1",
    enforcerId: "enf-01",
    enforcerLabel: "Bridle",
    workspaceName: "airlock",
    expiresAt: v1.expiresAt,
  };

  test("HARP-107 pairing by code shows both fingerprints and hands over the key bundle", async () => {
    // Given a code, when it is resolved and completed, then both fingerprints are told and the key bundle is handed
    // over.
    const enforcer = await newEnforcerBundle(new Date());
    await using world = await before(({ path }, response) => {
      if (path === "/v1/pairing/resolve/AB%2F2")
        send(response, 200, { ...found, publicKey: enforcer.bundle });
      else if (path === "/v1/pairing/complete") send(response, 200, { routingToken: "rt-1" });
      else refuse(response, 404, "PairingNotFound");
    });
    const offer = await world.approver.pair("AB/2");
    assert.deepEqual(
      [offer.enforcerId, offer.enforcerLabel, offer.workspaceName],
      ["enf-01", "Bridle", "airlock"],
    );
    assert.match(offer.enforcerFingerprint ?? "", /^[0-9a-f]{64}$/);
    // The published example.
    assert.equal(offer.fingerprint, "ef2d6247eb68b098b6a3fcd11683c17865fa73e4981c2bdb76e5bfd155cf092a");
    assert.deepEqual(world.gateway.at("/v1/pairing/complete"), [], "nothing is promised yet");
    await offer.complete();
    const [completed] = world.gateway.at("/v1/pairing/complete");
    assert.deepEqual([completed?.body.nonce, completed?.body.approverId], ["pn-1", "app-01"]);
    const bundle = await readApproverBundle(completed?.body.publicKey);
    assert.deepEqual([bundle.signerKeyId, bundle.deviceId], [keys.signerKeyId, keys.deviceId]);
    await assert.rejects(world.approver.pair("other"), { code: "PairingNotFound" });
  });

  test("pairing shows no fingerprint for an enforcer key that it cannot read", async () => {
    // Given an enforcer of another vendor, when it is found, then a key that cannot be read is no fingerprint.
    const { nonce, enforcerId, expiresAt } = found;
    await using world = await before((_, response) =>
      send(response, 200, { nonce, enforcerId, expiresAt, publicKey: "PLACEHOLDER" }),
    );
    const offer = await world.approver.pair("A1B2C3");
    assert.deepEqual(
      [offer.enforcerFingerprint, offer.enforcerLabel, offer.workspaceName],
      [null, null, null],
    );
  });

  test("HARP-106 no message to the gateway ever contains a private key", async () => {
    // Given keys that were made here, when everything is done with them, then no message has a private key in it.
    const own = await generateApproverKeys(new Date(v1NowMs));
    const secrets = await exportSecrets(own);
    const sealed = await sealArtifact(v1, [own.x25519.publicKey]);
    const gateway = await scriptedGateway((heard, response) => {
      if (heard.path.startsWith("/v1/pairing/resolve/")) send(response, 200, found);
      else if (heard.path === "/v1/pairing/complete") send(response, 200, { routingToken: "rt-1" });
      else holding(requestOf(v1, sealed))(heard, response);
    });
    await using _ = gateway;
    const approver = new Approver({
      url: gateway.url,
      key: "k",
      approverId: "app-01",
      keys: own,
      clock: () => v1NowMs,
    });
    await (await approver.pair("ABCD2345")).complete();
    await approver.approve(await opened(approver));
    const sent = JSON.stringify(gateway.heard);
    assert.equal(gateway.heard.length, 4);
    for (const { seed } of [secrets.ed25519, secrets.x25519]) {
      assert.ok(!sent.includes(seed));
      assert.ok(!sent.includes(Buffer.from(seed, "base64url").toString("hex")));
    }
    const again = await generateApproverKeys(new Date(v1NowMs));
    assert.notEqual(again.signerKeyId, own.signerKeyId);
    assert.notEqual(again.deviceId, own.deviceId);
  });
});
