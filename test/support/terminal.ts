/** `bridle` at a pseudo-terminal (by `script` of util-linux): a person reads what is there and types when it is asked for. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { environment, main } from "./server.ts";

const patienceMs = 60_000;

export interface Terminal extends AsyncDisposable {
  /** Everything on the screen so far. */
  screen(): string;
  /** Waits until this appears behind what was waited for before. */
  until(wanted: string): Promise<void>;
  /** Waits for the question, then types the answer and a line end. */
  answer(question: string, text: string): Promise<void>;
  /** Sends characters as they are: Ctrl-C is `\x03`. */
  press(characters: string): void;
  /** Gives the exit code once the command has ended. */
  ended(): Promise<number | null>;
}

export function atTerminal(args: string[], env: Record<string, string | undefined> = {}): Terminal {
  const command = [process.execPath, main, ...args].map(quote).join(" ");
  const child = spawn("script", ["-qec", command, "/dev/null"], {
    env: { ...environment, TERM: "xterm", ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  let screen = "";
  let readTo = 0;
  let wake = () => {};
  child.stdout.setEncoding("utf8").on("data", (text) => {
    screen += text;
    wake();
  });
  child.stdout.on("end", () => wake());
  const patience = setTimeout(() => child.kill("SIGKILL"), patienceMs);
  const until = async (wanted: string) => {
    while (!screen.slice(readTo).includes(wanted)) {
      assert.ok(!child.stdout.readableEnded, `"${wanted}" never came:\n${screen.slice(readTo)}`);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    readTo = screen.indexOf(wanted, readTo) + wanted.length;
  };
  return {
    screen: () => screen,
    until,
    async answer(question, text) {
      await until(question);
      child.stdin.write(`${text}\r`);
    },
    press: (characters) => void child.stdin.write(characters),
    async ended() {
      await exited;
      return child.exitCode;
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(patience);
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGKILL");
        await exited;
      }
    },
  };
}

function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
