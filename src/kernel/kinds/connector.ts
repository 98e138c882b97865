/** A connector: turns what another system delivers, or shows when it is asked, into tasks, messages or events. Its secret is kept sealed. */

import type { WrappedKey } from "../../policy/vault-crypto.ts";
import type { JsonObject } from "../../store/port.ts";
import type { KernelEvent } from "../core/events.ts";
import { type MembersOf, picked } from "./picked.ts";
import type { Resource } from "./resource.ts";
import type { Submitter } from "./submitter.ts";

export const connectorStatuses = ["ACTIVE", "PAUSED", "FAILED", "DISABLED"] as const;
export type ConnectorStatus = (typeof connectorStatuses)[number];

/** Who sends: anybody who signs as Standard Webhooks says, GitHub, Slack; or nobody, and a URL is asked. */
export const connectorProviders = ["webhook", "github", "slack", "polling"] as const;
export type ConnectorProvider = (typeof connectorProviders)[number];

/** What a delivery becomes. */
export const connectorOutputs = ["task", "message", "event"] as const;
export type ConnectorOutput = (typeof connectorOutputs)[number];

export interface DedupePolicy {
  /** How long a delivery id is remembered, at least. */
  window_seconds: number;
}

/** What is asked for new items, and where in its JSON they are. */
export interface Polling {
  url: string;
  interval_seconds: number;
  /** Names of members, with dots between them; empty when the answer is the list. */
  items_path: string;
  /** From an item to its id. */
  id_path: string;
  /** The name under which the id of the last item is sent along. */
  cursor_param?: string;
}

/** How far it was polled: the id of the last item, and short hashes of the ids in the last answer. */
export interface Polled {
  cursor: string | null;
  seen: string[];
}

/** Failures since the last success. */
export interface ConnectorFailure {
  count: number;
  code: string;
  reason: string;
  at: string;
}

export interface ConnectorSettings {
  status: ConnectorStatus;
  /** The types of deliveries that are passed on; none listed means all. */
  event_kinds: string[];
  dedupe_policy: DedupePolicy;
  target_persona_id: string | null;
  target_session_id: string | null;
  metadata: JsonObject;
  /** A task unless it is said. */
  emits?: ConnectorOutput;
  polling?: Polling;
}

export interface ConnectorRecord extends Resource<"connector">, ConnectorSettings {
  provider: ConnectorProvider;
  workspace_id: string;
  /** What deliveries are signed with, or polling is authorized by, sealed with a key of its own; nothing when there is none. */
  sealed_secret: string;
  data_key: WrappedKey | null;
  /** The session that was made for it because none was named. */
  own_session_id: string | null;
  polled?: Polled;
  failure?: ConnectorFailure | null;
  deleted_at: string | null;
  created_by_key_id?: string;
  /** Who made it or changed it last. */
  set_up_by?: Submitter;
}

export type ConnectorChanges = Partial<ConnectorSettings> & {
  own_session_id?: string;
  set_up_by?: Submitter;
  polled?: Polled;
  failure?: ConnectorFailure | null;
};

const changeable: MembersOf<ConnectorChanges> = {
  status: true,
  event_kinds: true,
  dedupe_policy: true,
  target_persona_id: true,
  target_session_id: true,
  metadata: true,
  emits: true,
  polling: true,
  own_session_id: true,
  set_up_by: true,
  polled: true,
  failure: true,
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

/** One that the server itself has given up on: it may still show that it works again. A person's FAILED stays. */
export function hasFailedByItself({ status, failure }: ConnectorRecord): boolean {
  return status === "FAILED" && (failure ?? null) !== null;
}

/** Since when it is polled; null for those that are not, or not now. */
export function connectorWakeAt(connector: ConnectorRecord): number | null {
  const { provider, status, deleted_at, created_at } = connector;
  const isOn = status === "ACTIVE" || hasFailedByItself(connector);
  if (provider !== "polling" || deleted_at !== null || !isOn) return null;
  return Date.parse(created_at);
}
