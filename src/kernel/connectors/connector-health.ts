/** How a connector is doing: failures in a row make it FAILED, with the reason; the first success brings it back. */

import { type Command, runCommand } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import type { KernelDeps, Unit } from "../core/unit.ts";
import { type ConnectorRecord, hasFailedByItself } from "../kinds/connector.ts";
import { connectorCaller } from "./connector-caller.ts";

/** A sender that tries again now and then has shown by then that it is not chance. */
const failuresMax = 5;

interface Refusal {
  connectorId: string;
  webhookId: string;
  code: string;
  reason: string;
}

export const noteFailure: Command<Refusal, null> = {
  name: "note_failed_delivery",
  scope: "connectors:write",
  decide(unit, { connectorId, webhookId, code, reason }) {
    const connector = unit.find("connector", connectorId);
    if (connector === undefined) return null;
    unit.emit(failing(unit, connector, { code, reason }), "connector.failed", {
      webhook_id: webhookId,
      code,
      reason,
    });
    return null;
  },
};

function failing(
  unit: Unit,
  connector: ConnectorRecord,
  problem: { code: string; reason: string },
): ConnectorRecord {
  // What nobody wants from it now is no fault of its own.
  if (connector.status !== "ACTIVE" && !hasFailedByItself(connector)) return connector;
  const count = (connector.failure?.count ?? 0) + 1;
  const failure = { count, ...problem, at: unit.at };
  const status = count >= failuresMax ? ({ status: "FAILED" } as const) : {};
  return unit.emit(connector, "vendor.bridle.connector.updated", { changes: { failure, ...status } });
}

/** Says in the log that something of a connector was not taken, and why. */
export async function recordFailure(
  deps: KernelDeps,
  connector: ConnectorRecord,
  webhookId: string,
  { code, message }: Pick<HarnessError, "code" | "message">,
): Promise<void> {
  const refusal = { connectorId: connector.id, webhookId, code, reason: message };
  await runCommand(deps, noteFailure, connectorCaller(connector), refusal);
}

/** Part of the commit of what was taken. */
export function noteSuccess(unit: Unit, connector: ConnectorRecord): ConnectorRecord {
  if ((connector.failure ?? null) === null) return connector;
  const back = hasFailedByItself(connector) ? ({ status: "ACTIVE" } as const) : {};
  return unit.emit(connector, "vendor.bridle.connector.updated", { changes: { failure: null, ...back } });
}

/** One that is paused may be sent to again later; one that is not may not. */
export function assertTakes(connector: ConnectorRecord): void {
  const { id, status } = connector;
  if (status === "ACTIVE" || hasFailedByItself(connector)) return;
  const code = status === "PAUSED" ? "conflict" : "policy_violation";
  throw new HarnessError(code, `Connector ${id} is ${status} and takes no deliveries.`, {
    details: { connector_id: id, status },
  });
}
