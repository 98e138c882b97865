/** `bridle doctor`: what would keep a server from working here, or keeps it from it, and what to do about that. */

import type { Command } from "commander";
import { takeSecrets } from "../settings/secret-files.ts";
import { type ServeSettings, serveOptions } from "../settings/settings.ts";
import { requireStore } from "./rebuild.ts";
import { scrub } from "./scrub.ts";

export function addDoctorCommand(program: Command): void {
  const command = program
    .command("doctor")
    .summary("Say whether a server could work here, and what to do if not.")
    .description(
      "Say whether a server could work here, with the settings of `serve`, and what to do if not. Exit code 1 on any problem.",
    )
    .option("--json", "the same as a JSON array")
    .option("--deep", "read all data instead and list what is damaged, as `bridle scrub` does")
    .option("--repair", "copy all intact data to a new directory instead, and list what is lost")
    .option("--to <directory>", "where --repair writes; it must not exist");
  for (const option of serveOptions) command.addOption(option);
  command.action(async (given: ServeSettings & { json?: true; deep?: true; repair?: true; to?: string }) => {
    if (given.repair === true) {
      if (given.to === undefined)
        return command.error("error: --repair needs --to: a directory that does not exist.");
      const { repair } = await import("../doctor/repair.ts");
      return await repair(requireStore(given.data), given.to, given);
    }
    if (given.deep === true) return await scrub(requireStore(given.data), given);
    // Before any code of the project runs.
    const secrets = takeSecrets(process.env);
    const { examine } = await import("../doctor/examine.ts");
    const { asJson, asLines } = await import("../doctor/finding.ts");
    const findings = await examine(command, given, secrets);
    const isSick = findings.some(({ status }) => status === "problem");
    // What the project's code has left running must not keep us.
    process.stdout.write(given.json === true ? asJson(findings) : asLines(findings), () =>
      process.exit(isSick ? 1 : 0),
    );
  });
}
