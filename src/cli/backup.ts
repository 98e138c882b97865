/** `bridle backup`: a copy of all that a server keeps, also while it runs. */

import type { Command } from "commander";
import { type JsonSettings, show, withJson } from "./output.ts";
import { inBytes } from "./progress-bar.ts";
import { requireStore, withDataOption } from "./rebuild.ts";
import { harmlessLine } from "./terminal.ts";

export function addBackupCommand(program: Command): void {
  withDataOption(
    withJson(
      program
        .command("backup")
        .description(
          "Copy all that a server keeps, keys too, to a new directory. The server may run meanwhile.",
        )
        .argument("<directory>", "where to; it must not be there yet"),
    ),
  ).action(async (target: string, settings: JsonSettings & { data: string }) => {
    const directory = requireStore(settings.data);
    const { makeBackup } = await import("./backup/make.ts");
    const made = await makeBackup(directory, target);
    show(settings, made, () => {
      return harmlessLine(
        `${made.directory} holds ${made.data} as it was at ${made.made_at}: ${made.events} events, ${made.files} files, ${inBytes(made.bytes)}. It has the keys in it: keep it as safe as the server.`,
      ).concat("\n");
    });
  });
}
