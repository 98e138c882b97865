/**
 * `npm run build` makes the package that is published: plain JavaScript with its types, since Node.js strips no types of what is
 * installed. It is a folder of its own, `dist/` unless another is named, so that everything here goes on running from source.
 */

import { execFileSync } from "node:child_process";
import { cpSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import manifest from "./package.json" with { type: "json" };

const root = import.meta.dirname;

/** What is used as it is. The files of a new project are somebody's source, not ours to compile. */
const copied = ["proto/generated", "src/cli/init/template", "README.md", "LICENSE", "CHANGELOG.md"];

function build(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const args = [compiler, "--project", join(root, "tsconfig.build.json"), "--outDir", folder];
  execFileSync(process.execPath, args, { stdio: "inherit" });
  for (const path of copied) cpSync(join(root, path), join(folder, path), { recursive: true });
  // The compiler puts ours there, because modules import it.
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(publishedManifest(), null, 2)}\n`);
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
    files: ["src", "client", "proto", "CHANGELOG.md"],
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
