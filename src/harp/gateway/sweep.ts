/** What time brings about without anybody asking: exchanges and pairings that are over, and those that are to be forgotten. */

import type { Gateway } from "./gateway.ts";
import { type Exchange, exchangeKind } from "./records/exchange.ts";
import { codeKind, pairingKind } from "./records/pairing.ts";

const pageSize = 200;

/** Everything that is due by now. */
export async function sweep(gateway: Gateway, signal?: AbortSignal): Promise<void> {
  const { exchanges } = gateway;
  await eachDue(gateway, exchangeKind, signal, async (body) => {
    // What is in the store under this kind was written as this.
    await exchanges.settle(body as Exchange);
  });
  for (const kind of [pairingKind, codeKind] as const) {
    await eachDue(gateway, kind, signal, (_body, id) => gateway.pairings.forget(kind, id));
  }
}

/** Ends what is overdue, for whoever is about to look. Costs a glance at an index when nothing is. */
export async function expireOverdue(gateway: Gateway): Promise<void> {
  await eachDue(gateway, exchangeKind, undefined, async (body) => {
    await gateway.exchanges.read(body as Exchange);
  });
}

async function eachDue(
  { deps: { store, now } }: Pick<Gateway, "deps">,
  kind: string,
  signal: AbortSignal | undefined,
  settle: (body: unknown, id: string) => Promise<void>,
): Promise<void> {
  let after = { wakeAt: -1, id: "" };
  while (signal?.aborted !== true) {
    const due = await store.due({ kind, after, through: now(), limit: pageSize });
    await Promise.all(
      due.map(async ({ id }) => {
        const document = await store.get(kind, id);
        if (document !== undefined) await settle(document.body, id);
      }),
    );
    after = due.at(-1) ?? after;
    if (due.length < pageSize) return;
  }
}
