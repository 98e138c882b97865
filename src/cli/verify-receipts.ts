/** Verifying a receipt or a bundle in a file, and saying what was found. */

import { createReadStream } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { bundleFormat, verifyBundle } from "../receipts/bundle.ts";
import { decodeReceipt } from "../receipts/cbor.ts";
import type { Verification } from "../receipts/checks.ts";
import { type PublicJwk, publicKeysIn } from "../receipts/public-keys.ts";
import { parseStrictJson } from "../receipts/strict-json.ts";
import { verifyReceipt } from "../receipts/verify.ts";
import { progress } from "./output.ts";
import { splitLines } from "./remote.ts";

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

export async function verifyFile(file: string, keys: readonly PublicJwk[]): Promise<boolean> {
  const verification = await checkFile(file, keys);
  process.stdout.write(describe(verification));
  process.stdout.write(
    verification.valid ? `${file} is valid.\n` : `${file} is NOT valid: ${verification.reason}\n`,
  );
  return verification.valid;
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
): Promise<boolean> {
  const shown = progress("receipts verified");
  const report = await verifyBundle(splitLines(createReadStream(file)), keys, (done, total) =>
    shown.at(done, total),
  );
  shown.end();
  for (const { line, receiptId, message } of report.failures) {
    process.stdout.write(`FAIL line ${line}${receiptId === null ? "" : ` ${receiptId}`}: ${message}\n`);
  }
  const { receipts, valid, merkleRoot, keysFrom } = report;
  if (keysFrom === "bundle") {
    process.stdout.write(
      "The keys are the bundle's own: whoever made it can have made them. Give the issuer's with --jwks.\n",
    );
  }
  process.stdout.write(`${receipts} receipts, Merkle root ${merkleRoot ?? "unknown"}\n`);
  process.stdout.write(valid ? `${file} is valid.\n` : `${file} is NOT valid.\n`);
  return valid;
}
