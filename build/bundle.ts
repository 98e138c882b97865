/**
 * Bundles the server, the command line and the libraries into `lib/`: a start then reads a few files instead of 1,500. Every
 * dependency is part of it; what is loaded with `import()` is a chunk of its own, which costs nothing until it is needed.
 */

import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { build } from "esbuild";

export const root = join(import.meta.dirname, "..");

/** The program and what agents import, by the name of the file in `lib/`; for `exports` that is the path there. */
const programs = {
  main: "src/cli/main.ts",
  writer: "src/store/sqlite/writer.ts",
  checkpointer: "src/store/sqlite/checkpointer.ts",
  "receipts-worker": "src/server/receipts-worker.ts",
  "redaction-worker": "src/server/redaction-worker.ts",
  index: "src/index.ts",
  testing: "src/testing/index.ts",
};

/** Libraries that browsers load too. */
const webLibraries = {
  approver: "src/sdk/approver/approver.ts",
  client: "src/sdk/client/index.ts",
  react: "src/sdk/react/index.ts",
  shell: "src/sdk/shell/index.ts",
  verify: "src/sdk/verify/index.ts",
};

const common = {
  absWorkingDir: root,
  // Source maps and names of chunks depend on it, and shall be the same wherever the files are then written.
  outdir: join(root, "lib"),
  // Modules find files of the package relative to themselves, so chunks lie beside the entries.
  entryNames: "[name]",
  chunkNames: "[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  sourcemap: "linked",
  sourcesContent: false,
  metafile: true,
  write: false,
  logLevel: "warning",
} as const;

/** CommonJS dependencies load the modules of Node.js with `require`. */
const requireHere = `import { createRequire as createRequireHere } from "node:module";
const require = createRequireHere(import.meta.url);`;

export interface Bundle {
  /** The names of the files in the folder. */
  files: string[];
  /** What it was made of, relative to the root of the project. */
  inputs: string[];
}

export async function bundle(folder: string): Promise<Bundle> {
  const built = await Promise.all([
    build({
      ...common,
      entryPoints: programs,
      platform: "node",
      target: "node24",
      banner: { js: requireHere },
    }),
    build({
      ...common,
      entryPoints: webLibraries,
      platform: "neutral",
      target: "es2024",
      external: ["react"],
    }),
  ]);
  mkdirSync(folder, { recursive: true });
  const written = built.flatMap(({ outputFiles }) => outputFiles);
  for (const { path, contents } of written) replaceFile(join(folder, basename(path)), contents);
  return {
    files: written.map(({ path }) => basename(path)),
    inputs: built.flatMap(({ metafile }) => Object.keys(metafile.inputs)),
  };
}

/** Another process may be reading it, or writing it too. */
export function replaceFile(path: string, contents: Uint8Array | string): void {
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, contents);
  renameSync(temporary, path);
}
