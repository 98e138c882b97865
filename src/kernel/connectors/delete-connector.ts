/** Delete a connector. From then on its deliveries are refused like those of one that never was. */

import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import type { ConnectorRecord } from "../kinds/connector.ts";

export const deleteConnector: Command<{ connectorId: string }, ConnectorRecord> = {
  name: "delete_connector",
  scope: "connectors:write",
  audit: (_, connector) => audited("connector.delete", connector),
  isAllowedWithoutRoom: true,
  decide(unit, { connectorId }) {
    const connector = unit.require("connector", connectorId);
    return unit.emit(connector, "vendor.bridle.connector.deleted", {});
  },
};
