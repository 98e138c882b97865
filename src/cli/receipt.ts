/** `bridle receipt`: verify receipts without a server, and take a workspace's chain along. */

import { createReadStream } from "node:fs";
import { open, readFile } from "node:fs/promises";
import type { Command } from "commander";
import { bundleFormat, verifyBundle } from "../receipts/bundle.ts";
import { decodeReceipt } from "../receipts/cbor.ts";
import { type PublicJwk, publicKeysIn } from "../receipts/keys.ts";
import { parseStrictJson } from "../receipts/strict-json.ts";
import { type Verification, verifyReceipt } from "../receipts/verify.ts";
import { about, progress, writeLines } from "./output.ts";
import { Remote, type RemoteSettings, splitLines, withRemoteOptions } from "./remote.ts";

export function addReceiptCommands(program: Command): void {
  const receipt = program.command("receipt").description("Verify receipts and take them along.");
  receipt
    .command("verify <file>")
    .description(
      "Verify a receipt (JSON or CBOR) or a whole bundle, without a server. Exit code 1 when it is not valid.",
    )
    .option(
      "--jwks <file>",
      "the issuer's public keys, from its /.well-known/jwks.json; a bundle has its own",
    )
    .action(async (file: string, { jwks }: { jwks?: string }, command: Command) => {
      const keys = jwks === undefined ? undefined : await about(jwks, () => readKeys(jwks));
      const isWhole = await about(file, () => isBundle(file));
      if (!isWhole && keys === undefined) {
        command.error(
          "error: say with --jwks which keys to trust: the issuer's /.well-known/jwks.json, saved to a file.",
        );
      }
      const valid = await about(file, () =>
        isWhole ? verifyBundleFile(file, keys) : verifyFile(file, keys ?? []),
      );
      if (!valid) process.exitCode = 1;
    });
  withRemoteOptions(
    receipt
      .command("export")
      .description("Write all receipts of a workspace, in chain order, with the keys to verify them.")
      .requiredOption("--workspace <id>", "whose receipts")
      .option("--out <file>", "where to; standard output otherwise"),
  ).action(async (settings: RemoteSettings & { workspace: string; out?: string }) => {
    const { workspace, out } = settings;
    const shown = progress("receipts exported");
    const lines = new Remote(settings).lines(
      `/v1/workspaces/${encodeURIComponent(workspace)}/receipts/export`,
    );
    const count = await writeLines(lines, out, (line) => shown.at(Math.max(0, line - 2)));
    shown.end();
    process.stderr.write(`${count - 2} receipts of ${workspace}${out === undefined ? "" : ` in ${out}`}.\n`);
  });
}

async function readKeys(file: string): Promise<PublicJwk[]> {
  const keys = publicKeysIn(parseStrictJson(await readFile(file)));
  if (keys === null || keys.length === 0) throw new Error(`${file} has no Ed25519 keys in it.`);
  return keys;
}

/** Told by the beginning of the file; a bundle can be too large to read at once. */
async function isBundle(file: string): Promise<boolean> {
  await using handle = await open(file);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(64), 0, 64, 0);
  return buffer.toString("utf8", 0, bytesRead).includes(bundleFormat);
}

async function verifyFile(file: string, keys: readonly PublicJwk[]): Promise<boolean> {
  const verification = verifyReceipt(parseReceipt(await readFile(file)), { keys });
  process.stdout.write(describe(verification));
  process.stdout.write(
    verification.valid ? `${file} is valid.\n` : `${file} is NOT valid: ${verification.reason}\n`,
  );
  return verification.valid;
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

async function verifyBundleFile(file: string, keys: readonly PublicJwk[] | undefined): Promise<boolean> {
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
