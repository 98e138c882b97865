/**
 * What a gateway has said yes to is there after a kill, once. Real processes, really killed; a disk that lies about fsync
 * is not among what this can show.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Json } from "../support/client.ts";
import {
  accepted,
  type Gateway,
  type Party,
  refusal,
  type Submitted,
  startGateway,
  type Tenant,
} from "../support/harp.ts";
import { openWs } from "../support/harp-channels.ts";

let gateway: Gateway;

before(async () => {
  gateway = await startGateway({ standalone: true });
});
after(() => gateway[Symbol.asyncDispose]());

/** What was done, each in a tenant of its own, before all of it was killed at once. */
interface Done {
  artifact: Tenant & { submitted: Submitted };
  decision: Tenant & { submitted: Submitted; decision: Json };
  pushed: Tenant & Record<"decided" | "delivered" | "pending" | "seen", Json>;
  put: Tenant & Record<"withdrawn" | "deleted", Submitted>;
  pairing: Tenant & { code: string; nonce: string };
}

async function submitArtifact(): Promise<Done["artifact"]> {
  const tenant = await gateway.tenant();
  const submitted = await tenant.enforcer.submit({ body: { metadata: { repoName: "harp" } } });
  return { ...tenant, submitted };
}

async function decide(): Promise<Done["decision"]> {
  const tenant = await gateway.tenant();
  const submitted = await tenant.enforcer.submit();
  const decision = tenant.approver.decision(submitted);
  accepted(await tenant.approver.post("/v1/decisions", decision), 200, "decision.accepted");
  return { ...tenant, submitted, decision };
}

/** Two decisions and two requests, of which one each was acknowledged. */
async function push(): Promise<Done["pushed"]> {
  const tenant = await gateway.tenant();
  const { enforcer, approver } = tenant;
  const there = await openWs(enforcer);
  const here = await openWs(approver);
  const submitted = [];
  for (let n = 0; n < 4; n++) submitted.push(await enforcer.submit());
  const messages = [];
  for (const [n, exchange] of submitted.entries()) {
    if (n >= 2) messages.push(await here.about(exchange.requestId, "approval.request"));
    else {
      await approver.decide(exchange);
      messages.push(await there.about(exchange.requestId, "decision.deliver"));
    }
  }
  const [decided, delivered, pending, seen] = messages;
  accepted(await enforcer.acknowledge(delivered.requestId, delivered.msgId), 200, "ack.accepted");
  accepted(await approver.acknowledge(seen.requestId, seen.msgId), 200, "ack.accepted");
  return { ...tenant, decided, delivered, pending, seen };
}

async function putAway(): Promise<Done["put"]> {
  const tenant = await gateway.tenant();
  const { enforcer, approver } = tenant;
  const [withdrawn, deleted] = [await enforcer.submit(), await enforcer.submit()];
  const path = `/v1/approvers/${approver.id}/inbox/${deleted.requestId}`;
  assert.equal((await approver.delete(path)).status, 204);
  accepted(await enforcer.withdraw(withdrawn.requestId), 200, "exchange.withdrawn");
  return { ...tenant, withdrawn, deleted };
}

async function resolvePairing(): Promise<Done["pairing"]> {
  const tenant = await gateway.tenant();
  const { enforcer, approver } = tenant;
  const { body } = await enforcer.post("/v1/pairing/initiate", { enforcerId: enforcer.id });
  assert.equal((await approver.get(`/v1/pairing/resolve/${body.code}`)).status, 200);
  return { ...tenant, code: body.code, nonce: body.nonce };
}

describe("A kill right behind the answers", () => {
  let done: Done;

  before(async () => {
    const [artifact, decision, pushed, put, pairing] = await Promise.all([
      submitArtifact(),
      decide(),
      push(),
      putAway(),
      resolvePairing(),
    ]);
    done = { artifact, decision, pushed, put, pairing };
    await gateway.restart();
  });

  test("HARP-49 an artifact accepted with 202 survives a kill and is still deduplicated", async () => {
    // Given an artifact, when the gateway is killed behind the 202, then the exchange and the item of the inbox are
    // there, and the same artifact is still the same.
    const { enforcer, approver, submitted } = done.artifact;
    const { requestId, artifactHash, accepted: body } = submitted;
    const { duplicate: _, ...rest } = body;
    assert.deepEqual(await enforcer.status(requestId), { requestId, artifactHash, ...rest });
    const item = await approver.item(requestId);
    assert.deepEqual(item.envelope.body.metadata, { repoName: "harp" });
    const { alg, data } = submitted.envelope.body.ciphertext;
    assert.deepEqual(item.envelope.body.ciphertextRef, { kind: "inline", alg, data });
    const again = await enforcer.post("/v1/artifacts", submitted.envelope);
    assert.equal(accepted(again, 202, "artifact.accepted").duplicate, true);
    assert.equal((await approver.inbox()).length, 1);
  });

  test("HARP-49, HARP-51 a decision answered with 200 survives a kill and stays the only one", async () => {
    // Given a decision, when the gateway is killed behind the 200, then it is that decision, in the enforcer's inbox and
    // nowhere else, and no other is accepted.
    const { enforcer, approver, submitted, decision } = done.decision;
    assert.deepEqual((await enforcer.status(submitted.requestId)).decision, decision.body);
    const [item, ...others] = await enforcer.inbox();
    assert.deepEqual(others, []);
    assert.deepEqual(item.envelope.body, decision.body);
    assert.equal(await approver.item(submitted.requestId), undefined);
    refusal(await approver.decide(submitted), 409, "AlreadyDecidedConflict");
    const again = await approver.post("/v1/decisions", decision);
    assert.equal(accepted(again, 200, "decision.accepted").duplicate, true);
  });

  test("HARP-49, HARP-77, HARP-78 after a kill only unacknowledged messages are redelivered", async () => {
    // Given messages that were pushed, when the gateway is killed, then those that were not acknowledged come again as
    // the same messages, and no others.
    const { enforcer, approver, decided, delivered, pending, seen } = done.pushed;
    assert.equal(await enforcer.state(delivered.requestId), "delivered");
    await using back = await openWs(enforcer);
    assert.deepEqual(await back.about(decided.requestId), decided);
    assert.equal(back.countOf(delivered.requestId), 0);
    await using again = await openWs(approver);
    assert.deepEqual(await again.about(pending.requestId), pending);
    const barrier = await enforcer.submit();
    await again.about(barrier.requestId);
    assert.deepEqual(again.seen.slice(0, 1), [pending]);
    assert.equal(again.seen.length, 2);
    assert.deepEqual((await approver.item(seen.requestId)).envelope, seen);
  });

  test("HARP-49, HARP-58, HARP-90 a withdrawal and a deleted item stay so after a kill", async () => {
    // Given a withdrawal and a deleted item, when the gateway is killed behind the answers, then neither comes back.
    const { enforcer, approver, withdrawn, deleted } = done.put;
    assert.equal(await enforcer.state(withdrawn.requestId), "withdrawn");
    assert.deepEqual(await approver.inbox(), []);
    assert.equal(await enforcer.state(deleted.requestId), "pendingApproval");
  });

  test("HARP-49, HARP-74 used codes and completed pairings stay so after a kill, the token routes", async () => {
    // Given a code that was resolved and a pairing that was completed, when the gateway is killed behind each, then they
    // stay used, and the token routes.
    const { enforcer, approver, code, nonce } = done.pairing;
    refusal(await approver.get(`/v1/pairing/resolve/${code}`), 404, "PairingNotFound");
    const complete = { nonce, approverId: approver.id };
    const { status, body } = await approver.post("/v1/pairing/complete", complete);
    assert.equal(status, 200, JSON.stringify(body));
    await gateway.restart();
    refusal(await approver.post("/v1/pairing/complete", complete), 409, "PairingCompletedConflict");
    const { routingToken } = body;
    assert.equal((await enforcer.get(`/v1/pairing/${nonce}/status`)).body.routingToken, routingToken);
    const { requestId } = await enforcer.submit({ body: { metadata: { routingToken } } });
    assert.equal((await approver.item(requestId)).status, "Pending");
  });
});

const rounds = Number(process.env.CRASH_ROUNDS ?? 4);
const workers = 8;

/** What a client knows of one exchange: what it sent, and what was said yes to. */
interface Story {
  artifact: Json;
  submitted: Submitted | null;
  decision: Json;
  decided: boolean;
  /** The id of the message that brought the decision, once one did. */
  msgId: string | null;
  acknowledged: boolean;
}

/** Goes on with a story by one step, as a client would that repeats whatever it had no answer to. */
async function goOn(story: Story, enforcer: Party, approver: Party): Promise<void> {
  const { artifact } = story;
  if (story.submitted === null) {
    const answer = await enforcer.post("/v1/artifacts", artifact);
    const { artifactHash } = artifact.body;
    const body = accepted(answer, 202, "artifact.accepted");
    story.submitted = { requestId: artifact.requestId, envelope: artifact, artifactHash, accepted: body };
  } else if (!story.decided) {
    accepted(await approver.post("/v1/decisions", story.decision), 200, "decision.accepted");
    story.decided = true;
  } else if (story.msgId === null) {
    const { body } = await enforcer.wait(artifact.requestId);
    assert.deepEqual(body.body, story.decision.body);
    story.msgId = body.msgId;
  } else {
    accepted(await enforcer.acknowledge(artifact.requestId, story.msgId), 200, "ack.accepted");
    story.acknowledged = true;
  }
}

/** What is in them, each once. */
interface Inboxes {
  open: Set<string>;
  undelivered: Set<string>;
}

async function idsIn(party: Party): Promise<Set<string>> {
  const ids = (await party.inbox()).map(({ requestId }) => requestId);
  assert.equal(new Set(ids).size, ids.length, "each once");
  return new Set(ids);
}

/** What the gateway says about it must be at least what it has said yes to, and nothing that was never asked. */
async function assertTold(story: Story, enforcer: Party, { open, undelivered }: Inboxes): Promise<void> {
  const { requestId } = story.artifact;
  const answer = await enforcer.get(`/v1/exchanges/${requestId}`);
  if (answer.status === 404) {
    assert.equal(story.submitted, null, "what was accepted is there");
    return;
  }
  const { state, artifactHash, decision } = accepted(answer, 200, "exchange.status");
  assert.equal(artifactHash, story.artifact.body.artifactHash);
  if (story.decided) assert.ok(state === "decided" || state === "delivered", state);
  if (story.acknowledged) assert.equal(state, "delivered");
  if (state === "pendingApproval") {
    assert.ok(open.has(requestId));
    return;
  }
  assert.deepEqual(decision, story.decision.body);
  assert.ok(!open.has(requestId));
  assert.equal(undelivered.has(requestId), state === "decided");
  if (story.msgId !== null) assert.equal((await enforcer.wait(requestId)).body.msgId, story.msgId);
}

test("HARP-49, HARP-51, HARP-55 kills under load lose, duplicate or renumber no message", async (t) => {
  // Given a gateway that is killed at any moment under load, when it is started again each time, then nothing it said
  // yes to is lost, nothing is there twice, and every message has kept its id.
  const { enforcer, approver } = await gateway.tenant();
  const stories: Story[] = [];
  const newStory = (): Story => {
    const artifact = enforcer.artifact();
    const { requestId, body } = artifact;
    const decision = approver.decision({ requestId, artifactHash: body.artifactHash });
    const story = { artifact, submitted: null, decision, decided: false, msgId: null, acknowledged: false };
    stories.push(story);
    return story;
  };
  for (let round = 0; round < rounds; round++) {
    let isDead = false;
    let steps = 0;
    const unfinished = stories.filter(({ acknowledged }) => !acknowledged);
    // Not a time but an amount of work, so that a slow machine is killed in the middle of it too.
    const enough = Promise.withResolvers<void>();
    const load = Array.from({ length: workers }, async () => {
      let story = unfinished.pop() ?? newStory();
      while (!isDead) {
        try {
          await goOn(story, enforcer, approver);
          steps += 1;
          if (steps > 40 + round * 7) enough.resolve();
          if (story.acknowledged) story = unfinished.pop() ?? newStory();
        } catch (error) {
          // An answer that never came is exactly what a client has to live with.
          if (error instanceof assert.AssertionError) {
            enough.resolve();
            throw error;
          }
        }
      }
    });
    await enough.promise;
    const killed = gateway.restart();
    isDead = true;
    await Promise.all([...load, killed]);
    const inboxes = { open: await idsIn(approver), undelivered: await idsIn(enforcer) };
    await Promise.all(stories.map((story) => assertTold(story, enforcer, inboxes)));
  }
  assert.ok(stories.some(({ acknowledged }) => acknowledged));
  t.diagnostic(`${stories.length} exchanges over ${rounds} kills`);
});
