/** Delete a memory: asked for, or because its time is over. Its content goes from the document; the log keeps what was recorded. */

import type { Command } from "../core/dispatch.ts";
import { notFound } from "../core/errors.ts";
import { isExpired, type MemoryDeletion, type MemoryRecord } from "../kinds/memory.ts";

export const deleteMemory: Command<{ memoryId: string; reason: MemoryDeletion }, MemoryRecord | null> = {
  name: "delete_memory",
  scope: "memories:write",
  isAllowedWithoutRoom: true,
  decide(unit, { memoryId, reason }) {
    if (reason === "requested") {
      const memory = unit.require("memory", memoryId);
      if (isExpired(memory, unit.deps.clock.now())) throw notFound("memory", memoryId);
      return unit.emit(memory, "vendor.bridle.memory.deleted", { reason });
    }
    // It may have been deleted or written again since it was found to be over.
    const memory = unit.find("memory", memoryId);
    if (memory === undefined || !isExpired(memory, unit.deps.clock.now())) return null;
    return unit.emit(memory, "vendor.bridle.memory.deleted", { reason });
  },
};
