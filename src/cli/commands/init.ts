/** `bridle init`: a project that works, to begin with. */

import { resolve } from "node:path";
import type { Command } from "commander";
import { type JsonSettings, show, withJson } from "../terminal/output.ts";

interface InitSettings extends JsonSettings {
  name?: string;
  force?: boolean;
}

export function addInitCommand(program: Command): void {
  const command = withJson(
    program
      .command("init")
      .description("Make a project: a configuration, an agent, and its test.")
      .argument("[folder]", "where; it is made if it is not there", ".")
      .option("--name <name>", "what the project is called; as its folder when left out")
      .option("--force", "write over files that are there"),
  );
  command.action(async (folder: string, { name, force = false, json }: InitSettings) => {
    const { initProject, nextSteps, problemWithName, projectName } = await import("../init/project.ts");
    const chosen = name ?? projectName(folder);
    const problem = problemWithName(chosen);
    if (problem !== null) command.error(`error: option '--name <name>': ${problem}`);
    const made = await initProject({ folder, name: chosen, force });
    const files = made.map(({ path, wasThere }) => ({ path, written_over: wasThere }));
    show({ ...(json && { json }) }, { name: chosen, folder: resolve(folder), files }, () =>
      nextSteps(folder, chosen, made),
    );
  });
}
