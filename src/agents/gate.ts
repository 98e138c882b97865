/**
 * The server's side of `bridle gate`: one task for everything that a gate decided. The approval is used up before the gate
 * hears of it, and a gate that runs something answers a question before it does, which can be answered once: whatever dies
 * in between, nothing runs twice, and the log says how far it got.
 */

import { type Static, Type } from "typebox";
import { type AgentContext, defineAgent } from "../runtime/agents/agent.ts";
import { ApprovalDenied, ApprovalRefused, WaitExpired } from "../runtime/run/failures.ts";
import type { JsonObject } from "../store/port.ts";

const text = (maxLength: number) => Type.String({ maxLength });
const Hash = Type.String({ pattern: "^[0-9a-f]{64}$" });

const secondsMax = 8 * 60 * 60;

export const GateInput = Type.Object({
  /** In a few words, for the approver and the log. */
  action: Type.String({ minLength: 1, maxLength: 500 }),
  decision: Type.Enum(["allow", "ask", "deny"]),
  /** The rule of the policy that decided, and why. */
  rule: Type.Union([text(1024), Type.Null()]),
  why: text(4096),
  risk: Type.Enum(["low", "medium", "high", "dangerous"]),
  /** Exactly what is to be done. */
  request: Type.Record(Type.String(), Type.Unknown()),
  /** Of the request, in canonical form. */
  digest: Hash,
  /** Whether the gate runs it itself, rather than the tool that asked. */
  runs: Type.Boolean(),
  /** How long an approver has. */
  wait_seconds: Type.Integer({ minimum: 1, maximum: secondsMax }),
  /** The task of the standing permission that this is a use of. */
  standing_task: Type.Optional(text(128)),
  /** A standing permission is asked for: how often it may be used until its time is over. */
  standing_uses: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  scope: Type.Optional(Type.Enum(["timebox", "session"])),
});

/** The gate begins, or says why it does not after all. */
const GateStart = Type.Object({
  start: Type.String({ minLength: 1, maxLength: 128 }),
  refused: Type.Optional(text(2000)),
});

export const GateEnd = Type.Object({
  exit_code: Type.Union([Type.Integer(), Type.Null()]),
  signal: Type.Union([text(20), Type.Null()]),
  stdout_sha256: Type.Union([Hash, Type.Null()]),
  stderr_sha256: Type.Union([Hash, Type.Null()]),
  /** Null when the gate died and nobody knows. */
  ended_at: Type.Union([text(40), Type.Null()]),
});

/** What a use of a standing permission is for. */
const GateUse = Type.Object({ use: Type.String({ minLength: 1, maxLength: 128 }), digest: Hash });

export type GateInput = Static<typeof GateInput>;
export type GateEnd = Static<typeof GateEnd>;

export const gateRecordName = "gate-record.json";

const startMs = 2 * 60 * 1000;
const runMs = 24 * 60 * 60 * 1000;

export const gate = defineAgent({
  name: "gate",
  version: "1.0.0",
  description: "Has a person sign what tools and scripts are about to do, for `bridle gate`.",
  skills: [{ id: "gate", name: "Gate", description: "Have a person sign an action before it is done." }],
  input: GateInput,
  signedApprovals: true,
  async run(ctx) {
    const result = await settle(ctx);
    // The receipt has its hash, so it proves what was asked and what came of it.
    await ctx.artifact({ name: gateRecordName, json: { ...(ctx.input as JsonObject), result } });
    return result;
  },
});

type Context = AgentContext<GateInput>;

async function settle(ctx: Context): Promise<JsonObject> {
  const { decision, standing_uses, runs } = ctx.input;
  if (decision === "deny") return { verdict: "denied", by: "policy", run: null };
  const verdict = decision === "ask" ? await askApprover(ctx) : { verdict: "approved", by: "policy" };
  if (verdict.verdict !== "approved") return { ...verdict, run: null };
  if (standing_uses !== undefined) return { ...verdict, run: null, uses: await standing(ctx, standing_uses) };
  return { ...verdict, run: runs ? await watched(ctx) : null };
}

async function askApprover(ctx: Context): Promise<JsonObject> {
  const { action, request, digest, risk, wait_seconds, scope } = ctx.input;
  // It came as JSON.
  const payload = { ...(request as JsonObject), digest };
  const expiresInMs = wait_seconds * 1000;
  try {
    await ctx.approve({
      action,
      payload,
      risk,
      expiresInMs,
      ...(scope === undefined ? {} : { offer: scope }),
    });
    return { verdict: "approved", by: "approver" };
  } catch (error) {
    if (error instanceof ApprovalDenied) return { verdict: "denied", by: "approver", reason: error.message };
    if (error instanceof WaitExpired) return { verdict: "expired", by: null };
    if (error instanceof ApprovalRefused) return { verdict: "denied", by: "enforcer", reason: error.message };
    throw error;
  }
}

async function watched(ctx: Context): Promise<JsonObject> {
  try {
    const { refused } = await ctx.ask("The gate says when it starts.", GateStart, { expiresInMs: startMs });
    if (refused !== undefined) return { state: "refused", reason: refused };
  } catch (error) {
    if (error instanceof WaitExpired) return { state: "not_started" };
    throw error;
  }
  try {
    const end = await ctx.ask("The gate says how it ended.", GateEnd, { expiresInMs: runMs });
    return { state: end.ended_at === null ? "unknown" : "ended", ...end };
  } catch (error) {
    if (error instanceof WaitExpired) return { state: "unknown" };
    throw error;
  }
}

/** Each use answers one question, so there are no more uses than questions. */
async function standing(ctx: Context, usesMax: number): Promise<JsonObject[]> {
  const begun = await ctx.now("begun");
  const endsMs = begun.getTime() + ctx.input.wait_seconds * 1000;
  const uses: JsonObject[] = [];
  while (uses.length < usesMax) {
    const at = await ctx.now("use");
    const leftMs = endsMs - at.getTime();
    if (leftMs <= 0) break;
    try {
      uses.push(await ctx.ask(`A use of ${usesMax}: ${uses.length + 1}.`, GateUse, { expiresInMs: leftMs }));
    } catch (error) {
      if (error instanceof WaitExpired) break;
      throw error;
    }
  }
  return uses;
}
