/** Record what became of telling a webhook. Only the harness itself does this. */

import { systemCaller } from "../../policy/caller.ts";
import { type Command, runCommand } from "../core/dispatch.ts";
import type { KernelDeps } from "../core/unit.ts";
import type { PushAttemptFailed, PushConfigRecord, PushDelivered, PushGaveUp } from "../kinds/push-config.ts";

export type PushReport =
  | { outcome: "delivered"; payload: PushDelivered }
  | { outcome: "attempt_failed"; payload: PushAttemptFailed }
  | { outcome: "gave_up"; payload: PushGaveUp };

const recordReport: Command<{ id: string; revision: number; report: PushReport }, PushConfigRecord | null> = {
  name: "report_push",
  scope: "admin",
  decide(unit, { id, revision, report }) {
    const config = unit.find("push_config", id);
    // It was deleted, or replaced, while the webhook was told.
    if (config === undefined || config.state !== "active" || config.revision !== revision) return null;
    switch (report.outcome) {
      case "delivered":
        return unit.emit(config, "vendor.bridle.push_config.delivered", report.payload);
      case "attempt_failed":
        return unit.emit(config, "vendor.bridle.push_config.attempt_failed", report.payload);
      case "gave_up":
        return unit.emit(config, "vendor.bridle.push_config.gave_up", report.payload);
    }
  },
};

/** The config as it is after it; null when it is not there any more, or is another one. */
export async function reportPush(
  deps: KernelDeps,
  { id, tenant_id, revision }: PushConfigRecord,
  report: PushReport,
): Promise<PushConfigRecord | null> {
  return await runCommand(deps, recordReport, systemCaller(tenant_id), { id, revision, report });
}
