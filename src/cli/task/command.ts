/** What every command about one task has in common. */

import { type Command, type CommandOptions, Option } from "commander";
import { type RemoteSettings, withRemoteOptions } from "../remote.ts";
import { wholeNumber } from "../settings/option-parsers.ts";
import { type JsonSettings, withJson } from "../terminal/output.ts";

export type Settings = RemoteSettings & JsonSettings;

/** A command for a running server, with JSON for scripts and examples for people. */
export function remoteCommand(
  parent: Command,
  form: string,
  description: string,
  examples: readonly string[] = [],
  options: CommandOptions = {},
): Command {
  const command = withJson(withRemoteOptions(parent.command(form, options).description(description)));
  if (examples.length === 0) return command;
  const lines = examples.map((example) => `  ${example}`).join("\n");
  return command.addHelpText("after", `\nExamples:\n${lines}`);
}

export interface Limits {
  limit: number;
  all?: true;
}

/** For a command that lists. */
export function withLimit(command: Command): Command {
  return command
    .addOption(
      new Option("--limit <number>", "how many")
        .default(20)
        .argParser(wholeNumber(1, 100_000))
        .conflicts("all"),
    )
    .option("--all", "every one");
}

/** The same for a command about one task. */
export function taskCommand(parent: Command, form: string, description: string, examples: string[]): Command {
  const command = remoteCommand(parent, `${form} <task>`, description, examples);
  return command.addHelpText(
    "after",
    "\nA task is named by its id, or by `last` for the one submitted last.",
  );
}
