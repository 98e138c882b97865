/** What callers and runs have in common when they write a memory. */

import type { JsonValue } from "../../store/port.ts";
import { HarnessError } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import { type MemoryContent, type MemoryOwner, type MemoryRecord, memoryIdOf } from "../kinds/memory.ts";

/** What is longer belongs into an artifact, which a memory can refer to. It is kept in place and searched. */
const contentBytesMax = 16 * 1024;
export const memoryKeyCharsMax = 200;

/** A new memory or, under a key that is known already, the old one with new content. */
export function emitMemory(
  unit: Unit,
  owner: MemoryOwner,
  key: string | null,
  content: MemoryContent,
): MemoryRecord {
  assertSize(content.content);
  const fresh = unit.envelope("memory", "memory");
  const id = key === null ? fresh.id : memoryIdOf(fresh.tenant_id, owner, key);
  const known = key === null ? undefined : unit.findIncludingDeleted("memory", id);
  if (known !== undefined) {
    const reborn = known.deleted_at === null ? {} : { created_at: unit.at };
    return unit.emit(known, "vendor.bridle.memory.updated", { changes: { ...content, ...reborn } });
  }
  const memory: MemoryRecord = { ...fresh, id, ...owner, key, ...content, deleted_at: null };
  return unit.emit(memory, "vendor.bridle.memory.created", { memory });
}

export function assertSize(content: JsonValue): void {
  const bytes = Buffer.byteLength(JSON.stringify(content));
  if (bytes <= contentBytesMax) return;
  throw new HarnessError(
    "payload_too_large",
    `A memory holds up to ${contentBytesMax} bytes of JSON, this has ${bytes}; keep an artifact and refer to it.`,
    { param: "content" },
  );
}
