/** What the `bridle` command can do. */

import { Command, CommanderError } from "commander";
import { DataDirectoryInUse } from "../store/sqlite/lock.ts";
import { version } from "../version.ts";
import { addAcpCommand } from "./acp.ts";
import { addApproverCommands } from "./approver.ts";
import { addApproverListCommands } from "./approvers.ts";
import { addCheckCommand } from "./check.ts";
import { addDoctorCommand } from "./doctor.ts";
import { addGatewayCommand } from "./gateway-command.ts";
import { addGcCommand } from "./gc.ts";
import { addInitCommand } from "./init.ts";
import { addKeyCommands } from "./keys.ts";
import { addPairCommand } from "./pair.ts";
import { addReceiptCommands } from "./receipt.ts";
import { addReplayCommand } from "./replay.ts";
import { addServeCommands } from "./serve-command.ts";
import { addShellCommand } from "./shell.ts";
import { addTransferCommands } from "./transfer.ts";
import { addVaultCommands } from "./vault.ts";

const wrongUse = 2;
/** An error is one line, with the suggestion if there is one. */
const oneLine = {
  outputError: (text: string, write: (line: string) => void) =>
    write(`${text.trim().replaceAll(/\s*\n\s*/g, " ")}\n`),
};

/** All commands, to be run or to be looked at. */
export const program = new Command("bridle")
  .description("A durable agent harness: tasks that survive crashes, streams that never lose an event.")
  .version(version)
  .addHelpText(
    "after",
    `
To begin: bridle dev in a folder with agents, then bridle shell in a second terminal.
The options of a command: bridle help COMMAND.`,
  )
  .showSuggestionAfterError()
  .exitOverride()
  .configureOutput(oneLine);

addInitCommand(program);
addServeCommands(program);
addDoctorCommand(program);
addGatewayCommand(program);
addShellCommand(program);
addAcpCommand(program);
addReplayCommand(program);
addCheckCommand(program);
addReceiptCommands(program);
addTransferCommands(program);
addKeyCommands(program);
addVaultCommands(program);
addGcCommand(program);
addPairCommand(program);
addApproverListCommands(program);
addApproverCommands(program);

export async function runProgram(): Promise<void> {
  try {
    await program.parseAsync();
  } catch (error) {
    if (error instanceof CommanderError) {
      // Help and version are not errors; everything else commander throws is a mistake in how we were called.
      process.exitCode = error.exitCode === 0 ? 0 : wrongUse;
    } else {
      process.stderr.write(`bridle: ${explain(error)}\n`);
      process.exitCode = 1;
    }
  }
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof DataDirectoryInUse) return error.message;
  if ("code" in error && error.code === "EADDRINUSE") {
    return `the port is taken (${error.message}). Choose another with --port, or with --harp-port if it is that one.`;
  }
  return error.message;
}
