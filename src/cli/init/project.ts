/** The files of a new project: those in `template/`, and those that depend on its name and on this package. */

import { lstat, mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import manifest from "../../../package.json" with { type: "json" };
import { packageRoot } from "../../package-files.ts";
import { oneLine } from "../terminal/text.ts";

const packageFolder = fileURLToPath(packageRoot).replace(/\/$/, "");
const template = join(packageFolder, "src/cli/init/template");

/** Kept as they will be, so that they are checked and tested with everything else. */
const templateFiles = [
  "tsconfig.json",
  "bridle.config.ts",
  "agents/hello.ts",
  "agents/hello.test.ts",
  "README.md",
  "AGENTS.md",
];

export interface NewProject {
  folder: string;
  name: string;
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
export async function initProject({ folder, name, force }: NewProject): Promise<MadeFile[]> {
  const files = await contents(name);
  const there = new Set<string>();
  for (const path of files.keys()) {
    const found = await kindOf(join(folder, path));
    if (found === "nothing") continue;
    if (found === "other") throw new Error(`${shownPath(folder, path)} is in the way, and is not a file.`);
    there.add(path);
  }
  if (there.size > 0 && !force) {
    const list = [...there].map((path) => `\n  ${shownPath(folder, path)}`).join("");
    throw new Error(`nothing was changed, because these are there already; --force writes over them:${list}`);
  }
  for (const [path, text] of files) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    // Somebody may have made it in the meantime.
    await writeFile(file, text, { flag: there.has(path) ? "w" : "wx" });
  }
  return [...files.keys()].map((path) => ({ path, wasThere: there.has(path) }));
}

async function contents(name: string): Promise<Map<string, string>> {
  const files = new Map([["package.json", packageJson(name)]]);
  for (const path of templateFiles) files.set(path, await readFile(join(template, path), "utf8"));
  files.set("README.md", (files.get("README.md") ?? "").replace("{name}", name));
  // Not in the template: npm would leave it out of the package.
  files.set(".gitignore", "node_modules\n.bridle\n");
  return files;
}

function packageJson(name: string): string {
  const { "@types/node": nodeTypes, typescript } = manifest.devDependencies;
  const content = {
    name,
    version: "0.1.0",
    private: true,
    type: "module",
    engines: manifest.engines,
    scripts: {
      dev: "bridle dev",
      test: 'node --test "agents/**/*.test.ts"',
      check: "tsc --noEmit",
    },
    dependencies: { bridle: isCheckout() ? `file:${packageFolder}` : `^${manifest.version}` },
    devDependencies: { "@types/node": nodeTypes, typescript },
    // Node.js itself, whichever version the machine has: npm installs the package for its platform and links `node`, without a script.
    optionalDependencies: manifest.optionalDependencies,
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}

/** Whether this is not an installed package but its source, which npm can link to. */
function isCheckout(): boolean {
  return !packageFolder.includes("/node_modules/");
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
export function nextSteps(folder: string, name: string, made: readonly MadeFile[]): string {
  const list = made.map(({ path, wasThere }) => `  ${path}${wasThere ? "   (written over)" : ""}\n`).join("");
  const from = isCheckout()
    ? `\nIt uses the Bridle in ${packageFolder}, which package.json refers to as a file.\n`
    : "";
  const isHere = resolve(folder) === process.cwd();
  return `Made the project ${name}${isHere ? "" : ` in ${oneLine(folder)}`}:

${list}${from}
Next:
${isHere ? "" : `  cd ${inShell(folder)}\n`}  npm install
  npm test
  npm run dev
  npx bridle shell --agent hello    (in a second terminal)
`;
}

function inShell(folder: string): string {
  if (/^[\w./@-]+$/.test(folder)) return folder;
  return `'${oneLine(folder).replaceAll("'", `'\\''`)}'`;
}
