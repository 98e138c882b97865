/** Where the project in a directory keeps its data. */

import { dirname, resolve } from "node:path";
import { loadSettings } from "../../project/load.ts";
import { ProjectModules } from "../../project/modules.ts";
import { settingNames } from "./config-settings.ts";

/** Null where there is no project, or it does not say. */
export async function projectData(directory: string): Promise<string | null> {
  const found = await loadSettings({ directory, agents: [], settingNames }, new ProjectModules());
  const data = found?.settings.data;
  return found === null || data === undefined ? null : resolve(dirname(found.file), data);
}
