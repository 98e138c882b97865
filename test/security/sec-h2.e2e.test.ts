/** SEC-H2: a hash must not open content of another tenant. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Attack, foreignLog, startAttack } from "../support/attack.ts";
import { errorOf, type Json } from "../support/client.ts";
import { importInto, type Log, sha256Of } from "../support/exported-log.ts";

let attack: Attack;
before(async () => {
  attack = await startAttack();
});
after(() => attack[Symbol.asyncDispose]());

const content = Buffer.from("the private plan ".repeat(1000));
const hash = sha256Of(content);

function artifactIn(log: Log, fields: Json): string {
  const { tenant_id, session_id, workspace } = log.header;
  const last = log.events.at(-1) ?? {};
  const id = `artifact_01J000000000000000000000${String(Math.random()).slice(2, 4)}`;
  const artifact = {
    ...{
      id,
      object: "artifact",
      tenant_id,
      workspace_id: workspace.id,
      session_id,
      task_id: null,
      metadata: {},
    },
    ...{
      created_at: last.created_at,
      updated_at: last.created_at,
      kind: "file",
      name: "x",
      mime_type: "text/plain",
    },
    ...{ uri: null, visibility: "public", sha256: hash, bytes: content.length, blob: hash, complete: true },
    ...{ in_receipt: false, ...fields },
  };
  const resource = { object: "artifact", id };
  log.insertAfter(last, {
    ...last,
    event: "artifact.created",
    task_id: null,
    resource,
    payload: { artifact },
  });
  return id;
}

test("SEC-H2 an imported artifact does not show content of another tenant by its hash", async () => {
  const { attacker, victim } = attack;
  const uploaded = await fetch(
    `${victim.url}/v1/artifacts/upload?workspace_id=workspace_default&visibility=internal`,
    {
      method: "POST",
      headers: victim.headers({ "content-type": "text/plain" }),
      body: content,
    },
  );
  assert.equal(uploaded.status, 201, await uploaded.text());

  const log = await foreignLog(attack);
  const id = artifactIn(log, { is_upload: true });
  const { status, body } = await importInto(attacker, log.text());
  assert.equal(status, 201, JSON.stringify(body));
  errorOf(await attacker.get(`/v1/artifacts/${id}/content`), 404);

  const another = await foreignLog(attack);
  artifactIn(another, {});
  errorOf(await importInto(attacker, another.text()), 400);
});
