/** Delete a push config: nothing more is sent, not even what is being tried. Deleting what is not there is done already. */

import type { Command } from "../dispatch.ts";
import { pushConfigId } from "../resources/push-config.ts";

export const deletePushConfig: Command<{ taskId: string; configId: string }, null> = {
  name: "delete_push_config",
  scope: "tasks:write",
  async decide(unit, { taskId, configId }) {
    await unit.hold(taskId);
    const task = await unit.require("task", taskId);
    const config = await unit.find("push_config", pushConfigId(task.id, configId));
    if (config !== undefined) unit.emit(config, "vendor.bridle.push_config.deleted", {});
    return null;
  },
};
