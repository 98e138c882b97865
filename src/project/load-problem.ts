/** Why a module cannot be loaded, in one line that says where to look. */

import { spawnSync } from "node:child_process";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { plainLine } from "../cli/terminal/output.ts";
import { ConfigProblem } from "./check-config.ts";
import type { ProjectModules } from "./modules.ts";

/** A mistake in the code of a project. The message begins with the file and, where that is known, the line. */
export class LoadProblem extends Error {
  override name = "LoadProblem";
}

/** How long Node may take to find out where a mistake is. */
const checkMsMax = 10_000;

export function loadProblem(error: unknown, file: string, modules: ProjectModules): Error {
  if (error instanceof LoadProblem || error instanceof ConfigProblem) return error;
  const { name, message, stack = "" } = error instanceof Error ? error : new Error(String(error));
  const place = placeIn(stack, modules) ?? placeOfSyntaxError(error, file, modules) ?? shown(file);
  const said = name === "Error" ? message : `${name}: ${message}`;
  return new LoadProblem(`${place}: ${plainLine(said)}`, { cause: error });
}

/** The first line of the project's own code that the stack names. */
function placeIn(stack: string, modules: ProjectModules): string | null {
  for (const [, url = "", line = ""] of stack.matchAll(/(file:\/\/[^\s()?]+?)(?:\?[^\s():]*)?:(\d+)/g)) {
    const file = fileURLToPath(url);
    if (modules.has(file)) return `${shown(file)}:${line}`;
  }
  return null;
}

/** Of plain JavaScript that cannot be read, Node says where it went wrong only when that is all it is asked. */
function placeOfSyntaxError(error: unknown, entry: string, modules: ProjectModules): string | null {
  if (!(error instanceof SyntaxError)) return null;
  for (const file of modules.reach(entry)) {
    if (!/\.[cm]?js$/.test(file)) continue;
    const options = { encoding: "utf8", timeout: checkMsMax } as const;
    const { stderr } = spawnSync(process.execPath, ["--check", file], options);
    const [, line] = /^\S.*:(\d+)$/m.exec(stderr ?? "") ?? [];
    if (line !== undefined) return `${shown(file)}:${line}`;
  }
  return null;
}

/** A path as short as it can be. */
export function shown(file: string): string {
  const short = relative(process.cwd(), file);
  return short.startsWith("..") ? file : short;
}
