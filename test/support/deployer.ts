/** An agent that does something that can be counted afterwards, and can have its process killed while it does it. */

import { appendFileSync } from "node:fs";
import { type Agent, defineAgent } from "bridle";

/** Each deployment is a line in the file. */
export function deployer(file: string): Agent {
  return defineAgent({
    name: "deployer",
    version: "1.0.0",
    async run(ctx) {
      const { output } = await ctx.effect(
        "deploy",
        () => {
          appendFileSync(file, `${ctx.taskId}\n`);
          if (ctx.text.includes("die")) process.kill(process.pid, "SIGKILL");
          return "deployed";
        },
        { payload: { build: ctx.text }, risk: "high" },
      );
      return output;
    },
  });
}
