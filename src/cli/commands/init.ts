/** `bridle init`: a project that works, to begin with. */

import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { type TemplateName, templateNames, templates } from "../init/templates.ts";
import { type JsonSettings, show, withJson } from "../terminal/output.ts";
import { ask, canAsk } from "../terminal/prompt.ts";

interface InitSettings extends JsonSettings {
  name?: string;
  template?: TemplateName;
  link?: boolean;
  force?: boolean;
}

export function addInitCommand(program: Command): void {
  const list = templateNames.map((name) => `${name} (${templates[name].description})`).join(", ");
  const command = withJson(
    program
      .command("init")
      .description("Make a project: agents, their tests, a container, a CI workflow.")
      .argument("[folder]", "where; it is made if it is not there", ".")
      .option("--name <name>", "name of the project (default: that of its folder)")
      .addOption(
        new Option(
          "--template <template>",
          `what to begin with: ${list} (default: asked at a terminal, otherwise hello)`,
        ).choices(templateNames),
      )
      .option(
        "--link",
        "refer to this Bridle by its path; by default the project gets the package as a file that can be committed",
      )
      .option("--force", "overwrite files"),
  );
  command.action(
    async (folder: string, { name, link = false, force = false, json, ...given }: InitSettings) => {
      const { initProject, nextSteps, problemWithName, projectName } = await import("../init/project.ts");
      const chosen = name ?? projectName(folder);
      const problem = problemWithName(chosen);
      if (problem !== null) command.error(`error: option '--name <name>': ${problem}`);
      const template = given.template ?? (canAsk() && json !== true ? await askTemplate() : "hello");
      if (template === null) return;
      const project = { folder, name: chosen, template, link, force };
      const made = await initProject(project);
      const files = made.map(({ path, wasThere }) => ({ path, written_over: wasThere }));
      show({ ...(json && { json }) }, { name: chosen, template, folder: resolve(folder), files }, () =>
        nextSteps(project, made),
      );
    },
  );
}

/** By number or name; the first for an empty line. Null when there is no answer. */
async function askTemplate(): Promise<TemplateName | null> {
  const lines = templateNames.map(
    (name, n) => `  ${n + 1}  ${name.padEnd(10)} ${templates[name].description}\n`,
  );
  process.stderr.write(`Templates:\n${lines.join("")}`);
  while (true) {
    const typed = (await ask(`Which one? [1] `))?.trim();
    if (typed === undefined) return null;
    const found = templateNames.find((name, n) => typed === name || typed === String(n + 1));
    if (typed === "") return "hello";
    if (found !== undefined) return found;
    process.stderr.write(`Type a number from 1 to ${templateNames.length}, or a name.\n`);
  }
}
