/** `bridle init`: a project that works, to begin with. */

import type { Command } from "commander";

interface InitSettings {
  name?: string;
  force?: boolean;
}

export function addInitCommand(program: Command): void {
  const command = program
    .command("init")
    .description("Make a project: a configuration, an agent, and its test.")
    .argument("[folder]", "where; it is made if it is not there", ".")
    .option("--name <name>", "what the project is called; as its folder when left out")
    .option("--force", "write over files that are there");
  command.action(async (folder: string, { name, force = false }: InitSettings) => {
    const { initProject, nextSteps, problemWithName, projectName } = await import("./init/project.ts");
    const chosen = name ?? projectName(folder);
    const problem = problemWithName(chosen);
    if (problem !== null) command.error(`error: option '--name <name>': ${problem}`);
    const made = await initProject({ folder, name: chosen, force });
    process.stdout.write(nextSteps(folder, chosen, made));
  });
}
