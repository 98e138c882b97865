/** `bridle serve` and `bridle dev`: the same settings and the same project, read here, and a server on them. */

import type { Command } from "commander";
import type { Serving } from "./server-config.ts";
import { problemWith, type ServeSettings, serveOptions, takeGatewayKey, takeMasterKeys } from "./settings.ts";

export function addServeCommand(program: Command): void {
  addServingCommand(program, "serve", "Start the server.", async (serving) => {
    // The server is large; the other commands do not need it.
    const { serve } = await import("./serve.ts");
    await serve(serving);
  });
}

function addServingCommand(
  program: Command,
  name: string,
  description: string,
  run: (serving: Serving) => Promise<void>,
): void {
  const command = program.command(name).description(description);
  for (const option of serveOptions) command.addOption(option);
  command.action(async (given: ServeSettings) => {
    // Before any code of the project runs.
    const secrets = { masterKeys: takeMasterKeys(process.env), gatewayKey: takeGatewayKey(process.env) };
    const project = await readProject(command, given);
    const settings = command.opts<ServeSettings>();
    const problem = problemWith(settings, secrets.masterKeys, secrets.gatewayKey);
    if (problem !== null) command.error(`error: ${problem}`);
    await run({ settings, secrets, project });
  });
}

/** The project in the working directory, with its settings given to the command. */
async function readProject(command: Command, { config, agents }: ServeSettings): Promise<Serving["project"]> {
  const { ConfigProblem } = await import("../project/check-config.ts");
  const { ProjectModules } = await import("../project/modules.ts");
  const { loadProject } = await import("../project/load.ts");
  const { applyConfig, settingNames } = await import("./config-settings.ts");
  try {
    const place = { directory: process.cwd(), config, agents, settingNames };
    const project = await loadProject(place, new ProjectModules());
    if (project.file !== null) applyConfig(command, project.file, project.settings);
    return project;
  } catch (error) {
    if (error instanceof ConfigProblem) command.error(`error: ${error.message}`);
    throw error;
  }
}
