/** Delete a connector. From then on its deliveries are refused like those of one that never was. */

import type { Command } from "../dispatch.ts";
import type { ConnectorRecord } from "../resources/connector.ts";

export const deleteConnector: Command<{ connectorId: string }, ConnectorRecord> = {
  name: "delete_connector",
  scope: "connectors:write",
  async decide(unit, { connectorId }) {
    const connector = await unit.require("connector", connectorId);
    return unit.emit(connector, "vendor.bridle.connector.deleted", {});
  },
};
