/**
 * The Markdown pages and the code in them. Words behind the language of a fence say what is done with a block:
 *
 *   run          sh, ts: executed, in the order of the page, in one shell and one folder for the whole page
 *   background   sh: a server; started, and left running once it says that it is ready
 *   dialogue     sh: a command that is typed at; the output below it has what is typed, behind the prompts
 *   file=PATH    any language: written to that file, as a reader would
 *   output       text: what the block before it printed. `…` stands for anything in a line, alone in a line for any lines
 *   check        ts: its types are checked; so are those of what is run or written
 *   ctx          ts, beside check: it is the inside of an agent's `run`
 *   from=PATH    ts: its lines are in that file of this repository
 *
 * In a block that is run, `# → text` behind a command is a line that the block prints.
 */

import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

export interface Block {
  /** The page, relative to the repository. */
  page: string;
  /** Of its fence, from 1. */
  line: number;
  language: string;
  words: ReadonlySet<string>;
  /** What `file=` and `from=` say. */
  file: string | null;
  from: string | null;
  text: string;
}

/** All pages that people read, relative to the repository. */
export const pages: readonly string[] = globSync("**/*.md", {
  cwd: root,
  exclude: (path) => /^(?:node_modules|dist)(?:\/|$)/.test(path),
}).sort();

export function readPage(page: string): string {
  return readFileSync(join(root, page), "utf8");
}

const knownWords = new Set(["run", "background", "dialogue", "output", "check", "ctx"]);

export function blocksOf(page: string, text: string = readPage(page)): Block[] {
  const blocks: Block[] = [];
  let open: { ticks: string; indent: string; block: Block; lines: string[] } | null = null;
  for (const [n, line] of text.split("\n").entries()) {
    const [, indent = "", ticks, info = ""] = /^( *)(`{3,})(.*)$/.exec(line) ?? [];
    if (open === null) {
      if (ticks !== undefined) open = { ticks, indent, block: blockOf(page, n + 1, info), lines: [] };
    } else if (ticks !== undefined && ticks.length >= open.ticks.length && info.trim() === "") {
      blocks.push({ ...open.block, text: open.lines.map((each) => `${each}\n`).join("") });
      open = null;
    } else {
      open.lines.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line.trimStart());
    }
  }
  if (open !== null) throw new Error(`${page}:${open.block.line}: the block does not end.`);
  return blocks;
}

function blockOf(page: string, line: number, info: string): Block {
  const [language = "", ...words] = info.trim().split(/\s+/);
  const block: Block = { page, line, language, words: new Set(words), file: null, from: null, text: "" };
  for (const word of words) {
    const [name, value] = word.split("=");
    if (name === "file" && value) block.file = value;
    else if (name === "from" && value) block.from = value;
    else if (!knownWords.has(word))
      throw new Error(`${page}:${line}: "${word}" means nothing behind a fence.`);
  }
  return block;
}

/** Whether the block is a part of what is executed. */
export function isActed({ words, file }: Block): boolean {
  return words.has("run") || words.has("background") || words.has("dialogue") || file !== null;
}

/** The files that have all types to be checked, by paths: those of a page are in a folder of their own. */
export function filesToCheck(): Map<string, string> {
  const files = new Map<string, string>();
  for (const page of pages) {
    const folder = page.replaceAll(/[^\w]+/g, "-");
    for (const block of blocksOf(page)) {
      if (block.language !== "ts") continue;
      if (block.file !== null) {
        // Only what stays of a file that is written several times has to fit the others.
        files.set(join(folder, block.file), block.text);
      } else if (block.words.has("run") || block.words.has("check")) {
        files.set(
          join(folder, `line-${block.line}.mts`),
          block.words.has("ctx") ? insideOfRun(block) : `${block.text}\nexport {};\n`,
        );
      }
    }
  }
  return files;
}

function insideOfRun({ text }: Block): string {
  return `import { type AgentContext } from "bridle";\nexport async function run(ctx: AgentContext) {\n${text}}\n`;
}

/** The text of a page with empty lines in the place of its code blocks, where a bracket is no link. */
export function prose(page: string, text = readPage(page)): string {
  return text.replaceAll(/^( *)(`{3,})[^\n]*\n.*?^ *\2`*$/gms, (block) => block.replaceAll(/.+/g, ""));
}

export interface Link {
  page: string;
  target: string;
}

/** All links that lead to another place in this repository. */
export function localLinks(page: string, text = readPage(page)): Link[] {
  return [
    ...prose(page, text)
      .replaceAll(/`[^`\n]*`/g, "")
      .matchAll(/\]\(([^)\s]+)\)/g),
  ]
    .map(([, target = ""]) => ({ page, target }))
    .filter(({ target }) => !/^[a-z]+:/.test(target));
}

/** Where a link leads to: a path, relative to the repository, and perhaps a heading in it. */
export function destination({ page, target }: Link): { path: string; anchor: string | null } {
  const [path = "", anchor = null] = target.split("#");
  return { path: path === "" ? page : normalize(join(dirname(page), path)).replace(/\/$/, ""), anchor };
}

/** The anchors that headings have where Markdown is shown. */
export function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ""] of prose(page).matchAll(/^#{1,6} +(.*?) *#*$/gm)) {
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const slug = plain.replaceAll(/[^\p{L}\p{N}\p{M}_\- ]/gu, "").replaceAll(" ", "-");
    let anchor = slug;
    for (let n = 1; anchors.has(anchor); n += 1) anchor = `${slug}-${n}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** Without what is different every time: ids, hashes, times, addresses. What is left of them is the sign for anything. */
export function normalized(text: string): string {
  return text
    .trimEnd()
    .replaceAll(/[ \t]+$/gm, "")
    .replaceAll(/\b([a-z]+(?:_[a-z]+)*_)[0-9a-zA-Z]{20,}\b/g, "$1…")
    .replaceAll(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| UTC)?/g, "…")
    .replaceAll(/\b[0-9a-f]{16,}\b/g, "…")
    .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, "http://127.0.0.1:…");
}

/** What a line of shown output stands for, as the source of a pattern. */
export function patternOf(line: string): string {
  return line
    .split("…")
    .map((text) => text.replaceAll(/[^\w\s]/gu, "\\$&"))
    .join(".*");
}

/** Whether this was printed: `…` alone in a line stands for any lines, elsewhere for anything in the line. */
export function matches(shown: string, printed: string): boolean {
  const lines = normalized(shown)
    .split("\n")
    .map((line) => (line.trim() === "…" ? "(?:.*\n)*?" : `${patternOf(line)}\n`));
  return new RegExp(`^${lines.join("")}$`).test(`${normalized(printed)}\n`);
}
