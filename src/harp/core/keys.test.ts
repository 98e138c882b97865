/** Keys: named by their fingerprints, handed over in bundles that hold no secret, kept under a passphrase. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { publishedApprover, sealedV1, v1, v2PublicKey } from "../../../test/support/approval-samples.ts";
import { mayKeyMoveTo, pendingKeyOf } from "./approver-key.ts";
import { decodeBase64url, encodeBase64url } from "./base64url.ts";
import { canonicalBytes } from "./canonical.ts";
import { rebuildDecisions, signDecision, verifySignature } from "./decision.ts";
import {
  bundleOf,
  decryptSecrets,
  encryptSecrets,
  exportSecrets,
  fingerprintOf,
  generateApproverKeys,
  importApproverKeys,
  kidOf,
  newEnforcerBundle,
  pairingFingerprint,
  readApproverBundle,
  readEnforcerBundle,
  signerKeyIdOf,
} from "./keys.ts";
import { iterationsMin } from "./secrets.ts";

const now = new Date("2026-02-21T12:00:00Z");
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("keys of an approver", () => {
  test("HARP-106 private keys never show when made, bundled, used or stored", async () => {
    // Given new keys, when they are made, bundled, used and kept, then no private one ever shows.
    const keys = await generateApproverKeys(now);
    const secrets = await exportSecrets(keys);
    const restored = await importApproverKeys(secrets);
    const blob = await encryptSecrets(secrets, "correct horse");
    const body = await signDecision({ artifact: v1, decision: "allow", keys });
    const sent = JSON.stringify([
      Buffer.from(bundleOf(keys), "base64url").toString(),
      body,
      blob,
      keys,
      restored,
    ]);
    for (const { seed } of [secrets.ed25519, secrets.x25519]) {
      assert.equal(decodeBase64url(seed).length, 32);
      assert.equal(sent.includes(seed), false);
      assert.equal(sent.includes(Buffer.from(seed, "base64url").toString("hex")), false);
    }
    await assert.rejects(crypto.subtle.exportKey("jwk", restored.ed25519.privateKey));
    await assert.rejects(crypto.subtle.exportKey("pkcs8", restored.x25519.privateKey));
    await assert.rejects(exportSecrets(restored), { code: "HARP_ERR_POLICY_DENY" });
    const staying = await generateApproverKeys(now, { isExtractable: false });
    await assert.rejects(exportSecrets(staying), { code: "HARP_ERR_POLICY_DENY" });
  });

  test("HARP-106 randomness comes from WebCrypto alone", () => {
    // Given the code of this folder, when it is read, then chance comes from WebCrypto alone.
    const folder = new URL(".", import.meta.url);
    const files = readdirSync(folder).filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
    const text = files.map((file) => readFileSync(new URL(file, folder), "utf8")).join("\n");
    assert.match(text, /crypto\.getRandomValues/);
    assert.doesNotMatch(text, /Math\.random/);
  });

  test("given two sets of new keys, when they are compared, then nothing is the same", async () => {
    const sets = [await generateApproverKeys(now), await generateApproverKeys(now)];
    const values = sets.flatMap(({ signerKeyId, deviceId, ed25519, x25519 }) => [
      signerKeyId,
      deviceId,
      encodeBase64url(ed25519.publicKey),
      encodeBase64url(x25519.publicKey),
    ]);
    assert.equal(new Set(values).size, 8);
  });

  test("given keys that were exported, when they are imported, then they sign as before", async () => {
    const keys = await generateApproverKeys(now);
    const restored = await importApproverKeys(await exportSecrets(keys));
    assert.equal(bundleOf(restored), bundleOf(keys));
    const body = await signDecision({ artifact: v1, decision: "allow", keys: restored });
    const [decision] = rebuildDecisions(v1, body);
    assert.equal(decision && (await verifySignature(decision, keys.ed25519.publicKey)), true);
  });

  test("importing rejects a private key paired with another's public key", async () => {
    // Given a private key beside another's public key, when they are imported, then they are refused.
    const one = await exportSecrets(await generateApproverKeys(now));
    const other = await exportSecrets(await generateApproverKeys(now));
    for (const curve of ["ed25519", "x25519"] as const) {
      const mixed = { ...one, [curve]: { ...one[curve], publicKey: other[curve].publicKey } };
      await assert.rejects(importApproverKeys(mixed), { details: { reason: "not_a_pair" } });
    }
  });
});

describe("fingerprints", () => {
  test("HARP-107 the published keys' ids are the SHA-256 of their raw bytes", async () => {
    // Given the published keys, when they are named, then by the SHA-256 of their raw bytes.
    assert.equal(
      await fingerprintOf(decodeBase64url(v2PublicKey)),
      "52ab59d88ec7c43c3215681a469e54c4f32494318eb2aee2b5b6c98d36f8cb93",
    );
    const [a, b] = [await publishedApprover(0x11), await publishedApprover(0x22)];
    assert.equal(a.signerKeyId, "97dnbJTffo_ZmY44-f_wTYWIsA0YAXZOPxh3o_6uRHc");
    assert.equal(await signerKeyIdOf(a.ed25519.publicKey), a.signerKeyId);
    assert.equal(await kidOf(a.x25519.publicKey), sealedV1.recipients[0].kid);
    assert.equal(await kidOf(b.x25519.publicKey), sealedV1.recipients[1].kid);
    const fingerprint = "ef2d6247eb68b098b6a3fcd11683c17865fa73e4981c2bdb76e5bfd155cf092a";
    assert.equal(await pairingFingerprint(a.ed25519.publicKey, a.x25519.publicKey), fingerprint);
    // Either key exchanged on the way is visible.
    assert.notEqual(await pairingFingerprint(a.ed25519.publicKey, b.x25519.publicKey), fingerprint);
  });

  test("HARP-107 a key recorded from a bundle has all its fields and is not trusted", async () => {
    // Given a bundle, when its key is recorded, then with id, keys, device, time and fingerprint, and not trusted.
    const keys = await generateApproverKeys(now);
    const bundle = await readApproverBundle(bundleOf(keys));
    const record = await pendingKeyOf(bundle, {
      approverId: "app-01",
      roles: ["approver"],
      notBefore: "2026-02-21T12:00:00Z",
      label: "Ada's phone",
    });
    assert.match(record.deviceId, uuid);
    assert.deepEqual(record, {
      signerKeyId: encodeBase64url(Buffer.from(await fingerprintOf(keys.ed25519.publicKey), "hex")),
      approverId: "app-01",
      alg: "Ed25519",
      ed25519: encodeBase64url(keys.ed25519.publicKey),
      x25519: encodeBase64url(keys.x25519.publicKey),
      deviceId: keys.deviceId,
      fingerprint: await pairingFingerprint(keys.ed25519.publicKey, keys.x25519.publicKey),
      state: "pending",
      roles: ["approver"],
      notBefore: "2026-02-21T12:00:00Z",
      createdAt: now.toISOString(),
      label: "Ada's phone",
    });
  });

  test("given the states of a key, when it moves, then only forward, and never back from revoked", () => {
    const states = ["pending", "active", "deprecated", "revoked"] as const;
    const moves = states.flatMap((from) =>
      states.filter((to) => mayKeyMoveTo(from, to)).map((to) => `${from} ${to}`),
    );
    assert.deepEqual(moves, [
      "pending active",
      "pending revoked",
      "active deprecated",
      "active revoked",
      "deprecated revoked",
    ]);
  });
});

const keysOfBundles = await generateApproverKeys(now);
const other = await generateApproverKeys(now);

describe("bundles", () => {
  const keys = keysOfBundles;
  const fields: Record<string, unknown> = JSON.parse(Buffer.from(bundleOf(keys), "base64url").toString());
  const packed = (value: unknown) => encodeBase64url(canonicalBytes(value));

  test("given a bundle, when it is read, then it says what was put in", async () => {
    assert.deepEqual(Object.keys(fields), ["createdAt", "deviceId", "ed25519", "signerKeyId", "v", "x25519"]);
    const read = await readApproverBundle(packed(fields));
    assert.deepEqual(
      { ...read, ed25519: [...read.ed25519], x25519: [...read.x25519] },
      {
        signerKeyId: keys.signerKeyId,
        deviceId: keys.deviceId,
        createdAt: now.toISOString(),
        ed25519: [...keys.ed25519.publicKey],
        x25519: [...keys.x25519.publicKey],
      },
    );
  });

  const refused: [string, string, string][] = [
    ["another key's id", packed({ ...fields, signerKeyId: other.signerKeyId }), "HARP_ERR_SIGNATURE_INVALID"],
    ["another version", packed({ ...fields, v: 2 }), "HARP_ERR_UNSUPPORTED"],
    ["a member that is not known", packed({ ...fields, admin: true }), "HARP_ERR_TRANSPORT"],
    ["a device that is no UUID", packed({ ...fields, deviceId: "Ada's phone" }), "HARP_ERR_TRANSPORT"],
    ["a key that is too short", packed({ ...fields, x25519: "AAAA" }), "HARP_ERR_TRANSPORT"],
    [
      "members in another order",
      Buffer.from(JSON.stringify({ v: 1, ...fields })).toString("base64url"),
      "HARP_ERR_CANONICALIZATION",
    ],
    ["padding", `${packed(fields)}=`, "HARP_ERR_TRANSPORT"],
    ["endless text", "A".repeat(8192), "HARP_ERR_TRANSPORT"],
    ["a placeholder", "BASE64URL_PUBLIC_KEY_PLACEHOLDER", "HARP_ERR_CANONICALIZATION"],
  ];
  for (const [what, bundle, code] of refused) {
    test(`given ${what}, when the bundle is read, then it is refused`, async () => {
      await assert.rejects(readApproverBundle(bundle), { code });
    });
  }

  test("an enforcer's bundle reads back as written and is not taken for an approver's", async () => {
    // Given an enforcer's bundle, when it is read, then it says what was put in, and is not taken for an approver's.
    const made = await newEnforcerBundle(now);
    const read = readEnforcerBundle(made.bundle);
    assert.deepEqual(
      { ...read, x25519: [...read.x25519] },
      {
        deviceId: made.deviceId,
        createdAt: now.toISOString(),
        x25519: [...made.x25519],
      },
    );
    assert.match(made.deviceId, uuid);
    await assert.rejects(readApproverBundle(made.bundle), { code: "HARP_ERR_TRANSPORT" });
    assert.throws(() => readEnforcerBundle(bundleOf(keys)), { code: "HARP_ERR_TRANSPORT" });
  });
});

const secrets = await exportSecrets(keysOfBundles);
const blob = await encryptSecrets(secrets, "correct horse");

describe("keys under a passphrase", () => {
  test("given the passphrase, when they are decrypted, then they are the same", async () => {
    assert.deepEqual(await decryptSecrets(JSON.parse(JSON.stringify(blob)), "correct horse"), secrets);
    assert.ok(blob.iterations >= 600_000);
  });

  test("given another passphrase, when they are decrypted, then it says so", async () => {
    for (const passphrase of ["correct hors", "", "Correct horse"]) {
      await assert.rejects(decryptSecrets(blob, passphrase), {
        name: "HarpError",
        details: { reason: "wrong_passphrase" },
      });
    }
  });

  test("decryption rejects too few or too many iterations without trying", async () => {
    // Given iterations that make guessing cheap, or take forever, when they are decrypted, then they are not even tried.
    for (const iterations of [1, iterationsMin - 1, 10_000_001]) {
      await assert.rejects(decryptSecrets({ ...blob, iterations }, "correct horse"), {
        code: "HARP_ERR_TRANSPORT",
      });
    }
  });

  test("encrypting the same secrets again repeats no salt, nonce or ciphertext", async () => {
    // Given the same secrets and passphrase, when they are encrypted again, then nothing is repeated.
    const again = await encryptSecrets(secrets, "correct horse");
    for (const name of ["salt", "nonce", "data"] as const) assert.notEqual(again[name], blob[name]);
  });

  const changes: [string, Record<string, unknown>][] = [
    ["other iterations", { iterations: iterationsMin + 1 }],
    ["another salt", { salt: "AAAAAAAAAAAAAAAAAAAAAA" }],
    ["another nonce", { nonce: "AAAAAAAAAAAAAAAA" }],
    ["data that is cut off", { data: blob.data.slice(0, -4) }],
    ["another function", { kdf: "none" }],
    ["another cipher", { alg: "none" }],
    ["another version", { v: 0 }],
    ["a member that is not known", { hint: "the usual" }],
  ];
  for (const [what, change] of changes) {
    test(`given ${what}, when they are decrypted, then they are refused`, async () => {
      await assert.rejects(decryptSecrets({ ...blob, ...change }, "correct horse"), { name: "HarpError" });
    });
  }
});
