import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Redactor } from "./redact/redact.ts";
import {
  BrokenSeal,
  newDataKey,
  newMasterKey,
  openSecret,
  parseMasterKey,
  sealSecret,
  unwrapKey,
  wrapKey,
} from "./vault-crypto.ts";

const place = ["tenant_a", "vault_1", "NAME", 1, 1, 1];

test("VLT-8 given any text, when it is sealed and opened in its place, then it is the same text", () => {
  const key = newDataKey();
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      assert.equal(openSecret(key, sealSecret(key, text, place), place), text);
    }),
  );
});

test("VLT-8 given a sealed secret, when it is put in any other place, then it does not open", () => {
  const key = newDataKey();
  const sealed = sealSecret(key, "value", place);
  for (const [index, part] of place.entries()) {
    const elsewhere = place.with(index, typeof part === "number" ? part + 1 : `${part}x`);
    assert.throws(() => openSecret(key, sealed, elsewhere), BrokenSeal);
  }
  // The parts must not run into each other.
  assert.throws(() => openSecret(key, sealed, ["tenant_avault_1", "", "NAME", 1, 1, 1]), BrokenSeal);
  assert.throws(() => openSecret(newDataKey(), sealed, place), BrokenSeal);
});

test("VLT-8 a sealed secret with any byte changed or cut off does not open", () => {
  // Given a sealed secret, when any byte of it is changed or cut off, then it does not open.
  const key = newDataKey();
  const sealed = Buffer.from(sealSecret(key, "value", place), "hex");
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    assert.throws(() => openSecret(key, changed.toString("hex"), place), BrokenSeal);
    assert.throws(() => openSecret(key, sealed.subarray(0, at).toString("hex"), place), BrokenSeal);
  }
});

test("VLT-8 given one text, when it is sealed twice, then nothing of the two seals is the same", () => {
  const key = newDataKey();
  const [one, two] = [sealSecret(key, "value", place), sealSecret(key, "value", place)];
  assert.notEqual(one.slice(0, 24), two.slice(0, 24), "the nonce");
  assert.notEqual(one.slice(24), two.slice(24));
});

test("VLT-8 a wrapped data key does not open with another master key, vault or version", () => {
  // Given a wrapped data key, when another master key, vault or version is claimed, then it does not open.
  const [master, other] = [newMasterKey(), newMasterKey()];
  const dataKey = newDataKey();
  const wrapped = wrapKey(master, dataKey, 3, ["tenant_a", "vault_1"]);
  assert.ok(unwrapKey(master, wrapped, ["tenant_a", "vault_1"]).equals(dataKey));
  assert.throws(() => unwrapKey(other, wrapped, ["tenant_a", "vault_1"]), BrokenSeal);
  assert.throws(() => unwrapKey(master, wrapped, ["tenant_a", "vault_2"]), BrokenSeal);
  assert.throws(() => unwrapKey(master, { ...wrapped, version: 2 }, ["tenant_a", "vault_1"]), BrokenSeal);
});

test("VLT-8 given what is sealed, when it passes through redaction, then it is unchanged", () => {
  const key = newDataKey();
  const redactor = new Redactor(["an administrator's key"]);
  for (let n = 0; n < 200; n++) {
    const entry = { name: "API_KEY", sealed: sealSecret(key, "x".repeat(n * 7), place) };
    assert.equal(redactor.value(entry), entry);
  }
});

test("VLT-7 accepts only 32 bytes in hex or base64 as a master key", () => {
  // Given texts, when they are read as master keys, then only 32 bytes in hex or base64 are.
  const hex = "0123456789abcdef".repeat(4);
  const same = parseMasterKey(hex);
  assert.equal(parseMasterKey(Buffer.from(hex, "hex").toString("base64"))?.kid, same?.kid);
  assert.equal(parseMasterKey(Buffer.from(hex, "hex").toString("base64url"))?.kid, same?.kid);
  assert.doesNotMatch(same?.kid ?? "", /01234567/);
  for (const text of ["", "short", hex.slice(2), `${hex}00`, `${"A".repeat(42)}!`, "A".repeat(42)]) {
    assert.equal(parseMasterKey(text), null, text);
  }
});
