/** Delete a push config: nothing more is sent, not even what is being tried. Deleting what is not there is done already. */

import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import { pushConfigId } from "../kinds/push-config.ts";

export const deletePushConfig: Command<{ taskId: string; configId: string }, null> = {
  name: "delete_push_config",
  scope: "tasks:write",
  audit: ({ taskId, configId }, _, { caller }) =>
    // What ends with its session or its key is told by their records.
    caller.actor === "system"
      ? null
      : audited(
          "webhook.delete",
          { object: "push_config", id: pushConfigId(taskId, configId) },
          { task_id: taskId },
        ),
  isAllowedWithoutRoom: true,
  decide(unit, { taskId, configId }) {
    unit.hold(taskId);
    const task = unit.require("task", taskId);
    const config = unit.find("push_config", pushConfigId(task.id, configId));
    if (config !== undefined) unit.emit(config, "vendor.bridle.push_config.deleted", {});
    return null;
  },
};
