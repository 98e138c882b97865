/** The enforcer's key and its ways to gateways: to the one in this process for every tenant, or to one elsewhere. */

import { join } from "node:path";
import type { GatewayLink } from "../harp/core/gateway-link.ts";
import { newEnforcerBundle } from "../harp/core/keys.ts";
import { remoteLink } from "../harp/core/remote-link.ts";
import { skewMsDefault } from "../harp/core/times.ts";
import { embeddedLink } from "../harp/gateway/embedded-link.ts";
import type { Gateway } from "../harp/gateway/gateway.ts";
import { type ApprovalAccess, exchangeMsMaxDefault } from "../kernel/approvals/access.ts";
import { defaultTenantId } from "../kernel/workspaces/ensure-tenant.ts";
import { loadEnforcerKey } from "../policy/enforcer-key.ts";
import type { EnforcerConfig } from "./config.ts";

export async function openApprovalAccess(
  { id: enforcerId, label: enforcerLabel, remoteGateway, keyWaitMs }: EnforcerConfig,
  { dataDirectory, gateway }: { dataDirectory: string; gateway: Gateway },
): Promise<ApprovalAccess> {
  const key = await loadEnforcerKey(join(dataDirectory, "enforcer.key"), async () => {
    const { bundle } = await newEnforcerBundle(new Date());
    return bundle;
  });
  const links = new Map<string, GatewayLink>();
  const open = (tenantId: string): GatewayLink | null => {
    if (remoteGateway === null) return embeddedLink(gateway, { tenantId, enforcerId, enforcerLabel });
    // Its key speaks for one enforcer, and that is the one of the tenant which runs the server.
    return tenantId === defaultTenantId ? remoteLink({ ...remoteGateway, enforcerId, enforcerLabel }) : null;
  };
  return {
    mac: key.mac,
    derive: key.derive,
    enforcerBundle: key.bundle,
    enforcerLabel,
    linkOf(tenantId) {
      const link = links.get(tenantId) ?? open(tenantId);
      if (link !== null) links.set(tenantId, link);
      return link;
    },
    keyWaitMs,
    skewMs: skewMsDefault,
    exchangeMsMax: exchangeMsMaxDefault,
  };
}
