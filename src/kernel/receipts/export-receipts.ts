/** The receipts of a workspace in the order of their chain, line by line, as a bundle that verifies alone. */

import type { Caller } from "../../policy/caller.ts";
import { bundleFormat } from "../../receipts/bundle.ts";
import type { TenantStore } from "../../store/port.ts";
import { requireScope } from "../access/authorize.ts";
import { noteAudit } from "../audit/note.ts";
import { timestamp } from "../core/clock.ts";
import { runCommand } from "../core/dispatch.ts";
import { paginate } from "../core/paginate.ts";
import { getRecord } from "../core/read.ts";
import type { Kernel } from "../kernel.ts";
import type { ReceiptRecord } from "../kinds/receipt.ts";
import { chainOf, readReceipt } from "./read-receipts.ts";
import { publicKeys } from "./signing-keys.ts";

export async function exportReceipts(
  kernel: Kernel,
  caller: Caller,
  workspaceId: string,
): Promise<AsyncGenerator<string>> {
  const { store, issuer, clock } = kernel;
  requireScope(caller, "receipts:read");
  await getRecord({ store }, caller, "workspace", workspaceId);
  const resource = { object: "workspace", id: workspaceId };
  await runCommand(kernel, noteAudit, caller, { action: "receipts.export", resource });
  await kernel.receipts.caughtUp();
  const { size, root } = await chainOf(store.of(caller.tenantId), workspaceId);
  const header = {
    format: bundleFormat,
    workspace_id: workspaceId,
    issuer: issuer.describe().id,
    exported_at: timestamp(clock.now()),
    count: size,
    merkle_root: root,
  };
  const jwks = { keys: await publicKeys(store) };
  return lines(store.of(caller.tenantId), workspaceId, size, [header, { jwks }]);
}

async function* lines(
  store: TenantStore,
  workspaceId: string,
  size: number,
  first: readonly object[],
): AsyncGenerator<string> {
  for (const line of first) yield JSON.stringify(line);
  let count = 0;
  for await (const page of paginate(store, { kind: "receipt", by: { workspaceId } })) {
    for (const { id, body } of page) {
      const { index } = body as ReceiptRecord;
      if (index === null || index >= size) continue;
      yield JSON.stringify(await readReceipt(store, id));
      count += 1;
    }
    if (count >= size) return;
  }
}
