/** Finding a text in the files of a workspace. Not made of `ctx.files`, which would record every file that it looks into. */

import { Type } from "typebox";
import { FileRefused, pathCharsMax } from "../../files/safe-path.ts";
import { type FileEntry, fileBytesMax } from "../../files/workspace-files.ts";
import { defineTool } from "../define.ts";
import type { ToolContext } from "../tool.ts";

/** What one search looks at and gives; a search that meets a bound says so. */
const filesMax = 5_000;
const bytesMax = 64 * 1024 * 1024;
const foldersMax = 1_000;
const matchesMax = 100;
const excerptChars = 200;
/** Full of what others wrote, unless a path leads there. */
const skipped: ReadonlySet<string> = new Set([".git", "node_modules"]);

const Match = Type.Object({
  path: Type.String(),
  line: Type.Integer(),
  text: Type.String({ description: "The line, or the part of it around the match." }),
});

export const filesSearch = defineTool({
  name: "files.search",
  description:
    "Finds the lines of the workspace's text files that hold a text. Files over 2 MiB, .git and node_modules are passed over.",
  input: Type.Object({
    query: Type.String({ minLength: 1, maxLength: 500, description: "Plain text, within one line." }),
    path: Type.Optional(
      Type.String({ maxLength: pathCharsMax, description: "The folder or file to search; all when absent." }),
    ),
    ignore_case: Type.Optional(Type.Boolean()),
  }),
  output: Type.Object({
    matches: Type.Array(Match),
    files_searched: Type.Integer(),
    truncated: Type.Boolean({ description: "Whether there may be more." }),
  }),
  effect: "none",
  risk: "low",
  isOptIn: true,
  capabilities: ["files:read"],
  async run({ query, path = "", ignore_case = false }, context) {
    const matches: { path: string; line: number; text: string }[] = [];
    let files = 0;
    let bytes = 0;
    for await (const file of walk(path, context)) {
      if (file === "bounded" || files === filesMax || bytes > bytesMax) {
        return { matches, files_searched: files, truncated: true };
      }
      files += 1;
      bytes += file.content.length;
      for (const match of linesWith(file.content, query, ignore_case)) {
        if (matches.length === matchesMax) return { matches, files_searched: files, truncated: true };
        matches.push({ path: file.path, ...match });
      }
    }
    return { matches, files_searched: files, truncated: false };
  },
});

type Found = { path: string; content: string } | "bounded";

/** The text files under a path, folder by folder. */
async function* walk(from: string, { files, place, signal }: ToolContext): AsyncGenerator<Found> {
  const at = await place();
  const first = await files.read(at, from);
  if (first.kind === "file") return yield { path: from, content: first.content };
  const open = [{ path: from, entries: first.entries }];
  let folders = 1;
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    for (const path of wanted(folder.path, folder.entries)) {
      signal.throwIfAborted();
      const found = await readable(() => files.read(at, path));
      if (found?.kind === "file") yield { path, content: found.content };
      if (found?.kind !== "directory") continue;
      if (folders === foldersMax) return yield "bounded";
      folders += 1;
      open.push({ path, entries: found.entries });
    }
  }
}

function wanted(folder: string, entries: FileEntry[]): string[] {
  return entries
    .filter(({ name, kind, size }) => (kind === "file" ? size <= fileBytesMax : !skipped.has(name)))
    .map(({ name }) => (folder === "" || folder === "." ? name : `${folder}/${name}`));
}

/** What is no text, has a name that is not used here, or is gone, is not searched. */
async function readable<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof FileRefused) return null;
    throw error;
  }
}

function* linesWith(
  content: string,
  query: string,
  ignoreCase: boolean,
): Generator<{ line: number; text: string }> {
  const plain = (text: string) => (ignoreCase ? text.toLowerCase() : text);
  const sought = plain(query);
  // Most files do not hold it at all.
  if (!plain(content).includes(sought)) return;
  for (const [index, line] of content.split("\n").entries()) {
    const found = plain(line).indexOf(sought);
    if (found !== -1) yield { line: index + 1, text: around(line, found) };
  }
}

function around(line: string, found: number): string {
  if (line.length <= excerptChars) return line.trim();
  const from = Math.max(0, Math.min(found - 20, line.length - excerptChars));
  return `…${line.slice(from, from + excerptChars).toWellFormed()}…`;
}
