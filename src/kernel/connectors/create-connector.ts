/** Create a connector. Its signing secret is in the answer and nowhere else, ever; what is kept is sealed. */

import { randomBytes } from "node:crypto";
import { isBoundToAgents } from "../../policy/caller.ts";
import { OutboundRefused } from "../../policy/outbound.ts";
import { newDataKey, sealSecret } from "../../policy/vault-crypto.ts";
import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import type { ConnectorProvider, ConnectorRecord, ConnectorSettings } from "../kinds/connector.ts";
import { callerAsSubmitter } from "../kinds/submitter.ts";
import { wrapFor, wrappingLock } from "../vaults/vaults.ts";

/** What a delivery is signed with: Standard Webhooks asks for 24 to 64 bytes. */
const secretBytes = 32;
const givenCharsMax = 1000;

export type CreateConnector = ConnectorSettings & {
  workspaceId: string;
  provider: ConnectorProvider;
  /** What the other side signs with, or is asked with, where it says that itself. */
  givenSecret?: string | undefined;
};

export interface CreatedConnector {
  record: ConnectorRecord;
  /** Null when there is none to show: it was given, or the answer is repeated. */
  secret: string | null;
}

export const createConnector: Command<CreateConnector, CreatedConnector> = {
  name: "create_connector",
  scope: "connectors:write",
  audit: (_, { record }) => audited("connector.create", record, { workspace_id: record.workspace_id }),
  decide(unit, { workspaceId, provider, givenSecret, ...settings }) {
    const workspace = unit.require("workspace", workspaceId);
    assertTargets(unit, workspace.id, settings);
    assertPolling(unit, provider, settings.polling);
    requireOwnTarget(unit, settings.target_persona_id);
    const envelope = unit.envelope("connector", "connector");
    const secret = givenSecret ?? generatedSecret(provider);
    assertSecret(provider, givenSecret);
    unit.hold(wrappingLock);
    const connector: ConnectorRecord = {
      ...envelope,
      ...settings,
      provider,
      workspace_id: workspace.id,
      ...sealed(unit, envelope, secret),
      own_session_id: null,
      deleted_at: null,
      ...unit.madeBy,
      set_up_by: callerAsSubmitter(unit.caller),
    };
    const record = unit.emit(connector, "vendor.bridle.connector.created", { connector });
    return { record, secret: givenSecret === undefined ? secret : null };
  },
  forRecord: ({ record }) => ({ record, secret: null }),
  // A plain hash of a short secret is as good as the secret.
  fingerprint: (deps, canonical) => deps.masterKeys.fingerprint(canonical),
};

function generatedSecret(provider: ConnectorProvider): string | null {
  if (provider === "webhook") return `whsec_${randomBytes(secretBytes).toString("base64")}`;
  return provider === "github" ? randomBytes(secretBytes).toString("hex") : null;
}

function assertSecret(provider: ConnectorProvider, given: string | undefined): void {
  const problem =
    provider === "slack" && given === undefined
      ? "secret is required: the signing secret of the Slack app."
      : provider === "webhook" && given !== undefined
        ? "secret is made by the server for the provider webhook."
        : given !== undefined && (given === "" || given.length > givenCharsMax)
          ? `secret has 1 to ${givenCharsMax} characters.`
          : null;
  if (problem !== null) throw new HarnessError("invalid_request", problem, { param: "secret" });
}

/** Only a connector that asks says where; and the address must be one that may be asked. */
export function assertPolling(
  unit: Unit,
  provider: ConnectorProvider,
  polling: ConnectorSettings["polling"],
): void {
  const refuse = (param: string, message: string) => new HarnessError("invalid_request", message, { param });
  if (provider === "polling" && polling === undefined)
    throw refuse("polling", "polling is required for the provider polling.");
  if (polling === undefined) return;
  if (provider !== "polling")
    throw refuse("polling", `polling is for the provider polling only, and not for ${provider}.`);
  try {
    unit.deps.outbound.check(polling.url);
  } catch (error) {
    if (!(error instanceof OutboundRefused)) throw error;
    throw refuse("polling.url", `polling.url cannot be asked: ${error.message}`);
  }
}

type Sealed = Pick<ConnectorRecord, "sealed_secret" | "data_key">;

function sealed(unit: Unit, envelope: { id: string; tenant_id: string }, secret: string | null): Sealed {
  if (secret === null) return { sealed_secret: "", data_key: null };
  const dataKey = newDataKey();
  return {
    sealed_secret: sealSecret(dataKey, secret, [envelope.tenant_id, envelope.id]),
    data_key: wrapFor(unit.deps, envelope, dataKey, 1),
  };
}

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
