/** The schema accepts what the protocol's does and nothing else. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Compile } from "typebox/compile";
import { sampleReceipt } from "../../test/support/receipt-samples.ts";
import { sha256Of } from "./canonical.ts";
import { type Receipt, ReceiptSchema } from "./schema.ts";

const schema = Compile(ReceiptSchema);
const full = sampleReceipt();

function isAccepted(change: (receipt: Receipt) => object): boolean {
  const receipt = structuredClone(full);
  return schema.Check(change(receipt));
}

/** The same receipt without everything that may be left out. */
function least({ chain, ...receipt }: Receipt): Receipt {
  const { schema, receipt_id, subject, issued_at, model_route, side_effects, final_artifacts } = receipt;
  const { workspace_ref, session_id, task_id } = receipt.identifiers;
  const { started_at, completed_at, final_state } = receipt.lifecycle;
  const { previous_receipt_hash, receipt_hash } = chain;
  return {
    schema,
    receipt_id,
    subject,
    issuer: { id: "harness_1", kind: "host" },
    issued_at,
    identifiers: { workspace_ref, session_id, task_id },
    lifecycle: { started_at, completed_at, final_state },
    trust: { start_tier: "shadow", end_tier: "act_with_approval" },
    autonomy_budget: { consumed: {} },
    replay_input: { determinism: "unavailable", materials: [] },
    model_route,
    cost: { currency: "USD", total: 0, provider_breakdown: [] },
    side_effects,
    final_artifacts,
    chain: { previous_receipt_hash, receipt_hash },
  };
}

describe("the receipt schema", () => {
  test("accepts a receipt with every member and one with only the required members", () => {
    // Given every member there is, and only those that must be, when they are checked, then both are accepted.
    assert(isAccepted((receipt) => receipt));
    assert(isAccepted(least));
    assert(isAccepted((receipt) => ({ ...receipt, approvals: [], metadata: {}, signatures: [] })));
  });

  test("given a receipt that lacks a required member, when it is checked, then it is refused", () => {
    const required = Object.keys(least(full));
    assert.equal(required.length, 15);
    for (const name of required) {
      const receipt = Object.fromEntries(Object.entries(least(full)).filter(([member]) => member !== name));
      assert.equal(schema.Check(receipt), false, name);
    }
    const { receipt_hash: _, ...chain } = full.chain;
    assert(!isAccepted((receipt) => ({ ...receipt, chain })));
  });

  test("rejects an unknown member in closed objects but not in free-form ones", () => {
    // Given an unknown member in any closed object, when it is checked, then it is refused; in free-form ones not.
    const outcomes = new Map<string, boolean>();
    forEachObject(full, "", (path) => {
      const receipt = structuredClone(full);
      forEachObject(receipt, "", (other, object) => {
        if (other === path) Object.defineProperty(object, "unknown", { value: 1, enumerable: true });
      });
      outcomes.set(path, schema.Check(receipt));
    });
    const accepted = [...outcomes].filter(([, isOk]) => isOk).map(([path]) => path);
    assert.deepEqual(accepted.toSorted(), [
      "/approvals/0/quorum_proof",
      "/cost/provider_breakdown/0/metadata",
      "/lifecycle/failure",
      "/lifecycle/failure/details",
      "/metadata",
      "/metadata/a",
      "/metadata/a/deep/0",
      "/replay_input/materials/2/metadata",
      "/replay_input/materials/2/metadata/nested/1",
      "/side_effects/network_egress/0/metadata",
      "/side_effects/tool_calls/0/metadata",
    ]);
    assert(outcomes.size > 40);
  });

  test("given a time, when it is checked, then it must be one of RFC 3339", () => {
    const at = (issued_at: string) => isAccepted((receipt) => ({ ...receipt, issued_at }));
    const good = ["2026-05-01T10:00:00Z", "2026-05-01t10:00:00.123456+05:30", "2016-12-31T23:59:60Z"];
    const bad = [
      "",
      "2026-05-01",
      "2026-05-01T10:00:00",
      "2026-05-01 10:00:00Z",
      "2026-02-30T10:00:00Z",
      "2026-05-01T24:00:00Z",
      "2026-05-01T10:00:00Z\n",
      "2026-05-01T10:00:00Z[Europe/Berlin]",
    ];
    assert.deepEqual(good.filter(at), good);
    assert.deepEqual(bad.filter(at), []);
  });

  test("a hash must be lower-case hex with its prefix, or null where allowed", () => {
    // Given a hash, when it is checked, then it must be in lower-case hex with its prefix, or null where it may.
    const chain = (previous_receipt_hash: unknown) =>
      isAccepted((receipt) => ({ ...receipt, chain: { ...receipt.chain, previous_receipt_hash } }));
    const hash = sha256Of("x");
    assert(chain(hash) && chain(null));
    for (const wrong of [hash.toUpperCase(), hash.slice(7), `${hash}0`, `${hash}\n`, "", 1, undefined]) {
      assert(!chain(wrong), String(wrong));
    }
    assert(!isAccepted((receipt) => ({ ...receipt, chain: { ...receipt.chain, merkle_root: null } })));
  });

  test("given a replay material, when it is checked, then it is addressed, carried or described", () => {
    const members = {
      id: "m",
      uri: "/m",
      sha256: sha256Of("m"),
      content_type: "text/plain",
      bytes_base64: "bQ==",
      metadata: {},
    };
    const names = Object.keys(members);
    for (let choice = 0; choice < 2 ** names.length; choice++) {
      const chosen = Object.entries(members).filter((_, i) => (choice >> i) % 2 === 1);
      const material = { kind: "artifact", ...Object.fromEntries(chosen) };
      const has = (name: string) => name in material;
      const expected = has("metadata") || (has("sha256") && (has("uri") || has("bytes_base64")));
      const replay_input = { determinism: "best_effort", materials: [material] };
      assert.equal(
        isAccepted((receipt) => ({ ...receipt, replay_input })),
        expected,
        JSON.stringify(material),
      );
    }
  });

  test("given numbers, counts, enums and names, when they are out of bounds, then they are refused", () => {
    const wrong: Partial<Record<keyof Receipt, unknown>>[] = [
      { schema: "receipt-2026-04-26" },
      { receipt_id: "" },
      { subject: { object: "session", id: "s" } },
      { trust: { start_tier: "act", end_tier: "shadow" } },
      { cost: { ...full.cost, total: -0.01 } },
      { cost: { ...full.cost, currency: "eur" } },
      { cost: { ...full.cost, currency: "EURO" } },
      { autonomy_budget: { consumed: { tool_calls: 1.5 } } },
      { autonomy_budget: { consumed: { input_tokens: -1 } } },
      { autonomy_budget: { consumed: { usd: "1" } } },
      { lifecycle: { ...full.lifecycle, final_state: "COMPLETED" } },
      { lifecycle: { ...full.lifecycle, failure: [] } },
      { lifecycle: { ...full.lifecycle, failure: "failed" } },
      { metadata: null },
      { metadata: [] },
      { approvals: {} },
      { signatures: [{ key_id: "", algorithm: "ed25519", signature: "s" }] },
      { signatures: [{ key_id: "k", algorithm: "ed25519", signature: "s", signed_at: "today" }] },
    ];
    for (const change of wrong) {
      assert(!isAccepted((receipt) => ({ ...receipt, ...change })), JSON.stringify(change));
    }
    assert(isAccepted((receipt) => ({ ...receipt, lifecycle: { ...receipt.lifecycle, failure: null } })));
  });
});

function forEachObject(value: unknown, path: string, visit: (path: string, object: object) => void): void {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) visit(path, value);
  for (const [name, member] of Object.entries(value)) forEachObject(member, `${path}/${name}`, visit);
}
