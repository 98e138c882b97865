/**
 * Exchanges against a model of a few lines: whatever enforcers, approvers and administrators do at the same time, there is
 * an order of their calls in which the model would have answered each the same, and everybody sees where that ends.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { cases } from "../../../test/runner/seed.ts";
import { hashFor, principal, TestGateway } from "../../../test/support/gateway.ts";
import type { ExchangeState } from "../core/wire.ts";

const lifeMs = 60_000;
const approvers = ["a", "b"] as const;
const enforcers = ["e", "f"] as const;

interface ModelExchange {
  state: ExchangeState;
  enforcer: string;
  artifact: string;
  expiresAtMs: number;
  /** Who decided, under which nonce, what. */
  decision: string | null;
  dismissed: readonly string[];
}

type Model = Readonly<Record<string, ModelExchange>>;

type Call =
  | { do: "submit"; request: string; enforcer: string; artifact: string }
  | {
      do: "decide";
      request: string;
      approver: string;
      artifact: string;
      nonce: string;
      verdict: "approve" | "reject";
    }
  | { do: "withdraw"; request: string; enforcer: string }
  | { do: "cancel"; request: string }
  | { do: "acknowledge"; request: string }
  | { do: "dismiss"; request: string; approver: string };

/** What the model answers, and what it is afterwards. */
function modelled(model: Model, call: Call, nowMs: number): [answer: string, after: Model] {
  const known = model[call.request];
  const become = (changes: Partial<ModelExchange>): Model =>
    known === undefined ? model : { ...model, [call.request]: { ...known, ...changes } };
  if (call.do === "submit") {
    if (known === undefined) {
      const { enforcer, artifact } = call;
      const begun = { state: "pendingApproval", enforcer, artifact, decision: null, dismissed: [] } as const;
      return ["new", { ...model, [call.request]: { ...begun, expiresAtMs: nowMs + lifeMs } }];
    }
    const isSame = known.enforcer === call.enforcer && known.artifact === call.artifact;
    return [isSame ? `same, ${known.state}` : "AlreadyExistsConflict", model];
  }
  if (call.do === "dismiss") {
    const isListed = known?.state === "pendingApproval" || known?.state === "expired";
    if (known === undefined || !isListed || known.dismissed.includes(call.approver)) {
      return ["InboxItemNotFound", model];
    }
    return ["dismissed", become({ dismissed: [...known.dismissed, call.approver].sort() })];
  }
  if (known === undefined) return ["ExchangeNotFound", model];
  switch (call.do) {
    case "decide": {
      const decision = `${call.approver} ${call.nonce} ${call.verdict} ${call.artifact}`;
      if (known.decision === decision) return [`same, ${known.state}`, model];
      if (known.decision !== null) return ["AlreadyDecidedConflict", model];
      const refused: Partial<Record<ExchangeState, string>> = {
        expired: "ExchangeExpiredConflict",
        withdrawn: "ExchangeWithdrawn",
        cancelled: "ExchangeCancelledConflict",
      };
      const code = refused[known.state] ?? (call.artifact === known.artifact ? null : "ArtifactHashMismatch");
      return code === null ? ["decided", become({ state: "decided", decision })] : [code, model];
    }
    case "withdraw":
      if (known.enforcer !== call.enforcer) return ["ExchangeNotFound", model];
      if (known.state !== "pendingApproval") return ["InvalidStateConflict", model];
      return ["withdrawn", become({ state: "withdrawn" })];
    case "cancel":
      if (known.state !== "pendingApproval") return ["InvalidStateConflict", model];
      return ["cancelled", become({ state: "cancelled" })];
    case "acknowledge":
      if (known.decision === null) return ["nothing to acknowledge", model];
      return ["acknowledged", become({ state: "delivered" })];
  }
}

function passing(model: Model, nowMs: number): Model {
  const isOver = ({ state, expiresAtMs }: ModelExchange) =>
    state === "pendingApproval" && nowMs > expiresAtMs;
  return Object.fromEntries(
    Object.entries(model).map(([id, known]) => [id, isOver(known) ? { ...known, state: "expired" } : known]),
  );
}

/** Every model that some order of the calls can have led to, given what each was answered. */
function explanations(model: Model, calls: readonly [Call, string][], nowMs: number): Model[] {
  if (calls.length === 0) return [model];
  return calls.flatMap(([call, answered], index) => {
    const [answer, after] = modelled(model, call, nowMs);
    return answer === answered ? explanations(after, calls.toSpliced(index, 1), nowMs) : [];
  });
}

const request = fc.constantFrom("r1", "r2");
const approver = fc.constantFrom(...approvers);
const enforcer = fc.constantFrom(...enforcers);
const artifact = fc.constantFrom("x", "x", "x", "y");
const call: fc.Arbitrary<Call> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("submit"), request, enforcer, artifact }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("decide"),
      request,
      approver,
      artifact,
      nonce: fc.constantFrom("n1", "n2"),
      verdict: fc.constantFrom("approve", "reject"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("withdraw"), request, enforcer }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("cancel"), request }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("acknowledge"), request }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("dismiss"), request, approver }) },
);
/** Calls at the same time, and how much time passes before them. */
const round = fc.record({
  calls: fc.array(call, { minLength: 1, maxLength: 5 }),
  passMs: fc.constantFrom(0, 0, 0, lifeMs / 2, lifeMs + 1),
});

test("HARP-51, HARP-55, HARP-56 concurrent calls are linearizable and all see the final state", async () => {
  // Given any calls at the same time, when they are answered, then some order of them explains all answers, and
  // everybody sees the state that it ends in.
  await using test = await TestGateway.open();
  const { gateway } = test;
  let tenants = 0;

  async function perform(tenantId: string, call: Call): Promise<string> {
    const admin = principal("admin", "admin", tenantId);
    const as = (role: "enforcer" | "approver", id: string) => principal(role, id, tenantId);
    switch (call.do) {
      case "submit": {
        const body = { artifactHash: hashFor(call.artifact), expiresAt: test.time(lifeMs) };
        const sender = { sender: { enforcerId: call.enforcer } };
        const envelope = test.artifact(call.request, body, sender);
        const accepted = await gateway.submitArtifact(as("enforcer", call.enforcer), envelope);
        return accepted.body.duplicate ? `same, ${accepted.body.state}` : "new";
      }
      case "decide": {
        const { nonce, verdict, approver } = call;
        const body = { artifactHash: hashFor(call.artifact), nonce, decision: verdict, signature: verdict };
        const decision = test.decision(call.request, approver, body);
        const accepted = await gateway.submitDecision(as("approver", approver), decision);
        return accepted.body.duplicate ? `same, ${accepted.body.state}` : "decided";
      }
      case "withdraw":
        await gateway.withdraw(as("enforcer", call.enforcer), call.request);
        return "withdrawn";
      case "cancel":
        return await gateway.cancel(admin, call.request);
      case "acknowledge": {
        const patience = { timeoutMs: 0, signal: new AbortController().signal };
        const known = await gateway.exchanges.read({ tenantId, requestId: call.request });
        const enforcerId = known?.enforcerId ?? "nobody";
        const enforcer = as("enforcer", enforcerId);
        const delivered = await gateway.waitForDecision(enforcer, call.request, patience);
        if (delivered === null) return "nothing to acknowledge";
        await gateway.acknowledge(enforcer, test.ack(call.request, delivered.msgId, { enforcerId }));
        return "acknowledged";
      }
      case "dismiss":
        await gateway.dismiss(as("approver", call.approver), call.approver, call.request);
        return "dismissed";
    }
  }

  const answerTo = (tenantId: string, call: Call): Promise<string> =>
    perform(tenantId, call).catch((error) => error.code ?? String(error));

  /** Everything that can be seen from outside. */
  async function seen(tenantId: string): Promise<Model> {
    const model: Record<string, ModelExchange> = {};
    const page = async (
      role: "approver" | "enforcer",
      id: string,
      name: "pending" | "expired" | "undelivered",
    ) =>
      (
        await gateway.inboxPage(principal(role, id, tenantId), { role, id }, name, { limit: 100 })
      ).body.items.map(({ requestId }) => requestId);
    for (const requestId of ["r1", "r2"]) {
      const exchange = await gateway.exchanges.read({ tenantId, requestId });
      if (exchange === null) continue;
      const { state, enforcerId, artifactHash, expiresAtMs, decision } = exchange;
      const decided = decision?.body;
      const name = (hash: string) => (hash === hashFor("x") ? "x" : "y");
      const listed = state === "pendingApproval" ? "pending" : state === "expired" ? "expired" : null;
      const dismissed: string[] = [];
      for (const id of approvers) {
        for (const inbox of ["pending", "expired"] as const) {
          const isThere = (await page("approver", id, inbox)).includes(requestId);
          assert.ok(!isThere || inbox === listed, `${requestId} is ${state} and in the inbox ${inbox}`);
          if (inbox === listed && !isThere) dismissed.push(id);
        }
      }
      const waiting = (await page("enforcer", enforcerId, "undelivered")).includes(requestId);
      assert.equal(
        waiting,
        state === "decided",
        `${requestId} is ${state}; in the enforcer's inbox: ${waiting}`,
      );
      model[requestId] = {
        ...{ state, enforcer: enforcerId, artifact: name(artifactHash), expiresAtMs },
        decision:
          decided === undefined || decision === null
            ? null
            : `${decision.approverId} ${decided.nonce} ${decided.decision} ${name(decided.artifactHash)}`,
        dismissed:
          listed === null
            ? exchange.approvers
                .filter((each) => each.isDismissed)
                .map((each) => each.approverId)
                .sort()
            : dismissed,
      };
    }
    return model;
  }

  await fc.assert(
    fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 8 }), async (rounds) => {
      const tenantId = `tenant-${++tenants}`;
      for (const id of approvers) await test.approver(id, tenantId);
      let model: Model = {};
      for (const { calls, passMs } of rounds) {
        test.moveBy(passMs);
        model = passing(model, test.nowMs);
        const answers = await Promise.all(
          calls.map(async (call): Promise<[Call, string]> => [call, await answerTo(tenantId, call)]),
        );
        const after = await seen(tenantId);
        const possible = explanations(model, answers, test.nowMs);
        const told = JSON.stringify({ before: model, answers, after }, null, 1);
        assert.ok(
          possible.some((candidate) => isDeepStrictEqual(candidate, after)),
          `no order of these calls explains them:\n${told}`,
        );
        model = after;
      }
    }),
    { numRuns: cases(100) },
  );
});
