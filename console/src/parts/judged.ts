/** Forms in which requests say what will be done, and that people read in another form: commands, and changes of texts. */

import { isRecord } from "../pages/run/words.ts";

/** More is shown as the text that it is, which can be opened whole. */
const linesMax = 2000;

/** The words of a command as one line, quoted so that no two commands look alike. */
export function commandIn(name: string, value: unknown): string | null {
  if (name !== "argv" || !Array.isArray(value) || value.length === 0) return null;
  if (!value.every((word) => typeof word === "string")) return null;
  return value
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(" ");
}

/** A change of a text as a diff: one that is one, or what editing tools say that they replace. */
export function diffIn(value: unknown): string | null {
  const diff = typeof value === "string" ? (isDiff(value) ? value : null) : replacementIn(value);
  return diff === null || diff.split("\n").length > linesMax ? null : diff;
}

function isDiff(value: string): boolean {
  return /^@@ .*@@/m.test(value) && /^[+-]/m.test(value);
}

function replacementIn(value: unknown): string | null {
  if (!isRecord(value)) return null;
  const { old_string: was, new_string: is } = value;
  if (typeof was !== "string" || typeof is !== "string") return null;
  const marked = (sign: string, words: string) => words.split("\n").map((line) => `${sign}${line}`);
  return [...(was === "" ? [] : marked("-", was)), ...(is === "" ? [] : marked("+", is))].join("\n");
}
