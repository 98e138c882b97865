/** Context packs of a project: texts in `context/`, by the names of their files. */

import { readdir, readFile } from "node:fs/promises";
import { join, parse } from "node:path";
import { LoadProblem, shown } from "./load-problem.ts";

const endings = [".md", ".json"];
const packsMax = 200;
/** A pack is part of what a model is told, whole. */
const packBytesMax = 256 * 1024;

export async function loadContextPacks(home: string): Promise<Map<string, string>> {
  const directory = join(home, "context");
  const files = await readdir(directory).catch(() => []);
  const packs = new Map<string, string>();
  for (const file of files.filter((name) => endings.includes(parse(name).ext)).sort()) {
    const path = join(directory, file);
    const bytes = await readFile(path);
    const { name } = parse(file);
    if (bytes.length > packBytesMax)
      throw new LoadProblem(`${shown(path)} has more than ${packBytesMax} bytes.`);
    if (packs.has(name)) throw new LoadProblem(`${shown(path)}: there is another context pack ${name}.`);
    packs.set(name, bytes.toString("utf8"));
  }
  if (packs.size > packsMax)
    throw new LoadProblem(`${shown(directory)} has more than ${packsMax} context packs.`);
  return packs;
}
