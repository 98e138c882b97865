/** SEC-C2: a log must not take over a workspace of another tenant. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Attack, foreignLog, startAttack } from "../support/attack.ts";
import { errorOf } from "../support/client.ts";
import { importInto, Log } from "../support/exported-log.ts";

let attack: Attack;
before(async () => {
  attack = await startAttack();
});
after(() => attack[Symbol.asyncDispose]());

test("SEC-C2 an import into a workspace of another tenant is refused and changes nothing there", async () => {
  const { attacker, victim } = attack;
  const path = "/v1/workspaces/workspace_default/files?path=payroll.txt";
  const written = await victim.call(path, { method: "PUT", body: { content: "salaries" } });
  assert.equal(written.status, 200, JSON.stringify(written.body));
  const before = (await victim.get("/v1/workspaces/workspace_default")).body;

  const log = await foreignLog(attack);
  const moved = new Log(log.text().replaceAll("workspace_default.tenant_evil", "workspace_default"));
  moved.header.workspace.name = "mine now";
  errorOf(await importInto(attacker, moved.text()), 400);

  errorOf(await attacker.get("/v1/workspaces/workspace_default"), 404);
  errorOf(await attacker.get(path), 404);
  errorOf(await attacker.get("/v1/workspaces/workspace_default/receipts/export"), 404);
  assert.deepEqual((await victim.get("/v1/workspaces/workspace_default")).body, before);
  assert.equal((await victim.get(path)).body.content, "salaries");
  await victim.createSession();
});

test("SEC-C2 a record under the id of the workspace that its log brings does not reach another tenant", async () => {
  const { attacker, victim } = attack;
  const theirs = await victim.createSession();
  const id = "msg_01J00000000000000000000001";
  const log = await foreignLog(attack);
  const moved = new Log(log.text().replaceAll("workspace_default.tenant_evil", id));
  const said = moved.event("user.message");
  const message = { ...said.payload.message, id, tenant_id: "tenant_default", session_id: theirs.id };
  moved.insertAfter(said, { ...said, resource: { object: "message", id }, payload: { message } });
  errorOf(await importInto(attacker, moved.text()), 400);
  assert.deepEqual(await victim.listAll(`/v1/sessions/${theirs.id}/messages`), []);
});

for (const id of [
  "receipt_tree.workspace_default.0",
  "tenant_newcomer",
  "approvers_tenant_default",
  "msg_x",
]) {
  test(`SEC-C2 a log cannot take the name ${id}`, async () => {
    const log = await foreignLog(attack);
    const { resource } = log.event("user.message");
    const taken = new Log(log.text().replaceAll(resource.id, id));
    errorOf(await importInto(attack.attacker, taken.text()), 400);
  });
}
