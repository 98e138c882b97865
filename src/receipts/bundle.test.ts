/** A whole chain, offline: intact it is valid, and whatever is done to its lines is found and named. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { sampleChain } from "../../test/support/receipt-samples.ts";
import { type BundleHeader, bundleFormat, verifyBundle } from "./bundle.ts";
import { sha256Of } from "./canonical.ts";
import { newSigningKey } from "./keys.ts";
import { appendLeaf, type Frontier, rootOf } from "./merkle.ts";
import type { PublicJwk } from "./public-keys.ts";
import type { Receipt } from "./schema.ts";

const [{ key }, { key: stranger }] = [newSigningKey(), newSigningKey()];
const chain = sampleChain(20, key);

function bundle(
  { receipts, root } = chain,
  keys: readonly PublicJwk[] = [key.jwk],
  change: Partial<BundleHeader> = {},
): string[] {
  const header: BundleHeader = {
    format: bundleFormat,
    workspace_id: "workspace_1",
    issuer: "harness_1",
    exported_at: "2026-05-02T00:00:00Z",
    count: receipts.length,
    merkle_root: root,
    ...change,
  };
  return [header, { jwks: { keys } }, ...receipts].map((line) => JSON.stringify(line));
}

function rootOver(receipts: readonly Receipt[]): string {
  const frontier = receipts.reduce<Frontier>(
    (before, { chain }, size) => appendLeaf(before, size, chain.receipt_hash).frontier,
    [],
  );
  return rootOf(frontier);
}

describe("a bundle", () => {
  test("an issued chain is valid, and the root covers all of it", async () => {
    // Given a chain as it was issued, when it is verified, then it is valid, with the root over all of it.
    const report = await verifyBundle(bundle());
    assert.deepEqual(report, {
      valid: true,
      receipts: 20,
      failures: [],
      keysFrom: "bundle",
      merkleRoot: chain.root,
    });
  });

  test("given an empty chain, when it is verified, then it is valid and has the root of no leaves", async () => {
    const report = await verifyBundle(bundle({ receipts: [], root: rootOf([]) }));
    assert.deepEqual([report.valid, report.receipts, report.merkleRoot], [true, 0, rootOf([])]);
  });

  test("ignores empty lines and carriage returns at line ends", async () => {
    // Given empty lines and carriage returns at the ends, when it is verified, then they do no harm.
    const text = `${bundle().join("\r\n")}\r\n\r\n`;
    assert.equal((await verifyBundle(text.split("\n"))).valid, true);
  });

  test("verifies each line of a stream before it requests the next", async () => {
    // Given a source of lines that has no end, when it is verified, then each is done with before the next is asked for.
    const events: string[] = [];
    async function* source() {
      for (const [i, line] of bundle().entries()) {
        if (i > 2) events.push(`line ${i + 1}`);
        yield line;
      }
    }
    await verifyBundle(source(), undefined, (done, total) => events.push(`${done} of ${total}`));
    assert.deepEqual(events.slice(0, 5), ["1 of 20", "line 4", "2 of 20", "line 5", "3 of 20"]);
    assert.equal(events.at(-1), "20 of 20");
  });

  test("the verifier's own keys replace those of the bundle", async () => {
    // Given keys of the verifier's own, when it is verified, then those of the bundle do not count.
    const report = await verifyBundle(bundle(chain, [stranger.jwk]), [key.jwk]);
    assert.deepEqual([report.valid, report.keysFrom], [true, "given"]);
    const forged = await verifyBundle(bundle(sampleChain(3, stranger), [stranger.jwk]), [key.jwk]);
    assert.equal(forged.valid, false);
    assert.match(forged.failures[0]?.message ?? "", /is not in the key set/);
    assert.equal((await verifyBundle(bundle(sampleChain(3, stranger), [stranger.jwk]))).valid, true);
  });
});

describe("a bundle that was changed", () => {
  test("a bundle with any line omitted, repeated or swapped with the next is invalid", async () => {
    // Given any line left out, repeated or exchanged with the next, when it is verified, then it is not valid.
    const lines = bundle();
    for (const [place, line] of lines.entries()) {
      const after = lines[place + 1];
      const others = [
        lines.toSpliced(place, 1),
        lines.toSpliced(place, 0, line),
        ...(after === undefined ? [] : [lines.with(place, after).with(place + 1, line)]),
        lines.with(place, ""),
        lines.with(place, line.slice(0, -1)),
      ];
      for (const [i, other] of others.entries()) {
        const report = await verifyBundle(other);
        assert.equal(report.valid, false, `change ${i} of line ${place + 1}`);
        assert(report.failures.length > 0);
      }
    }
  });

  test("reports only the changed receipt, with its checks", async () => {
    // Given one receipt whose content was changed, when it is verified, then it alone is named, with its checks.
    const lines = bundle();
    const changed = (lines[6] ?? "").replace("user_1", "user_9");
    const report = await verifyBundle(lines.with(6, changed));
    assert.deepEqual(
      report.failures.map(({ line, receiptId }) => [line, receiptId]),
      [[7, "receipt_4"]],
    );
    const checks = report.failures[0]?.verification?.checks ?? [];
    const failed = checks.filter(({ ok }) => ok === false).map(({ name }) => name);
    assert.deepEqual(failed, ["hash", "signature[0]"]);
    assert.equal(report.failures[0]?.message, report.failures[0]?.verification?.reason);
  });

  test("removing or moving a receipt breaks links and roots despite a matching header", async () => {
    // Given a receipt cut out or moved and a header to match, when it is verified, then links and roots are broken.
    const { receipts } = chain;
    const [first, second, ...rest] = receipts;
    assert(first !== undefined && second !== undefined);
    for (const forged of [receipts.toSpliced(5, 1), receipts.slice(1), [second, first, ...rest]]) {
      const report = await verifyBundle(bundle({ receipts: forged, root: rootOver(forged) }));
      assert.equal(report.valid, false);
      const checks = report.failures[0]?.verification?.checks ?? [];
      const failed = checks.filter(({ ok }) => ok === false).map(({ name }) => name);
      assert.deepEqual(failed, ["chain_link", "merkle_root"]);
    }
  });

  test("given the last receipts cut off, when it is verified, then the header promises more", async () => {
    const report = await verifyBundle(bundle().slice(0, -2));
    assert.deepEqual(
      report.failures.map(({ line }) => line),
      [1, 1],
    );
    assert.match(report.failures[0]?.message ?? "", /promises 20 receipts; the bundle holds 18/);
  });

  test("rejects a header with a different root, format or member", async () => {
    // Given a header with another root, format or member, when it is verified, then it is refused.
    const wrong: object[] = [
      { merkle_root: sha256Of("x") },
      { format: "bridle-receipts/2" },
      { note: "x" },
      { count: -1 },
    ];
    for (const change of wrong) {
      const report = await verifyBundle(bundle(chain, [key.jwk], change));
      assert.equal(report.valid, false);
      assert.equal(report.failures[0]?.line, 1);
    }
  });

  test("reports a line that is not strict JSON and still checks the rest", async () => {
    // Given a line that is not strict JSON, when it is verified, then it is named and the rest is still checked.
    const lines = bundle();
    const report = await verifyBundle(lines.with(4, (lines[4] ?? "").replace("{", '{"schema":"x",')));
    assert.deepEqual(
      report.failures.map(({ line, verification }) => [line, verification]),
      [[5, null]],
    );
    assert.match(report.failures[0]?.message ?? "", /not strict JSON: "schema" at position 14 comes twice/);
    assert.deepEqual([report.receipts, report.merkleRoot], [20, null]);
  });

  test("checks receipts after one without a hash, but without the chain", async () => {
    // Given a receipt that states no hash, when it is verified, then what follows is checked without the chain.
    const lines = bundle();
    const report = await verifyBundle(lines.with(4, "{}"));
    assert.deepEqual(
      report.failures.map(({ line, receiptId }) => [line, receiptId]),
      [[5, null]],
    );
    assert.equal(report.merkleRoot, null);
  });

  test("keeps only the first hundred failures", async () => {
    // Given more failures than anybody reads, when it is verified, then the first hundred are kept.
    const report = await verifyBundle([...bundle(), ...Array.from({ length: 300 }, () => "x")]);
    assert.equal(report.failures.length, 100);
    assert.equal(report.receipts, 320);
    assert.equal(report.valid, false);
  });

  test("given no lines or only a header, when it is verified, then what is missing is named", async () => {
    const messages = async (lines: string[]) =>
      (await verifyBundle(lines)).failures.map(({ message }) => message);
    assert.deepEqual(await messages([]), ["The header is missing.", "The key set is missing."]);
    assert.deepEqual(await messages([""]), ["The header is missing.", "The key set is missing."]);
    const [header = ""] = bundle({ receipts: [], root: rootOf([]) });
    assert.deepEqual(await messages([header]), ["The key set is missing."]);
  });

  test("arbitrary lines are invalid and never throw", async () => {
    // Given lines of anything, when they are verified, then they are not valid and nothing is thrown.
    const line = fc.oneof(fc.string(), fc.json(), fc.constantFrom(...bundle()));
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 6 }), async (lines) => {
        assert.equal((await verifyBundle(lines)).valid, false);
      }),
    );
  });
});
