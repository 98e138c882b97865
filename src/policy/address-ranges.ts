/** Ranges of addresses that a key may be used from: IPv4 and IPv6, in CIDR notation or as single addresses. */

import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

type Range = [address: ipaddr.IPv4 | ipaddr.IPv6, bits: number];

/** The range in one form, or null when it is none: `10.1.2.3/8` is `10.0.0.0/8`, `10.1.2.3` is `10.1.2.3/32`. */
export function normalizedRange(text: string): string | null {
  const range = parseRange(text);
  if (range === null) return null;
  const [address, bits] = range;
  const cidr = `${address.toString()}/${bits}`;
  const family = address.kind() === "ipv4" ? ipaddr.IPv4 : ipaddr.IPv6;
  return `${family.networkAddressFromCIDR(cidr).toString()}/${bits}`;
}

/** Whether an address is in one of the ranges. An IPv4 address in IPv6 form counts as what it is. */
export function isInRanges(address: string, ranges: readonly string[]): boolean {
  if (isIP(address) === 0) return false;
  const asked = ipaddr.process(address);
  return ranges.some((text) => {
    const range = parseRange(text);
    return range !== null && range[0].kind() === asked.kind() && asked.match(range);
  });
}

/** Whether every address of a range is in one of the others. */
export function isRangeWithin(inner: string, outer: readonly string[]): boolean {
  const range = parseRange(inner);
  if (range === null) return false;
  const [address, bits] = range;
  return outer.some((text) => {
    const other = parseRange(text);
    if (other === null || other[0].kind() !== address.kind()) return false;
    return other[1] <= bits && address.match(other);
  });
}

function parseRange(text: string): Range | null {
  if (isIP(text) !== 0) {
    const address = ipaddr.process(text);
    return [address, address.kind() === "ipv4" ? 32 : 128];
  }
  const [address = "", ...rest] = text.split("/");
  if (isIP(address) === 0 || rest.length !== 1 || !ipaddr.isValidCIDR(text)) return null;
  const range = ipaddr.parseCIDR(text);
  // Requests from such addresses count as IPv4, so a range of them would match nothing.
  const isMapped = range[0] instanceof ipaddr.IPv6 && range[0].isIPv4MappedAddress();
  return isMapped ? null : range;
}
