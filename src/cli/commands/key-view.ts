/** API keys for a person. */

import type { ApiKey, ApiKeyWithMade } from "../../sdk/client/index.ts";
import { momentText } from "../terminal/duration.ts";
import { facts, table } from "../terminal/table.ts";
import { oneLine } from "../terminal/text.ts";

export function listKeys(keys: readonly ApiKey[]): string {
  if (keys.length === 0) return "There is no API key. Make one with `bridle key create`.\n";
  const rows = keys.map((key) => [
    key.id,
    key.name,
    key.actor,
    stateOf(key),
    key.last_used_at === undefined ? "never" : momentText(key.last_used_at),
    key.scopes.join(" "),
  ]);
  return table(["KEY", "NAME", "ACTOR", "STATE", "LAST USED", "SCOPES"], rows);
}

export function describeKey(key: ApiKey): string {
  const rows: [string, string | null][] = [
    ["Key", key.id],
    ["Name", key.name],
    ["Actor", key.actor],
    ["Tenant", key.tenant_id],
    ["State", stateOf(key)],
    ["Scopes", key.scopes.join(" ")],
    ["Workspaces", listOf(key.workspace_ids)],
    ["Agents", listOf(key.agent_names)],
    ["Personas", listOf(key.persona_ids)],
    ["Addresses", listOf(key.allowed_cidrs)],
    ["Last used", key.last_used_at === undefined ? "never" : momentText(key.last_used_at)],
    ["Old secret", oldSecret(key)],
    ["Made by", key.created_by_key_id ?? null],
  ];
  return facts(rows);
}

/** What a revoked key leaves behind is somebody's to look at. */
export function describeRevoked({ id, made }: ApiKeyWithMade): string {
  const rows: [string, readonly string[]][] = [
    ["Keys that ended with it", made.api_key_ids],
    ["Personas that it made", made.persona_ids],
    ["Schedules that it made", made.schedule_ids],
    ["Connectors that it made", made.connector_ids],
  ];
  const lines = rows.flatMap(([what, ids]) => (ids.length === 0 ? [] : [`${what}: ${ids.join(" ")}`]));
  return [`${id} no longer works.`, ...lines].map((line) => `${oneLine(line)}\n`).join("");
}

function stateOf({ revoked_at, expires_at }: ApiKey): string {
  if (revoked_at !== null) return `revoked ${momentText(revoked_at)}`;
  if (expires_at === null) return "never expires";
  return `${Date.parse(expires_at) <= Date.now() ? "expired" : "expires"} ${momentText(expires_at)}`;
}

function oldSecret({ previous_key_expires_at: until }: ApiKey): string | null {
  return until === undefined || Date.parse(until) <= Date.now() ? null : `works until ${momentText(until)}`;
}

function listOf(items: readonly string[] | null | undefined): string | null {
  return items == null ? null : items.join(" ");
}
