/** Which addresses a request may go to that somebody else chose: public ones, and the operator's own only when that is set. */

import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { type Address, type IsWithin, rangeOf } from "./address-range.ts";

/** For development: this machine and its neighbours. Never link-local, where clouds keep their credentials. */
const privateRanges: ReadonlySet<string> = new Set(["loopback", "private", "carrierGradeNat", "uniqueLocal"]);
/** The well-known prefix of NAT64 (RFC 6052): its last four bytes are the IPv4 address that is meant. */
const nat64 = ipaddr.IPv6.parse("64:ff9b::");

/** Public by its form, but inside Azure it is the host of the virtual machine, which serves credentials. */
const azureHost = rangeOf("168.63.129.16");

export interface Reach {
  /** Also loopback and private addresses. */
  allowPrivate: boolean;
  /** The operator's own, whatever else allows them. */
  blocked: readonly IsWithin[];
}

/** It works by what may be reached: a range that nobody thought of is not. */
export function isReachable(address: string, { allowPrivate, blocked }: Reach): boolean {
  if (isIP(address) === 0) return false;
  const meant = addressMeant(ipaddr.parse(address));
  if ([azureHost, ...blocked].some((isWithin) => isWithin(meant))) return false;
  const range = meant.range();
  if (allowPrivate && privateRanges.has(range)) return true;
  return range === "unicast" && (meant instanceof ipaddr.IPv4 || isGlobal(meant));
}

/** An IPv4 address in the clothes of an IPv6 one is judged as what it is. */
function addressMeant(address: Address): Address {
  if (address instanceof ipaddr.IPv4) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  return address.match(nat64, 96) ? new ipaddr.IPv4(address.toByteArray().slice(12)) : address;
}

/** Everything that is assigned to be reached is in 2000::/3; the compatible form of IPv4 addresses, say, is not. */
function isGlobal({ parts: [first = 0] }: ipaddr.IPv6): boolean {
  return first >> 13 === 1;
}
