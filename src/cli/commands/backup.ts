/** `bridle backup` and `bridle restore`: a copy of all that a server keeps, also while it runs, and the way back. */

import { type Command, Option } from "commander";
import type { BackupOptions } from "../backup/make.ts";
import { exitCodes } from "../exit-codes.ts";
import { type JsonSettings, show, withJson } from "../terminal/output.ts";
import { inBytes } from "../terminal/progress-bar.ts";
import { oneLine } from "../terminal/text.ts";
import { requireStore, withDataOption } from "./rebuild.ts";

type BackupSettings = JsonSettings & BackupOptions & { data: string; verify?: true };

export function addBackupCommand(program: Command): void {
  withDataOption(
    withJson(
      program
        .command("backup")
        .summary("Copy all that a server keeps to a new directory or encrypted file.")
        .description(
          "Copy all that a server keeps, keys too, to a new directory, and verify the copy. The server may run meanwhile. Exit code 1 if something in it is damaged.",
        )
        .argument("<target>", "where to; it must not be there yet")
        .option("--without-keys", "leave out admin.key, master.key, signing.key and enforcer.key")
        .option(
          "--encrypt-to <recipient...>",
          "write one file, encrypted for these recipients of age (age1…)",
        )
        .addOption(
          new Option("--verify", "make nothing; verify the backup that is in this directory").conflicts([
            "withoutKeys",
            "encryptTo",
          ]),
        ),
    ),
  ).action(async (target: string, settings: BackupSettings) => {
    if (settings.verify === true) return await verify(target, settings);
    const directory = requireStore(settings.data);
    const { makeBackup } = await import("../backup/make.ts");
    const made = await makeBackup(directory, target, settings);
    const isPlain = made.has_keys && settings.encryptTo === undefined;
    const warning = isPlain ? " It has the keys in it: keep it as safe as the server." : "";
    show(settings, made, () => {
      return oneLine(
        `${made.directory} holds ${made.data} as it was at ${made.made_at}: ${made.events} events, ${made.files} files, ${inBytes(made.bytes)}.${warning}`,
      ).concat("\n", inLines(made.problems));
    });
    if (made.problems.length > 0) process.exitCode = exitCodes.failed.code;
  });
}

export function addRestoreCommand(program: Command): void {
  withJson(
    program
      .command("restore")
      .description(
        "Make a data directory from a backup, and verify it. Stop the server of that directory first.",
      )
      .argument("<backup>", "a directory or an encrypted file that `bridle backup` made")
      .requiredOption("--to <directory>", "the data directory to make; it must not be there yet")
      .option("--identity <file>", "the file with the secret key of age, for an encrypted backup"),
  ).action(async (source: string, settings: JsonSettings & { to: string; identity?: string }) => {
    const { restoreBackup } = await import("../backup/restore.ts");
    const restored = await restoreBackup(source, settings.to, settings.identity);
    show(settings, restored, () =>
      oneLine(`${restored.directory} is restored: ${restored.events} events.`).concat(
        "\n",
        inLines(restored.problems),
      ),
    );
    if (restored.problems.length > 0) process.exitCode = exitCodes.failed.code;
  });
}

async function verify(directory: string, settings: JsonSettings): Promise<void> {
  const { verifyBackup } = await import("../backup/verify.ts");
  const verified = await verifyBackup(directory);
  const { events, blobs, problems } = verified;
  show(settings, { directory, ...verified }, () => {
    const outcome = problems.length === 0 ? "is whole" : "is damaged";
    return oneLine(`${directory} ${outcome}: ${events} events, ${blobs} pieces of content.`).concat(
      "\n",
      inLines(problems),
    );
  });
  if (problems.length > 0) process.exitCode = exitCodes.failed.code;
}

function inLines(problems: readonly string[]): string {
  return problems.map((problem) => `${oneLine(problem)}\n`).join("");
}
