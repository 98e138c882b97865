/** API keys for a person. */

import type { ApiKey, ApiKeyWithMade } from "../../sdk/client/index.ts";
import { listText, type ResourceView } from "../resources/view.ts";
import { momentText } from "../terminal/duration.ts";
import { oneLine } from "../terminal/text.ts";

export const keyView: ResourceView<ApiKey> = {
  noun: "key",
  plural: "API keys",
  make: "bridle key create",
  all: ({ apiKeys }) => apiKeys.all(),
  get: ({ apiKeys }, id) => apiKeys.get(id),
  fields: [
    { name: "Key", isColumn: true, of: ({ id }) => id },
    { name: "Name", isColumn: true, of: ({ name }) => name },
    { name: "Actor", isColumn: true, of: ({ actor }) => actor },
    { name: "Tenant", of: ({ tenant_id }) => tenant_id },
    { name: "State", isColumn: true, of: stateOf },
    {
      name: "Last used",
      isColumn: true,
      of: ({ last_used_at: at }) => (at === undefined ? "never" : momentText(at)),
    },
    { name: "Scopes", isColumn: true, of: ({ scopes }) => listText(scopes) },
    { name: "Workspaces", of: ({ workspace_ids }) => listText(workspace_ids) },
    { name: "Agents", of: ({ agent_names }) => listText(agent_names) },
    { name: "Personas", of: ({ persona_ids }) => listText(persona_ids) },
    { name: "Addresses", of: ({ allowed_cidrs }) => listText(allowed_cidrs) },
    { name: "Old secret", of: oldSecret },
    { name: "Made by", of: ({ created_by_key_id }) => created_by_key_id ?? null },
  ],
};

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
