/**
 * What is checked of one receipt, check by check; the same on the server, offline and in a browser, each of which brings
 * the cryptography it has. Never throws, whatever it is handed.
 *
 * The hash covers all of a receipt but its signatures. So that no change goes unseen, what a signature's entry says
 * beyond the signature itself is accepted only where it follows from what is covered:
 *
 *   V1  `signed_at` counts for nothing: no signature covers it, so the verification says that it was not checked.
 *   V2  Keys sign once, and stand in the order of their ids: there is one way to list the same signatures.
 *   V3  The key that the issuer names has signed; its signature cannot be taken away. Those of others can.
 */

import type { PublicJwk } from "./public-keys.ts";

export interface Check {
  name: string;
  /** Null: it could not be checked here. */
  ok: boolean | null;
  expected: string | null;
  found: string | null;
  message: string;
}

export interface VerifyOptions {
  keys: readonly PublicJwk[];
  /** Where the receipt stands in its chain, when the verifier has the chain. */
  chain?: { previousHash: string | null; merkleRoot: string | null } | undefined;
  /** Only this key may have signed it. */
  trustAnchor?: string | undefined;
  /** It must have been issued by then. */
  atTime?: string | undefined;
}

export interface Verification {
  valid: boolean;
  /** The message of the first check that failed. */
  reason: string | null;
  checks: Check[];
}

/** What was found out about a receipt by whoever verifies it. */
export interface Findings {
  /** How it differs from the form of a receipt; null when it does not. */
  formProblem: string | null;
  /** Null when it has no canonical form. */
  hash: string | null;
  isSigned(key: PublicJwk, hash: string, signature: string): boolean;
}

export function checkReceipt(
  value: unknown,
  { formProblem, hash, isSigned }: Findings,
  options: VerifyOptions,
): Verification {
  const schema = checkForm(formProblem);
  if (!isRecord(value)) return conclude([schema]);
  const signatures = signaturesOf(value);
  return conclude([
    schema,
    ...(isRecord(value.chain) ? checkChain(value.chain, hash, options.chain) : []),
    ...(hash === null ? [] : checkEachSignature(signatures, hash, options.keys, isSigned)),
    checkSignatureCount(signatures),
    ...checkIssuerKey(value.issuer, signatures),
    ...(options.trustAnchor === undefined ? [] : [checkTrustAnchor(options.trustAnchor, signatures)]),
    ...(options.atTime === undefined ? [] : [checkIssuedAt(options.atTime, value.issued_at)]),
  ]);
}

export function signaturesOf(receipt: Record<string, unknown>): readonly unknown[] {
  return Array.isArray(receipt.signatures) ? receipt.signatures : [];
}

function conclude(checks: Check[]): Verification {
  const failure = checks.find(({ ok }) => ok === false);
  const isProven = (test: (name: string) => boolean) =>
    checks.some(({ name, ok }) => ok === true && test(name));
  const valid =
    failure === undefined &&
    isProven((name) => name === "schema") &&
    isProven((name) => name === "hash") &&
    isProven((name) => name.startsWith("signature["));
  return { valid, reason: failure?.message ?? null, checks };
}

function checkForm(problem: string | null): Check {
  if (problem === null) return passed("schema", "The schema is valid.");
  return failed("schema", `The receipt does not have the form of a receipt: ${problem}.`);
}

/** `findProblem` compares it with the schema. */
export function problemOfForm(value: unknown, findProblem: (value: unknown) => string | null): string | null {
  try {
    return (
      findProblem(value) ?? (isWritable(value) ? null : "it holds a value that JSON would write as another")
    );
  } catch {
    return "it cannot be read to its end";
  }
}

/** Negative zero and members that are undefined would have the hash of zero and of no member. */
function isWritable(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.values(value).every(isWritable);
  return value !== undefined && !Object.is(value, -0);
}

function checkChain(
  { receipt_hash, previous_receipt_hash, merkle_root }: Record<string, unknown>,
  hash: string | null,
  chain: VerifyOptions["chain"],
): Check[] {
  return [
    hash === null
      ? failed("hash", "The content has no canonical form, so it has no hash.", null, receipt_hash)
      : compare("hash", hash, receipt_hash, {
          same: "The hash is that of the content.",
          other: "The hash is not that of the content: one of them was changed.",
        }),
    chain === undefined
      ? unchecked("chain_link", "Skipped: no chain provided.")
      : compare("chain_link", chain.previousHash, previous_receipt_hash, {
          same: "The receipt before this one in the chain is the one it names.",
          other: "The receipt before this one in the chain is not the one it names.",
        }),
    checkMerkleRoot(merkle_root, chain),
  ];
}

function checkMerkleRoot(found: unknown, chain: VerifyOptions["chain"]): Check {
  const name = "merkle_root";
  if (found === undefined) return unchecked(name, "The receipt names no Merkle root.");
  if (chain === undefined) return unchecked(name, "Skipped: no chain provided.");
  if (chain.merkleRoot === null)
    return unchecked(name, "The Merkle root before this receipt is not known here.");
  return compare(name, chain.merkleRoot, found, {
    same: "The Merkle root is that of the chain before this receipt.",
    other: "The Merkle root is not that of the chain before this receipt.",
  });
}

function checkEachSignature(
  signatures: readonly unknown[],
  hash: string,
  keys: readonly PublicJwk[],
  isSigned: Findings["isSigned"],
): Check[] {
  return signatures.flatMap((signature, index) => [
    checkSignature(signatures, index, { hash, keys, isSigned }),
    ...(isRecord(signature) && signature.signed_at !== undefined
      ? [unchecked(`signature[${index}].signed_at`, "No signature covers signed_at: nothing proves it.")]
      : []),
  ]);
}

function checkSignature(
  signatures: readonly unknown[],
  index: number,
  { hash, keys, isSigned }: { hash: string; keys: readonly PublicJwk[]; isSigned: Findings["isSigned"] },
): Check {
  const signature = signatures[index];
  const name = `signature[${index}]`;
  if (!isRecord(signature)) return failed(name, "The signature is not an object.");
  const { key_id, algorithm } = signature;
  if (algorithm !== "ed25519") return failed(name, "The algorithm is not ed25519.", "ed25519", algorithm);
  const before = index === 0 ? "" : keyIdOf(signatures[index - 1]);
  if (before === key_id) return failed(name, `The key ${shown(key_id)} signed twice.`, null, key_id);
  if (String(before) > String(key_id)) {
    return failed(name, "The signatures do not stand in the order of their key ids.", null, key_id);
  }
  const key = keys.find(({ kid }) => kid === key_id);
  if (key === undefined) return failed(name, `The key ${shown(key_id)} is not in the key set.`, null, key_id);
  if (typeof signature.signature !== "string" || !isSigned(key, hash, signature.signature)) {
    return failed(name, `The signature is not one of the key ${key.kid} over the receipt's hash.`, hash);
  }
  return passed(name, `The key ${key.kid} signed the receipt's hash.`, hash);
}

function checkSignatureCount(signatures: readonly unknown[]): Check {
  const name = "signatures";
  if (signatures.length === 0) return failed(name, "Nobody signed the receipt.", "at least 1", "0");
  const message =
    signatures.length === 1 ? "There is 1 signature." : `There are ${signatures.length} signatures.`;
  return { name, ok: true, expected: "at least 1", found: String(signatures.length), message };
}

function checkIssuerKey(issuer: unknown, signatures: readonly unknown[]): Check[] {
  const expected = isRecord(issuer) ? issuer.public_key_id : undefined;
  if (expected === undefined) return [];
  const keyIds = signatures.map(keyIdOf);
  return [
    keyIds.includes(expected)
      ? passed("issuer_key", "The key that the issuer names is among the signatures.", expected)
      : failed("issuer_key", "The key that the issuer names did not sign.", expected, keyIds.join(", ")),
  ];
}

function checkTrustAnchor(anchor: string, signatures: readonly unknown[]): Check {
  const keyIds = signatures.map(keyIdOf);
  if (keyIds.length > 0 && keyIds.every((keyId) => keyId === anchor)) {
    return passed("trust_anchor", `Only the key ${anchor} signed.`, anchor);
  }
  return failed("trust_anchor", `Not only the key ${anchor} signed.`, anchor, keyIds.join(", "));
}

function checkIssuedAt(atTime: string, issuedAt: unknown): Check {
  const isInTime = typeof issuedAt === "string" && Date.parse(issuedAt) <= Date.parse(atTime);
  const message = isInTime ? "It was issued by then." : `It was not issued by ${shown(atTime)}.`;
  return { name: "issued_at", ok: isInTime, expected: shown(atTime), found: shown(issuedAt), message };
}

function compare(
  name: string,
  expected: string | null,
  found: unknown,
  messages: { same: string; other: string },
): Check {
  const ok = expected === found;
  return { name, ok, expected, found: shown(found), message: ok ? messages.same : messages.other };
}

function passed(name: string, message: string, found: unknown = null): Check {
  return { name, ok: true, expected: shown(found), found: shown(found), message };
}

function failed(name: string, message: string, expected: unknown = null, found: unknown = null): Check {
  return { name, ok: false, expected: shown(expected), found: shown(found), message };
}

function unchecked(name: string, message: string): Check {
  return { name, ok: null, expected: null, found: null, message };
}

/** Enough for a hash or the id of a key; a document made to fail may hold anything. */
const shownLengthMax = 100;

function shown(value: unknown): string | null {
  return typeof value === "string" ? value.slice(0, shownLengthMax) : null;
}

function keyIdOf(signature: unknown): unknown {
  return isRecord(signature) ? signature.key_id : undefined;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
