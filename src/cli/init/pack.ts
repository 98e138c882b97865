/** This Bridle as one file, so that a project can be committed and installed elsewhere while there is no registry release. */

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import manifest from "../../../package.json" with { type: "json" };
import { packageRoot } from "../../package-files.ts";

const run = promisify(execFile);

export const packageFolder: string = fileURLToPath(packageRoot).replace(/\/$/, "");

const file = `bridle-${manifest.version}.tgz`;
/** Where it is in a project. */
export const tarballPath: string = `vendor/${file}`;

/** In a clone the package is built first, which takes some seconds. */
export async function packBridle(): Promise<Uint8Array> {
  const folder = await mkdtemp(join(tmpdir(), "bridle-pack-"));
  const startedAt = Date.now();
  process.stderr.write(`Packing Bridle into ${tarballPath} … `);
  try {
    const built = isClone() ? join(folder, "dist") : packageFolder;
    if (isClone()) await run(process.execPath, [join(packageFolder, "build/package.ts"), built]);
    const args = ["pack", built, "--pack-destination", folder, "--ignore-scripts", "--silent"];
    await run("npm", args, { shell: process.platform === "win32" });
    const packed = await readFile(join(folder, file));
    process.stderr.write(`done in ${((Date.now() - startedAt) / 1000).toFixed(1)} s\n`);
    return packed;
  } catch (error) {
    process.stderr.write("failed\n");
    const output = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : String(error);
    throw new Error(`Bridle could not be packed, and nothing was made: ${output}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Whether this is not an installed package but its source. */
function isClone(): boolean {
  return !packageFolder.includes("/node_modules/");
}
