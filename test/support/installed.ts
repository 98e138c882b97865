/** The package as others get it: built, packed, and installed with npm in a folder that was empty. */

import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, readlink, symlink } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Ended, type RunOptions, run, runNode, succeeded } from "./cli.ts";

export const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

/** What `npm pack` says of what it made. */
export interface Packed {
  filename: string;
  /** In bytes, compressed and not. */
  size: number;
  unpackedSize: number;
  files: { path: string }[];
}

/** Programs find this Node.js, whatever else there is. */
const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);

/** npm in a folder, as if it had never run before: not with the settings and the cache of whoever runs the tests. */
export function npm(args: string[], cwd: string): Promise<Ended> {
  return run("npm", args, { cwd, env: { PATH, HOME: cwd } });
}

/** A program of an installed package, in its folder unless another is named. */
export function runBin(
  folder: string,
  name: string,
  args: string[],
  { cwd = folder, env = {} }: RunOptions = {},
): Promise<Ended> {
  return run(join(folder, "node_modules/.bin", name), args, { cwd, env: { PATH, ...env } });
}

/** Builds and packs it in this folder. */
export async function pack(folder: string): Promise<Packed> {
  succeeded(await runNode([join(root, "build/package.ts"), join(folder, "dist")]));
  const [packed] = JSON.parse(succeeded(await npm(["pack", "./dist", "--json"], folder)));
  return packed;
}

/** What npm finds there already it does not ask the network for; so these are the versions of the lock file. */
export async function install(tarball: string, folder: string): Promise<void> {
  await copyDependencies(join(folder, "node_modules"));
  const quickly = ["--offline", "--no-save", "--omit=dev", "--no-audit", "--no-fund"];
  succeeded(await npm(["install", tarball, ...quickly], folder));
}

/** The packages that types of ours import, and what these depend on. */
async function copyDependencies(target: string): Promise<void> {
  const source = join(root, "node_modules");
  const { packages } = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8"));
  const names = new Set(["pino", "typebox"]);
  for (const name of names) {
    for (const needed of Object.keys(packages[`node_modules/${name}`].dependencies ?? {})) names.add(needed);
  }
  for (const name of names) await cp(join(source, name), join(target, name), { recursive: true });
  // Without the links to its programs, npm would fetch a package again.
  await mkdir(join(target, ".bin"));
  for (const name of await readdir(join(source, ".bin"))) {
    const program = await readlink(join(source, ".bin", name));
    if (existsSync(join(target, ".bin", program))) await symlink(program, join(target, ".bin", name));
  }
}

/** What is needed to check types of the pages' code, but is not part of the package. */
export async function linkForTypes(folder: string): Promise<void> {
  for (const name of ["typescript", "@types/node", "@a2a-js/sdk", "zod"]) {
    const target = join(folder, "node_modules", name);
    await mkdir(dirname(target), { recursive: true });
    await symlink(join(root, "node_modules", name), target);
  }
  await symlink("../typescript/bin/tsc", join(folder, "node_modules/.bin/tsc"));
}
