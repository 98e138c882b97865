import assert from "node:assert/strict";
import { test } from "node:test";
import { isInRanges, isRangeWithin, normalizedRange } from "./address-ranges.ts";

test("KEY-5 ranges are normalized, and what is no range is refused", () => {
  for (const [text, range] of [
    ["10.1.2.3/8", "10.0.0.0/8"],
    ["10.1.2.3", "10.1.2.3/32"],
    ["2001:DB8::1/32", "2001:db8::/32"],
    ["::1", "::1/128"],
    ["0.0.0.0/0", "0.0.0.0/0"],
    ["::/0", "::/0"],
  ] as const)
    assert.equal(normalizedRange(text), range, text);
  for (const text of [
    ...["", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0/8", "10/8", "localhost", "10.0.0.0/8/8"],
    ...["::1/129", "::ffff:10.0.0.0/104", "10.0.0.0/8 ", "0x0a.0.0.0/8", "010.0.0.0/8"],
  ])
    assert.equal(normalizedRange(text), null, JSON.stringify(text));
});

test("KEY-5 an address is in a range of its own family, also as IPv4 in IPv6 form", () => {
  const ranges = ["10.0.0.0/8", "2001:db8::/32"];
  for (const address of ["10.255.0.1", "::ffff:10.0.0.1", "2001:db8:1::1"])
    assert.equal(isInRanges(address, ranges), true, address);
  for (const address of [
    "11.0.0.1",
    "2001:db9::1",
    "::1",
    "",
    "unknown",
    "::ffff:11.0.0.1",
    "10.0.0.1, 1.1.1.1",
  ])
    assert.equal(isInRanges(address, ranges), false, address);
  assert.equal(isInRanges("10.0.0.1", ["::/0"]), false);
  assert.equal(isInRanges("::1", ["0.0.0.0/0"]), false);
});

test("KEY-5 a range is within another when all of its addresses are", () => {
  assert.equal(isRangeWithin("10.1.0.0/16", ["192.168.0.0/16", "10.0.0.0/8"]), true);
  assert.equal(isRangeWithin("10.0.0.0/8", ["10.0.0.0/8"]), true);
  assert.equal(isRangeWithin("10.0.0.0/7", ["10.0.0.0/8"]), false);
  assert.equal(isRangeWithin("0.0.0.0/0", ["10.0.0.0/8"]), false);
  assert.equal(isRangeWithin("::1/128", ["0.0.0.0/0"]), false);
});
