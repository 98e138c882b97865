/** Loads a project again whenever its files have changed, and gives what came of it to the server. */

import { dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Agent } from "../runtime/agents/agent.ts";
import { agentDirectories, type LoadedAgent } from "./agent-files.ts";
import { filesOf, findConfig, loadProject, type Project, type ProjectPlace } from "./load.ts";
import { shown } from "./load-problem.ts";
import type { ProjectModules } from "./modules.ts";
import { DirectoryWatch } from "./watch.ts";

export interface ReloadOptions {
  place: ProjectPlace;
  modules: ProjectModules;
  /** As it is loaded now. */
  project: Project;
  replaceAgents(agents: readonly Agent[]): Promise<void>;
  /** What happened, a line each. */
  tell(line: string): void;
  /** What has to be put right, a line each. */
  complain(line: string): void;
}

export class Reloader {
  readonly #options: ReloadOptions;
  readonly #watch: DirectoryWatch;
  /** Agents of which it was said that their code changed under the same version. */
  readonly #told = new Set<string>();
  /** Files that changed since agents were loaded without a mistake. */
  readonly #changed = new Set<string>();
  #project: Project;
  #listed: string[] = [];
  #isBusy = false;
  #again = false;

  private constructor(options: ReloadOptions) {
    this.#options = options;
    this.#project = options.project;
    this.#watch = new DirectoryWatch(() => void this.#look(), options.complain);
  }

  static async start(options: ReloadOptions): Promise<Reloader> {
    const reloader = new Reloader(options);
    reloader.#listed = await filesOf(options.project.sources);
    reloader.#watchAll();
    // What was written since it was loaded has not stirred.
    await reloader.#look();
    return reloader;
  }

  close(): void {
    this.#watch.close();
  }

  /** One look at a time; what stirs meanwhile is looked at afterwards. */
  async #look(): Promise<void> {
    this.#again = this.#isBusy;
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      do {
        this.#again = false;
        await this.#reload();
      } while (this.#again);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#options.complain(`Not loaded: ${why}\n  What was loaded before goes on.`);
    } finally {
      this.#isBusy = false;
      this.#watchAll();
    }
  }

  async #reload(): Promise<void> {
    const { place, modules, replaceAgents, tell } = this.#options;
    const before = this.#project;
    const listed = await filesOf(before.sources);
    const isConfigElsewhere = place.config === undefined && findConfig(place) !== before.file;
    const changed = modules.changed();
    if (changed.length === 0 && !isConfigElsewhere && isDeepStrictEqual(listed, this.#listed)) return;
    this.#listed = listed;
    for (const file of changed) this.#changed.add(file);

    modules.begin();
    const project = await loadProject(place, modules);
    modules.settle();
    await replaceAgents(project.agents.map(({ agent }) => agent));
    const isTouched = (file: string) => [...modules.reach(file)].some((one) => this.#changed.has(one));
    const touched = new Set(project.agents.filter(({ file }) => isTouched(file)).map(nameOf));
    const isConfigTouched = isConfigElsewhere || (project.file !== null && isTouched(project.file));
    this.#changed.clear();
    this.#project = project;
    this.#listed = await filesOf(project.sources);
    tell(`Loaded again: ${differences(before.agents, project.agents, touched)}`);
    this.#warnOfSameVersions(before.agents, project.agents, touched);
    if (isConfigTouched) {
      const file = shown(project.file ?? before.file ?? "");
      tell(`${file} changed. Agents were reloaded; restart to apply other settings.`);
    }
  }

  #warnOfSameVersions(
    before: readonly LoadedAgent[],
    after: readonly LoadedAgent[],
    touched: ReadonlySet<string>,
  ): void {
    const known = new Set(before.map(nameOf));
    for (const name of after.map(nameOf)) {
      if (!known.has(name) || !touched.has(name) || this.#told.has(name)) continue;
      this.#told.add(name);
      this.#options.tell(
        `The code of ${name} changed and its version did not. Open tasks go on with the code they have, until this process ends; after that they get the new code and may fail with nondeterministic_run. Raise the version to keep both.`,
      );
    }
  }

  #watchAll(): void {
    const { place, modules } = this.#options;
    const { sources, file } = this.#project;
    this.#watch.watch([
      file === null ? place.directory : dirname(file),
      ...sources.flatMap(({ patterns, directory }) => agentDirectories(patterns, directory)),
      ...modules.files.map((one) => dirname(one)),
    ]);
  }
}

function nameOf({ agent }: LoadedAgent): string {
  return `${agent.name}@${agent.version}`;
}

function differences(
  before: readonly LoadedAgent[],
  after: readonly LoadedAgent[],
  touched: ReadonlySet<string>,
): string {
  const [old, now] = [before.map(nameOf), after.map(nameOf)];
  const said = [
    ["changed", now.filter((name) => old.includes(name) && touched.has(name))],
    ["added", now.filter((name) => !old.includes(name))],
    ["removed", old.filter((name) => !now.includes(name))],
  ] as const;
  const parts = said.flatMap(([what, names]) => (names.length === 0 ? [] : [`${what} ${names.join(", ")}`]));
  return parts.length === 0 ? "no agent is different." : `${parts.join("; ")}.`;
}
