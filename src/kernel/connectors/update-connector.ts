/** Change a connector: pause it, wake it, send its tasks elsewhere. */

import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import type { ConnectorRecord, ConnectorSettings } from "../kinds/connector.ts";
import { changedBy } from "../kinds/submitter.ts";
import { assertPolling, assertTargets, requireOwnTarget } from "./create-connector.ts";

export interface UpdateConnector {
  connectorId: string;
  changes: Partial<ConnectorSettings>;
}

export const updateConnector: Command<UpdateConnector, ConnectorRecord> = {
  name: "update_connector",
  scope: "connectors:write",
  audit: ({ changes }, connector) =>
    audited("connector.update", connector, { changed: Object.keys(changes) }),
  decide(unit, { connectorId, changes }) {
    const connector = unit.require("connector", connectorId);
    assertTargets(unit, connector.workspace_id, changes);
    if (changes.polling !== undefined) {
      assertPolling(unit, connector.provider, changes.polling);
      assertSameServer(connector, changes.polling.url);
    }
    const { target_persona_id = connector.target_persona_id } = changes;
    requireOwnTarget(unit, target_persona_id);
    if (Object.keys(changes).length === 0) return connector;
    const set_up_by = changedBy(unit.caller, connector.set_up_by);
    // Whoever says how it stands now begins the count anew.
    const failure = changes.status === undefined || connector.failure == null ? {} : { failure: null };
    return unit.emit(connector, "vendor.bridle.connector.updated", {
      changes: { ...changes, ...failure, set_up_by },
    });
  },
};

/** The secret is sent along: it is for the server that it was given for, and whoever changes a connector need not know it. */
function assertSameServer({ polling, data_key }: ConnectorRecord, url: string): void {
  if (data_key === null || polling === undefined) return;
  const { origin } = new URL(polling.url);
  if (new URL(url).origin === origin) return;
  throw new HarnessError(
    "policy_violation",
    `The secret of this connector is for ${origin}. Create another connector to ask another server.`,
    { param: "polling.url" },
  );
}
