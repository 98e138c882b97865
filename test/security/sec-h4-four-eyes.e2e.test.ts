/** SEC-H4: with `four_eyes`, whoever submitted a task cannot approve it. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ApprovalStage, type Person } from "../support/approvals.ts";
import { type Client, errorOf, type Json, until } from "../support/client.ts";
import { sendDelivery } from "../support/deliveries.ts";

let stage: ApprovalStage;
let annSigning: Person;
let bobSigning: Person;

before(async () => {
  stage = await ApprovalStage.open();
  annSigning = await stage.approver("ann");
  bobSigning = await stage.approver("bob");
});

after(async () => {
  await stage[Symbol.asyncDispose]();
});

async function as(actor: string, ...more: string[]): Promise<Client> {
  const scopes = [
    "tasks:write",
    "tasks:read",
    "sessions:write",
    "approvals:write",
    "messages:write",
    ...more,
  ];
  return stage.client.as((await stage.client.createKey({ actor, scopes })).key);
}

async function submit(client: Client, personaId: string, fields: object = {}): Promise<Json> {
  const session = await client.createSession();
  const task = await client.submit(session.id, "v1", { persona_id: personaId, ...fields });
  return await waiting(task.id);
}

function waiting(taskId: string): Promise<Json> {
  return stage.client.untilTask(taskId, ({ status }) => status === "AUTH_REQUIRED");
}

let deliveries = 0;

async function delivered(connector: { id: string; secret: string }): Promise<Json> {
  const id = `msg_${++deliveries}`;
  const { body, status } = await sendDelivery(stage.client, { connector, id, body: { type: "push" } });
  assert.equal(status, 202, JSON.stringify(body));
  return await waiting(body.task_ids[0]);
}

async function assertRefused(client: Client, task: Json): Promise<void> {
  const error = errorOf(await respond(client, task), 422);
  assert.equal(error.details.rule, "approval_policy.four_eyes");
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
  const personaId = await stage.persona({ channel: "harp", four_eyes: true });
  const task = await submit(await as("ann"), personaId);
  await bobSigning.asked(task);
  assert.equal(await annSigning.decideIfAsked(task, "approve"), false);
  await bobSigning.decide(task, "approve");
  assert.equal((await stage.ended(task)).status, "COMPLETED");
});

test("SEC-H4 four_eyes: naming another's task as parent leaves the caller as the submitter", async () => {
  const personaId = await stage.persona({ four_eyes: true });
  const [ann, bob] = [await as("ann"), await as("bob")];
  const parent = await submit(bob, personaId);
  const task = await submit(ann, personaId, { parent_task_id: parent.id });
  await assertRefused(ann, task);
  assert.equal((await respond(bob, task)).status, 200);
});

test("SEC-H4 four_eyes excepts every approver that the submitter's key may act as", async () => {
  const service = await as("service-7", "harp:approver:bob");
  const signed = await submit(service, await stage.persona({ channel: "harp", four_eyes: true }));
  await annSigning.asked(signed);
  assert.equal(await bobSigning.decideIfAsked(signed, "approve"), false);
  await annSigning.decide(signed, "approve");
  assert.equal((await stage.ended(signed)).status, "COMPLETED");

  const task = await submit(service, await stage.persona({ four_eyes: true }));
  for (const same of [await as("bob"), await as("service-8", "harp:approver:bob")]) {
    await assertRefused(same, task);
  }
});

test("SEC-H4 four_eyes refuses whoever made a connector or changed it last, for its deliveries", async () => {
  const target_persona_id = await stage.persona({ four_eyes: true });
  const [ann, bob] = [await as("ann", "connectors:write"), await as("bob", "connectors:write")];
  const connector = await ann.createConnector({ target_persona_id });
  const task = await delivered(connector);
  await assertRefused(ann, task);
  assert.equal((await respond(bob, task)).status, 200);

  const changed = await bob.call(`/v1/connectors/${connector.id}`, {
    method: "PATCH",
    body: { metadata: { by: "bob" } },
  });
  assert.equal(changed.status, 200);
  assert.equal(changed.body.set_up_by, undefined);
  const later = await delivered(connector);
  for (const one of [ann, bob]) await assertRefused(one, later);
  assert.equal((await respond(await as("carl"), later)).status, 200);
});

async function firstOf({ schedules }: Json): Promise<Json> {
  const isOurs = ({ metadata }: Json) => metadata.schedule_id === schedules[0].id;
  const found = await until(
    async () => (await stage.client.listAll("/v1/tasks")).find(isOurs),
    (one) => one !== undefined,
  );
  return await waiting(found?.id);
}

const everySecond = [{ cron: "* * * * * *", input: { text: "v1" } }];

test("SEC-H4 four_eyes refuses whoever added a schedule, for its tasks", async () => {
  const personaId = await stage.persona({ four_eyes: true });
  const [ann, bob] = [await as("ann", "personas:write"), await as("bob")];
  const patch = (schedules: object[]) =>
    ann.call(`/v1/personas/${personaId}`, { method: "PATCH", body: { schedules } });
  const task = await firstOf((await patch(everySecond)).body);
  await patch([]);
  await assertRefused(ann, task);
  assert.equal((await respond(bob, task)).status, 200);
});

test("SEC-H4 four_eyes excepts whoever asked for a change that adds a schedule, not who agreed to it", async () => {
  const personaId = await stage.persona({ channel: "harp", four_eyes: true, approvers: ["bob"] });
  const ann = await as("ann", "personas:write");
  const path = `/v1/personas/${personaId}`;
  const approval_policy = { channel: "harp", four_eyes: true };
  const body = { approval_policy, schedules: everySecond };
  assert.equal((await ann.call(path, { method: "PATCH", body })).body.schedules, undefined);
  await bobSigning.decide(personaId, "approve");
  const persona = await until(
    async () => (await stage.client.get(path)).body,
    ({ schedules }) => schedules !== undefined,
  );
  const task = await firstOf(persona);
  await ann.call(path, { method: "PATCH", body: { schedules: [] } });
  await bobSigning.asked(task);
  assert.equal(await annSigning.decideIfAsked(task, "approve"), false);
  await bobSigning.decide(task, "approve");
});

test("SEC-H5 a disabled persona with a trigger does not keep deliveries from the enabled target", async () => {
  const target_persona_id = await stage.persona({ four_eyes: true });
  const connector = await stage.client.createConnector({ target_persona_id });
  const patch = (id: string, body: object) =>
    stage.client.call(`/v1/personas/${id}`, { method: "PATCH", body });
  const triggered = await stage.persona({ four_eyes: true });
  const triggers = [{ connector_id: connector.id }];
  assert.equal((await patch(triggered, { triggers, disabled: true })).status, 200);
  const task = await delivered(connector);
  assert.equal(task.persona_id, target_persona_id);

  await patch(target_persona_id, { disabled: true });
  const refused = await sendDelivery(stage.client, { connector, id: "msg_none", body: { type: "push" } });
  assert.equal(errorOf(refused, 422).details.rule, "disabled", "nobody else does the work instead");
});
