/** Signatures of cards, in the specification's form and in that of the official library, and what is no signature. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { CompactSign, exportJWK, generateKeyPair } from "jose";
import type { JsonObject } from "../../store/port.ts";
import { canonicalJson } from "../../web/canonical-json.ts";
import { assertTrusted } from "./card-trust.ts";

const card: JsonObject = {
  capabilities: { streaming: false },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  description: "Echoes text.",
  name: "Echo",
  skills: [{ description: "Repeats the input.", id: "echo", name: "Echo", tags: ["demo"] }],
  supportedInterfaces: [
    { protocolBinding: "JSONRPC", protocolVersion: "1.0", url: "https://echo.example/rpc" },
  ],
  version: "0.1.0",
};
/** The public example of RFC 8037, and a signature of the card above by it. */
const key: JsonObject = {
  kty: "OKP",
  crv: "Ed25519",
  kid: "t1",
  x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
};
const signature: JsonObject = {
  protected: "eyJhbGciOiJFZERTQSIsInR5cCI6IkpPU0UiLCJraWQiOiJ0MSJ9",
  signature: "mKxyHWUsCqaH-SGxvLakzxd15grKMZDBAenVHKAehkxpbQqrVHh1moX7xPjnuf5r4aQB7uklXDY6kOFQR2LOAA",
};

const now = Date.parse("2026-01-05T08:00:00Z");
const untrusted = { code: "untrusted_card" };

function check(signed: JsonObject, keys: JsonObject[], sets: Record<string, unknown> = {}): Promise<void> {
  const readJson = async (url: string) => sets[url] ?? { keys: [] };
  return assertTrusted(signed, { keys, jwks_urls: Object.keys(sets) }, readJson, now);
}

async function signedWith(payload: string): Promise<{ signatures: JsonObject[]; jwk: JsonObject }> {
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  const header = { alg: "ES256", kid: "own", typ: "JOSE" };
  const jws = await new CompactSign(Buffer.from(payload)).setProtectedHeader(header).sign(privateKey);
  const [protectedPart = "", , value = ""] = jws.split(".");
  const { kty = "", crv = "", x = "", y = "" } = await exportJWK(publicKey);
  return {
    signatures: [{ protected: protectedPart, signature: value }],
    jwk: { kty, crv, x, y, kid: "own" },
  };
}

test("OPVS-131 a card with a known signature is trusted by key name or through a key set", async () => {
  // Given the known signature of a card, when its key is trusted by name or through a set, then the card is.
  await check({ ...card, signatures: [signature] }, [key]);
  await check({ ...card, signatures: [{ protected: "!", signature: "?" }, signature] }, [key]);
  await check({ ...card, signatures: [signature] }, [], { "https://keys.example": { keys: [1, key] } });
});

test("OPVS-131 a card with empty required fields is trusted if signed with or without them", async () => {
  // Given a card with empty required fields, when it is signed in either form, then it is trusted.
  const empty: JsonObject = { ...card, description: "", skills: [] };
  const asSpecified = await signedWith(canonicalJson(empty));
  await check({ ...empty, signatures: asSpecified.signatures }, [asSpecified.jwk]);
  const { description: _, skills: __, ...stripped } = empty;
  const asStripped = await signedWith(canonicalJson(stripped));
  await check({ ...empty, signatures: asStripped.signatures }, [asStripped.jwk]);
});

test("OPVS-131 a card whose signatures prove nothing is not trusted", async () => {
  // Given signatures that prove nothing, when they are checked, then the card is not trusted.
  const header = (fields: object) => Buffer.from(JSON.stringify(fields)).toString("base64url");
  const payload = Buffer.from(canonicalJson(card)).toString("base64url");
  const hs256 = header({ alg: "HS256", kid: "t1", typ: "JOSE" });
  const mac = createHmac("sha256", Buffer.from(String(key.x), "base64url"))
    .update(`${hs256}.${payload}`)
    .digest("base64url");
  const bad: [JsonObject, JsonObject[]][] = [
    [card, [key]],
    [{ ...card, signatures: [] }, [key]],
    [{ ...card, signatures: "all of them" }, [key]],
    [{ ...card, signatures: [null, 1, {}] }, [key]],
    [{ ...card, name: "Evil", signatures: [signature] }, [key]],
    [{ ...card, signatures: [signature] }, []],
    [{ ...card, signatures: [signature] }, [{ ...key, kid: "t2" }]],
    [{ ...card, signatures: [{ protected: header({ alg: "none", kid: "t1" }), signature: "" }] }, [key]],
    [{ ...card, signatures: [{ protected: hs256, signature: mac }] }, [key]],
  ];
  for (const [signed, keys] of bad) await assert.rejects(check(signed, keys), untrusted);
});

test("OPVS-132 a card signed with an expired, future or revoked key is not trusted", async () => {
  // Given keys that are over, not begun or revoked, when they signed a card, then it is not trusted.
  const seconds = now / 1000;
  const signed = { ...card, signatures: [signature] };
  await check(signed, [{ ...key, exp: seconds + 1, nbf: seconds }]);
  const over = [{ exp: seconds }, { nbf: seconds + 1 }, { revoked: { at: 1 } }, { revoked_at: "2026" }];
  for (const said of over) await assert.rejects(check(signed, [{ ...key, ...said }]), untrusted);
});
