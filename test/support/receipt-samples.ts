/** Receipts for tests: one with every member that the schema knows but `signed_at`, and what it takes to sign and chain. */

import { sha256Of } from "../../src/receipts/canonical.ts";
import { type ReceiptBody, receiptHash } from "../../src/receipts/hash.ts";
import { newSigningKey, type SigningKey } from "../../src/receipts/keys.ts";
import { appendLeaf, type Frontier, rootOf } from "../../src/receipts/merkle.ts";
import { type Receipt, receiptSchemaVersion } from "../../src/receipts/schema.ts";

export function sampleBody(keyId: string): ReceiptBody {
  const model = { provider: "örtlich", model: "klein-7b", version: "3", reason: "cheap enough" };
  return {
    schema: receiptSchemaVersion,
    receipt_id: "receipt_7",
    subject: { object: "task", id: "task_7" },
    issuer: { id: "harness_1", kind: "harness", name: "Bridle", version: "0.1", public_key_id: keyId },
    issued_at: "2026-05-01T10:00:09.250Z",
    identifiers: {
      tenant_id: "tenant_1",
      persona_ref: "persona_1@1",
      workspace_ref: "workspace_1",
      session_id: "session_1",
      task_id: "task_7",
      branch_id: "branch_1",
      trace_id: "trace_1",
    },
    lifecycle: {
      created_at: "2026-05-01T10:00:00Z",
      started_at: "2026-05-01T10:00:01Z",
      completed_at: "2026-05-01T12:00:09.250+02:00",
      final_state: "FAILED",
      failure: { code: "tool_failed", details: { "10": "ten", "9": "nine", attempts: [1, 2, 2] } },
    },
    approvals: [
      {
        approval_id: "approval_1",
        actor: "user_1",
        action: "files.write",
        decision: "approved",
        decided_at: "2026-05-01T10:00:04Z",
        quorum_proof: { needed: 1, by: ["user_1"] },
        evidence_hash: sha256Of("evidence"),
      },
      {
        actor: "user_2",
        action: "files.delete",
        decision: "denied",
        decided_at: "2026-05-01T10:00:05Z",
        quorum_proof: null,
      },
    ],
    trust: { start_tier: "act_auto", end_tier: "suggest", policy_ref: "persona_1@1" },
    autonomy_budget: {
      limit: { usd: 2.5, input_tokens: 1000, output_tokens: 500, tool_calls: 10, wall_time_ms: 60000 },
      consumed: { usd: 1e-7, input_tokens: 10, output_tokens: 0, tool_calls: 1, wall_time_ms: 8250 },
    },
    replay_input: {
      determinism: "best_effort",
      materials: [
        { kind: "event_log", id: "log", uri: "/events", sha256: sha256Of("log"), content_type: "text/plain" },
        { kind: "artifact", bytes_base64: "aGVsbG8=", sha256: sha256Of("hello") },
        { kind: "host_fact", metadata: { host: "a\\b\u0007\u2028\ufffd", nested: [[], {}, null, true] } },
      ],
      unavailable_reason: "a secret was used",
    },
    model_route: {
      chosen_model: model,
      alternatives_considered: [model, { provider: "none", model: "none" }],
      route_policy_reason: "the only one within budget",
    },
    cost: {
      currency: "EUR",
      total: 0.1,
      provider_breakdown: [
        {
          provider: "örtlich",
          model: "klein-7b",
          amount: 0.1,
          input_tokens: 10,
          output_tokens: 0,
          metadata: { unit: "€" },
        },
      ],
    },
    side_effects: {
      fs_writes: [
        { path: "/tmp/😀", operation: "create", before_sha256: null, after_sha256: sha256Of("new") },
        { path: "/tmp/b", operation: "delete", before_sha256: sha256Of("old"), after_sha256: null },
      ],
      network_egress: [
        { destination: "example.org", purpose: "search", bytes_sent: 12, metadata: { tls: true } },
      ],
      tool_calls: [
        {
          tool: "search",
          call_id: "call_1",
          status: "failed",
          input_hash: sha256Of("in"),
          output_hash: sha256Of("out"),
          metadata: { tries: -1.5e300 },
        },
      ],
      a2a_handoffs: [
        { target_agent: "agent_2", task_id: "task_8", status: "completed", receipt_id: "receipt_8" },
      ],
    },
    final_artifacts: [
      { artifact_id: "artifact_1", kind: "file", uri: "/artifacts/1", sha256: sha256Of("file") },
      { artifact_id: "artifact_2", kind: "note" },
    ],
    deltas: [
      {
        delta_id: "delta_1",
        operation: "replace",
        path: "/materials/0",
        override_key: "llm:1",
        event_id: "event_1",
        before_sha256: sha256Of("before"),
        after_sha256: null,
        artifact_id: "artifact_1",
        reason: "what if",
      },
    ],
    chain: { previous_receipt_hash: sha256Of("previous"), merkle_root: sha256Of("root") },
    redactions: [{ field: "/metadata/x", reason: "secret", proof_hash: sha256Of("secret") }],
    metadata: { "": "empty name", b: 1, a: { deep: [{ z: "z", y: ["y"] }] }, __proto: "almost" },
  };
}

/** The keys sign in the order of their ids, as verification wants it. */
export function signed(body: ReceiptBody, ...keys: readonly SigningKey[]): Receipt {
  const hash = receiptHash(body);
  const inOrder = keys.toSorted((a, b) => (a.kid < b.kid ? -1 : 1));
  return {
    ...body,
    chain: { ...body.chain, receipt_hash: hash },
    signatures: inOrder.map((key) => ({ key_id: key.kid, algorithm: "ed25519", signature: key.sign(hash) })),
  };
}

export function sampleReceipt(key: SigningKey = newSigningKey().key): Receipt {
  return signed(sampleBody(key.kid), key);
}

/** Receipts that follow each other, from the first of a chain. */
export function sampleChain(length: number, key: SigningKey): { receipts: Receipt[]; root: string } {
  let frontier: Frontier = [];
  let previous: string | null = null;
  const receipts: Receipt[] = [];
  for (let index = 0; index < length; index++) {
    const chain = { previous_receipt_hash: previous, merkle_root: rootOf(frontier) };
    const receipt = signed({ ...sampleBody(key.kid), receipt_id: `receipt_${index}`, chain }, key);
    receipts.push(receipt);
    previous = receipt.chain.receipt_hash;
    frontier = appendLeaf(frontier, index, previous).frontier;
  }
  return { receipts, root: rootOf(frontier) };
}
