/** Sending messages, over every binding. */

import assert from "node:assert/strict";
import { everyBinding, message } from "./wire.ts";

everyBinding("sending a message", (onEveryBinding) => {
  onEveryBinding(
    "OPVS-1, OPVS-2, OPVS-3 given a message, when it is sent, then the answer is the ended task alone, with what came of it",
    async (wire) => {
      const { result } = await wire.call("SendMessage", { message: message("hello") });
      assert.deepEqual(Object.keys(result), ["task"]);
      assert.equal(result.task.status.state, "TASK_STATE_COMPLETED");
      assert.deepEqual(result.task.artifacts, [
        { artifactId: "result", name: "result", parts: [{ text: "hello" }] },
      ]);
    },
  );
});
