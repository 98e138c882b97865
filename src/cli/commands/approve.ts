/** `bridle approve` and `bridle deny`: what agents ask permission for, and the answers. */

import type { Command } from "commander";
import { Remote } from "../remote.ts";
import type { ApproveSettings, DecisionSettings } from "../task/approve.ts";
import { remoteCommand } from "../task/command.ts";

export function addApproveCommands(program: Command): void {
  remoteCommand(
    program,
    "approve [request-or-task]",
    "What waits for a decision: lists it, asks about it one by one on a terminal, or approves the one named.",
    ["bridle approve", "bridle approve last", "bridle approve --all --yes"],
  )
    .option("--reason <text>", "why, for the log and the receipt")
    .option("--all", "everything that waits; only with --yes")
    .option("--yes", "do not ask")
    .addHelpText("after", "\nWhere only signatures of paired approvers count, see: bridle help approver.")
    .action(async (named: string | undefined, settings: ApproveSettings, command: Command) => {
      if (settings.all === true && (settings.yes !== true || named !== undefined)) {
        command.error("error: --all approves everything that waits, unseen: say --yes as well, and no id.");
      }
      if (named === undefined && settings.all !== true && settings.yes === true) {
        command.error("error: --yes needs to know what: name a request or a task, or say --all.");
      }
      const { approveAll, approveOne, walk } = await import("../task/approve.ts");
      const remote = new Remote(settings);
      if (settings.all === true) await approveAll(remote, settings);
      else if (named === undefined) await walk(remote, settings);
      else await approveOne(remote, named, true, settings);
    });
  remoteCommand(program, "deny <request-or-task>", "Deny what an agent asks permission for.", [
    'bridle deny last --reason "not on a Friday"',
  ])
    .option("--reason <text>", "why, for the agent, the log and the receipt")
    .option("--yes", "do not ask")
    .action(async (named: string, settings: DecisionSettings) => {
      const { approveOne } = await import("../task/approve.ts");
      await approveOne(new Remote(settings), named, false, settings);
    });
}
