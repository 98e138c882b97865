/** Patterns of paths, and what a path really is. */

import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";

const patterns = new Map<string, RegExp>();
const patternsMax = 1000;

/** `**` is any number of steps, also none: `/a/**` is `/a` as well. `*` and `?` stay within a step. */
export function matchesPath(pattern: string, path: string, isLoose: boolean): boolean {
  const key = `${isLoose ? "i" : ""}:${pattern}`;
  const known = patterns.get(key);
  const made = known ?? new RegExp(`^${sourceOf(normal(pattern, isLoose))}/*$`, isLoose ? "isu" : "su");
  if (known === undefined && patterns.size < patternsMax) patterns.set(key, made);
  return made.test(normal(path, isLoose));
}

/** File systems that ignore case mostly ignore the form of accents, too. */
function normal(text: string, isLoose: boolean): string {
  return isLoose ? text.normalize("NFC") : text;
}

function sourceOf(pattern: string): string {
  return pattern
    .split("/")
    .slice(1)
    .map((step) => {
      if (step === "**") return "(?:/[^/]+)*";
      return `/${[...step].map((char) => (char === "*" ? "[^/]*" : char === "?" ? "[^/]" : escaped(char))).join("")}`;
    })
    .join("");
}

/** With all links followed, as far as there is something: what is going to be made is in a directory that may be a link. */
export function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPathOf(parent), path.slice(parent.length).replace(/^\/+/, ""));
  }
}

export function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
