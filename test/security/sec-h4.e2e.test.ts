/** SEC-H4: an administrator alone must not reach a quorum of approvers. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { GatewayRefusal } from "../../src/approvals/approver.ts";
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
  assert.equal(confirmed.status, 201, JSON.stringify(confirmed.body));
  await bob.person.decide(task, "approve");
  assert.equal((await stage.ended(task)).status, "COMPLETED");
  assert.equal(stage.deploysOf(task), 1);
});
