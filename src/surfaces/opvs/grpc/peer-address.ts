/** For whom a connection asks: its own address, or the one that a proxy names which the operator trusts to be true. */

import ipaddr from "ipaddr.js";
import { rangeOf } from "../../../policy/address-range.ts";

/** The names that stand for ranges, as on the HTTP port. */
const namedRanges: Record<string, readonly string[]> = {
  loopback: ["127.0.0.1/8", "::1/128"],
  linklocal: ["169.254.0.0/16", "fe80::/10"],
  uniquelocal: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
};

/** More hops than this were made up. */
const hopsMax = 20;

/** Reads `X-Forwarded-For` from its end, for as long as who wrote it is trusted. */
export function createPeerAddress(trustedProxies: readonly string[]) {
  const ranges = trustedProxies.flatMap((name) => namedRanges[name] ?? [name]).map(rangeOf);
  const isTrusted = (address: string) => {
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return ranges.some((isWithin) => isWithin(parsed));
  };
  return (peer: string, forwardedFor: string | undefined): string => {
    const hops = (forwardedFor ?? "").split(",").map((hop) => hop.trim());
    let address = peer;
    for (const hop of hops.slice(-hopsMax).reverse()) {
      if (hop === "" || !isTrusted(address)) break;
      address = hop;
    }
    return address;
  };
}
