/** Polls connectors whose time has come, a few at a time. When each was polled last is known to this process only: a start polls all. */

import type { Logger } from "pino";
import { pollConnector } from "../../kernel/connectors/poll-connector.ts";
import { steadyNow } from "../../kernel/core/clock.ts";
import type { WholeKernel } from "../../kernel/kernel.ts";
import { type ConnectorRecord, connectorWakeAt } from "../../kernel/kinds/connector.ts";
import { Periodic } from "../../periodic.ts";
import { DueReader } from "./due-reader.ts";
import { WorkQueue } from "./work-queue.ts";

const lookEveryMs = 1000;
const concurrency = 4;
/** One that fails is asked less and less often. */
const mostMs = 60 * 60_000;
const failuresMost = 6;

/** Returns the way to stop it. */
export function startConnectorPoller(kernel: WholeKernel, logger: Logger): () => Promise<void> {
  const next = new Map<string, number>();
  const now = () => steadyNow(kernel.clock);

  async function poll(id: string, signal: AbortSignal): Promise<boolean> {
    const document = await kernel.store.get("connector", id);
    const connector = document?.body as ConnectorRecord | undefined;
    if (connector?.polling === undefined || connectorWakeAt(connector) === null) {
      next.delete(id);
      return false;
    }
    const { interval_seconds } = connector.polling;
    const intervalMs = interval_seconds * 1000;
    next.set(id, now() + intervalMs);
    const opened = await kernel.operations.openConnector(id);
    if (await pollConnector(kernel, connector, opened?.secret ?? null, signal)) return false;
    const failures = Math.min(failuresMost, (connector.failure?.count ?? 0) + 1);
    next.set(id, now() + Math.max(intervalMs, Math.min(mostMs, intervalMs * 2 ** failures)));
    return false;
  }

  const onError = (error: unknown, id?: string) =>
    logger.error(
      { event: "connector.poll_failed", err: error, ...(id === undefined ? {} : { connector_id: id }) },
      "A connector could not be polled; retrying",
    );
  const queue = new WorkQueue({
    concurrency,
    work: poll,
    onError,
    isResting: () => kernel.store.shortage() !== null,
  });
  const due = new DueReader({ store: kernel.store, kind: "connector" });
  const looker = new Periodic({
    everyMs: lookEveryMs,
    async work() {
      due.restart();
      for await (const id of due.read(kernel.clock.now())) {
        if ((next.get(id) ?? 0) <= now() && !queue.isWorkingOn(id)) queue.add(id, id);
      }
    },
    onError,
  });
  void looker.start();
  return async () => {
    await looker.stop();
    await queue.stop(0);
  };
}
