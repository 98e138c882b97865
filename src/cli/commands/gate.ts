/** `bridle gate`: a person's signature between a tool and what it is about to do. The work is loaded when it is asked for. */

import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import { adapterNames } from "../../gate/hooks/adapters.ts";
import { gateRisks } from "../../gate/policy.ts";
import type { AskCommandSettings } from "../gate/ask.ts";
import type { AskSettings } from "../gate/asking.ts";
import type { CheckSettings } from "../gate/check.ts";
import type { InstallSettings } from "../gate/install.ts";
import type { LogSettings } from "../gate/log.ts";
import type { RunSettings } from "../gate/run.ts";
import type { PermitSettings } from "../gate/standing.ts";
import { programName } from "../program-name.ts";
import { type RemoteSettings, withRemoteOptions } from "../remote.ts";
import { wholeNumber } from "../settings/option-parsers.ts";
import { type JsonSettings, withJson } from "../terminal/output.ts";

export function addGateCommands(program: Command): void {
  const gate = program
    .command("gate")
    .description("Have a person sign what tools and scripts are about to do, before they do it.");
  addAskingCommands(gate);
  addRecordCommands(gate);
  addStandingCommands(gate);
  addHookCommands(gate);
  addPolicyCommands(gate);
}

function addAskingCommands(gate: Command): void {
  withAsking(gate.command("run <command...>"))
    .description("Run a command exactly as it was approved, once. Write -- before the command.")
    .option(
      "--env <name...>",
      "variables that it sees beside the usual ones: NAME, or NAME=VALUE to show the value",
    )
    .option(
      "--file <file...>",
      "files that must not change, beside the program and those that its words name",
    )
    .option("--tty", "give it the terminal; its output is not hashed then")
    .addHelpText("after", exitHelp)
    .action(async (argv: string[], settings: RunSettings) => {
      await (await import("../gate/run.ts")).run(argv, settings);
    });
  withAsking(gate.command("ask"))
    .description("Ask for something that a script is about to do. Prints the proof.")
    .requiredOption("--action <text>", "what is to be done, in a few words")
    .option("--payload <file>", "all of it, as JSON or text; - is standard input")
    .option("--json", "the same: the proof is JSON")
    .addHelpText("after", exitHelp)
    .action(async (settings: AskCommandSettings) => {
      await (await import("../gate/ask.ts")).ask(settings);
    });
}

function addRecordCommands(gate: Command): void {
  withGateServer(gate.command("log"))
    .description("What gates decided, newest first, and what came of it.")
    .addOption(new Option("--limit <n>", "so many").default(20).argParser(wholeNumber(1, 200)))
    .option("--json", "JSON lines, for scripts")
    .action(async (settings: LogSettings) => {
      await (await import("../gate/log.ts")).log(settings);
    });
  withGateServer(gate.command("proof <task>"))
    .description("Export what was shown, what was signed and by whom, and what ran.")
    .option("--out <file>", "where to; standard output without it")
    .option("--json", "JSON, for scripts")
    .action(async (taskId: string, settings: RemoteSettings & JsonSettings & { out?: string }) => {
      await (await import("../gate/proof.ts")).exportProof(taskId, settings);
    });
  withJson(gate.command("verify <file>"))
    .description("Verify such a proof, without a server. Exit code 1 when it is not valid.")
    .action(async (file: string, settings: JsonSettings) => {
      await (await import("../gate/proof.ts")).verifyFile(file, settings);
    });
}

function addStandingCommands(gate: Command): void {
  withJson(withGateServer(gate.command("permit [command...]")))
    .description(
      "Ask an approver to sign that commands with these first words, or edits below a path, need no asking for a while.",
    )
    .option("--path <pattern>", "files that may be edited, instead of a command; ** is everything below")
    .addOption(
      new Option("--for <duration>", "until when, at most 8h").default(3600, "1h").argParser(waitSeconds),
    )
    .addOption(new Option("--uses <n>", "how often").default(10).argParser(wholeNumber(1, 1000)))
    .option("--session <id>", "only in this session of the server (HARP scope session)")
    .addOption(new Option("--risk <risk>", "what the approver is told").choices(gateRisks))
    .action(async (argv: string[], settings: PermitSettings) => {
      await (await import("../gate/standing.ts")).permit(argv, settings);
    });
  withJson(withGateServer(gate.command("permits")))
    .description("The standing permissions that hold.")
    .action(async (settings: RemoteSettings & JsonSettings) => {
      await (await import("../gate/standing.ts")).permits(settings);
    });
  withJson(withGateServer(gate.command("revoke <task>")))
    .description("Revoke a standing permission, at once.")
    .action(async (taskId: string, settings: RemoteSettings & JsonSettings) => {
      await (await import("../gate/standing.ts")).revoke(taskId, settings);
    });
}

function addHookCommands(gate: Command): void {
  const name = () => new Argument("<name>", "the coding tool").choices(adapterNames);
  withAsking(gate.command("hook").addArgument(name()))
    .description("Decide for a coding tool, as its hook: reads its input, answers in its form.")
    .action(async (tool: string, settings: AskSettings) => {
      await (await import("../gate/hook.ts")).hook(tool, settings);
    });
  withJson(gate.command("install").addArgument(name()))
    .description("Write the hook into a coding tool's configuration, and trust the project's policy.")
    .option("--user", "for all your projects instead of this one")
    .action(async (tool: string, settings: InstallSettings) => {
      (await import("../gate/install.ts")).install(tool, settings);
    });
  withJson(gate.command("uninstall").addArgument(name()))
    .description("Take the hook out again.")
    .option("--user", "from your own configuration")
    .action(async (tool: string, settings: InstallSettings) => {
      (await import("../gate/install.ts")).uninstall(tool, settings);
    });
  gate
    .command("shell-init")
    .addArgument(new Argument("<shell>").choices(["bash", "zsh"]))
    .description('A guard for your own shell: eval "$(bridle gate shell-init zsh)" in its start file.')
    .action(async (shell: "bash" | "zsh") => {
      process.stdout.write((await import("../gate/shell.ts")).shellInit(shell, programName));
    });
  withAsking(gate.command("guard"))
    .description("Decide about a line of a shell; what shell-init calls. Exit code 0 lets it run.")
    .requiredOption("--line <text>", "the line")
    .action(async ({ line, ...settings }: AskSettings & { line: string }) => {
      await (await import("../gate/shell.ts")).guard(line, settings);
    });
}

/** A guarded tool may write into the project: neither its configuration nor its data directory says which server decides. */
function withGateServer(command: Command): Command {
  return withRemoteOptions(command, { fromProject: false });
}

const exitHelp = `
Exit codes: 0 approved (of run: that of the command), 10 denied, 11 nobody
decided in time, 12 there is no approver, 13 it could not be asked. Nothing is
done without an approval.`;

const waitSecondsMax = 8 * 60 * 60;

function withAsking(command: Command): Command {
  return withGateServer(withPolicy(command))
    .addOption(new Option("--risk <risk>", "what the approver is told, at least").choices(gateRisks))
    .addOption(
      new Option("--wait <duration>", "how long an approver has: 90s, 10m, 2h")
        .default(600, "10m")
        .argParser(waitSeconds),
    );
}

function waitSeconds(text: string): number {
  const [, count = "", unit = "s"] = /^(\d{1,6})([smh]?)$/.exec(text) ?? [];
  const seconds = Number(count) * ({ s: 1, m: 60, h: 3600 }[unit] ?? 1);
  if (count !== "" && seconds >= 1 && seconds <= waitSecondsMax) return seconds;
  throw new InvalidArgumentError("A duration is a number with s, m or h, up to 8h.");
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

function withPolicy(command: Command): Command {
  return command.option(
    "--policy <file>",
    "the policy. Default: the nearest bridle.gate.yaml and gate.yaml in bridle's configuration directory",
  );
}
