import assert from "node:assert/strict";
import { test } from "node:test";
import { createPeerAddress } from "./peer-address.ts";

test("GRP-20 takes the caller's address only from trusted proxies", () => {
  // Given proxies of all kinds, when the address of a caller is asked for, then only what trusted ones say is believed.
  const cases: [trusted: string[], peer: string, forwarded: string | undefined, expected: string][] = [
    [[], "127.0.0.1", "203.0.113.9", "127.0.0.1"],
    [["loopback"], "127.0.0.1", undefined, "127.0.0.1"],
    [["loopback"], "::ffff:127.0.0.1", "203.0.113.9", "203.0.113.9"],
    [["loopback"], "::1", "2001:db8::1", "2001:db8::1"],
    [["loopback"], "198.51.100.1", "203.0.113.9", "198.51.100.1"],
    [["loopback", "10.0.0.0/8"], "127.0.0.1", "1.2.3.4, 203.0.113.9, 10.9.9.9", "203.0.113.9"],
    [["uniquelocal"], "192.168.1.1", "fc00::1, 172.16.0.1", "fc00::1"],
    [["2001:db8::/32"], "2001:db8::5", "203.0.113.9", "203.0.113.9"],
    [["127.0.0.1"], "127.0.0.1", "nonsense", "nonsense"],
    [["127.0.0.1"], "127.0.0.1", " , ", "127.0.0.1"],
  ];
  for (const [trusted, peer, forwarded, expected] of cases) {
    assert.equal(createPeerAddress(trusted)(peer, forwarded), expected, `${trusted} ${peer} ${forwarded}`);
  }
});
