/** A gateway that swaps, replays, delays, drops, forges and edits: what was not approved is never done, what was is done once. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { signDecision } from "../../src/harp/core/decision.ts";
import { generateApproverKeys } from "../../src/harp/core/keys.ts";
import type { DecisionBody } from "../../src/harp/core/wire.ts";
import type { TaskRecord } from "../../src/kernel/kinds/task.ts";
import { EnforcementStage, type Person, runsOf } from "../support/enforcement.ts";

/** What the gateway does with a decision that an approver signed for one task. */
const mischief = fc.record({
  task: fc.nat(2),
  verdict: fc.constantFrom("allow", "deny"),
  way: fc.constantFrom(
    "faithful",
    "dropped",
    "twice",
    "to another request",
    "turned round",
    "edited",
    "signed by itself",
    "without a signature",
    "of another shape",
    "withdrawn",
  ),
  other: fc.nat(2),
  member: fc.constantFrom("artifactHash", "nonce", "signerKeyId", "signature", "decisionHash"),
});

type Mischief = typeof mischief extends fc.Arbitrary<infer T> ? T : never;

function flipped(text: string): string {
  const last = text.at(-1) === "A" ? "B" : "A";
  return `${text.slice(0, -1)}${last}`;
}

class Play {
  readonly #stage: EnforcementStage;
  readonly #ann: Person;
  readonly tasks: TaskRecord[];
  /** The tasks whose approval reached the enforcer as it was signed, before any denial did. */
  readonly approved = new Set<string>();

  constructor(stage: EnforcementStage, ann: Person, tasks: TaskRecord[]) {
    this.#stage = stage;
    this.#ann = ann;
    this.tasks = tasks;
  }

  async act({ task: index, verdict, way, other, member }: Mischief): Promise<void> {
    const [task, elsewhere] = [this.tasks[index], this.tasks[other]];
    assert.ok(task && elsewhere);
    if ((await this.#stage.request(task)).status !== "pending") return;
    const { request_id } = await this.#stage.asked(task, this.#ann);
    const body = await this.#stage.signed(this.#ann, request_id, verdict);
    const send = async (to: string, what: unknown) => {
      await this.#stage.judged(this.#stage.gateway.deliver(to, what));
    };
    const reached = () => verdict === "allow" && this.approved.add(task.id);
    switch (way) {
      case "faithful":
        await send(request_id, body);
        reached();
        return;
      case "twice":
        await send(request_id, body);
        await send(request_id, body);
        reached();
        return;
      case "dropped":
        return;
      case "to another request": {
        if ((await this.#stage.request(elsewhere)).status !== "pending") return;
        const aim = await this.#stage.asked(elsewhere, this.#ann);
        if (aim.request_id === request_id) return;
        return await send(aim.request_id, body);
      }
      case "turned round":
        return await send(request_id, { ...body, decision: verdict === "allow" ? "reject" : "approve" });
      case "edited":
        return await send(request_id, edited(body, member));
      case "signed by itself": {
        const keys = await generateApproverKeys(new Date());
        const artifact = await this.#stage.opened(this.#ann, request_id);
        return await send(request_id, await signDecision({ artifact, decision: "allow", keys }));
      }
      case "without a signature":
        return await send(request_id, { artifactHash: body.artifactHash, decision: "approve" });
      case "of another shape":
        return await send(request_id, "approved");
      case "withdrawn":
        this.#stage.gateway.askForRefresh(request_id);
        await this.#stage.asked(task, this.#ann, (exchange) => exchange.request_id !== request_id);
        return await send(request_id, body);
    }
  }
}

function edited(body: DecisionBody, member: Mischief["member"]): DecisionBody {
  return { ...body, [member]: flipped(body[member] ?? "A") };
}

test("HARP-125 a hostile gateway can run nothing but approved effects, each once", async () => {
  // Given any mischief of a gateway, when decisions pass through it, then nothing runs but what reached the enforcer as
  // it was approved, and that runs once.
  await using stage = await EnforcementStage.open();
  const ann = await stage.person("ann");
  const persona = await stage.persona();
  await fc.assert(
    fc.asyncProperty(fc.array(mischief, { minLength: 1, maxLength: 5 }), async (acts) => {
      const tasks = [await stage.task(persona), await stage.task(persona), await stage.task(persona)];
      const play = new Play(stage, ann, tasks);
      for (const act of acts) await play.act(act);
      for (const task of tasks) {
        const isApproved = play.approved.has(task.id);
        if (isApproved) await stage.ended(task);
        assert.equal(runsOf(task), isApproved ? 1 : 0, JSON.stringify(acts));
      }
    }),
    { numRuns: 25 },
  );
});
