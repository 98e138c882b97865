/**
 * Verifies a whole exported chain offline, in one pass and in the memory of one receipt.
 *
 * A bundle is lines of JSON: first a header, then the issuer's key set, then the receipts of one chain, oldest first.
 * Only receipts are signed. The header's count and root say what the bundle claims to hold; that it is the whole chain
 * shows only when the root is compared with one that was learnt elsewhere.
 */

import { type Static, Type } from "typebox";
import { Compile } from "typebox/schema";
import { lazy } from "../lazy.ts";
import { sha256Pattern } from "../web/canonical-json.ts";
import type { Verification } from "./checks.ts";
import { appendLeaf, type Frontier, rootOf } from "./merkle.ts";
import { type PublicJwk, publicKeysIn } from "./public-keys.ts";
import { parseStrictJson } from "./strict-json.ts";
import { verifyReceipt } from "./verify.ts";

export const bundleFormat = "bridle-receipts/1";

const BundleHeaderSchema = Type.Object(
  {
    format: Type.Literal(bundleFormat),
    workspace_id: Type.String(),
    issuer: Type.String(),
    exported_at: Type.String(),
    count: Type.Integer({ minimum: 0 }),
    merkle_root: Type.String({ pattern: sha256Pattern }),
  },
  { additionalProperties: false },
);

export type BundleHeader = Static<typeof BundleHeaderSchema>;

export interface BundleFailure {
  line: number;
  receiptId: string | null;
  verification: Verification | null;
  message: string;
}

export interface BundleReport {
  valid: boolean;
  receipts: number;
  /** The first ones; a bundle may fail without end. */
  failures: BundleFailure[];
  keysFrom: "bundle" | "given";
  /** Over the receipts that were read; null when one of them could not be. */
  merkleRoot: string | null;
}

/** Keys that are given replace the bundle's own, which whoever made the bundle could have chosen. */
export async function verifyBundle(
  lines: AsyncIterable<string> | Iterable<string>,
  given?: readonly PublicJwk[],
  onProgress?: (done: number, total: number) => void,
): Promise<BundleReport> {
  const reading = new BundleReading(given);
  for await (const line of lines) {
    reading.add(line);
    if (reading.receipts > 0) onProgress?.(reading.receipts, reading.total);
  }
  return reading.conclude();
}

const failuresMax = 100;
const headerLine = 1;
const keysLine = 2;

const headerSchema = lazy(() => Compile(BundleHeaderSchema));
const keysSchema = lazy(() => Compile(Type.Object({ jwks: Type.Unknown() })));
const idSchema = lazy(() => Compile(Type.Object({ receipt_id: Type.String() })));
const hashSchema = lazy(() =>
  Compile(Type.Object({ chain: Type.Object({ receipt_hash: Type.String({ pattern: sha256Pattern }) }) })),
);

class BundleReading {
  receipts = 0;
  #line = 0;
  #header: BundleHeader | null = null;
  #keys: readonly PublicJwk[];
  readonly #keysFrom: "bundle" | "given";
  /** The chain so far; null once a receipt could not be read, since nothing is known of what follows it. */
  #chain: { previousHash: string | null; frontier: Frontier } | null = { previousHash: null, frontier: [] };
  #emptyLine: number | null = null;
  #isValid = true;
  readonly #failures: BundleFailure[] = [];

  constructor(given: readonly PublicJwk[] | undefined) {
    this.#keys = given ?? [];
    this.#keysFrom = given === undefined ? "bundle" : "given";
  }

  /** As many as the header promises. */
  get total(): number {
    return this.#header?.count ?? 0;
  }

  add(line: string): void {
    this.#line += 1;
    if (line.trim() === "") {
      this.#emptyLine ??= this.#line;
      return;
    }
    // A file may end with empty lines; between others they are a sign that something was cut out.
    if (this.#emptyLine !== null) this.#fail(this.#emptyLine, "The line is empty.");
    this.#emptyLine = null;
    if (this.#line === headerLine) this.#readHeader(this.#parse(line));
    else if (this.#line === keysLine) this.#readKeys(this.#parse(line));
    else this.#readReceipt(this.#parse(line));
  }

  conclude(): BundleReport {
    const merkleRoot = this.#chain === null ? null : rootOf(this.#chain.frontier);
    const lines = this.#emptyLine === null ? this.#line : this.#emptyLine - 1;
    if (lines < headerLine) this.#fail(headerLine, "The header is missing.");
    if (lines < keysLine) this.#fail(keysLine, "The key set is missing.");
    if (this.#header !== null) this.#checkHeader(this.#header, merkleRoot);
    return {
      valid: this.#isValid,
      receipts: this.receipts,
      failures: this.#failures,
      keysFrom: this.#keysFrom,
      merkleRoot,
    };
  }

  #parse(line: string): { value: unknown } | null {
    try {
      return { value: parseStrictJson(line) };
    } catch (error) {
      this.#fail(
        this.#line,
        `The line is not strict JSON: ${error instanceof Error ? error.message : error}`,
      );
      return null;
    }
  }

  #readHeader(parsed: { value: unknown } | null): void {
    if (parsed === null) return;
    if (headerSchema().Check(parsed.value)) this.#header = parsed.value;
    else this.#fail(this.#line, `The line is not the header of a bundle of format ${bundleFormat}.`);
  }

  #readKeys(parsed: { value: unknown } | null): void {
    if (parsed === null) return;
    const keys = keysSchema().Check(parsed.value) ? publicKeysIn(parsed.value.jwks) : null;
    if (keys === null) this.#fail(this.#line, "The line is not a key set.");
    else if (this.#keysFrom === "bundle") this.#keys = keys;
  }

  #readReceipt(parsed: { value: unknown } | null): void {
    this.receipts += 1;
    if (parsed === null) {
      this.#chain = null;
      return;
    }
    const { value } = parsed;
    const chain = this.#chain ?? undefined;
    const verification = verifyReceipt(value, {
      keys: this.#keys,
      chain: chain && { previousHash: chain.previousHash, merkleRoot: rootOf(chain.frontier) },
    });
    if (!verification.valid) {
      const receiptId = idSchema().Check(value) ? value.receipt_id : null;
      this.#fail(this.#line, verification.reason ?? "The receipt is not valid.", receiptId, verification);
    }
    this.#extendChain(value);
  }

  /** By the hash that the receipt states: a forged one is reported once, not again with each that follows it. */
  #extendChain(receipt: unknown): void {
    if (this.#chain === null) return;
    if (!hashSchema().Check(receipt)) {
      this.#chain = null;
      return;
    }
    const hash = receipt.chain.receipt_hash;
    const { frontier } = appendLeaf(this.#chain.frontier, this.receipts - 1, hash);
    this.#chain = { previousHash: hash, frontier };
  }

  #checkHeader({ count, merkle_root }: BundleHeader, merkleRoot: string | null): void {
    if (count !== this.receipts) {
      this.#fail(headerLine, `The header promises ${count} receipts; the bundle holds ${this.receipts}.`);
    }
    if (merkleRoot !== null && merkleRoot !== merkle_root) {
      this.#fail(
        headerLine,
        `The header's Merkle root is ${merkle_root}; that of the receipts is ${merkleRoot}.`,
      );
    }
  }

  #fail(
    line: number,
    message: string,
    receiptId: string | null = null,
    verification: Verification | null = null,
  ): void {
    this.#isValid = false;
    if (this.#failures.length < failuresMax) this.#failures.push({ line, receiptId, verification, message });
  }
}
