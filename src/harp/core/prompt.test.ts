/** Prompts: delivered once, as they were hashed, or not at all. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { canonicalBytes } from "./canonical.ts";
import {
  acceptPrompt,
  type Prompt,
  type PromptContext,
  promptBytesMax,
  promptHashOf,
  promptTargets,
  readPrompt,
  readPromptAck,
} from "./prompt.ts";

const text =
  '{"artifactType":"prompt.send","createdAt":"2026-02-21T12:01:00Z","promptHashAlg":"SHA-256","repoRef":"repo:acme/widgets","requestId":"01J2V9K3M2W1J5R6S7T8U9V0W1","sessionId":"01J2V8V3M2YF0KX9Q0Z7E6H9R1","target":"agentChat","text":"Please summarize the plan and list risks. Keep it concise."}';
const promptHash = "0b18f65f2e4d81b0bbfa89267138163a439ee2381393f95b41f01fbdfdbabd50";
const prompt: Prompt = readPrompt({ ...JSON.parse(text), promptHash });
const nowMs = Date.parse("2026-02-21T12:02:00Z");
const context: PromptContext = { nowMs, known: null, targets: promptTargets };

async function hashed(changes: Partial<Prompt>): Promise<Prompt> {
  const changed = { ...prompt, ...changes };
  return { ...changed, promptHash: await promptHashOf(changed) };
}

describe("hash of a prompt", () => {
  test("HARP-114 the published prompt has the published bytes and hash", async () => {
    // Given the published prompt, when it is hashed, then its bytes and its hash are the published ones.
    const { promptHash: _hash, ...signable } = prompt;
    assert.equal(Buffer.from(canonicalBytes(signable)).toString(), text);
    assert.equal(text.length, 292);
    assert.equal(await promptHashOf(signable), promptHash);
    assert.equal(await promptHashOf({ ...prompt, promptHash: "0".repeat(64) }), promptHash);
    assert.notEqual(await promptHashOf({ ...prompt, metadata: {} }), promptHash);
  });
});

describe("a prompt that arrives", () => {
  test("given a prompt, when it is new, then it is queued and handed over letter for letter", async () => {
    const { ack, deliver } = await acceptPrompt(prompt, context);
    assert.deepEqual(readPromptAck(ack), {
      requestId: prompt.requestId,
      promptHash,
      status: "queued",
      ackAt: "2026-02-21T12:02:00.000Z",
    });
    assert.deepEqual(deliver, prompt);
    const strange = await hashed({ text: "  é́\u0000 \u2028<b>😀\r\n" });
    assert.equal((await acceptPrompt(strange, context)).deliver?.text, strange.text);
  });

  test("HARP-115 a repeated prompt gets the same answer and is not delivered again", async () => {
    // Given a prompt that came before, when it comes again, then the answer is as before and nothing is delivered.
    for (const status of ["queued", "delivered", "rejected", "expired"] as const) {
      // Also when it could not be accepted any more.
      const again = { ...context, known: { promptHash, status }, targets: [], isRateLimited: () => true };
      const { ack, deliver } = await acceptPrompt(prompt, again);
      assert.deepEqual([ack.status, ack.promptHash, deliver], [status, promptHash, null]);
    }
  });

  test("HARP-116 rejects a different prompt under a known request id", async () => {
    // Given a request id that is known, when another prompt comes under it, then it is refused.
    const other = await hashed({ text: "Delete everything." });
    const known = { promptHash, status: "delivered" } as const;
    await assert.rejects(acceptPrompt(other, { ...context, known }), { code: "HARP_ERR_HASH_MISMATCH" });
  });

  test("HARP-116, HARP-122 does not deliver a prompt whose hash or text was changed", async () => {
    // Given a hash or a text that was changed, when the prompt comes, then it is not delivered.
    for (let i = 0; i < 64; i++) {
      const corrupt = promptHash.slice(0, i) + (promptHash[i] === "0" ? "1" : "0") + promptHash.slice(i + 1);
      await assert.rejects(acceptPrompt({ ...prompt, promptHash: corrupt }, context), {
        code: "HARP_ERR_HASH_MISMATCH",
      });
    }
    await assert.rejects(acceptPrompt({ ...prompt, text: `${prompt.text} ` }, context), {
      code: "HARP_ERR_HASH_MISMATCH",
    });
  });

  test("HARP-117 answers an expired prompt with expired and delivers nothing", async () => {
    // Given an expiry, when it has passed, then the answer is expired and nothing is delivered.
    const expiring = await hashed({ extensions: { harpPrompt: { expiresAt: "2026-02-21T12:02:00Z" } } });
    assert.equal((await acceptPrompt(expiring, { ...context, nowMs: nowMs + 60_000 })).ack.status, "queued");
    const { ack, deliver } = await acceptPrompt(expiring, { ...context, nowMs: nowMs + 60_001 });
    assert.deepEqual([ack.status, deliver], ["expired", null]);
    const unclear = await hashed({ extensions: { harpPrompt: { expiresAt: "tomorrow" } } });
    await assert.rejects(acceptPrompt(unclear, context), { code: "HARP_ERR_TRANSPORT" });
  });

  test("HARP-117 rejects a prompt whose target is missing or served by nobody", async () => {
    // Given a target that nobody serves, or none at all, when a prompt comes for it, then it is refused.
    const unsupported = { code: "HARP_PROMPT_ERR_TARGET_UNSUPPORTED" };
    await assert.rejects(acceptPrompt(prompt, { ...context, targets: ["tool"] }), unsupported);
    await assert.rejects(acceptPrompt({ ...prompt, target: "shell" }, context), unsupported);
  });

  test("HARP-117 given a prompt as large as may be, when a byte is added, then it is refused", async () => {
    const { promptHash: _hash, ...signable } = { ...prompt, text: "" };
    const room = promptBytesMax - canonicalBytes(signable).length;
    assert.equal(promptBytesMax, 256 * 1024);
    const largest = await hashed({ text: "x".repeat(room) });
    assert.equal((await acceptPrompt(largest, context)).deliver?.text.length, room);
    const larger = await hashed({ text: "x".repeat(room + 1) });
    await assert.rejects(acceptPrompt(larger, context), { code: "HARP_PROMPT_ERR_TOO_LARGE" });
  });

  test("HARP-117 a policy rejects the prompt, and the rate limit tells to retry later", async () => {
    // Given a policy and a limit, when they speak up, then the prompt is rejected, and told to come later.
    const refuses = ({ repoRef }: Prompt) => (repoRef === "repo:acme/widgets" ? "Not from here." : null);
    const { ack, deliver } = await acceptPrompt(prompt, { ...context, refuses });
    assert.deepEqual([ack.status, deliver], ["rejected", null]);
    assert.deepEqual(ack.details, { code: "HARP_ERR_POLICY_DENY", message: "Not from here." });
    const elsewhere = await hashed({ repoRef: "repo:acme/gadgets" });
    assert.equal((await acceptPrompt(elsewhere, { ...context, refuses })).ack.status, "queued");
    const isRateLimited = ({ sessionId }: Prompt) => sessionId === prompt.sessionId;
    await assert.rejects(acceptPrompt(prompt, { ...context, isRateLimited }), {
      code: "HARP_PROMPT_ERR_RATE_LIMIT",
      retryable: true,
    });
  });

  test("HARP-123 given a prompt that is dated in the future, when it comes, then it is refused", async () => {
    await acceptPrompt(prompt, { ...context, nowMs: Date.parse(prompt.createdAt) - 60_000 });
    const early = { ...context, nowMs: Date.parse(prompt.createdAt) - 60_001 };
    await assert.rejects(acceptPrompt(prompt, early), { code: "HARP_ERR_EXPIRED" });
  });

  test("HARP-124 given another algorithm, when a prompt comes, then it is refused as unsupported", async () => {
    await assert.rejects(acceptPrompt({ ...prompt, promptHashAlg: "SHA-1" }, context), {
      code: "HARP_ERR_UNSUPPORTED",
    });
  });

  const malformed: [string, unknown][] = [
    ["nothing", null],
    ["no text", { ...prompt, text: "" }],
    ["a text that is none", { ...prompt, text: ["rm"] }],
    ["a member that is not known", { ...prompt, payload: {} }],
    ["a time that is none", { ...prompt, createdAt: "now" }],
    ["no request id", { ...prompt, requestId: "" }],
  ];
  for (const [what, value] of malformed) {
    test(`given a prompt with ${what}, when it comes, then it is refused`, async () => {
      await assert.rejects(acceptPrompt(value, context), { code: "HARP_ERR_TRANSPORT" });
    });
  }

  test("given an ack with a status that is not known, when it is read, then it is refused", async () => {
    const { ack } = await acceptPrompt(prompt, context);
    assert.throws(() => readPromptAck({ ...ack, status: "done" }), { code: "HARP_ERR_TRANSPORT" });
  });
});
