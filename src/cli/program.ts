/** What the `bridle` command can do. */

import { Command, CommanderError } from "commander";
import { version } from "../version.ts";
import { addAcpCommand } from "./acp.ts";
import { addApproverCommands } from "./approver.ts";
import { addApproverListCommands } from "./approvers.ts";
import { addCheckCommand } from "./check.ts";
import { addDoctorCommand } from "./doctor.ts";
import { complaintOf, exitCodeOf, exitCodes } from "./exit-codes.ts";
import { addGatewayCommand } from "./gateway-command.ts";
import { addGcCommand } from "./gc.ts";
import { addInitCommand } from "./init.ts";
import { addKeyCommands } from "./keys.ts";
import { addPairCommand } from "./pair.ts";
import { addReceiptCommands } from "./receipt.ts";
import { addReplayCommand } from "./replay.ts";
import { readSecretFiles } from "./secret-files.ts";
import { addServeCommands } from "./serve-command.ts";
import { addShellCommand } from "./shell.ts";
import { harmlessJson } from "./terminal.ts";
import { addTourCommand } from "./tour.ts";
import { addTransferCommands } from "./transfer.ts";
import { addVaultCommands } from "./vault.ts";

/** An error is one line, with the suggestion if there is one. */
const oneLine = {
  outputError: (text: string, write: (line: string) => void) =>
    write(`${text.trim().replaceAll(/\s*\n\s*/g, " ")}\n`),
};

export function createProgram(): Command {
  const program = new Command("bridle")
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
  addTourCommand(program);
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
  return program;
}

export async function runProgram(): Promise<void> {
  const program = createProgram();
  try {
    readSecretFiles(process.env);
  } catch (error) {
    process.stderr.write(`error: ${complaintOf(error).text}\n`);
    process.exitCode = exitCodes.wrongUse.code;
    return;
  }
  try {
    await program.parseAsync();
  } catch (error) {
    if (error instanceof CommanderError) {
      // Help and version are not errors; everything else commander throws is a mistake in how we were called.
      process.exitCode = error.exitCode === 0 ? exitCodes.done.code : exitCodes.wrongUse.code;
      return;
    }
    const { text, facts } = complaintOf(error);
    // Who reads JSON reads errors as JSON too.
    const isForScript = process.argv.includes("--json");
    process.stderr.write(isForScript ? `${harmlessJson({ error: facts })}\n` : `bridle: ${text}\n`);
    process.exitCode = exitCodeOf(error);
  }
}
