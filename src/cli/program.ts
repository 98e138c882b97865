/** What the `bridle` command can do. */

import { Command, CommanderError } from "commander";
import { suggestion } from "../project/suggestion.ts";
import { version } from "../version.ts";
import { addAcpCommand } from "./commands/acp.ts";
import { addAgentCommands } from "./commands/agents.ts";
import { addApproveCommands } from "./commands/approve.ts";
import { addApproverCommands } from "./commands/approver.ts";
import { addApproverListCommands } from "./commands/approvers.ts";
import { addAuditCommands } from "./commands/audit.ts";
import { addBackupCommand, addRestoreCommand } from "./commands/backup.ts";
import { addCheckCommand } from "./commands/check.ts";
import { addCompletionCommand } from "./commands/completion.ts";
import { addConfigCommand } from "./commands/config.ts";
import { addCopyCommand } from "./commands/copy.ts";
import { addDoctorCommand } from "./commands/doctor.ts";
import { addGateCommands } from "./commands/gate.ts";
import { addGatewayCommand } from "./commands/gateway-command.ts";
import { addGcCommand } from "./commands/gc.ts";
import { addInitCommand } from "./commands/init.ts";
import { addApiKeyCommands } from "./commands/key.ts";
import { addKeyCommands } from "./commands/keys.ts";
import { addPairCommand } from "./commands/pair.ts";
import { addQuotaCommands } from "./commands/quota.ts";
import { addRebuildCommand } from "./commands/rebuild.ts";
import { addReceiptCommands } from "./commands/receipt.ts";
import { addReplayCommand } from "./commands/replay.ts";
import { addScrubCommand } from "./commands/scrub.ts";
import { addDevCommand, addServeCommand } from "./commands/serve-command.ts";
import { addSessionCommands } from "./commands/sessions.ts";
import { addShellCommand } from "./commands/shell.ts";
import { addTaskCommands } from "./commands/tasks.ts";
import { addTourCommand } from "./commands/tour.ts";
import { addTransferCommands } from "./commands/transfer.ts";
import { addWitnessCommand } from "./commands/witness.ts";
import { complaintOf, exitCodeOf, exitCodes } from "./exit-codes.ts";
import { addPersonaCommands, addScheduleCommands } from "./resources/personas.ts";
import { addSecretCommands, addVaultCommands } from "./resources/secrets.ts";
import { addConnectorCommands, addWebhookCommands, addWorkspaceCommands } from "./resources/workspaces.ts";
import { readSecretFiles, withoutPasswords } from "./settings/secret-files.ts";
import { escapedJson, oneLine } from "./terminal/text.ts";

/** An error is one line, with the suggestion if there is one, and without what was secret in what was typed. */
const errorOutput = {
  outputError(text: string, write: (line: string) => void) {
    const line = oneLine(withoutPasswords(withSuggestion(text)));
    const message = line.replace(/^error: /, "");
    write(isForScript() ? `${escapedJson({ error: { code: "wrong_use", message } })}\n` : `${line}\n`);
  },
};

/** Who reads JSON reads errors as JSON too. */
function isForScript(): boolean {
  return process.argv.includes("--json");
}

/** Commander suggests commands and options; what may be chosen is in its message. */
function withSuggestion(text: string): string {
  const [, given = "", choices = ""] =
    /'([^']*)'(?: from env '\w+')? is invalid(?: for argument '\w+')?\. Allowed choices are (.+)\.\s*$/.exec(
      text,
    ) ?? [];
  return choices === "" ? text : `${text.trimEnd()}${suggestion(given, choices.split(", "))}`;
}

export function createProgram(): Command {
  const program = new Command("bridle")
    .description("A durable agent harness: tasks that survive crashes, streams that never lose an event.")
    .version(version)
    .addHelpText(
      "after",
      `
The first steps: bridle init my-agents, npm install and bridle dev in there, and
bridle shell in a second terminal. The options of a command: bridle help COMMAND.`,
    )
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput(errorOutput)
    // That there are options goes without saying.
    .configureHelp({ subcommandTerm: (command) => [command.name(), ...argumentsOf(command)].join(" ") });
  program.commandsGroup("To begin:");
  addTourCommand(program);
  addInitCommand(program);
  addDevCommand(program);
  addDoctorCommand(program);
  program.commandsGroup("To work with agents:");
  addAgentCommands(program);
  addTaskCommands(program);
  addSessionCommands(program);
  addShellCommand(program);
  addAcpCommand(program);
  program.commandsGroup("To approve what they do:");
  addApproveCommands(program);
  addPairCommand(program);
  addApproverListCommands(program);
  addApproverCommands(program);
  addGateCommands(program);
  program.commandsGroup("To prove and repeat what they did:");
  addReceiptCommands(program);
  addWitnessCommand(program);
  addReplayCommand(program);
  addCheckCommand(program);
  program.commandsGroup("To set what agents may do and use:");
  addPersonaCommands(program);
  addScheduleCommands(program);
  addSecretCommands(program);
  addVaultCommands(program);
  addWorkspaceCommands(program);
  addConnectorCommands(program);
  addWebhookCommands(program);
  addQuotaCommands(program);
  addApiKeyCommands(program);
  program.commandsGroup("To run a server:");
  addServeCommand(program);
  addGatewayCommand(program);
  addConfigCommand(program);
  addKeyCommands(program);
  addTransferCommands(program);
  addAuditCommands(program);
  addGcCommand(program);
  addBackupCommand(program);
  addRestoreCommand(program);
  addCopyCommand(program);
  addRebuildCommand(program);
  addScrubCommand(program);
  addHelpCommand(program.commandsGroup("Help:").helpCommand(false));
  addCompletionCommand(program);
  return program;
}

/** Also of commands in commands: `bridle help task logs`. */
function addHelpCommand(program: Command): void {
  program
    .command("help [command...]")
    .description("Say what a command does.")
    .action((words: string[]) => {
      let found = program;
      for (const word of words) {
        const next = found.commands.find((one) => one.name() === word || one.aliases().includes(word));
        found = next ?? unknownCommand(found, words, word);
      }
      found.help();
    });
}

function unknownCommand(parent: Command, words: readonly string[], word: string): never {
  const known = parent.commands.map((one) => one.name());
  return parent.error(`error: unknown command '${words.join(" ")}'${suggestion(word, known)}`);
}

function argumentsOf({ registeredArguments }: Command): string[] {
  return registeredArguments.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
    return argument.required ? `<${name}>` : `[${name}]`;
  });
}

export async function runProgram(): Promise<void> {
  const program = createProgram();
  try {
    readSecretFiles(process.env);
  } catch (error) {
    errorOutput.outputError(`error: ${complaintOf(error).text}`, (line) => process.stderr.write(line));
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
    process.stderr.write(isForScript() ? `${escapedJson({ error: facts })}\n` : `bridle: ${text}\n`);
    process.exitCode = exitCodeOf(error);
  }
}
