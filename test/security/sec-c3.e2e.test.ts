/** SEC-C3: a log must not read the transcript of another session. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Attack, foreignLog, startAttack } from "../support/attack.ts";
import { exportOf, importInto } from "../support/exported-log.ts";

let attack: Attack;
before(async () => {
  attack = await startAttack();
});
after(() => attack[Symbol.asyncDispose]());

test("SEC-C3 the transcript of an imported session is its own, whatever ranges its log names", async () => {
  const { attacker, victim } = attack;
  const theirs = await victim.createSession();
  await victim.append(theirs.id, "merger talks, keep private");
  const log = await foreignLog(attack);
  const { session } = log.event("session.created").payload;
  session.ranges = [{ session_id: theirs.id, after: 0, through: null }];
  const { status, body } = await importInto(attacker, log.text());
  assert.equal(status, 201, JSON.stringify(body));
  const messages = await attacker.listAll(`/v1/sessions/${body.id}/messages`);
  assert.deepEqual(
    messages.map(({ session_id }) => session_id),
    messages.map(() => body.id),
  );
  assert.ok(messages.length > 0);
  const forked = await attacker.post(`/v1/sessions/${body.id}/fork`);
  const everything = [messages, forked.body, await exportOf(attacker, body.id)];
  assert.ok(!JSON.stringify(everything).includes("merger"));
});
