/** Words that are found nowhere by chance, planted in content and looked for in files. */

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** The files of a data directory in which a word stands, databases, WAL and blobs included. */
export function filesWith(directory: string, word: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((name) => {
    const file = join(directory, name);
    return statSync(file).isFile() && readFileSync(file).includes(word);
  });
}
