/** SEC-L4: nobody's tickets push out another's. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Tickets } from "../../src/policy/tickets.ts";

test("SEC-L4 a key that asks for many tickets loses its own oldest and nobody else's", () => {
  const tickets = new Tickets(() => 0, 60_000);
  const { ticket: victims } = tickets.issue("victim");
  const attackers = Array.from({ length: 20_000 }, () => tickets.issue("attacker").ticket);
  assert.equal(tickets.redeem(victims), "victim");
  assert.equal(tickets.redeem(attackers[0] ?? ""), null);
  assert.equal(tickets.redeem(attackers.at(-1) ?? ""), "attacker");
});

test("SEC-L4 tickets that were never used are forgotten when their time is over", () => {
  let now = 0;
  const tickets = new Tickets(() => now, 1000);
  const { ticket } = tickets.issue("one");
  now = 1000;
  const { ticket: other } = tickets.issue("two");
  assert.equal(tickets.redeem(ticket), null);
  assert.equal(tickets.redeem(other), "two");
  assert.equal(tickets.redeem(other), null, "a ticket is good once");
});
