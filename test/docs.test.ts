/** The documentation hangs together: links, the index, code that can be read, commands that exist. */

import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { createProgram } from "../src/cli/program.ts";
import { helpText } from "../src/cli/shell/commands.ts";
import {
  anchorsOf,
  blocksOf,
  destination,
  localLinks,
  matches,
  pages,
  prose,
  readPage,
  root,
} from "./support/docs.ts";
import { bridleCalls, problemWith } from "./support/docs-commands.ts";

const index = "docs/README.md";
/** Begins the first line of a page that `npm run docs` makes. */
const generatedMark = "<!-- Made by `npm run docs`";
const program = createProgram();

test("DCS-2 every link in every page leads to a file and to a heading in it", () => {
  // Given all links in all pages, when they are followed, then each leads to a file, and to a heading in it.
  const links = pages.flatMap((page) => localLinks(page));
  assert.ok(links.length > 200, `${links.length} links`);
  const dead = links.filter((link) => {
    const { path, anchor } = destination(link);
    if (!existsSync(join(root, path))) return true;
    return anchor !== null && path.endsWith(".md") && !anchorsOf(path).has(anchor);
  });
  assert.deepEqual(dead, []);
});

test("DCS-2 every decision has a number of its own, and its heading begins with it", () => {
  const files = globSync("docs/decisions/*.md", { cwd: root });
  const numbers = files.map((file) => /(\d{4})-[^/]+\.md$/.exec(file)?.[1] ?? file);
  assert.deepEqual(
    numbers.filter((number, n) => numbers.indexOf(number) !== n),
    [],
  );
  const unnumbered = files.filter((file, n) => !readPage(file).startsWith(`# ${numbers[n]} `));
  assert.deepEqual(unnumbered, []);
});

test("DCS-3 the index lists each page once with what it is about", () => {
  // Given the index, when it is compared with the pages, then each is listed once with what it is about.
  const rows = [...readPage(index).matchAll(/^- \[[^\]]+\]\(([^)]+)\)(.*)$/gm)];
  const listed = rows.map(([, target = ""]) => destination({ page: index, target }).path);
  const isListed = (page: string) =>
    page.startsWith("docs/") && page !== index && !/^docs\/(?:decisions|errors)\/(?!README)/.test(page);
  const outside = listed.filter((path) => !path.startsWith("docs/") || !path.endsWith(".md"));
  assert.deepEqual(listed.filter((path) => !outside.includes(path)).sort(), pages.filter(isListed));
  assert.equal(new Set(listed).size, listed.length, "once");
  for (const [row, , about = ""] of rows) assert.match(about, /^: \S.{10,}/, row);
});

test("DCS-9 lines of pages have at most 120 characters, outside of code, tables and generated pages", () => {
  const long = pages.flatMap((page) => {
    const text = readPage(page);
    if (text.startsWith(generatedMark)) return [];
    const lines = prose(page, text).split("\n");
    return lines.flatMap((line, n) =>
      line.length <= 120 || line.startsWith("|") ? [] : [`${page}:${n + 1}`],
    );
  });
  assert.deepEqual(long, []);
});

test("DCS-5 code blocks have valid syntax, and those taken from a file match it", () => {
  // Given all blocks of code, when they are read, then their syntax is right, and what is of a file is in it.
  const blocks = pages.flatMap((page) => blocksOf(page));
  const code = blocks.filter(({ language }) => language === "ts" || language === "js");
  assert.ok(code.length > 20, `${code.length} blocks`);
  for (const { page, line, text, from } of code) {
    // The inside of a function has no place for imports, the outside none for a wait in CommonJS; so one of both.
    const isModule = /^(?:import|export) /m.test(text);
    const whole = isModule ? text : `async function inside() {\n${text}\n}`;
    assert.doesNotThrow(() => stripTypeScriptTypes(whole), `${page}:${line}`);
    if (from === null) continue;
    const file = readFileSync(join(root, from), "utf8");
    assert.ok(trimmed(file).includes(trimmed(text)), `${page}:${line} is not in ${from}`);
  }
  for (const { page, line, text } of blocks.filter(({ language }) => language === "json")) {
    assert.doesNotThrow(() => JSON.parse(text), `${page}:${line}`);
  }
});

/** The same code may be further in. */
function trimmed(code: string): string {
  return code
    .trim()
    .split("\n")
    .map((line) => line.trim())
    .join("\n");
}

test("DCS-6 the program knows the commands and options that pages show", () => {
  // Given the commands that pages show, when the program is asked, then it knows their names and options.
  const calls = bridleCalls();
  assert.ok(calls.length > 50, `${calls.length} calls`);
  const problems = calls.flatMap((call) => {
    const problem = problemWith(call, program);
    return problem === null ? [] : [`${call.page}: ${problem}`];
  });
  assert.deepEqual(problems, []);
  assert.notEqual(problemWith({ page: "", words: ["serve", "--prot", "1"] }, program), null);
  assert.notEqual(problemWith({ page: "", words: ["approver", "aprove", "x"] }, program), null);
});

test("DCS-6 given what can be typed in the shell, when its page is read, then all of it is there", () => {
  const page = readPage("docs/guides/shell.md");
  const typed = [...helpText("").matchAll(/^ {2}(\/\w[^ ]*(?: [A-Z]+)?)/gm)].map(([, command]) => command);
  assert.ok(typed.length >= 6);
  for (const command of typed) assert.ok(page.includes(`\`${command}\``), String(command));
});

test("DCS-2 the files that the pages for contributors name exist", () => {
  const named = ["code-tour", "architecture"].flatMap((page) => [
    ...readPage(`docs/contributing/${page}.md`).matchAll(/`((?:src|test|docs)\/[^`<…]*)`/g),
  ]);
  assert.ok(named.length > 70, `${named.length} files`);
  const missing = named
    .map(([, path = ""]) => path)
    .filter((path) => globSync(path, { cwd: root }).length === 0);
  assert.deepEqual(missing, []);
});

test("DCS-2 the walk of a message opens at most 25 files", () => {
  const steps = readPage("docs/contributing/architecture.md").match(/^\| \d+ \|/gm) ?? [];
  assert.ok(steps.length > 10 && steps.length <= 25, `${steps.length} files`);
});

test("DCS-7 llms.txt has a title, a summary and every link of the index by section", () => {
  // Given llms.txt, when it is read, then it has a title, a summary, and every link of the index by section.
  const text = readPage("llms.txt");
  assert.match(text, /^# Bridle\n\n> \S.*\n\n/);
  const paths = (page: string) => localLinks(page).map((link) => destination(link).path);
  const listed = paths("llms.txt").filter((path) => path !== "AGENTS.md");
  assert.deepEqual(
    listed.sort(),
    paths(index)
      .filter((path) => path !== "AGENTS.md")
      .sort(),
  );
  assert.equal(text.match(/^## /gm)?.length, readPage(index).match(/^## /gm)?.length);
});

test("DCS-1 the page check notices other output and ignores what differs every time", () => {
  // Given what a page shows of an output, when something else was printed, then that is noticed, and what differs every
  // time is not.
  const shown = "task_01M7P84C2X20VCRGEZ6063HNPZ is COMPLETED at 2026-11-18T02:35:17.564Z\n…\nvalid …\n";
  const printed = (state: string, more: string) =>
    `task_01M7P8AAAAAAAAAAAAAAAAAAAA is ${state} at 2031-01-01T00:00:00.000Z\n${more}valid (2)\n`;
  assert.ok(matches(shown, printed("COMPLETED", "")));
  assert.ok(matches(shown, printed("COMPLETED", "a\nb\n")));
  assert.ok(!matches(shown, printed("FAILED", "")));
  assert.ok(!matches(shown, `${printed("COMPLETED", "")}more\n`));
  assert.throws(() => blocksOf("page.md", "```sh rum\nls\n```\n"), /"rum" means nothing/);
  assert.throws(() => blocksOf("page.md", "```sh run\nls\n"), /does not end/);
});
