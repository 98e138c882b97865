/** Create a connector. Its signing secret is in the answer and nowhere else, ever; what is kept is sealed. */

import { randomBytes } from "node:crypto";
import { isBoundToAgents } from "../../policy/caller.ts";
import { newDataKey, sealSecret } from "../../policy/vault-crypto.ts";
import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import type { ConnectorRecord, ConnectorSettings } from "../kinds/connector.ts";
import { callerAsSubmitter } from "../kinds/submitter.ts";
import { wrapFor, wrappingLock } from "../vaults/vaults.ts";

/** What a delivery is signed with: Standard Webhooks asks for 24 to 64 bytes. */
const secretBytes = 32;

export type CreateConnector = ConnectorSettings & { workspaceId: string };

export interface CreatedConnector {
  record: ConnectorRecord;
  /** Null when the answer is repeated: the secret was shown once. */
  secret: string | null;
}

export const createConnector: Command<CreateConnector, CreatedConnector> = {
  name: "create_connector",
  scope: "connectors:write",
  audit: (_, { record }) => audited("connector.create", record, { workspace_id: record.workspace_id }),
  decide(unit, { workspaceId, ...settings }) {
    const workspace = unit.require("workspace", workspaceId);
    assertTargets(unit, workspace.id, settings);
    requireOwnTarget(unit, settings.target_persona_id);
    const envelope = unit.envelope("connector", "connector");
    const secret = `whsec_${randomBytes(secretBytes).toString("base64")}`;
    unit.hold(wrappingLock);
    const dataKey = newDataKey();
    const connector: ConnectorRecord = {
      ...envelope,
      ...settings,
      provider: "webhook",
      workspace_id: workspace.id,
      sealed_secret: sealSecret(dataKey, secret, [envelope.tenant_id, envelope.id]),
      data_key: wrapFor(unit.deps, envelope, dataKey, 1),
      own_session_id: null,
      deleted_at: null,
      ...unit.madeBy,
      set_up_by: callerAsSubmitter(unit.caller),
    };
    return { record: unit.emit(connector, "vendor.bridle.connector.created", { connector }), secret };
  },
  forRecord: ({ record }) => ({ record, secret: null }),
};

/** Without a target, deliveries go to whichever persona the session or the tenant has. */
export function requireOwnTarget(unit: Unit, targetPersonaId: string | null): void {
  if (!isBoundToAgents(unit.caller)) return;
  if (targetPersonaId !== null) return void unit.require("persona", targetPersonaId);
  throw new HarnessError(
    "permission_denied",
    "A key bound to agents or personas needs a target_persona_id of its own for a connector.",
    { param: "target_persona_id" },
  );
}

/** Where its tasks go must be there, and in its workspace. */
export function assertTargets(
  unit: Unit,
  workspaceId: string,
  { target_persona_id, target_session_id }: Partial<ConnectorSettings>,
): void {
  if (target_persona_id != null) unit.require("persona", target_persona_id);
  if (target_session_id == null) return;
  const session = unit.require("session", target_session_id);
  if (session.workspace_id === workspaceId) return;
  throw new HarnessError("invalid_request", "The target session belongs to another workspace.", {
    param: "target_session_id",
  });
}
