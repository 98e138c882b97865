/** The folder that the tour writes to: a temporary one, or a new one that is kept. */

import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

export interface TourWorkspace {
  directory: string;
  /** The data directory of a server of its own. */
  data: string;
  /** Where code leaves a line when it runs. */
  tally: string;
  receipt: string;
  keys: string;
  isKept: boolean;
  /** Takes it away, unless it is kept. */
  leave(): Promise<void>;
}

export async function makeWorkspace(keep: string | undefined): Promise<TourWorkspace> {
  const directory =
    keep === undefined ? await mkdtemp(join(tmpdir(), "bridle-tour-")) : await newDirectory(keep);
  return {
    directory,
    data: join(directory, "data"),
    tally: join(directory, "ran.txt"),
    receipt: join(directory, "receipt.json"),
    keys: join(directory, "keys.json"),
    isKept: keep !== undefined,
    async leave() {
      if (keep === undefined) await rm(directory, { recursive: true, force: true });
    },
  };
}

/** What is there already is somebody's. */
async function newDirectory(given: string): Promise<string> {
  const directory = resolve(given);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const found = await readdir(directory);
  if (found.length > 0) throw new Error(`${given} is not empty: --keep takes a directory of its own.`);
  return directory;
}
