/** The calls of `bridle` that pages show, and whether the command knows them. */

import type { Command } from "commander";
import { blocksOf, pages, readPage } from "./docs.ts";

export interface Call {
  page: string;
  /** What is behind `bridle`. */
  words: string[];
}

/** `bridle` as it is called in a project, in this repository, and with variables before it. */
const caller =
  /(?:^|[|;&(]|\$\(|\bthen\b|\bdo\b)\s*(?:[A-Z_]+=\S* +)*(?:npx +)?(?:bridle|npm run (?:-s )?bridle --) +(.*)/;

/** Commands that are whole lines of shell blocks, or code in a sentence. */
export function bridleCalls(): Call[] {
  const calls: Call[] = [];
  for (const page of pages) {
    const blocks = blocksOf(page).filter(({ language }) => language === "sh");
    const lines = blocks.flatMap(({ text }) => text.replaceAll(/\\\n/g, " ").split("\n"));
    const spans = [...readPage(page).matchAll(/(?<!`)`([^`\n]+)`(?!`)/g)].map(([, code = ""]) => code);
    for (const line of [...lines, ...spans]) {
      const rest = caller.exec(line)?.[1];
      if (rest !== undefined) calls.push({ page, words: wordsOf(rest) });
    }
  }
  return calls;
}

/** Up to where the shell goes on with something else. */
function wordsOf(rest: string): string[] {
  const [command = ""] = rest.split(/ +#| *[|;&>)]| +</);
  return [...command.matchAll(/'[^']*'|"[^"]*"|\S+/g)].map(([word]) => word);
}

/** What is wrong with a call; null if nothing is. */
export function problemWith({ words }: Call, program: Command): string | null {
  let command = program;
  for (const word of words) {
    if (word.startsWith("--") && word !== "--") {
      const [flag] = word.split("=");
      const isKnown =
        ["--help", "--version"].includes(word) || command.options.some(({ long }) => long === flag);
      if (!isKnown) return `${nameOf(command)} has no ${flag}`;
      continue;
    }
    const inner = command.commands.find((each) => each.name() === word || each.aliases().includes(word));
    if (inner !== undefined) command = inner;
    else if (
      command.commands.length > 0 &&
      !isPlaceholder(word) &&
      command.registeredArguments.length === 0
    ) {
      return `${nameOf(command)} has no command ${word}`;
    }
  }
  return null;
}

/** `help COMMAND`, and what stands for several commands. */
function isPlaceholder(word: string): boolean {
  return word === "help" || /^(?:[A-Z_]+|…|-.*)$/.test(word);
}

function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}
