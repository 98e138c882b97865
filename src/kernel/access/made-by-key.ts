/** What an API key made, for those who end it or give it a new secret. */

import type { TenantStore } from "../../store/port.ts";
import type { Records } from "../core/fold.ts";
import { paginate } from "../core/paginate.ts";
import type { ApiKeyRecord } from "../kinds/api-key.ts";
import type { PersonaRecord } from "../kinds/persona.ts";
import type { ScheduleRecord } from "../kinds/schedule.ts";

/** The ids of what a key, the keys that it made, and so on, created. */
export interface MadeByKey {
  api_key_ids: string[];
  persona_ids: string[];
  schedule_ids: string[];
  connector_ids: string[];
}

export async function madeByKey(own: TenantStore, keyId: string): Promise<MadeByKey> {
  const api_key_ids = (await descendantsOf(own, keyId)).map(({ id }) => id);
  const keyIds = new Set([keyId, ...api_key_ids]);
  return {
    api_key_ids,
    persona_ids: await idsMadeBy(own, "persona", keyIds),
    schedule_ids: await schedulesMadeBy(own, keyIds),
    connector_ids: await idsMadeBy(own, "connector", keyIds),
  };
}

/** The keys that a key made, and those that they made, and so on. */
export async function descendantsOf(own: TenantStore, keyId: string): Promise<ApiKeyRecord[]> {
  const children = new Map<string, ApiKeyRecord[]>();
  for await (const page of paginate(own, { kind: "api_key" })) {
    for (const record of page.map(({ body }) => body as ApiKeyRecord)) {
      const { created_by_key_id: parent } = record;
      if (parent === undefined) continue;
      const known = children.get(parent);
      if (known === undefined) children.set(parent, [record]);
      else known.push(record);
    }
  }
  const found: ApiKeyRecord[] = [];
  for (let next = children.get(keyId) ?? []; next.length > 0; ) {
    found.push(...next);
    next = next.flatMap(({ id }) => children.get(id) ?? []);
  }
  return found;
}

async function idsMadeBy(
  own: TenantStore,
  kind: "persona" | "connector",
  keyIds: ReadonlySet<string>,
): Promise<string[]> {
  const found: string[] = [];
  for await (const page of paginate(own, { kind })) {
    for (const record of page.map(({ body }) => body as Records[typeof kind])) {
      const isGone = "deleted_at" in record && record.deleted_at !== null;
      if (!isGone && keyIds.has(record.created_by_key_id ?? "")) found.push(record.id);
    }
  }
  return found;
}

/** Schedules are found through their personas. */
async function schedulesMadeBy(own: TenantStore, keyIds: ReadonlySet<string>): Promise<string[]> {
  const found: string[] = [];
  for await (const page of paginate(own, { kind: "persona" })) {
    for (const { schedules = [] } of page.map(({ body }) => body as PersonaRecord)) {
      for (const { id = "" } of schedules) {
        const record = (await own.get("schedule", id))?.body as ScheduleRecord | undefined;
        if (keyIds.has(record?.created_by_key_id ?? "")) found.push(id);
      }
    }
  }
  return found;
}
