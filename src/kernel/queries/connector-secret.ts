/** The connector that a delivery is for, and the secret that it must be signed with. For the check of a signature only. */

import type { ConnectorRecord } from "../resources/connector.ts";
import type { KernelDeps } from "../unit.ts";

export interface Opened {
  connector: ConnectorRecord;
  secret: string;
}

export async function openConnector(
  { store, secretBox }: Pick<KernelDeps, "store" | "secretBox">,
  id: string,
): Promise<Opened | null> {
  const document = await store.get("connector", id);
  if (document === undefined) return null;
  const connector = document.body as ConnectorRecord;
  if (connector.deleted_at !== null) return null;
  try {
    return { connector, secret: secretBox.open(connector.sealed_secret, connector.id) };
  } catch (cause) {
    throw new Error(`The secret of ${id} was sealed with another key than the one in secrets.key`, { cause });
  }
}
