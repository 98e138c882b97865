/** The bucket: how it empties, fills and is forgotten. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { addressGroup, RateLimit } from "./rate-limit.ts";

test("SEC-3 an address that fails too often has to wait, others do not, and the wait expires", () => {
  // Given a limit, when one address fails as often, then it waits and others do not, and time makes it good.
  let now = 0;
  const limit = new RateLimit(3, () => now);
  for (let n = 0; n < 3; n++) {
    assert.equal(limit.secondsToWait("a"), 0);
    limit.count("a");
  }
  assert.equal(limit.secondsToWait("a"), 20);
  assert.equal(limit.secondsToWait("b"), 0);
  now += 19_000;
  assert.equal(limit.secondsToWait("a"), 1);
  now += 1000;
  assert.equal(limit.secondsToWait("a"), 0);
  limit.count("a");
  assert.equal(limit.secondsToWait("a"), 20);
  now += 10 * 60_000;
  for (let n = 0; n < 3; n++) limit.count("a");
  assert.equal(limit.secondsToWait("a"), 20, "no more than a minute's worth is saved up");
});

test("SEC-3 given a clock that goes back, when it does, then nobody waits longer than before", () => {
  let now = 1_000_000;
  const limit = new RateLimit(1, () => now);
  limit.count("a");
  now -= 500_000;
  assert.equal(limit.secondsToWait("a"), 60);
});

test("SEC-3 a full rate limit table forgets the oldest addresses and keeps the newest", () => {
  // Given more addresses than are kept, when the newest fail, then the oldest are forgotten and the newest are not.
  const limit = new RateLimit(1, () => 0);
  for (let n = 0; n < 10_001; n++) limit.count(`address ${n}`);
  assert.equal(limit.secondsToWait("address 0"), 0);
  assert.equal(limit.secondsToWait("address 1"), 60);
  assert.equal(limit.secondsToWait("address 10000"), 60);
});

test("SEC-3 counts IPv4 by address and IPv6 by subscriber network", () => {
  // Given addresses, when they are grouped, then IPv4 counts one by one and IPv6 by the network that one subscriber has.
  assert.equal(addressGroup("192.0.2.1"), "192.0.2.1");
  assert.equal(addressGroup("::ffff:192.0.2.1"), "::ffff:192.0.2.1");
  assert.equal(addressGroup("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
  assert.equal(addressGroup("2001:db8:1:2::9"), "2001:db8:1:2::/64");
  assert.equal(addressGroup("2001:db8::9"), "2001:db8:0:0::/64");
  assert.equal(addressGroup("::1"), "0:0:0:0::/64");
  assert.equal(addressGroup("x".repeat(10_000)), "unknown");
});
