/**
 * `npm run build` makes the package that is published, in `dist/` unless another folder is named: the bundle, the console, its types, the
 * documentation and the notices of what is bundled. It is laid out as a clone is, so that modules find their files in both.
 */

import { execFileSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import manifest from "../package.json" with { type: "json" };
import { bundle, root } from "./bundle.ts";
import { buildConsole } from "./console.ts";

/** Copied as they are. The files of a new project are somebody's source, not ours to compile. */
const copied = [
  ...["src/cli/init/template", "src/cli/init/templates"],
  "docs",
  ...["README.md", "LICENSE", "CHANGELOG.md", "AGENTS.md", "llms.txt"],
];

/** Why things are as they are is for those who change them; a server serves the description of its API itself. */
const leftOut = new Set([
  ...["docs/decisions", "docs/openapi.json", "docs/generate.ts"],
  ...["docs/screenshots", "docs/screenshots.ts", "docs/recording.svg", "docs/recording.ts"],
  "docs/reference/gate-policy.schema.json",
]);

const noticesFile = "THIRD-PARTY-NOTICES.md";

async function build(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  const { inputs } = await bundle(join(folder, "lib"));
  const consoleInputs = await buildConsole(join(folder, "lib/console"));
  const typePackages = writeTypes(folder);
  const filter = (path: string) => !leftOut.has(relative(root, path));
  for (const path of copied) cpSync(join(root, path), join(folder, path), { recursive: true, filter });
  const pages = globSync(["*.md", "llms.txt", "docs/**/*.md"], { cwd: folder });
  for (const page of pages) unlink(join(folder, page));
  writeFileSync(join(folder, noticesFile), notices([...inputs, ...consoleInputs]));
  writeFileSync(
    join(folder, "package.json"),
    `${JSON.stringify(publishedManifest(typePackages), null, 2)}\n`,
  );
}

/** Writes the declarations that the exports need, and returns the packages that these import. */
function writeTypes(folder: string): Set<string> {
  const all = mkdtempSync(join(tmpdir(), "bridle-types-"));
  try {
    const compiler = join(root, "node_modules/typescript/bin/tsc");
    const args = [compiler, "--project", join(root, "tsconfig.build.json"), "--outDir", all];
    execFileSync(process.execPath, args, { stdio: "inherit" });
    const packages = new Set<string>();
    const needed = new Set(Object.values(manifest.exports).map((entry) => declarationOf(entry.default)));
    for (const file of needed) {
      const text = readFileSync(join(all, file), "utf8");
      for (const [, imported = ""] of text.matchAll(/(?:\bfrom |\bimport\(|^import )"([^"]+)"/gm)) {
        if (imported.startsWith(".")) needed.add(declarationOf(join(dirname(file), imported)));
        else if (!imported.startsWith("node:")) packages.add(packageOf(imported));
      }
      cpSync(join(all, file), join(folder, file));
    }
    return packages;
  } finally {
    rmSync(all, { recursive: true });
  }
}

function declarationOf(file: string): string {
  return file.replace(/^\.\//, "").replace(/\.[jt]s$/, ".d.ts");
}

function packageOf(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

/** Links that lead out of the package are the text that they were, and pictures are left out. In code, brackets are something else. */
function unlink(page: string): void {
  const parts = readFileSync(page, "utf8").split(/(^ *```.*?^ *```$)/ms);
  const linked = parts.map((part, n) =>
    n % 2 === 1
      ? part
      : part
          .replaceAll(/<picture>.*?<\/picture>\n|^!\[[^\]]*\]\([^)]*\)\n/gms, "")
          .replaceAll(/\[([^\]]*)\]\(([^)\s]+)\)/g, (link, text: string, target: string) => {
            const [path = ""] = target.split("#");
            const isThere = /^[a-z]+:/.test(target) || existsSync(join(dirname(page), path));
            return isThere ? link : text;
          }),
  );
  writeFileSync(page, linked.join(""));
}

/** The licences of the packages that are part of the bundle. */
function notices(inputs: readonly string[]): string {
  const folders = new Set(
    inputs.flatMap((file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []),
  );
  const sections = [...folders].sort().map((path) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, path, "package.json"), "utf8"));
    const [file] = globSync("{LICEN[CS]E,licen[cs]e,COPYING}*", { cwd: join(root, path) }).sort();
    const text = file === undefined ? "" : `\n${readFileSync(join(root, path, file), "utf8").trim()}\n`;
    return `## ${name} ${version}\n\nLicence: ${license}\n${text}`;
  });
  return `# Third-party notices\n\nThese packages are part of the files in \`lib/\`.\n\n${sections.join("\n")}`;
}

/** Ours, with the bundle in place of the sources. What is bundled need not be installed; what its types import must. */
function publishedManifest(typePackages: ReadonlySet<string>) {
  const {
    name,
    version,
    description,
    license,
    type,
    engines,
    exports,
    peerDependencies,
    peerDependenciesMeta,
  } = manifest;
  const { "@types/node": nodeTypes, typescript } = manifest.devDependencies;
  return {
    name,
    version,
    description,
    license,
    type,
    engines,
    bin: { bridle: "./lib/main.js" },
    exports: Object.fromEntries(
      Object.entries(exports).map(([path, { bundled, default: source }]) => [
        path,
        { types: `./${declarationOf(source)}`, default: bundled },
      ]),
    ),
    files: ["lib", "src", "proto", "docs", "CHANGELOG.md", "AGENTS.md", "llms.txt", noticesFile],
    dependencies: Object.fromEntries(
      Object.entries(manifest.dependencies).filter(([dependency]) => typePackages.has(dependency)),
    ),
    // Only `bridle/react` needs it.
    peerDependencies,
    peerDependenciesMeta,
    // `bridle init` gives new projects the same.
    devDependencies: { "@types/node": nodeTypes, typescript },
  };
}

const folder = resolve(process.argv[2] ?? join(root, "dist"));
// All that is in it will be gone.
if (existsSync(folder) && !existsSync(join(folder, "lib/main.js"))) {
  throw new Error(`${folder} exists and was not built by this script. Remove it, or name another folder.`);
}
await build(folder);
