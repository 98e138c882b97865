/** `bridle config`: the effective configuration. */

import type { Command } from "commander";
import { takeSecrets } from "../settings/secret-files.ts";
import { type ServeSettings, serveOptions } from "../settings/settings.ts";
import { type JsonSettings, withJson } from "../terminal/output.ts";

export interface PrintSettings extends ServeSettings, JsonSettings {
  sources?: true;
}

export function addConfigCommand(program: Command): void {
  const config = program.command("config").description("Show the effective configuration.");
  const print = withJson(
    config
      .command("print")
      .description("Every setting of `serve` and `dev` as it would be here. Secrets are never shown.")
      .option("--sources", "say where each comes from: flag, environment, bridle.config.ts, default"),
  );
  for (const option of serveOptions) print.addOption(option);
  print.action(async (given: PrintSettings) => {
    const { secretsIn, settingsOf } = await import("../config/found-settings.ts");
    // Before any code of the project runs.
    const secrets = secretsIn(process.env);
    takeSecrets(process.env);
    const { readProject } = await import("./serve-command.ts");
    const { project } = await readProject(print, given);
    const { asText, factsOf } = await import("../config/print.ts");
    const found = { settings: settingsOf(print, project.file, secrets), secrets, project };
    const text = given.json === true ? factsOf(found) : asText(found, given.sources === true);
    // What the project's code has left running must not keep us.
    process.stdout.write(text, () => process.exit());
  });
}
