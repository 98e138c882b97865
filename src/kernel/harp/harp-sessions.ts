/** What is known of a session of an agent that HARP-SESSION told of. */

import type { Caller } from "../../policy/caller.ts";
import type { JsonValue } from "../../store/port.ts";
import { requireScope } from "../access/authorize.ts";
import { type Content, unsealShown } from "../core/content.ts";
import { findVisible, type ReadDeps } from "../core/read.ts";
import { harpSessionId } from "../kinds/harp-session.ts";

export interface HarpSessionView {
  sessionId: string;
  /** The events as they came, or what stands in the place of those that were erased. */
  start: unknown;
  status: unknown;
  snapshots: { snapshotId: string; snapshotType: string; createdAt: string; snapshotHash: string }[];
  end: unknown;
}

/** Null when nobody told of it. */
export async function readHarpSession(
  { store }: ReadDeps,
  caller: Caller,
  sessionId: string,
): Promise<HarpSessionView | null> {
  requireScope(caller, "sessions:read");
  // It is no workspace's, and so nothing for a key that is bound to some.
  if (caller.workspaceIds !== null) return null;
  const record = await findVisible(store, caller, "harp_session", harpSessionId(caller.tenantId, sessionId));
  if (record === undefined) return null;
  const shown = async (content: Content<object> | null): Promise<object | JsonValue> => {
    if (content === null) return null;
    const found = await unsealShown(content, store.of(caller.tenantId));
    return "erased" in found ? found.erased : found.value;
  };
  return {
    sessionId: record.harp_session_id,
    start: await shown(record.start),
    status: await shown(record.status),
    snapshots: record.snapshots.map(({ id, type, created_at, hash }) => ({
      snapshotId: id,
      snapshotType: type,
      createdAt: created_at,
      snapshotHash: hash,
    })),
    end: await shown(record.end),
  };
}
