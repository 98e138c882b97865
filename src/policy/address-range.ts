/** Ranges of addresses as operators write them: `10.0.0.5`, `10.0.0.0/8`, `fd00::/8`. */

import ipaddr from "ipaddr.js";

export type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type IsWithin = (address: Address) => boolean;

/** Throws for what is no range. */
export function rangeOf(text: string): IsWithin {
  const [range, bits] = text.includes("/") ? ipaddr.parseCIDR(text) : wholeAddress(text);
  return (address) => address.kind() === range.kind() && address.match(range, bits);
}

function wholeAddress(text: string): [Address, number] {
  const address = ipaddr.process(text);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}
