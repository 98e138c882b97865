/** Verifying a receipt or a bundle in a file, and saying what was found. */

import { createReadStream } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { type BundleReport, bundleFormat, verifyBundle } from "../../receipts/bundle.ts";
import { decodeReceipt } from "../../receipts/cbor.ts";
import type { Verification } from "../../receipts/checks.ts";
import { type PublicJwk, publicKeysIn } from "../../receipts/public-keys.ts";
import { parseStrictJson } from "../../receipts/strict-json.ts";
import { verifyReceipt } from "../../receipts/verify.ts";
import { splitLines } from "../remote.ts";
import { type JsonSettings, show, withProgress } from "../terminal/output.ts";
import { escapeControls, oneLine } from "../terminal/text.ts";
import { checkArtifacts } from "./approved-artifacts.ts";

export async function readKeys(file: string): Promise<PublicJwk[]> {
  const keys = publicKeysIn(parseStrictJson(await readFile(file)));
  if (keys === null || keys.length === 0) throw new Error(`${file} has no Ed25519 keys in it.`);
  return keys;
}

/** Told by the beginning of the file; a bundle can be too large to read at once. */
export async function isBundle(file: string): Promise<boolean> {
  await using handle = await open(file);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(64), 0, 64, 0);
  return buffer.toString("utf8", 0, bytesRead).includes(bundleFormat);
}

export async function verifyFile(
  file: string,
  keys: readonly PublicJwk[],
  settings: JsonSettings,
): Promise<boolean> {
  const verification = await checkFile(file, keys);
  const { valid, reason } = verification;
  show(settings, { file, ...verification }, () => {
    return `${escapeControls(describe(verification))}${file} is ${valid ? "valid." : `NOT valid: ${reason}`}\n`;
  });
  return valid;
}

/** The same for those who say themselves what was found. */
export async function checkFile(file: string, keys: readonly PublicJwk[]): Promise<Verification> {
  return verifyReceipt(parseReceipt(await readFile(file)), { keys });
}

function describe({ checks }: Verification): string {
  return checks
    .map(({ name, ok, expected, found, message }) => {
      const mark = ok === true ? "ok  " : ok === false ? "FAIL" : "-   ";
      const why =
        ok === false && (expected !== null || found !== null)
          ? `\n       expected ${expected}\n       found    ${found}`
          : "";
      return `${mark} ${name.padEnd(13)} ${message}${why}\n`;
    })
    .join("");
}

/** A CBOR receipt begins with a map, a JSON one with a brace or white space. */
function parseReceipt(bytes: Uint8Array): unknown {
  const isCborMap = ((bytes[0] ?? 0) & 0xe0) === 0xa0;
  return isCborMap ? decodeReceipt(bytes) : parseStrictJson(bytes);
}

export async function verifyBundleFile(
  file: string,
  keys: readonly PublicJwk[] | undefined,
  settings: JsonSettings,
): Promise<boolean> {
  const report = await withProgress("receipts verified", (shown) =>
    verifyBundle(splitLines(createReadStream(file)), keys, (done, total) => shown.at(done, total)),
  );
  const { receipts, valid, merkleRoot, keysFrom } = report;
  const failures = report.failures.map(({ line, receiptId, message }) => ({
    line,
    receipt_id: receiptId,
    message,
  }));
  const artifacts = await checkArtifacts(file);
  const isWhole = artifacts === null || artifacts.found === artifacts.signed;
  const facts = { file, valid, receipts, merkle_root: merkleRoot, keys_from: keysFrom, failures };
  show(settings, artifacts === null ? facts : { ...facts, artifacts }, () => {
    if (artifacts === null) return describeBundle(file, report);
    const { found, signed } = artifacts;
    return `${describeBundle(file, report)}${found} of ${signed} signed artifacts are in ${artifacts.file}, unchanged.\n`;
  });
  return valid && isWhole;
}

function describeBundle(
  file: string,
  { receipts, valid, merkleRoot, keysFrom, failures }: BundleReport,
): string {
  const failed = failures.map(({ line, receiptId, message }) => {
    return `FAIL line ${line}${receiptId === null ? "" : ` ${oneLine(receiptId)}`}: ${oneLine(message)}\n`;
  });
  const warning =
    keysFrom === "bundle"
      ? "Warning: verified with the keys in the bundle, which proves integrity but not origin. Pass the issuer's keys with --jwks.\n"
      : "";
  return `${failed.join("")}${warning}${receipts} receipts, Merkle root ${merkleRoot ?? "unknown"}
${file} is ${valid ? "valid" : "NOT valid"}.
`;
}
