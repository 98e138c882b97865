/** What a module needs at run time: every file that it reaches, and whatever else is named on the way. */

import { readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Of an import or an export; what is only for types is gone when the code runs. */
const sources = /^(?:import|export) (?!type\b)(?:[^;"]*? from )?"([^"]+)"|\bimport\("([^"]+)"\)/gm;

export interface ImportGraph {
  /** From the top of the repository. */
  files: string[];
  /** Packages and modules of Node. */
  foreign: string[];
  /** Names of Node that no browser has, with the file they are used in. */
  nodeOnly: string[];
}

export function importGraphOf(entry: string): ImportGraph {
  const graph = { files: new Set([entry]), foreign: new Set<string>(), nodeOnly: [] as string[] };
  for (const file of graph.files) {
    const code = readFileSync(resolve(root, file), "utf8").replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*/gm, "");
    const used = code.match(/\b(?:Buffer|process|require|setImmediate|NodeJS|__dirname)\b/);
    if (used !== null) graph.nodeOnly.push(`${used[0]} in ${file}`);
    for (const [, from, lazy] of code.matchAll(sources)) {
      const target = from ?? lazy ?? "";
      if (target.startsWith(".")) graph.files.add(relative(root, resolve(root, dirname(file), target)));
      else graph.foreign.add(target);
    }
  }
  return { files: [...graph.files], foreign: [...graph.foreign], nodeOnly: graph.nodeOnly };
}
