/** Artifacts: their hash covers all of them, and what is not exactly one is refused. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import canonicalize from "canonicalize";
import fc from "fast-check";
import { sessionV1, v1, v1Hash, v1Text } from "../../../test/support/approval-samples.ts";
import {
  type Artifact,
  assertHash,
  finishArtifact,
  hashOfArtifact,
  readArtifact,
  termsOf,
} from "./artifact.ts";
import { decodeBase64url } from "./base64url.ts";
import { canonicalBytes, canonicalText } from "./canonical.ts";

const { artifactHash: _hash, artifactHashAlg: _alg, ...draft } = v1;

function without(name: keyof Artifact): Partial<Artifact> {
  const rest: Partial<Artifact> = { ...v1 };
  delete rest[name];
  return rest;
}

describe("hash of an artifact", () => {
  test("HARP-1 the published artifact has the published hash, with or without its hash field", async () => {
    // Given the published artifact, when it is hashed, then with or without its hash it is the published one.
    assert.equal(await hashOfArtifact(readArtifact({ ...JSON.parse(v1Text), artifactHash: v1Hash })), v1Hash);
    assert.equal(await hashOfArtifact({ ...v1, artifactHash: "0".repeat(64) }), v1Hash);
    assert.equal(canonicalBytes(v1).length, 565);
  });

  test("HARP-6 adding, changing or removing any optional field changes the hash", async () => {
    // Given optional fields, when any is added, changed or taken away, then the hash is another.
    const bare = { ...v1 };
    delete bare.sessionId;
    delete bare.baseRevision;
    const additions: Partial<Artifact>[] = [
      {},
      { metadata: {} },
      { metadata: { a: null } },
      { extensions: {} },
      { extensions: { vendor: {} } },
      { sessionId: "s" },
      { sessionId: "t" },
      { baseRevision: "s" },
      { baseRevision: "" },
    ];
    const hashes = await Promise.all(additions.map((added) => hashOfArtifact({ ...bare, ...added })));
    assert.equal(new Set(hashes).size, additions.length);
  });

  test("HARP-9 given any artifact, when another implementation hashes it, then it agrees", async () => {
    const payload = fc.dictionary(
      fc.string({ maxLength: 8 }),
      fc.oneof(fc.string({ unit: "binary" }), fc.maxSafeInteger(), fc.array(fc.boolean()), fc.constant(null)),
    );
    const drafts = fc.record(
      {
        requestId: fc.uuid(),
        repoRef: fc.string(),
        payload,
        sessionId: fc.uuid(),
        baseRevision: fc.string(),
        metadata: payload,
      },
      { requiredKeys: ["requestId", "repoRef", "payload"] },
    );
    await fc.assert(
      fc.asyncProperty(drafts, async (fields) => {
        const { createdAt, expiresAt, artifactType } = draft;
        const artifact = await finishArtifact({ createdAt, expiresAt, artifactType, ...fields });
        const { artifactHash, ...hashed } = artifact;
        const elsewhere = createHash("sha256")
          .update(canonicalize(hashed) ?? "")
          .digest("hex");
        assert.equal(artifactHash, elsewhere);
      }),
    );
  });

  test("HARP-45 artifacts with equal content differ in hash by their salt", async () => {
    // Given equal content, when two artifacts are finished, then they differ in hash by their salt.
    const [one, other] = [await finishArtifact(draft), await finishArtifact(draft)];
    assert.notEqual(one.artifactHash, other.artifactHash);
    const salts = [one, other].map(({ extensions }) => JSON.stringify(extensions));
    for (const salt of salts) {
      const found = /^\{"gwProfile":\{"salt":"([^"]+)"\}\}$/.exec(salt)?.[1] ?? "";
      assert.equal(decodeBase64url(found).length, 16);
    }
    assert.notEqual(salts[0], salts[1]);
    await assertHash(one);
  });

  test("given a salt and other extensions, when an artifact is finished, then they stay", async () => {
    const extensions = { vendor: { x: 1 }, gwProfile: { salt: "AAAAAAAAAAAAAAAAAAAAAA", note: "n" } };
    assert.deepEqual((await finishArtifact({ ...draft, extensions })).extensions, extensions);
  });

  test("HARP-122 rejects an artifact when a digit of its hash or a byte of it was changed", async () => {
    // Given a digit of the hash or a byte of the artifact that was changed, when it is checked, then it is refused.
    for (let i = 0; i < 64; i++) {
      const digit = v1Hash[i] === "0" ? "1" : "0";
      const artifactHash = v1Hash.slice(0, i) + digit + v1Hash.slice(i + 1);
      await assert.rejects(assertHash({ ...v1, artifactHash }), { code: "HARP_ERR_HASH_MISMATCH" });
    }
    await assert.rejects(assertHash({ ...v1, payload: { ...v1.payload, risk: "low" } }), {
      code: "HARP_ERR_HASH_MISMATCH",
    });
    await assertHash(v1);
  });
});

describe("reading an artifact", () => {
  test("given the published artifact, when it is read, then it is the same", () => {
    assert.equal(canonicalText(readArtifact(JSON.parse(canonicalText(v1)))), canonicalText(v1));
  });

  for (const alg of ["SHA-512", "sha-256", "SHA256", "", null, 256]) {
    test(`HARP-7, HARP-124 rejects ${JSON.stringify(alg)} as an unsupported hash algorithm`, () => {
      // Given ${JSON.stringify(alg)} as its algorithm, when it is read, then it is refused as unsupported.
      assert.throws(() => readArtifact({ ...v1, artifactHashAlg: alg }), { code: "HARP_ERR_UNSUPPORTED" });
    });
  }

  for (const hash of [
    v1Hash.toUpperCase(),
    v1Hash.slice(1),
    `${v1Hash}0`,
    `sha256:${v1Hash}`,
    `${v1Hash}\n`,
    "",
  ]) {
    test(`HARP-7 given ${JSON.stringify(hash)} as its hash, when it is read, then it is refused`, () => {
      assert.throws(() => readArtifact({ ...v1, artifactHash: hash }), { code: "HARP_ERR_TRANSPORT" });
    });
  }

  const required = [
    "requestId",
    "artifactType",
    "repoRef",
    "createdAt",
    "expiresAt",
    "payload",
    "artifactHashAlg",
    "artifactHash",
  ] as const;
  for (const name of required) {
    test(`HARP-8 given no ${name}, when it is read, then it is refused`, () => {
      assert.throws(() => readArtifact(without(name)), { code: "HARP_ERR_TRANSPORT" });
    });
  }

  const malformed: [string, unknown][] = [
    ["no object", "artifact"],
    ["null", null],
    ["an array", [v1]],
    ["a member that is not known", { ...v1, approved: true }],
    ["a member that is called __proto__", JSON.parse(`{"__proto__":{},${v1Text.slice(1)}`)],
    ["a request id that is empty", { ...v1, requestId: "" }],
    ["a request id that is endless", { ...v1, requestId: "r".repeat(129) }],
    ["an optional field that is null", { ...v1, sessionId: null }],
    ["a payload that is an array", { ...v1, payload: [] }],
    ["a payload that is a text", { ...v1, payload: "rm -rf" }],
    ["extensions that are a text", { ...v1, extensions: "x" }],
    ["a time that is none", { ...v1, expiresAt: "2026-02-30T12:10:00Z" }],
    ["a time that is a number", { ...v1, createdAt: 0 }],
  ];
  for (const [what, value] of malformed) {
    test(`HARP-8 given ${what}, when it is read, then it is refused`, () => {
      assert.throws(() => readArtifact(value), { code: "HARP_ERR_TRANSPORT" });
    });
  }

  for (const artifactType of ["core.artifact", "Plan.review", "deploy.review", ""]) {
    test(`HARP-8 given the type ${JSON.stringify(artifactType)}, when it is read, then it is refused`, () => {
      assert.throws(() => readArtifact({ ...v1, artifactType }), { code: "HARP_ERR_UNSUPPORTED" });
    });
  }

  for (const expiresAt of ["2026-02-21T11:59:59Z", "2026-02-21T12:00:00Z", "2026-02-21T14:00:00+02:00"]) {
    test(`HARP-123 given ${expiresAt} as its end, when it begins at noon, then it is refused`, () => {
      assert.throws(() => readArtifact({ ...v1, expiresAt }), { code: "HARP_ERR_TRANSPORT" });
    });
  }

  test("given a draft that is not fit to be an artifact, when it is finished, then it is refused", async () => {
    await assert.rejects(finishArtifact({ ...draft, payload: { cost: 1.5 } }), {
      code: "HARP_ERR_CANONICALIZATION",
    });
    await assert.rejects(finishArtifact({ ...draft, expiresAt: draft.createdAt }), {
      code: "HARP_ERR_TRANSPORT",
    });
    await assert.rejects(finishArtifact({ ...draft, extensions: { gwProfile: "x" } }), {
      code: "HARP_ERR_TRANSPORT",
    });
  });
});

describe("offered terms", () => {
  function offering(decisionTerms: unknown): Artifact {
    return { ...v1, extensions: { gwProfile: { decisionTerms } } };
  }

  test("given an artifact without an offer, when terms are asked for, then there are none", () => {
    assert.equal(termsOf(v1), null);
    assert.equal(
      termsOf({ ...v1, extensions: { gwProfile: { salt: "x" }, vendor: { decisionTerms: {} } } }),
      null,
    );
  });

  test("given an offer, when terms are asked for, then they are as offered", () => {
    const terms = { scope: "session", expiresAt: "2026-02-21T12:08:00Z", sessionId: v1.sessionId };
    assert.deepEqual(termsOf(sessionV1), terms);
    const timebox = { scope: "timebox", expiresAt: "2026-02-21T14:10:00+02:00" };
    assert.deepEqual(termsOf(offering(timebox)), timebox);
  });

  const expiresAt = "2026-02-21T12:08:00Z";
  const contradictory: [string, unknown, string][] = [
    ["outlives the artifact", { scope: "timebox", expiresAt: "2026-02-21T12:10:01Z" }, "HARP_ERR_SCOPE"],
    ["is for a session without saying which", { scope: "session", expiresAt }, "HARP_ERR_SCOPE"],
    ["is for another session", { scope: "session", expiresAt, sessionId: "other" }, "HARP_ERR_SCOPE"],
    [
      "names a session it is not for",
      { scope: "once", expiresAt, sessionId: v1.sessionId },
      "HARP_ERR_SCOPE",
    ],
    ["has a scope that is not known", { scope: "forever", expiresAt }, "HARP_ERR_TRANSPORT"],
    ["has a member that is not known", { scope: "once", expiresAt, uses: 3 }, "HARP_ERR_TRANSPORT"],
    ["has no end", { scope: "timebox" }, "HARP_ERR_TRANSPORT"],
    ["is none", null, "HARP_ERR_TRANSPORT"],
  ];
  for (const [what, terms, code] of contradictory) {
    test(`given an offer that ${what}, when terms are asked for, then they are refused`, () => {
      assert.throws(() => termsOf(offering(terms)), { code });
    });
  }
});
