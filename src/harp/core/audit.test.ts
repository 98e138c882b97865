/** The audit's chain: whole it verifies, and no record can be changed, dropped, added or moved. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import canonicalize from "canonicalize";
import { type AuditRecord, nextAuditRecord, verifyAudit } from "./audit.ts";

const events = ["key.provisioned", "key.rotated", "key.revoked", "signature.invalid", "decision.replayed"];

async function chainOf(names: readonly string[]): Promise<AuditRecord[]> {
  const records: AuditRecord[] = [];
  for (const [i, event] of names.entries()) {
    const facts = { signerKeyId: `key-${i}`, code: null };
    records.push(await nextAuditRecord(records.at(-1) ?? null, `2026-02-21T12:00:0${i}Z`, event, facts));
  }
  return records;
}

const chain = await chainOf(events);
const lines = chain.map((record) => JSON.stringify(record));

function parsed(text: readonly string[]): unknown[] {
  return text.map((line) => JSON.parse(line));
}

describe("audit", () => {
  test("an intact chain of records verifies and returns its last hash", async () => {
    // Given records one after another, when the chain is read, then it verifies, and tells its last hash.
    assert.deepEqual(await verifyAudit(parsed(lines)), { valid: true, count: 5, head: chain.at(-1)?.hash });
    assert.deepEqual(await verifyAudit([]), { valid: true, count: 0, head: "0".repeat(64) });
    assert.equal(chain[0]?.prev, "0".repeat(64));
    assert.deepEqual(
      chain.map(({ seq }) => seq),
      [1, 2, 3, 4, 5],
    );
  });

  test("given a record, when another implementation hashes it, then it agrees", () => {
    for (const { hash, ...rest } of chain) {
      const text = canonicalize(rest) ?? "";
      assert.equal(hash, createHash("sha256").update(text).digest("hex"));
    }
  });

  test("HARP-113 changing any character of a line breaks the chain at that line", async () => {
    // Given a log, when any character of any line is changed, then the chain breaks at that line.
    for (const [at, line] of lines.entries()) {
      for (let i = 0; i < line.length; i++) {
        const changed = `${line.slice(0, i)}${line[i] === "7" ? "8" : "7"}${line.slice(i + 1)}`;
        let record: unknown;
        try {
          record = JSON.parse(changed);
        } catch {
          continue;
        }
        const verdict = await verifyAudit(parsed(lines).with(at, record));
        assert.equal(verdict.valid, false, changed);
        assert.equal(!verdict.valid && verdict.seq, at + 1);
      }
    }
  });

  test("HARP-113 dropping, repeating, moving or adding a line breaks the chain there", async () => {
    // Given a log, when a line is dropped, repeated, moved or added, then the chain breaks there.
    const extra = await nextAuditRecord(chain[0] ?? null, "2026-02-21T12:00:01Z", "key.provisioned");
    const records: unknown[] = chain;
    const tampered: [unknown[], number][] = [
      [records.toSpliced(0, 1), 1],
      [records.toSpliced(2, 1), 3],
      [records.toSpliced(2, 0, chain[1]), 3],
      [records.toSpliced(1, 2, chain[2], chain[1]), 2],
      [records.toSpliced(1, 0, extra), 3],
      [records.toSpliced(1, 1, extra), 3],
      [records.with(3, { ...extra, seq: 4 }), 4],
    ];
    for (const [changed, seq] of tampered) {
      const verdict = await verifyAudit(changed);
      assert.equal(!verdict.valid && verdict.seq, seq);
    }
  });

  test("given a number that was left out, when the chain is read, then it breaks there", async () => {
    const [first] = chain;
    assert.ok(first);
    const skipping = await nextAuditRecord(
      { seq: 2, hash: first.hash },
      "2026-02-21T12:00:01Z",
      "key.revoked",
    );
    assert.deepEqual(await verifyAudit([first, skipping]), { valid: false, seq: 2, why: "its seq is 3" });
  });

  test("given a fact that was hidden or added, when the chain is read, then it breaks", async () => {
    const [first] = chain;
    assert.ok(first);
    const { signerKeyId: _hidden, ...hidden } = first;
    for (const record of [hidden, { ...first, note: "fine" }, { ...first, signerKeyId: 1.5 }]) {
      assert.equal((await verifyAudit([record])).valid, false);
    }
  });

  test("given what is no record, when it is verified, then it is said, not thrown", async () => {
    for (const value of [null, 7, "x", [], {}, { ...chain[0], hash: 1 }, { ...chain[0], seq: "1" }]) {
      const verdict = await verifyAudit([value]);
      assert.deepEqual([verdict.valid, !verdict.valid && verdict.seq], [false, 1]);
    }
  });

  test("rejects a fact whose name is one of the record's own fields", async () => {
    // Given a fact under a name of the record's own, when it is to be written, then it is refused.
    for (const name of ["seq", "ts", "event", "prev", "hash"]) {
      await assert.rejects(nextAuditRecord(null, "2026-02-21T12:00:00Z", "x", { [name]: 1 }), TypeError);
    }
  });
});
