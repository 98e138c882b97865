/** SEC-L3: an import says at once that an id is in use, and no more about whose it is. */

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

test("SEC-L3 an id of another tenant is refused as one in use, without saying whose or which", async () => {
  const { attacker, victim } = attack;
  const log = await foreignLog(attack);
  const theirs = await victim.createSession();
  const taken = new Log(log.text().replaceAll(log.header.session_id, theirs.id));
  const { message, details } = errorOf(await importInto(attacker, taken.text()), 409);
  assert.equal(message, "Something in this file has an id that is in use already.");
  assert.deepEqual(details, {});
});
