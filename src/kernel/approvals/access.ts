/** What the enforcer has beside the log: a key of its own, a name, and ways to gateways. */

import { createHmac, randomBytes } from "node:crypto";
import type { GatewayLink } from "../../harp/core/gateway-link.ts";
import { skewMsDefault } from "../../harp/core/times.ts";
import { deriveKey } from "../../policy/enforcer-key.ts";

/** Under the limit that gateways have by default, a day. */
export const exchangeMsMaxDefault = 12 * 60 * 60 * 1000;

export const keyWaitMsDefault = 24 * 60 * 60 * 1000;

export interface ApprovalAccess {
  /** A code over a text that only this server can make. `purpose` keeps codes for one thing from being good for another. */
  mac(purpose: "binding" | "registry", text: string): string;
  /** A key for another use, the same for the same label as long as the server keeps its key file. */
  derive(label: string): Uint8Array;
  /** The public half of the enforcer's key, as it is shown to approvers while pairing. */
  enforcerBundle: string;
  enforcerLabel: string;
  /** The gateway of a tenant; null when it has none. */
  linkOf(tenantId: string): GatewayLink | null;
  /** How long a further key of an approver waits before it counts without that approver's signature; 0 does not wait. */
  keyWaitMs: number;
  /** How far clocks may be apart. */
  skewMs: number;
  /** The longest that an approver is given for one request; a gateway has such a limit too. */
  exchangeMsMax: number;
}

/** For a kernel that lives as long as its process and asks nobody. */
export function withoutGateway(): ApprovalAccess {
  const key = randomBytes(32);
  return {
    mac: (purpose, text) => createHmac("sha256", key).update(`${purpose}\n${text}`).digest("hex"),
    derive: (label) => deriveKey(key, label),
    enforcerBundle: "",
    enforcerLabel: "bridle",
    linkOf: () => null,
    keyWaitMs: keyWaitMsDefault,
    skewMs: skewMsDefault,
    exchangeMsMax: exchangeMsMaxDefault,
  };
}
