/**
 * `npm run build` makes the package that is published: plain JavaScript with its types, since Node.js strips no types of what is
 * installed. It is a folder of its own, `dist/` unless another is named, so that everything here goes on running from source.
 */

import { execFileSync } from "node:child_process";
import { cpSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import manifest from "./package.json" with { type: "json" };

const root = import.meta.dirname;

/** What is used as it is. The files of a new project are somebody's source, not ours to compile. */
const copied = [
  "proto/generated",
  "src/cli/init/template",
  "docs",
  ...["README.md", "LICENSE", "CHANGELOG.md", "AGENTS.md", "llms.txt"],
];

/** Why things are as they are is for those who change them; the API's description is what a server gives itself. */
const leftOut = new Set(["docs/decisions", "docs/openapi.json", "docs/generate.ts"]);

function build(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const args = [compiler, "--project", join(root, "tsconfig.build.json"), "--outDir", folder];
  execFileSync(process.execPath, args, { stdio: "inherit" });
  const filter = (path: string) => !leftOut.has(relative(root, path));
  for (const path of copied) cpSync(join(root, path), join(folder, path), { recursive: true, filter });
  const pages = globSync(["*.md", "llms.txt", "docs/**/*.md"], { cwd: folder });
  for (const page of pages) unlink(join(folder, page));
  // The compiler puts ours there, because modules import it.
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(publishedManifest(), null, 2)}\n`);
}

/** Links that lead out of the package are the text that they were. In code, brackets are something else. */
function unlink(page: string): void {
  const parts = readFileSync(page, "utf8").split(/(^ *```.*?^ *```$)/ms);
  const linked = parts.map((part, n) =>
    n % 2 === 1
      ? part
      : part.replaceAll(/\[([^\]]*)\]\(([^)\s]+)\)/g, (link, text: string, target: string) => {
          const [path = ""] = target.split("#");
          const isThere = /^[a-z]+:/.test(target) || existsSync(join(dirname(page), path));
          return isThere ? link : text;
        }),
  );
  writeFileSync(page, linked.join(""));
}

/** Ours, with what was compiled in place of what it was compiled from. */
function publishedManifest() {
  const { name, version, description, license, type, engines, bin, exports, dependencies } = manifest;
  const { "@types/node": nodeTypes, node, typescript } = manifest.devDependencies;
  return {
    name,
    version,
    description,
    license,
    type,
    engines,
    bin: { bridle: inJavaScript(bin.bridle) },
    exports: Object.fromEntries(
      Object.entries(exports).map(([path, file]) => [
        path,
        { types: file.replace(/\.ts$/, ".d.ts"), default: inJavaScript(file) },
      ]),
    ),
    files: ["src", "client", "proto", "docs", "CHANGELOG.md", "AGENTS.md", "llms.txt"],
    dependencies,
    // `bridle init` gives new projects the same.
    devDependencies: { "@types/node": nodeTypes, node, typescript },
  };
}

function inJavaScript(file: string): string {
  return file.replace(/\.ts$/, ".js");
}

const folder = resolve(process.argv[2] ?? join(root, "dist"));
// All that is in it will be gone.
if (existsSync(folder) && !existsSync(join(folder, "src/index.js"))) {
  throw new Error(`${folder} is there, and is not a package that was built before.`);
}
build(folder);
