/** `bridle gate`: a person's signature between a tool and what it is about to do. The work is loaded when it is asked for. */

import type { Command } from "commander";
import type { CheckSettings } from "../gate/check.ts";
import type { JsonSettings } from "../terminal/output.ts";

export function addGateCommands(program: Command): void {
  const gate = program
    .command("gate")
    .description("Have a person sign what tools and scripts are about to do, before they do it.");
  addPolicyCommands(gate);
}

function addPolicyCommands(gate: Command): void {
  withPolicy(gate.command("check [command...]"))
    .description("What the policy says about a command or a tool, and which rule matched. Nothing is run.")
    .option("--tool <name>", "the tool that does it")
    .option("--line <text>", "a line for a shell, instead of a command")
    .option("--path <path...>", "files that the tool names")
    .option("--host <host...>", "hosts that the tool names")
    .option("--json", "JSON, for scripts")
    .action(async (words: string[], settings: CheckSettings) => {
      (await import("../gate/check.ts")).check(words, settings);
    });
  gate
    .command("trust [file]")
    .description("Let a policy allow what it says, until it changes. Default: the nearest bridle.gate.yaml.")
    .option("--json", "JSON, for scripts")
    .action(async (file: string | undefined, settings: JsonSettings) => {
      (await import("../gate/check.ts")).trust(file, settings);
    });
  gate
    .command("schema")
    .description("The JSON Schema of bridle.gate.yaml.")
    .option("--json", "the same: it is JSON")
    .action(async () => {
      (await import("../gate/check.ts")).schema();
    });
}

export function withPolicy(command: Command): Command {
  return command.option(
    "--policy <file>",
    "the policy. Default: the nearest bridle.gate.yaml and gate.yaml in bridle's configuration directory",
  );
}
