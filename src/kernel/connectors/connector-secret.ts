/** The connector that a delivery is for, and the secret that it must be signed with. For the check of a signature only. */

import { openSecret } from "../../policy/vault-crypto.ts";
import type { WholeDeps } from "../core/unit.ts";
import type { ConnectorRecord } from "../kinds/connector.ts";
import { openDataKey } from "../vaults/vaults.ts";

export interface Opened {
  connector: ConnectorRecord;
  secret: string;
}

export async function openConnector(
  deps: Pick<WholeDeps, "store" | "masterKeys">,
  id: string,
): Promise<Opened | null> {
  const document = await deps.store.get("connector", id);
  if (document === undefined) return null;
  const connector = document.body as ConnectorRecord;
  const { tenant_id, data_key, sealed_secret } = connector;
  if (data_key === null) return null;
  const dataKey = openDataKey(deps, { id, tenant_id, data_key });
  return { connector, secret: openSecret(dataKey, sealed_secret, [tenant_id, id]) };
}
