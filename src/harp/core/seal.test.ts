/** Sealing: the published example comes out byte for byte, and nothing random is used twice. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
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
import { decodeBase64url, encodeBase64url } from "./base64url.ts";
import { canonicalBytes, hexOf, sha256Hex } from "./canonical.ts";
import { agree, concat, decrypt } from "./ciphers.ts";
import { openRequest } from "./open.ts";
import { type SealedArtifact, sealArtifact, wrappingKeyOf } from "./seal.ts";

const [a, b] = [await publishedApprover(0x11), await publishedApprover(0x22)];
const random = await publishedRandomness();
const sealed = await sealArtifact(v1, [a.x25519.publicKey, b.x25519.publicKey], { random });

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

describe("sealing an artifact", () => {
  test("HARP-39 sealing the published inputs gives the published members", async () => {
    // Given the published inputs, when the artifact is sealed, then every member is the published one.
    assert.deepEqual(sealed, {
      alg: "AES-256-GCM",
      profile: "harp-e2e-1",
      kdf: "X25519+HKDF-SHA256",
      ...sealedV1,
      aad: encodeBase64url(utf8(sealedV1.aad)),
    });
    assert.equal(utf8(sealedV1.aad).length, 240);
    assert.equal(
      await sha256Hex(canonicalBytes(v1)),
      "60ae28c882b513e69eaa387af798a7e3a819f692b203d6dc981d4d8ad411e758",
    );
  });

  test("HARP-39 the published keys derive the published secrets and wrapping keys", async () => {
    // Given the published keys, when secrets and wrapping keys are derived, then they are the published ones.
    const expected = [
      [
        a,
        "5bf22caf31c0316785b0b9bc60e56d48582ce59435ce5b3c028052be42631e0f",
        "fee795b9d751334e887ac6105807389fa21f51d000a7af12bc9ecaa0c4e61203a5d9b1d7a6edf7fb072d0037",
      ],
      [
        b,
        "1fdc192faa0212a9aae7bb4f41b580227fd5ad3e5d777faae230dfe973f3e805",
        "7b60944c41a5dcee4c868fab7314b17ca7c3d430db18c094c5b84bbf7fc7195ac0d9e1fad9051f7ec5013fd2",
      ],
    ] as const;
    for (const [{ x25519 }, secret, made] of expected) {
      const found = await agree(random.ephemeral.privateKey, x25519.publicKey);
      assert.equal(hexOf(found), secret);
      const wrapping = await wrappingKeyOf(found, random.ephemeral.publicKey, x25519.publicKey);
      assert.equal(hexOf(concat(wrapping.key, wrapping.nonce)), made);
    }
  });

  test("HARP-45 sealing one artifact twice reuses no key and no nonce", async () => {
    // Given one artifact, when it is sealed twice, then no key and no nonce is used again.
    const recipients = [a.x25519.publicKey];
    const [one, other] = [await sealArtifact(v1, recipients), await sealArtifact(v1, recipients)];
    for (const name of ["epk", "nonce", "data", "tag"] as const) assert.notEqual(one[name], other[name]);
    assert.notEqual(one.recipients[0]?.wrapped, other.recipients[0]?.wrapped);
    const keys = await Promise.all([one, other].map(contentKeyOf));
    assert.deepEqual(
      keys.map((key) => key.length),
      [64, 64],
    );
    assert.notEqual(keys[0], keys[1]);
    assert.deepEqual(await openRequest(requestOf(v1, one), a, v1NowMs), v1);
    assert.deepEqual(await openRequest(requestOf(v1, other), a, v1NowMs), v1);
  });

  test("given a recipient twice, when the artifact is sealed, then once to that key", async () => {
    const both = [a.x25519.publicKey, a.x25519.publicKey.slice()];
    assert.equal((await sealArtifact(v1, both)).recipients.length, 1);
  });

  test("given no recipients or too many, when the artifact is sealed, then it is refused", async () => {
    const many = Array.from({ length: 65 }, (_, i) => repeated(i + 1, 32));
    await assert.rejects(sealArtifact(v1, []), { code: "HARP_ERR_UNSUPPORTED" });
    await assert.rejects(sealArtifact(v1, many), { code: "HARP_ERR_UNSUPPORTED" });
  });

  test("given an outer type, when it is the artifact's own, then it opens; another is refused", async () => {
    const recipients = [a.x25519.publicKey];
    const typed = await sealArtifact(v1, recipients, { artifactType: "plan.review" });
    const request = requestOf(v1, typed);
    request.body.artifactType = "plan.review";
    assert.deepEqual(await openRequest(request, a, v1NowMs), v1);
    await assert.rejects(sealArtifact(v1, recipients, { artifactType: "patch.review" }), {
      code: "HARP_ERR_UNSUPPORTED",
    });
  });

  test("sealing rejects an artifact that is too large or does not match its hash", async () => {
    // Given an artifact that is not what its hash says, or too large, when it is sealed, then it is refused.
    await assert.rejects(sealArtifact({ ...v1, repoRef: "other" }, [a.x25519.publicKey]), {
      code: "HARP_ERR_HASH_MISMATCH",
    });
    const large = await variantOfV1({ payload: { text: "x".repeat(2 * 1024 * 1024) } });
    await assert.rejects(sealArtifact(large, [a.x25519.publicKey]), { code: "HARP_ERR_UNSUPPORTED" });
  });
});

/** With A's private key, as A does it. */
async function contentKeyOf({ epk, aad, recipients }: SealedArtifact): Promise<string> {
  const ephemeral = decodeBase64url(epk);
  const secret = await agree(a.x25519.privateKey, ephemeral);
  const wrapping = await wrappingKeyOf(secret, ephemeral, a.x25519.publicKey);
  const key = await decrypt(
    wrapping.key,
    wrapping.nonce,
    decodeBase64url(recipients[0]?.wrapped ?? ""),
    decodeBase64url(aad),
  );
  return hexOf(key ?? new Uint8Array());
}
