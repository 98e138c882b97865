/** SEC-H4: with `four_eyes`, whoever submitted a task cannot approve it. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ApprovalStage } from "../support/approvals.ts";
import { type Client, errorOf, type Json } from "../support/client.ts";

let stage: ApprovalStage;

before(async () => {
  stage = await ApprovalStage.open();
});

after(async () => {
  await stage[Symbol.asyncDispose]();
});

async function as(actor: string): Promise<Client> {
  const scopes = ["tasks:write", "tasks:read", "sessions:write", "approvals:write", "messages:write"];
  return stage.client.as((await stage.client.createKey({ actor, scopes })).key);
}

async function submit(client: Client, personaId: string): Promise<Json> {
  const session = await client.createSession();
  const task = await client.submit(session.id, "v1", { persona_id: personaId });
  return await client.untilTask(task.id, ({ status }) => status === "AUTH_REQUIRED");
}

function respond(client: Client, { waiting_for }: Json, approved = true) {
  const id = waiting_for.permission_request_id;
  return client.post(`/v1/permission-requests/${id}/respond`, { approved });
}

test("SEC-H4 four_eyes refuses the submitter over the API, with any key of theirs, and takes another", async () => {
  const personaId = await stage.persona({ four_eyes: true });
  const [ann, annAgain, bob] = [await as("ann"), await as("ann"), await as("bob")];
  const task = await submit(ann, personaId);
  for (const client of [ann, annAgain]) {
    const error = errorOf(await respond(client, task), 422);
    assert.equal(error.details.rule, "approval_policy.four_eyes");
  }
  const confirmation = await ann.post(`/v1/tasks/${task.id}/messages`, {
    kind: "tool_confirmation",
    message: { role: "user", parts: [{ type: "json", value: { approved: true }, visibility: "public" }] },
  });
  assert.equal(errorOf(confirmation, 422).details.rule, "approval_policy.four_eyes");
  assert.equal(stage.deploysOf(task), 0);
  assert.equal((await respond(bob, task)).status, 200);
  assert.equal((await stage.ended(task)).status, "COMPLETED");

  const denied = await submit(ann, personaId);
  assert.equal((await respond(ann, denied, false)).status, 200, "taking one's own work back is fine");
});

test("SEC-H4 four_eyes does not ask the submitter as approver, nor count their signature", async () => {
  const ann = await stage.approver("ann");
  const bob = await stage.approver("bob");
  const personaId = await stage.persona({ channel: "harp", four_eyes: true });
  const task = await submit(await as("ann"), personaId);
  await bob.asked(task);
  assert.equal(await ann.decideIfAsked(task, "approve"), false);
  await bob.decide(task, "approve");
  assert.equal((await stage.ended(task)).status, "COMPLETED");
});
