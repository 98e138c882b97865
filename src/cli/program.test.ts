/** What all commands have in common, read from the commands themselves. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Command } from "commander";
import { createProgram } from "./program.ts";

/** Those that give no result to a script, and why. */
const withoutJson: Record<string, string> = {
  serve: "runs until it is stopped; its log is JSON",
  dev: "runs until it is stopped, for a person",
  gateway: "runs until it is stopped; its log is JSON",
  shell: "a conversation; through a pipe, answers are text",
  acp: "a protocol on standard output already",
  completion: "a script for a shell",
  help: "for a person",
  tour: "for a person at a terminal",
  "receipt request": "a receipt; it is JSON already",
  "gate run": "the output of what it runs",
  "gate hook": "answers in the form of the tool that asks",
  "gate shell-init": "a script for a shell",
  "gate guard": "its answer is the exit code",
};

function everyCommand(command: Command, path = ""): { path: string; command: Command }[] {
  return command.commands.flatMap((one) => {
    const name = `${path} ${one.name()}`.trim();
    return [{ path: name, command: one }, ...everyCommand(one, name)];
  });
}

const all = everyCommand(createProgram());
const leaves = all.filter(({ command }) => command.commands.length === 0);

describe("Every command", () => {
  test("CMD-50 every command that gives a result has --json", () => {
    // Given all commands that give a result, when their options are read, then each has --json.
    assert.ok(leaves.length > 20, "the commands were found");
    const missing = leaves.filter(
      ({ path, command }) =>
        !(path in withoutJson) && !command.options.some((option) => option.long === "--json"),
    );
    assert.deepEqual(
      missing.map(({ path }) => path),
      [],
    );
  });

  test("CMD-51 every command's help says what it does and fits 80 columns", () => {
    // Given all commands, when their help is shown at 80 columns, then it says what they do and no line is longer.
    for (const { path, command } of all) {
      assert.match(command.description(), /^[A-Z].+\.$/s, path);
      for (const option of command.options)
        assert.notEqual(option.description, "", `${path} ${option.flags}`);
      let help = "";
      const writeOut = (text: string) => {
        help += text;
      };
      command.configureHelp({ helpWidth: 80 }).configureOutput({ writeOut }).outputHelp();
      const long = help.split("\n").filter((line) => line.length > 80);
      assert.deepEqual(long, [], path);
    }
  });

  test("CMD-51 the program's help lists every command under a heading, in order of need", () => {
    // Given the program's help, when it is shown, then every command is under a heading, in the order in which one comes
    // to need it.
    const help = createProgram().configureHelp({ helpWidth: 80 }).helpInformation();
    const headings = [...help.matchAll(/^(To .+|Help):$/gm)].map(([, heading]) => heading);
    assert.deepEqual(headings, [
      "To begin",
      "To work with agents",
      "To approve what they do",
      "To prove and repeat what they did",
      "To set what agents may do and use",
      "To run a server",
      "Help",
    ]);
    assert.doesNotMatch(help, /^Commands:$/m, "no command is left without one");
  });
});
