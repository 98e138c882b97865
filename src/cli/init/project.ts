/** The files of a new project: those in `template/`, those of the chosen template, and those that depend on its name and on this package. */

import { lstat, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import node from "../../../build/node/package.json" with { type: "json" };
import manifest from "../../../package.json" with { type: "json" };
import { oneLine } from "../terminal/text.ts";
import { packageFolder, packBridle, tarballPath } from "./pack.ts";
import { type TemplateName, templates } from "./templates.ts";

/** Kept as they will be, so that they are checked and tested with everything else. */
const common = join(packageFolder, "src/cli/init/template");
/** Files of `template/` that npm or other tools would take for their own, and where they go. */
const renamed: Record<string, string> = {
  "ci.yml": ".github/workflows/ci.yml",
  dockerignore: ".dockerignore",
  "env.example": ".env.example",
};

export interface NewProject {
  folder: string;
  name: string;
  template: TemplateName;
  /** Whether the project refers to this Bridle by its path; by default it gets a copy of the package. */
  link: boolean;
  /** Whether files that are there may be written over. */
  force: boolean;
}

export interface MadeFile {
  path: string;
  wasThere: boolean;
}

/** The name that the folder gives. */
export function projectName(folder: string): string {
  return basename(resolve(folder));
}

const nameCharsMax = 214;
/** Not what npm takes for something else; nor ours, since a package cannot depend on itself. */
const takenNames = ["bridle", "node_modules", "favicon.ico"];

/** What is wrong with a name, by the rules of npm. */
export function problemWithName(name: string): string | null {
  const shown = JSON.stringify(oneLine(name, 80));
  if (takenNames.includes(name)) return `${shown} cannot be the name of a project; choose another.`;
  const isName = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/.test(name);
  if (isName && name.length <= nameCharsMax) return null;
  return `${shown} is not the name of a package: lower-case letters, digits, dashes, dots and underscores, beginning with a letter or a digit, ${nameCharsMax} at most.`;
}

/** Makes all files or, when one is in the way, none. */
export async function initProject(project: NewProject): Promise<MadeFile[]> {
  const { folder, force, link } = project;
  const files = await contents(project);
  const there = new Set<string>();
  for (const path of files.keys()) {
    const found = await kindOf(join(folder, path));
    if (found === "nothing") continue;
    if (found === "other") throw new Error(`${shownPath(folder, path)} is in the way, and is not a file.`);
    there.add(path);
  }
  if (there.size > 0 && !force) {
    const list = [...there].map((path) => `\n  ${shownPath(folder, path)}`).join("");
    throw new Error(`nothing was changed, because these are there already; --force overwrites them:${list}`);
  }
  if (!link) files.set(tarballPath, await packBridle());
  for (const [path, content] of files) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    // Somebody may have made it in the meantime.
    await writeFile(file, content, { flag: there.has(path) ? "w" : "wx" });
  }
  return [...files.keys()].map((path) => ({ path, wasThere: there.has(path) }));
}

async function contents({ name, template, link }: NewProject): Promise<Map<string, string | Uint8Array>> {
  const files = new Map<string, string | Uint8Array>([["package.json", packageJson(name, link)]]);
  for (const folder of [common, join(packageFolder, "src/cli/init/templates", template)]) {
    const found = await readdir(folder, { recursive: true, withFileTypes: true });
    for (const { parentPath, name: file } of found.filter((entry) => entry.isFile())) {
      const path = relative(folder, join(parentPath, file));
      files.set(renamed[path] ?? path, filledIn(await readFile(join(parentPath, file), "utf8")));
    }
  }
  // Not in the template: npm would leave it out of the package.
  files.set(".gitignore", "node_modules\n.bridle\n.env\n");
  return files;

  function filledIn(text: string): string {
    return text
      .replaceAll("{{name}}", name)
      .replaceAll("{{template}}", template)
      .replaceAll("{{agent}}", templates[template].agent)
      .replaceAll("{{vendor}}", link ? "" : `COPY ${tarballPath} ./${tarballPath}\n`)
      .replaceAll("{{dependency}}", `\n${dependencyNote(link)}\n`);
  }
}

/** Bridle has no registry release, which is said wherever a newcomer would wonder. */
function dependencyNote(link: boolean): string {
  if (link)
    return `package.json refers to the Bridle in ${packageFolder}, on this machine only. For a project that others can install, make it without --link.`;
  return `Bridle has no registry release yet, so package.json depends on the package in \`${tarballPath}\`. Commit that file.`;
}

function packageJson(name: string, link: boolean): string {
  const { "@types/node": nodeTypes, typescript } = manifest.devDependencies;
  const content = {
    name,
    version: "0.1.0",
    private: true,
    type: "module",
    engines: manifest.engines,
    scripts: {
      dev: "bridle dev",
      start: "bridle serve",
      test: 'node --test "agents/**/*.test.ts"',
      check: "tsc --noEmit",
    },
    dependencies: { bridle: link ? `file:${packageFolder}` : `file:${tarballPath}` },
    devDependencies: { "@types/node": nodeTypes, typescript },
    // Node.js itself, for machines whose own is too old: npm installs the package for its platform and links `node`, without a script.
    optionalDependencies: node.optionalDependencies,
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}

async function kindOf(path: string): Promise<"nothing" | "file" | "other"> {
  try {
    // A link may lead anywhere; what it leads to is not ours to write over.
    return (await lstat(path)).isFile() ? "file" : "other";
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT") return "nothing";
    if (code === "ENOTDIR") throw new Error(`${oneLine(dirname(path))} is not a folder.`);
    throw error;
  }
}

function shownPath(folder: string, path: string): string {
  return oneLine(join(folder, path));
}

/** What was made, and how to go on. */
export function nextSteps({ folder, name, template, link }: NewProject, made: readonly MadeFile[]): string {
  const list = made.map(({ path, wasThere }) => `  ${path}${wasThere ? "   (overwritten)" : ""}\n`).join("");
  const isHere = resolve(folder) === process.cwd();
  return `Made the project ${name}${isHere ? "" : ` in ${oneLine(folder)}`}, from the template ${template}:

${list}
${dependencyNote(link)}

Next:
${isHere ? "" : `  cd ${inShell(folder)}\n`}  npm install
  npm test
  npm run dev
  npx bridle shell --agent ${templates[template].agent}    (in a second terminal)
`;
}

function inShell(folder: string): string {
  if (/^[\w./@-]+$/.test(folder)) return folder;
  return `'${oneLine(folder).replaceAll("'", `'\\''`)}'`;
}
