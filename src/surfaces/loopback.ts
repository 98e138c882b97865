/** Which addresses and names never leave this machine. */

import { BlockList, isIP } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

export function isLoopbackAddress(address: string | undefined): boolean {
  if (address === undefined || isIP(address) === 0) return false;
  const plain = address.replace(/^::ffff:/, "");
  return loopback.check(plain, isIP(plain) === 6 ? "ipv6" : "ipv4");
}

/** An address, in brackets or not, or the one name that every system resolves to itself. */
export function isLoopbackHost(host: string): boolean {
  return host.toLowerCase() === "localhost" || isLoopbackAddress(host.replace(/^\[(.*)\]$/, "$1"));
}
