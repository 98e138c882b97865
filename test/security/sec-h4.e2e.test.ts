/** SEC-H4: an administrator alone must not reach a quorum of approvers. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { GatewayRefusal } from "../../src/sdk/approver/approver.ts";
import { ApprovalStage } from "../support/approvals.ts";
import { errorOf } from "../support/client.ts";

let stage: ApprovalStage;

before(async () => {
  stage = await ApprovalStage.open();
});

after(async () => {
  await stage[Symbol.asyncDispose]();
});

test("SEC-H4 the administrator's key cannot pair as an approver, read inboxes or act as enforcer", async () => {
  const { client } = stage;
  const here = { url: `${stage.server.url}/harp`, key: client.key };
  await assert.rejects(stage.offer("ann", here), (error) => {
    assert.ok(error instanceof GatewayRefusal);
    assert.equal(error.code, "Forbidden");
    return true;
  });
  for (const path of ["approvers/ann/inbox", "enforcers/bridle/inbox"]) {
    const { status } = await client.get(`/harp/v1/${path}`);
    assert.equal(status, 403, path);
  }
  const token = await client.post("/v1/api-keys", {
    name: "both",
    actor: "mallory",
    scopes: ["admin", "harp:approver:ann"],
  });
  const { path, fingerprint } = await stage.offer("ann", { ...here, key: token.body.key });
  const own = await client.as(token.body.key).post(`${path}/confirm`, { fingerprint });
  assert.match(errorOf(own, 403).message, /Nobody confirms a key of their own/);
});

test("SEC-H4 an actor with an approver's key confirms that approver with none of their keys", async () => {
  const { client } = stage;
  await client.createKey({ actor: "eve", scopes: ["harp:approver:eve"] });
  const { key } = await client.createKey({ actor: "eve", scopes: ["admin"] });
  const { path, fingerprint } = await stage.offer("eve");
  const own = await client.as(key).post(`${path}/confirm`, { fingerprint });
  assert.equal(errorOf(own, 403).details.rule, "independent_confirmation");
});

test("SEC-H4 one credential cannot make and confirm two approvers; two people reach the quorum", async () => {
  const { client } = stage;
  const ann = await stage.offer("ann");
  const first = await client.post(`${ann.path}/confirm`, { fingerprint: ann.fingerprint });
  assert.equal(first.status, 201, "the first approver needs nobody else");
  const bob = await stage.offer("bob");
  const second = await client.post(`${bob.path}/confirm`, { fingerprint: bob.fingerprint });
  assert.match(errorOf(second, 403).message, /made the API key of bob/);

  const personaId = await stage.persona({ channel: "harp", quorum: 2, approvers: ["ann", "bob"] });
  const task = await stage.task(personaId);
  await ann.person.decide(task, "approve");
  const { status } = (await client.get(`/v1/tasks/${task.id}`)).body;
  assert.equal(status, "AUTH_REQUIRED");
  assert.equal(stage.deploysOf(task), 0);

  const confirmed = await (await stage.officer()).post(`${bob.path}/confirm`, {
    fingerprint: bob.fingerprint,
  });
  assert.equal(confirmed.body.state, "pending", "the persona would ask bob, so ann has to agree");
  await ann.person.decide(bob.fingerprint, "approve");
  await bob.person.decide(task, "approve");
  assert.equal((await stage.ended(task)).status, "COMPLETED");
  assert.equal(stage.deploysOf(task), 1);
});

test("SEC-H4 an administrator adds no key to an approver and loosens no policy that wants signatures", async () => {
  const { client } = stage;
  const officer = await stage.officer();
  const personaId = await stage.persona({ channel: "harp", quorum: 2, approvers: ["ann", "bob"] });
  const path = `/v1/personas/${personaId}`;
  for (const name of ["ann", "bob"]) {
    const own = await stage.offer(name);
    const confirmed = await officer.post(`${own.path}/confirm`, { fingerprint: own.fingerprint });
    assert.equal(confirmed.body.state, "pending");
    assert.ok(Date.parse(confirmed.body.pending_until) > Date.now() + 23 * 60 * 60 * 1000);
    const task = await stage.task(personaId);
    assert.equal(await own.person.decideIfAsked(task, "approve"), false, "nothing is sealed for this key");
  }
  const loosened = await client.call(path, {
    method: "PATCH",
    body: { approval_policy: { channel: "any" } },
  });
  assert.equal(loosened.body.approval_policy.quorum, 2);
  assert.deepEqual(loosened.body.pending_change.changes, { approval_policy: { channel: "any" } });
  const task = await stage.task(personaId);
  const id = task.waiting_for.permission_request_id;
  const answer = await client.post(`/v1/permission-requests/${id}/respond`, { approved: true });
  assert.equal(errorOf(answer, 422).code, "policy_violation");
  const withdrawn = await client.call(`${path}/pending-change`, { method: "DELETE" });
  assert.equal(withdrawn.body.pending_change, undefined);
  assert.equal(stage.deploysOf(task), 0);
});
