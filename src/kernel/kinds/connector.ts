/** A connector: turns what another system delivers into tasks. Its secret is kept sealed; nobody is shown it twice. */

import type { WrappedKey } from "../../policy/vault-crypto.ts";
import type { JsonObject } from "../../store/port.ts";
import type { KernelEvent } from "../core/events.ts";
import { type MembersOf, picked } from "./picked.ts";
import type { Resource } from "./resource.ts";
import type { Submitter } from "./submitter.ts";

export const connectorStatuses = ["ACTIVE", "PAUSED", "FAILED", "DISABLED"] as const;
export type ConnectorStatus = (typeof connectorStatuses)[number];

export interface DedupePolicy {
  /** How long a delivery id is remembered, at least. */
  window_seconds: number;
}

export interface ConnectorSettings {
  status: ConnectorStatus;
  /** The types of deliveries that become tasks; none listed means all. */
  event_kinds: string[];
  dedupe_policy: DedupePolicy;
  target_persona_id: string | null;
  target_session_id: string | null;
  metadata: JsonObject;
}

export interface ConnectorRecord extends Resource<"connector">, ConnectorSettings {
  provider: "webhook";
  workspace_id: string;
  /** The secret that deliveries are signed with, sealed with a key of its own; nothing once it was deleted. */
  sealed_secret: string;
  data_key: WrappedKey | null;
  /** The session that was made for it because none was named. */
  own_session_id: string | null;
  deleted_at: string | null;
  created_by_key_id?: string;
  /** Who made it or changed it last. */
  set_up_by?: Submitter;
}

export type ConnectorChanges = Partial<ConnectorSettings> & {
  own_session_id?: string;
  set_up_by?: Submitter;
};

const changeable: MembersOf<ConnectorChanges> = {
  status: true,
  event_kinds: true,
  dedupe_policy: true,
  target_persona_id: true,
  target_session_id: true,
  metadata: true,
  own_session_id: true,
  set_up_by: true,
};

export function foldConnector(connector: ConnectorRecord, event: KernelEvent): ConnectorRecord {
  const at = event.createdAt;
  switch (event.event) {
    case "vendor.bridle.connector.updated":
      return { ...connector, ...picked(event.payload.changes, changeable), updated_at: at };
    case "vendor.bridle.connector.deleted":
      return { ...connector, sealed_secret: "", data_key: null, deleted_at: at, updated_at: at };
    case "vendor.bridle.connector.data_key_rewrapped":
      return { ...connector, data_key: event.payload.data_key, updated_at: at };
    default:
      return connector;
  }
}
