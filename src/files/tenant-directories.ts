/**
 * Moves the directories of workspaces into those of their tenants: `<workspace>` becomes `<tenant>/<workspace>`. Each is one rename, so a
 * crash leaves it in the old place or the new one, and the next start moves the rest.
 */

import { mkdir, readdir, rename } from "node:fs/promises";
import { join } from "node:path";

/** Ids are unique in a server, so a directory with the id of a workspace is no tenant's. Returns what could not be moved. */
export async function moveToTenants(
  directory: string,
  tenantOf: (workspaceId: string) => Promise<string | undefined>,
): Promise<string[]> {
  const stuck: string[] = [];
  for (const name of await namesIn(directory)) {
    const tenantId = await tenantOf(name);
    if (tenantId === undefined) continue;
    await mkdir(join(directory, tenantId), { recursive: true, mode: 0o700 });
    await rename(join(directory, name), join(directory, tenantId, name)).catch(() => stuck.push(name));
  }
  return stuck;
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}
