/** For tests: the published examples, and a request, its approver and its enforcer to begin with. */

import type { ApproverKey } from "../../src/harp/core/approver-key.ts";
import { pendingKeyOf } from "../../src/harp/core/approver-key.ts";
import { type Artifact, finishArtifact, readArtifact } from "../../src/harp/core/artifact.ts";
import { decodeBase64url, encodeBase64url } from "../../src/harp/core/base64url.ts";
import { withPrefix } from "../../src/harp/core/canonical.ts";
import { importPrivateKey, type KeyPair } from "../../src/harp/core/ciphers.ts";
import type { DecisionContext } from "../../src/harp/core/enforcement.ts";
import {
  type ApproverKeys,
  bundleOf,
  importApproverKeys,
  readApproverBundle,
} from "../../src/harp/core/keys.ts";
import type { ApprovalRequest, Ciphertext } from "../../src/harp/core/wire.ts";

/** V1 of the specification, without its hash. */
export const v1Text =
  '{"artifactHashAlg":"SHA-256","artifactType":"plan.review","baseRevision":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","createdAt":"2026-02-21T12:00:00Z","expiresAt":"2026-02-21T12:10:00Z","payload":{"kind":"plan","risk":"medium","steps":["Extract tokenizer","Add unit tests","Replace recursive descent with Pratt parser"],"title":"Refactor Parser"},"repoRef":"repo:acme/widgets","requestId":"01J2V8V3K6B2Z9X6G1V7Y2QK8H","sessionId":"01J2V8V3M2YF0KX9Q0Z7E6H9R1"}';
export const v1Hash = "8e326e1f69e5859a3b5b12965f06b5829f09b12d1748aa2fddb609fb44f831c1";
export const v1: Artifact = readArtifact({ ...JSON.parse(v1Text), artifactHash: v1Hash });
/** A minute after V1 was made. */
export const v1NowMs = Date.parse("2026-02-21T12:01:00Z");

/** V1 with an offer of terms for its session. */
export const sessionV1: Artifact = readArtifact({
  ...v1,
  artifactHash: "4bdd0e3cbd8db9edfc8bf56a45187a2dc92cfbbbd46e748764b0692165746f17",
  extensions: {
    gwProfile: {
      decisionTerms: {
        expiresAt: "2026-02-21T12:08:00Z",
        scope: "session",
        sessionId: "01J2V8V3M2YF0KX9Q0Z7E6H9R1",
      },
    },
  },
});

/** V2 of the specification: a decision about V1, by a key of which only the public part is published. */
export const v2Text =
  '{"artifactHash":"8e326e1f69e5859a3b5b12965f06b5829f09b12d1748aa2fddb609fb44f831c1","artifactHashAlg":"SHA-256","decision":"allow","expiresAt":"2026-02-21T12:05:00Z","nonce":"bm9uY2UtMDAx","repoRef":"repo:acme/widgets","requestId":"01J2V8V3K6B2Z9X6G1V7Y2QK8H","scope":"once","sigAlg":"Ed25519","signerKeyId":"ma-key-01"}';
export const v2Signature =
  "tszU90YldEomMTTrJpUYz-h8xXcAvJ6U97aaEy-1-Oo_vkCx3o63aZps6dN0VaJVKmXY2UnVW6ldoCuXv5sZDA";
export const v2PublicKey = "68GYuLi_rncjJ4w7MWKfKd5ygpeXzMjCzM5tlDakz_I";

/** The example of the sealing profile: V1 for the two recipients below, with these values for what is random. */
export const sealedV1 = {
  aad: '{"alg":"AES-256-GCM","artifactHash":"sha256:8e326e1f69e5859a3b5b12965f06b5829f09b12d1748aa2fddb609fb44f831c1","artifactType":"core.artifact","expiresAt":"2026-02-21T12:10:00Z","profile":"harp-e2e-1","requestId":"01J2V8V3K6B2Z9X6G1V7Y2QK8H"}',
  epk: "ew1H2TQn-DERYHgcfHM_2J-IlwrvSQ2KoO4ZpMuKGxQ",
  nonce: "VVVVVVVVVVVVVVVV",
  tag: "Ur2yo4r4PpnkMDlrbj884w",
  data: "Uz-meh_Q7Sz-pBjp-ZWfMcIPl40v11QFE4NP6v3qZSdkrG9iAFdVxcmgw0kYv7p0TYNN1PmE0DfHN1S1Q8tKWG77hZUcOH4qVpnocj2gBIECUtIVkAmDvh9N_uvn_6i1RowG3-PgXaJPL3vUsHCQ91RXAFb1VBq6IT7Cec6zPgIwDuLpbkkdABcQboOZa7ojFmwtRjrKnHIlLehxkIA9pg7UtenXT94YsMaO3b8fBgKTy1gB2JVZUpj_aTm3385Hm4jrNbVaI3QQJiCg8pdsjLY-0yvPN2YIspaiUI28zjSCBPEX7LESW7ITa_cNSG_QrP1GY1coj9fmMHGGfAgatsiZzTXEgy4BVmabmQmhLsmBKAkqahuD4KOaBAAL0hHbGO4_RjH5Tjr5Ohr1YFZmJPsx0fh-ecdd9KLY6UOixkMJexjtXvktxjN_pOeIZcwbw3qT3lCro59tJbXzia8-6R5DBZ-5WKNn-Zu0eMZ-3kWD2XPsram87-pCTLnlxgUiimgxfweliTwll237-GzsJEvl0bFGpLM8eyt0YzJztM2DnsEth8qVPqmBLwUYeHTrgYOtzNBXeI3vQTilY4WJEwGwP8G7xZTUISlwvQ1ka08eOp04rWAi42qeOnAXa1dwBnmLl16YAOO1BY_-gOcU3B_3xVA5ZhNTVMNK6DD7jsnFSGbgSaKTN8Ms9WrylZxLFPuKBjrTGRQmfpGSzsbc3TDB4OnjJXR-xBWo3XpbvfcY2WljTA",
  recipients: [
    {
      kid: "0Zvz8IJ4LIe3g_5xNGmK7_bmbZ-Gr698-em4v0C6s_8",
      wrapped: "bdEKe9irmrhUAowlcFnMDp1pDMP3HdCc8KFwjT9heFxvtS7y_rNV6FzlOjBKI7WS",
    },
    {
      kid: "Zc9cmx3l1B91jLZ_LQXz4xaiA_y1Y1HZ4_FY4Clix00",
      wrapped: "DDqXpVZ17JMnAYR241KPWKtFGWvw1W17HxO2YeOVi5qE4Z0on3MKdJNyqVeHadHk",
    },
  ],
} as const;

/** The public keys that belong to the published private ones, which are one byte each, 32 times. */
const ed25519Of = { 102: "NLTZBDFWy23PC-sKKUm3VZyUDSvLbb6MU6mzAnjjp0Y" } as const;
const x25519Of = {
  17: "e06Qm75__kTEZaIgA31gjuNYl9Me-XLwf3SJLLD3PxM",
  34: "D6poTtKIZ7l_Smot7l34zpdOdrcBjj8iocTPJnhXDyA",
} as const;

export function repeated(byte: number, length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(length).fill(byte);
}

/** The approver of the examples: signs with one key, and opens as recipient A or B. */
export async function publishedApprover(x25519: keyof typeof x25519Of = 0x11): Promise<ApproverKeys> {
  return await importApproverKeys({
    v: 1,
    deviceId: "00000000-0000-4000-8000-000000000001",
    createdAt: "2026-02-21T11:00:00Z",
    ed25519: { seed: encodeBase64url(repeated(0x66, 32)), publicKey: ed25519Of[0x66] },
    x25519: { seed: encodeBase64url(repeated(x25519, 32)), publicKey: x25519Of[x25519] },
  });
}

/** What was random when the example was made. */
export async function publishedRandomness(): Promise<{
  ephemeral: KeyPair;
  contentKey: Uint8Array;
  nonce: Uint8Array;
}> {
  const privateKey = await importPrivateKey("X25519", encodeBase64url(repeated(0x33, 32)), sealedV1.epk);
  const publicKey = decodeBase64url(sealedV1.epk, 32);
  return { ephemeral: { publicKey, privateKey }, contentKey: repeated(0x44, 32), nonce: repeated(0x55, 12) };
}

/** As a gateway hands it to an approver. */
export function requestOf(artifact: Artifact, ciphertext: Ciphertext): ApprovalRequest {
  return {
    msgId: "msg-1",
    msgType: "approval.request",
    requestId: artifact.requestId,
    createdAt: artifact.createdAt,
    expiresAt: artifact.expiresAt,
    sender: { gatewayId: "gw-01" },
    recipient: { approverId: "app-01" },
    body: {
      artifactType: "core.artifact",
      artifactHash: withPrefix(artifact.artifactHash),
      ciphertextRef: { kind: "inline", ...ciphertext },
    },
  };
}

/** As an enforcer keeps it after a person has compared fingerprints. */
export async function activeKeyOf(
  keys: ApproverKeys,
  changes: Partial<ApproverKey> = {},
): Promise<ApproverKey> {
  const bundle = await readApproverBundle(bundleOf(keys));
  const owner = { approverId: "app-01", roles: ["approver"], notBefore: "2026-01-01T00:00:00Z" };
  return { ...(await pendingKeyOf(bundle, owner)), state: "active", ...changes };
}

/** An enforcer that knows these keys, has used no nonce, and awaits a decision. */
export function awaiting(
  artifact: Artifact,
  keys: readonly ApproverKey[],
  changes: Partial<DecisionContext> = {},
): DecisionContext {
  return {
    artifact,
    hashNow: artifact.artifactHash,
    state: "AWAITING_DECISION",
    nowMs: v1NowMs,
    keyOf: (signerKeyId) => keys.find((key) => key.signerKeyId === signerKeyId),
    isUsed: () => false,
    mayApprove: (key) => key.roles.includes("approver"),
    liveSessionId: artifact.sessionId ?? null,
    ...changes,
  };
}

/** V1 under another request, with terms, or with whatever else is to be different. */
export async function variantOfV1(changes: Partial<Artifact>): Promise<Artifact> {
  const { artifactHash: _hash, artifactHashAlg: _alg, ...draft } = { ...v1, ...changes };
  return await finishArtifact(draft);
}
