/** `bridle approver`: the person who approves, on a machine of their own. The work is loaded when it is asked for. */

import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { type Command, Option } from "commander";
import type { ApproverSettings } from "../approver/connect.ts";
import type { DecideSettings } from "../approver/decide.ts";
import type { PairSettings } from "../approver/pair.ts";
import { httpUrl } from "../settings/option-parsers.ts";
import { oneLine } from "../terminal/text.ts";

export function addApproverCommands(program: Command): void {
  const approver = program
    .command("approver")
    .description("Approve or deny what agents ask for, with keys of your own.");
  addPair(approver);
  withOptions(approver.command("inbox"))
    .description("What waits for your decision.")
    .action(async (settings: ApproverSettings) => {
      await told(async () => (await import("../approver/look.ts")).inbox(settings));
    });
  withOptions(approver.command("show <request-id>"))
    .description("All of one request. The beginning of its id suffices.")
    .action(async (id: string, settings: ApproverSettings) => {
      await told(async () => (await import("../approver/look.ts")).show(id, settings));
    });
  addDecisions(approver);
  withOptions(approver.command("watch"))
    .description("Show requests as they come and, on a terminal, ask about each.")
    .action(async (settings: ApproverSettings) => {
      await told(async () => (await import("../approver/watch.ts")).watch(settings));
    });
  withOptions(approver.command("expired"))
    .description("What nobody decided in time.")
    .action(async (settings: ApproverSettings) => {
      await told(async () => (await import("../approver/look.ts")).expired(settings));
    });
  withOptions(approver.command("refresh <request-id>"))
    .description("Have the enforcer ask again for what has expired.")
    .action(async (id: string, settings: ApproverSettings) => {
      await told(async () => (await import("../approver/look.ts")).refresh(id, settings));
    });
  withOptions(approver.command("dismiss <request-id>"))
    .description("Take a request out of your inbox without signing: also one that cannot be opened here.")
    .action(async (id: string, settings: ApproverSettings) => {
      await told(async () => (await import("../approver/look.ts")).dismiss(id, settings));
    });
  withOptions(approver.command("unpair <enforcer-id>"))
    .description("Revoke your pairing with an enforcer: its requests no longer reach you.")
    .action(async (id: string, settings: ApproverSettings) => {
      await told(async () => (await import("../approver/look.ts")).unpair(id, settings));
    });
  withOptions(approver.command("keys"))
    .description("Your fingerprints and ids, and where your keys are kept.")
    .option("--create", "make keys now, to say their fingerprint before you pair")
    .action(async (settings: ApproverSettings & { create?: true }) => {
      await told(async () => (await import("../approver/look.ts")).keys(settings));
    });
}

function addPair(approver: Command): void {
  withOptions(approver.command("pair <code>"))
    .description(
      "Pair with an enforcer by the code that `bridle pair` shows; makes your keys the first time.",
    )
    .addOption(
      new Option("--gateway <url>", "where the gateway is, up to where /v1 begins").argParser(httpUrl),
    )
    .option("--id <approver-id>", "the approver that the API key is for; only needed the first time")
    .option("--no-save-key", "do not keep the API key in the profile")
    .action(async (code: string, settings: PairSettings) => {
      await told(async () => (await import("../approver/pair.ts")).pair(code, settings));
    });
}

function addDecisions(approver: Command): void {
  const choices = {
    approve: "Show a request, ask, and sign that it may be done, once.",
    deny: "Show a request, ask, and sign that it may not be done.",
  } as const;
  for (const choice of ["approve", "deny"] as const) {
    const command = withOptions(approver.command(`${choice} <request-id>`))
      .description(choices[choice])
      .option("--reason <text>", "a remark, which the gateway can read and which is not signed")
      .option("--yes", "do not ask");
    if (choice === "approve") {
      command.option("--as-offered", "sign for the wider terms that the enforcer offers, if it does");
    }
    command.action(async (id: string, settings: DecideSettings, self: Command) => {
      await told(async () => (await import("../approver/decide.ts")).decide(choice, id, settings, self));
    });
  }
}

function withOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--profile <file>", "where your keys are kept").default(
        defaultProfile(),
        "bridle/approver.json in your configuration directory",
      ),
    )
    .addOption(
      new Option("--key <key>", "the API key of the approver; better set in the environment").env(
        "BRIDLE_KEY",
      ),
    )
    .option("--passphrase-file <file>", "a file with the passphrase (or set BRIDLE_APPROVER_PASSPHRASE)")
    .option("--json", "JSON, for scripts");
}

function defaultProfile(): string {
  const { XDG_CONFIG_HOME: config = "" } = process.env;
  return join(isAbsolute(config) ? config : join(homedir(), ".config"), "bridle", "approver.json");
}

/** What a gateway says about it is somebody else's text. */
async function told(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    const isTheirs = error instanceof Error && ["GatewayRefusal", "HarpError"].includes(error.name);
    if (!isTheirs || !("code" in error)) throw error;
    throw new Error(`${oneLine(error.message)} (${String(error.code)})`, { cause: error });
  }
}
