/** Builds the web console, whose sources are in `console/`, into files that the server serves as they are. */

import { cpSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { build, type Plugin } from "vite";
import { replaceFile, root } from "./bundle.ts";

const sources = join(root, "console");

/** Returns what it was made of, relative to the root of the project. */
export async function buildConsole(folder: string): Promise<string[]> {
  const inputs = new Set(publicFiles());
  const seen: Plugin = {
    name: "inputs",
    buildEnd() {
      for (const id of this.getModuleIds()) if (!id.startsWith("\0")) inputs.add(relativeOf(id));
    },
  };
  const output = await build({
    root: sources,
    configFile: join(sources, "vite.config.ts"),
    logLevel: "warn",
    plugins: [seen],
    build: { write: false },
  });
  const files = [output].flat().flatMap((result) => ("output" in result ? result.output : []));
  mkdirSync(join(folder, "assets"), { recursive: true });
  cpSync(join(sources, "public"), folder, { recursive: true });
  // The document last: what it names is there.
  const byName = [...files].sort((a, b) => Number(isDocument(a.fileName)) - Number(isDocument(b.fileName)));
  for (const file of byName) {
    replaceFile(join(folder, file.fileName), file.type === "chunk" ? file.code : file.source);
  }
  const current = new Set(files.map(({ fileName }) => fileName));
  for (const name of readdirSync(join(folder, "assets"))) {
    if (!current.has(`assets/${name}`)) rmSync(join(folder, "assets", name));
  }
  return [...inputs, "console/vite.config.ts", "build/console.ts", "package-lock.json"];
}

function isDocument(name: string): boolean {
  return name.endsWith(".html");
}

function publicFiles(): string[] {
  return readdirSync(join(sources, "public")).map((name) => `console/public/${name}`);
}

function relativeOf(id: string): string {
  return relative(root, id.replace(/[?#].*$/, ""));
}
