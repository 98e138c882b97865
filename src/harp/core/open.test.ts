/** Opening: what was changed in a bit, or says two things, is shown to nobody. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isThorough } from "../../../test/runner/seed.ts";
import {
  publishedApprover,
  publishedRandomness,
  repeated,
  requestOf,
  sealedV1,
  v1,
  v1NowMs,
  variantOfV1,
} from "../../../test/support/approval-samples.ts";
import type { Artifact } from "./artifact.ts";
import { decodeBase64url, encodeBase64url } from "./base64url.ts";
import { canonicalBytes, canonicalText } from "./canonical.ts";
import { agree, type Bytes, encrypt } from "./ciphers.ts";
import { type ApproverKeys, generateApproverKeys } from "./keys.ts";
import { openRequest } from "./open.ts";
import { type SealedArtifact, sealArtifact, wrappingKeyOf } from "./seal.ts";
import type { ApprovalRequest } from "./wire.ts";

/** The gate flips a bit of every byte, `npm run fuzz` every bit. */
const bitStep = isThorough ? 1 : 7;

const [a, b] = [await publishedApprover(0x11), await publishedApprover(0x22)];
const stranger = await generateApproverKeys(new Date(v1NowMs));
const random = await publishedRandomness();
const sealed = await sealArtifact(v1, [a.x25519.publicKey, b.x25519.publicKey], { random });

async function opened(ciphertext: SealedArtifact, keys: ApproverKeys = a): Promise<Artifact> {
  return await openRequest(requestOf(v1, ciphertext), keys, v1NowMs);
}

/** Sealed to A as an enforcer of bad intent could do it: any bytes, under whatever context it likes. */
async function sealedBytes(plaintext: Bytes, context: unknown): Promise<SealedArtifact> {
  const aad = typeof context === "string" ? new TextEncoder().encode(context) : canonicalBytes(context);
  const secret = await agree(random.ephemeral.privateKey, a.x25519.publicKey);
  const wrapping = await wrappingKeyOf(secret, random.ephemeral.publicKey, a.x25519.publicKey);
  const contentKey = repeated(0x44, 32);
  const wrapped = encodeBase64url(await encrypt(wrapping.key, wrapping.nonce, contentKey, aad));
  const whole = await encrypt(contentKey, repeated(0x55, 12), plaintext, aad);
  return {
    ...sealed,
    aad: encodeBase64url(aad),
    data: encodeBase64url(whole.subarray(0, -16)),
    tag: encodeBase64url(whole.subarray(-16)),
    recipients: [{ kid: sealedV1.recipients[0].kid, wrapped }],
  };
}

function utf8(text: string): Bytes {
  return new TextEncoder().encode(text);
}

describe("opening a request", () => {
  test("HARP-40 recipients A and B open the published example; others find no key", async () => {
    // Given the published example, when A and B open it, then both see the artifact; others find no key.
    assert.deepEqual(await opened(sealed, a), v1);
    assert.deepEqual(await opened(sealed, b), v1);
    await assert.rejects(opened(sealed, stranger), { details: { reason: "not_addressed" } });
  });

  for (const name of ["data", "tag", "nonce", "aad", "epk"] as const) {
    test(`HARP-41 given the sealed ${name}, when any bit is flipped, then nothing is shown`, async () => {
      const bytes = decodeBase64url(sealed[name]);
      for (let bit = 0; bit < bytes.length * 8; bit += bitStep) {
        const changed = { ...sealed, [name]: encodeBase64url(flipped(bytes, bit)) };
        // The highest bit of an X25519 key means nothing to the curve; what is wrapped knows it all the same.
        await assert.rejects(opened(changed), { name: "HarpError" }, `bit ${bit}`);
      }
    });
  }

  test("HARP-41 given the wrapped key, when any bit is flipped, then nothing is shown", async () => {
    const [mine, others] = sealed.recipients;
    assert.ok(mine && others);
    const bytes = decodeBase64url(mine.wrapped);
    for (let bit = 0; bit < bytes.length * 8; bit += bitStep) {
      const wrapped = encodeBase64url(flipped(bytes, bit));
      const changed = { ...sealed, recipients: [{ ...mine, wrapped }, others] };
      await assert.rejects(opened(changed), { details: { reason: "not_decryptable" } }, `bit ${bit}`);
    }
  });

  const outer: [string, (request: ApprovalRequest) => void][] = [
    ["hash", ({ body }) => (body.artifactHash = `sha256:${"0".repeat(64)}`)],
    ["request id", (request) => (request.requestId = "01J2V8V3K6B2Z9X6G1V7Y2QK8J")],
    ["request id in small letters", (request) => (request.requestId = request.requestId.toLowerCase())],
    ["type", ({ body }) => (body.artifactType = "command.review")],
    ["type, though the artifact's own", ({ body }) => (body.artifactType = "plan.review")],
    ["expiry", (request) => (request.expiresAt = "2026-02-21T12:10:01Z")],
  ];
  for (const [what, change] of outer) {
    test(`HARP-42 rejects another outer ${what} than the sealed one`, async () => {
      // Given another outer ${what} than the sealed one, when it is opened, then it is refused.
      const request = requestOf(v1, sealed);
      change(request);
      await assert.rejects(openRequest(request, a, v1NowMs), { code: "HARP_ERR_HASH_MISMATCH" });
    });
  }

  test("HARP-42 given no outer expiry, when it is opened, then it is refused", async () => {
    const { expiresAt: _expiresAt, ...request } = requestOf(v1, sealed);
    await assert.rejects(openRequest(request, a, v1NowMs), { code: "HARP_ERR_TRANSPORT" });
  });

  const context: Record<string, unknown> = JSON.parse(sealedV1.aad);
  test("HARP-42 rejects an artifact sealed under another context", async () => {
    // Given an artifact sealed under another context, when it is opened, then it is refused.
    // Another artifact behind the hash that the gateway and the context agree on.
    for (const change of [
      { requestId: "01J2V8V3K6B2Z9X6G1V7Y2QK8J" },
      { payload: { title: "Something else" } },
    ]) {
      const other = await variantOfV1(change);
      await assert.rejects(opened(await sealedBytes(canonicalBytes(other), context)), {
        code: "HARP_ERR_HASH_MISMATCH",
      });
    }
    // The same instant, in another spelling than the artifact's.
    const spelled = { ...context, expiresAt: "2026-02-21T13:10:00+01:00" };
    await assert.rejects(opened(await sealedBytes(canonicalBytes(v1), spelled)), {
      code: "HARP_ERR_HASH_MISMATCH",
    });
    // A type that is neither the neutral one nor the artifact's, and the gateway says the same.
    const request = requestOf(
      v1,
      await sealedBytes(canonicalBytes(v1), { ...context, artifactType: "patch.review" }),
    );
    request.body.artifactType = "patch.review";
    await assert.rejects(openRequest(request, a, v1NowMs), { code: "HARP_ERR_HASH_MISMATCH" });
  });

  const contexts: [string, unknown][] = [
    ["a member too many", { ...context, note: "x" }],
    ["a member too few", { ...context, requestId: undefined }],
    ["white space", sealedV1.aad.replace(",", ", ")],
    ["no JSON", "harp"],
  ];
  for (const [what, value] of contexts) {
    test(`given a context with ${what}, when it is opened, then it is refused`, async () => {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      await assert.rejects(opened(await sealedBytes(canonicalBytes(v1), text)), { name: "HarpError" });
    });
  }

  const plain = canonicalText(v1);
  const plaintexts: [string, string, string][] = [
    ["white space", `${plain} `, "HARP_ERR_CANONICALIZATION"],
    [
      "members in another order",
      JSON.stringify(Object.fromEntries(Object.entries(v1).reverse())),
      "HARP_ERR_CANONICALIZATION",
    ],
    ["a name twice", plain.replace('"payload":', '"payload":{},"payload":'), "HARP_ERR_CANONICALIZATION"],
    ["a byte order mark", `\ufeff${plain}`, "HARP_ERR_CANONICALIZATION"],
    ["a wrong inner hash", plain.replace(v1.artifactHash, "0".repeat(64)), "HARP_ERR_HASH_MISMATCH"],
    ["other words under the same hash", plain.replace("medium", "low"), "HARP_ERR_HASH_MISMATCH"],
    ["a member that is not known", `${plain.slice(0, -1)},"z":1}`, "HARP_ERR_TRANSPORT"],
    ["another algorithm", plain.replace("SHA-256", "SHA-1"), "HARP_ERR_UNSUPPORTED"],
    ["text that is cut off", plain.slice(0, -1), "HARP_ERR_CANONICALIZATION"],
  ];
  test("given bytes sealed by hand, when they are right, then they open", async () => {
    assert.deepEqual(await opened(await sealedBytes(utf8(plain), context)), v1);
  });
  for (const [what, text, code] of plaintexts) {
    test(`HARP-43 given a sealed text with ${what}, when it is opened, then it is refused`, async () => {
      assert.notEqual(text, plain);
      await assert.rejects(opened(await sealedBytes(utf8(text), context)), { code });
    });
  }

  const unsupported: [string, unknown][] = [
    ["alg", "XChaCha20-Poly1305"],
    ["alg", "aes-256-gcm"],
    ["kdf", "HKDF-SHA512"],
    ["kdf", undefined],
    ["profile", "harp-e2e-2"],
    ["profile", undefined],
    ["kind", "url"],
  ];
  for (const [name, value] of unsupported) {
    test(`HARP-44, HARP-124 rejects ${value} as ${name}: unsupported`, async () => {
      // Given ${value} as ${name}, when it is opened, then it is refused as unsupported.
      const request = requestOf(v1, sealed);
      Object.assign(request.body.ciphertextRef, { [name]: value });
      await assert.rejects(openRequest(request, a, v1NowMs), { code: "HARP_ERR_UNSUPPORTED" });
    });
  }

  test("HARP-46 both sides reject a key of small order when deriving a secret", async () => {
    // Given a key of small order, when a secret is to be made with it, then it is refused on both sides.
    // The points of order 1, 2, 4 and 8, and their other spellings (RFC 7748, section 7; the list is Bernstein's).
    const smallOrder = [
      "0000000000000000000000000000000000000000000000000000000000000000",
      "0100000000000000000000000000000000000000000000000000000000000000",
      "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
      "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
      "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ].map((hex) => new Uint8Array(Buffer.from(hex, "hex")));
    for (const point of smallOrder) {
      const zero = { details: { reason: "zero_secret" } };
      await assert.rejects(opened({ ...sealed, epk: encodeBase64url(point) }), zero);
      await assert.rejects(sealArtifact(v1, [a.x25519.publicKey, point]), zero);
    }
  });

  const damaged: [string, Record<string, unknown>][] = [
    ["no recipients", { recipients: [] }],
    ["a recipient twice", { recipients: [sealed.recipients[0], sealed.recipients[0]] }],
    ["a wrapped key that is too short", { recipients: [{ ...sealed.recipients[0], wrapped: "AAAA" }] }],
    ["a recipient with more to say", { recipients: [{ ...sealed.recipients[0], role: "admin" }] }],
    ["padding", { tag: `${sealed.tag}==` }],
    ["a nonce that is too long", { nonce: `${sealed.nonce}AAAA` }],
    ["no data", { data: "" }],
    ["data that is a placeholder", { data: "BASE64 CIPHERTEXT" }],
    ["no tag", { tag: undefined }],
  ];
  for (const [what, change] of damaged) {
    test(`given ${what}, when it is opened, then it is refused`, async () => {
      const request = requestOf(v1, sealed);
      Object.assign(request.body.ciphertextRef, change);
      await assert.rejects(openRequest(request, a, v1NowMs), { code: "HARP_ERR_TRANSPORT" });
    });
  }

  test("rejects data larger than an artifact can be before any work", async () => {
    // Given more data than an artifact can have, when it is opened, then it is refused before any work.
    await assert.rejects(opened({ ...sealed, data: "A".repeat(2_796_204) }), {
      details: { reason: "malformed" },
    });
  });

  test("given another kind of message, when it is opened, then it is refused", async () => {
    const request: ApprovalRequest = {
      ...requestOf(v1, sealed),
      ...JSON.parse('{"msgType":"decision.deliver"}'),
    };
    await assert.rejects(openRequest(request, a, v1NowMs), { code: "HARP_ERR_TRANSPORT" });
  });

  test("given members that we do not know, when it is opened, then they do not matter", async () => {
    assert.deepEqual(await opened({ ...sealed, note: "from another vendor" }), v1);
  });

  test("given a hash without its prefix, when it is opened, then it is the same hash", async () => {
    const request = requestOf(v1, sealed);
    request.body.artifactHash = v1.artifactHash;
    request.expiresAt = "2026-02-21T13:10:00+01:00";
    assert.deepEqual(await openRequest(request, a, v1NowMs), v1);
  });

  test("HARP-123 rejects an artifact from the future or at its expiry", async () => {
    // Given an artifact from the future, or one at its end, when it is opened, then it is refused.
    const createdMs = Date.parse(v1.createdAt);
    const expiresMs = Date.parse(v1.expiresAt);
    const request = requestOf(v1, sealed);
    await openRequest(request, a, createdMs - 60_000);
    await assert.rejects(openRequest(request, a, createdMs - 60_001), { code: "HARP_ERR_EXPIRED" });
    await openRequest(request, a, expiresMs - 1);
    await assert.rejects(openRequest(request, a, expiresMs), { code: "HARP_ERR_EXPIRED" });
    await assert.rejects(openRequest(request, a, Number.NaN), { code: "HARP_ERR_EXPIRED" });
  });

  test("given terms that contradict the artifact, when it is opened, then nothing is shown", async () => {
    const decisionTerms = { scope: "session", expiresAt: v1.expiresAt, sessionId: "other" };
    const artifact = await variantOfV1({ extensions: { gwProfile: { decisionTerms } } });
    const request = requestOf(artifact, await sealArtifact(artifact, [a.x25519.publicKey]));
    await assert.rejects(openRequest(request, a, v1NowMs), { code: "HARP_ERR_SCOPE" });
  });
});

function flipped(bytes: Uint8Array, bit: number): Uint8Array {
  return bytes.with(bit >> 3, (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7)));
}
