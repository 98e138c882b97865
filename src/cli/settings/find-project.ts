/** The project in the working directory, with its settings given to the command that runs there. */

import type { Command } from "commander";
import { assertPersonas, loadProject, type Project } from "../../project/load.ts";
import { ProjectModules } from "../../project/modules.ts";
import type { Development } from "../serving/dev.ts";
import { applyConfig, settingNames } from "./config-settings.ts";
import type { ServeSettings } from "./settings.ts";

export type FoundProject = Development & { project: Project };

/** Throws what is wrong with it, in words for its author. */
export async function findProject(
  command: Command,
  { config, agents }: ServeSettings,
): Promise<FoundProject> {
  const place = { directory: process.cwd(), config, agents, settingNames };
  const modules = new ProjectModules();
  const project = await loadProject(place, modules);
  assertPersonas(project);
  if (project.file !== null) applyConfig(command, project.file, project.settings);
  return { project, place, modules, command };
}
