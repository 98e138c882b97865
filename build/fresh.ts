/** The bundle of a clone, `lib/`: made when it is missing, and again when a source has changed. */

import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const folder = join(root, "lib");
const stampFile = join(folder, "inputs.json");

/** Processes that were started from an older bundle may still load chunks of it. */
const keepMs = 24 * 60 * 60 * 1000;

/** When each source had last been modified when the bundle was made. */
type Stamp = Record<string, number>;

/** The folder of a bundle that is as new as the sources. */
export async function freshBundle(): Promise<string> {
  if (isFresh()) return folder;
  const startedAt = Date.now();
  process.stderr.write("Bundling the sources into lib/ … ");
  // Most starts find a fresh bundle and need no bundler.
  const { bundle, replaceFile } = await import("./bundle.ts");
  const { files, inputs } = await bundle(folder);
  removeOld(new Set(files));
  const sources = [...inputs.filter(isSource), "build/bundle.ts", "package-lock.json"];
  // A source that was modified while it was read is stale.
  const stamp: Stamp = Object.fromEntries(
    sources.map((file) => [file, modifiedAt(file) < startedAt ? modifiedAt(file) : 0]),
  );
  replaceFile(stampFile, JSON.stringify(stamp));
  process.stderr.write(`done in ${((Date.now() - startedAt) / 1000).toFixed(1)} s\n`);
  return folder;
}

function isFresh(): boolean {
  try {
    const stamp: Stamp = JSON.parse(readFileSync(stampFile, "utf8"));
    return Object.entries(stamp).every(([file, at]) => modifiedAt(file) === at);
  } catch {
    return false;
  }
}

/** Dependencies change only with the lock file. */
function isSource(file: string): boolean {
  return !file.startsWith("node_modules/");
}

function modifiedAt(file: string): number {
  return statSync(join(root, file)).mtimeMs;
}

function removeOld(current: ReadonlySet<string>): void {
  for (const file of readdirSync(folder)) {
    const path = join(folder, file);
    if (!current.has(file) && Date.now() - statSync(path).mtimeMs > keepMs) rmSync(path);
  }
}
