/** Whether there is room for more data: on the disk, above the operator's floor. */

import type { Shortage } from "../store/port.ts";
import type { Command } from "./dispatch.ts";
import { HarnessError } from "./errors.ts";
import type { KernelDeps } from "./unit.ts";

type RoomUse = Pick<Command<never, unknown>, "isAllowedWithoutRoom">;

/** Throws if the disk is short of space and the command would add data. */
export function requireRoom({ store }: Pick<KernelDeps, "store">, command: RoomUse): void {
  const shortage = command.isAllowedWithoutRoom === true ? null : store.shortage();
  if (shortage !== null) throw outOfRoom(shortage);
}

const mebibyte = 1024 * 1024;

function outOfRoom({ freeBytes, floorBytes }: Shortage): HarnessError {
  const [free, floor] = [freeBytes, floorBytes].map((bytes) => `${Math.floor(bytes / mebibyte)} MiB`);
  return new HarnessError(
    "service_unavailable",
    `The disk is almost full (${free} free, ${floor} required). The request was not applied; deleting and canceling still work.`,
    { details: { reason: "disk almost full" } },
  );
}
