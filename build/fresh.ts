/** What a clone runs, `lib/`: made when it is missing, and again when a source has changed. */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const folder = join(root, "lib");

/** Processes that were started from an older bundle may still load chunks of it. */
const keepMs = 24 * 60 * 60 * 1000;

/** When each source had last been modified when something was made of it. */
type Stamp = Record<string, number>;

interface Product {
  /** What is said while it is made. */
  doing: string;
  stampFile: string;
  /** Makes it, and returns its sources. */
  make(): Promise<string[]>;
}

// Most starts find everything fresh and need no bundler.
const products: readonly Product[] = [
  {
    doing: "Bundling the sources into lib/",
    stampFile: join(folder, "inputs.json"),
    async make() {
      const { bundle } = await import("./bundle.ts");
      const { files, inputs } = await bundle(folder);
      removeOld(new Set(files));
      return [...inputs, "build/bundle.ts", "package-lock.json"];
    },
  },
  {
    doing: "Building the console into lib/console/",
    stampFile: join(folder, "console-inputs.json"),
    async make() {
      const { buildConsole } = await import("./console.ts");
      return await buildConsole(join(folder, "console"));
    },
  },
];

/**
 * The module of the command, of a bundle and a console that are as new as the sources. Without the packages that make them
 * (`npm ci --omit=dev`) it is the source itself, which Node.js runs as it is.
 */
export async function freshMain(): Promise<string> {
  if (!products.every(isFresh) && !existsSync(join(root, "node_modules/esbuild"))) {
    process.stderr.write(
      "Without development packages Bridle runs from its sources, and without the web console; `npm ci` installs them.\n",
    );
    return join(root, "src/cli/main.ts");
  }
  return join(await freshBundle(), "main.js");
}

/** The folder of both. */
export async function freshBundle(): Promise<string> {
  for (const product of products) if (!isFresh(product)) await renew(product);
  return folder;
}

async function renew({ doing, stampFile, make }: Product): Promise<void> {
  const startedAt = Date.now();
  process.stderr.write(`${doing} … `);
  mkdirSync(folder, { recursive: true });
  const sources = (await make()).filter(isSource);
  // A source that was modified while it was read is stale.
  const stamp: Stamp = Object.fromEntries(
    sources.map((file) => [file, modifiedAt(file) < startedAt ? modifiedAt(file) : 0]),
  );
  const { replaceFile } = await import("./bundle.ts");
  replaceFile(stampFile, JSON.stringify(stamp));
  process.stderr.write(`done in ${((Date.now() - startedAt) / 1000).toFixed(1)} s\n`);
}

function isFresh({ stampFile }: Product): boolean {
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
    const { mtimeMs } = statSync(path);
    if (/\.js(\.map)?$/.test(file) && !current.has(file) && Date.now() - mtimeMs > keepMs) rmSync(path);
  }
}
