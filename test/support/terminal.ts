/** A program in a real pseudo-terminal: typed at like a person does, and read like a screen. */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { stripVTControlCharacters } from "node:util";
import { until } from "./client.ts";
import { environment, main } from "./server.ts";

/** Why there is no terminal here, or false where there is one: `script` of util-linux makes it. */
export const noTerminal: string | false =
  spawnSync("script", ["--version"]).status === 0
    ? false
    : "the machine has no `script` command (util-linux)";

export interface TestTerminal extends AsyncDisposable {
  /** Everything that was written to the screen, with what drives it. */
  raw(): string;
  /** The same as text. */
  text(): string;
  /** Waits until this is on the screen, after what was waited for before. */
  sees(wanted: RegExp | string): Promise<string>;
  /** Waits until this was written, colours and all. */
  draws(wanted: string): Promise<void>;
  /** Waits for the question, then types the answer and presses Enter. */
  answer(question: string, text: string): Promise<void>;
  /** Types, and presses Enter. */
  enter(line: string): void;
  /** Types keys as they are, such as `ctrl.c`. */
  press(keys: string): void;
  /** Waits for the program to end. Gives its exit code. */
  ended(): Promise<number | null>;
}

export const ctrl = { c: "\u0003", d: "\u0004", u: "\u0015" };

export interface TerminalOptions {
  columns?: number;
  env?: Record<string, string | undefined>;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: what the shell and readline write to wipe a line
const wiped = /(?:\r|\u001b\[1G)\u001b\[0?J/g;

/** Runs `bridle` in a terminal of its own. */
export function bridleInTerminal(args: string[], options: TerminalOptions = {}): TestTerminal {
  return commandInTerminal([process.execPath, main, ...args], options);
}

/** Runs any command in a terminal of its own. */
export function commandInTerminal(
  words: string[],
  { columns = 80, env = {} }: TerminalOptions = {},
): TestTerminal {
  const command = words.map((word) => `'${word}'`).join(" ");
  const child = spawn("script", ["-qec", `stty cols ${columns} rows 40; exec ${command}`, "/dev/null"], {
    env: { ...environment, TERM: "xterm-256color", LANG: "C.UTF-8", SHELL: "/bin/sh", ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let raw = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    raw += text;
  });
  const exited = once(child, "exit");
  // A line that was wiped to be written anew counts as one line more.
  const text = () => stripVTControlCharacters(raw.replaceAll(wiped, "\n")).replaceAll("\r", "");
  let seen = 0;
  const sees = async (wanted: RegExp | string): Promise<string> => {
    const pattern = typeof wanted === "string" ? new RegExp(wanted.replaceAll(/[^\w\s]/g, "\\$&")) : wanted;
    const found = await until(
      async () => ({ found: pattern.exec(text().slice(seen)), screen: text().slice(-2000) }),
      (look) => look.found !== null || child.exitCode !== null,
    );
    const match = found.found ?? pattern.exec(text().slice(seen));
    assert.ok(match !== null, `${pattern} never came; the program ended with:\n${text()}`);
    seen += match.index + match[0].length;
    return match[0];
  };
  return {
    raw: () => raw,
    text,
    sees,
    async draws(wanted) {
      await until(async () => raw.includes(wanted) || child.exitCode !== null, Boolean);
      assert.ok(
        raw.includes(wanted),
        `${JSON.stringify(wanted)} never came; the program ended with:\n${text()}`,
      );
    },
    async answer(question, typed) {
      await sees(question);
      child.stdin.write(`${typed}\r`);
    },
    enter: (line) => void child.stdin.write(`${line}\r`),
    press: (keys) => void child.stdin.write(keys),
    async ended() {
      await exited;
      return child.exitCode;
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) child.kill("SIGKILL");
      await exited;
    },
  };
}
