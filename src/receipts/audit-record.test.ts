import assert from "node:assert/strict";
import { test } from "node:test";
import { type AuditRecord, auditHash, verifyAuditLog } from "./audit-record.ts";

function chainOf(length: number): AuditRecord[] {
  const chain: AuditRecord[] = [];
  for (let index = 1; index <= length; index++) {
    const record = {
      ...{ index, tenant_id: "tenant_a", created_at: "2026-01-01T00:00:00.000Z", action: "api_key.create" },
      ...{ outcome: "success" as const, actor: "ann", key_id: null, address: "127.0.0.1" },
      ...{ resource: { object: "api_key", id: `key_${index}` }, details: { name: "n", scopes: ["admin"] } },
      previous_hash: chain.at(-1)?.hash ?? null,
    };
    chain.push({ ...record, hash: auditHash(record) });
  }
  return chain;
}

test("AUD-2 an untouched audit log verifies, an empty one too", async () => {
  const chain = chainOf(5);
  const head = chain.at(-1)?.hash ?? "";
  assert.deepEqual(await verifyAuditLog(chain), { valid: true, size: 5, head_hash: head });
  assert.deepEqual(await verifyAuditLog([]), { valid: true, size: 0, head_hash: null });
});

test("AUD-2 every member of a record is hashed", async () => {
  const chain = chainOf(3);
  const other: AuditRecord = {
    ...{ index: 7, tenant_id: "tenant_b", created_at: "2027-01-01T00:00:00.000Z", action: "api_key.revoke" },
    ...{ outcome: "failure", actor: null, key_id: "key_x", address: null, resource: null },
    ...{ details: {}, previous_hash: "sha256:0", hash: "sha256:0" },
  };
  for (const [name, value] of Object.entries(other)) {
    const changed = chain.map((record, at) => (at === 1 ? { ...record, [name]: value } : record));
    const verdict = await verifyAuditLog(changed);
    assert.equal(!verdict.valid && verdict.index, 2, name);
  }
});

test("AUD-2 dropped, moved, repeated and broken records are named by their place", async () => {
  const [a, b, c, d] = chainOf(4);
  const wrongAt = async (records: unknown[]) => {
    const verdict = await verifyAuditLog(records);
    return verdict.valid ? null : verdict.index;
  };
  assert.equal(await wrongAt([a, c, d]), 2, "dropped");
  assert.equal(await wrongAt([b, c, d]), 1, "dropped at the front");
  assert.equal(await wrongAt([a, c, b, d]), 2, "moved");
  assert.equal(await wrongAt([a, b, b]), 3, "repeated");
  assert.equal(await wrongAt([a, null]), 2);
  assert.equal(await wrongAt([{ index: 1, previous_hash: null }]), 1);
});
