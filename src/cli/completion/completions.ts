/** What can be typed at each place of the command line, as all shells are told it. */

import type { Argument, Command, Option } from "commander";

/** What is expected at a place: one of some words, a path, or something that nobody can guess. */
export type Expected = { choices: readonly string[] } | "file" | "directory" | "text";

export interface OptionCompletion {
  /** `--json`, and `-V` where there is one. */
  flags: string[];
  description: string;
  /** Null for one that takes no value. */
  value: Expected | null;
}

export interface CommandCompletion {
  /** The names on the way there, each behind a slash: `/receipt/verify`; empty for the program itself. */
  path: string;
  commands: { name: string; description: string }[];
  options: OptionCompletion[];
  /** Null for one that takes none. */
  argument: Expected | null;
}

export function completionsOf(program: Command): CommandCompletion[] {
  return within(program, "");
}

function within(command: Command, path: string): CommandCompletion[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command);
  const [argument] = command.registeredArguments;
  const own: CommandCompletion = {
    path,
    commands: commands.map((one) => ({ name: one.name(), description: oneSentence(one.description()) })),
    options: help.visibleOptions(command).map(ofOption),
    argument: argument === undefined ? null : ofArgument(argument),
  };
  // Help takes the name of a command, and that is said by its own place.
  const named = commands.filter((one) => one.name() !== "help");
  return [own, ...named.flatMap((one) => within(one, `${path}/${one.name()}`))];
}

function ofOption(option: Option): OptionCompletion {
  const flags = [option.short, option.long].filter((flag) => flag !== undefined);
  const takesValue = option.required || option.optional;
  const value = takesValue ? expectedBy(option.argChoices, option.flags) : null;
  return { flags, description: oneSentence(option.description), value };
}

function ofArgument(argument: Argument): Expected {
  return expectedBy(argument.argChoices, `<${argument.name()}>`);
}

/** What is in the brackets says what it is. */
function expectedBy(choices: readonly string[] | undefined, flags: string): Expected {
  if (choices !== undefined) return { choices };
  if (/[<[](?:file|module)/.test(flags)) return "file";
  return /[<[](?:directory|folder)/.test(flags) ? "directory" : "text";
}

/** Enough to choose by. */
function oneSentence(text: string): string {
  return (/^.*?[.:;](?=\s|$)/.exec(text)?.[0] ?? text).replace(/[.:;]$/, "");
}
