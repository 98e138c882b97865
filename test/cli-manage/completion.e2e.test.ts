/** `bridle completion`, asked for by a real bash as a person's Tab would. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { assertNoStack, bridle, errorLine, run, succeeded } from "../support/cli.ts";
import { main, temporaryDirectory } from "../support/server.ts";

/** What is offered behind these words, the last of which is begun, each line of words in turn. */
async function offeredBy(directory: string, script: string, asked: readonly string[][]): Promise<string[][]> {
  await writeFile(join(directory, "completion.bash"), script);
  const quoted = (word: string) => `'${word}'`;
  const calls = asked.map(
    (words) =>
      `COMP_WORDS=(bridle ${words.map(quoted).join(" ")}); COMP_CWORD=${words.length}; _bridle; printf '%s|' "\${COMPREPLY[@]}"; echo`,
  );
  const program = ["set -u", "source ./completion.bash", ...calls].join("\n");
  const said = succeeded(await run("bash", ["--norc", "-c", program], { cwd: directory }));
  return said
    .trimEnd()
    .split("\n")
    .map((line) => line.split("|").filter((word) => word !== ""));
}

describe("bridle completion", () => {
  test("CMD-56 pressing Tab in bash completes commands, options, choices and paths", async () => {
    // Given the script for bash, when Tab is pressed in different places, then commands, options, choices and paths are
    // offered.
    await using place = await temporaryDirectory();
    await writeFile(join(place.path, "bundle one.jsonl"), "");
    await mkdir(join(place.path, "bundles"));
    const script = succeeded(await bridle(["completion", "bash"]));
    const offered = await offeredBy(place.path, script, [
      ["re"],
      ["receipt", ""],
      ["receipt", "verify", "--j"],
      ["serve", "--log-level", "d"],
      ["receipt", "verify", "bundle"],
      ["serve", "--data", "bundle"],
      ["check", "--agent", "receipt", "--si"],
      ["check", "--agent", ""],
      ["completion", ""],
      ["quota", "set", "--scope", "o"],
      ["nothing-like-this", ""],
    ]);
    const [begun, group, flags, level, files, directories, skipped, name, shells, scope, unknown] = offered;
    assert.deepEqual(begun?.sort(), ["rebuild", "receipt", "replay", "restore"]);
    assert.deepEqual(group?.sort(), ["export", "help", "request", "verify"]);
    assert.deepEqual(flags?.sort(), ["--json", "--jwks"]);
    assert.deepEqual(level, ["debug"]);
    assert.deepEqual(files?.sort(), ["bundle one.jsonl", "bundles"]);
    assert.deepEqual(directories, ["bundles"]);
    assert.deepEqual(skipped, ["--since"], "the value of an option is no command");
    assert.deepEqual(name, [], "nobody knows the names of agents");
    assert.deepEqual(shells, ["bash", "zsh", "fish"]);
    assert.deepEqual(scope, ["organization"]);
    assert.ok(unknown?.includes("serve"), "what is no command leads nowhere");
  });

  test("CMD-55, CMD-56 scripts of other shells name every command; an unknown shell is refused", async () => {
    // Given other shells, when their scripts are asked for, then they name every command and an unknown shell is refused
    // with a suggestion.
    const [zsh, fish, wrong, choice] = await Promise.all([
      bridle(["completion", "zsh"]),
      bridle(["completion", "fish"]),
      bridle(["completion", "zhs"]),
      bridle(["serve"], { env: { BRIDLE_LOG_LEVEL: "debgu" } }),
    ]);
    assert.match(succeeded(zsh), /^#compdef bridle\n/);
    assert.match(succeeded(fish), /^complete -c bridle -f$/m);
    for (const command of ["receipt/verify", "quota/set", "serve"]) {
      assert.ok(zsh.stdout.includes(`'/${command}')`), command);
      assert.ok(fish.stdout.includes(`'/${command}'`), command);
    }
    assert.match(errorLine(wrong, 2), /bash, zsh, fish\. Did you mean zsh\?/);
    assert.match(errorLine(choice, 2), /BRIDLE_LOG_LEVEL.*Did you mean debug\?/);
  });

  test("CMD-63 writing to a full disk prints a line and exits as failed", {
    skip: existsSync("/dev/full") ? false : "this system has no /dev/full",
  }, async () => {
    // Given a disk that is full, when a command writes to it, then a line says so, and the exit code that it failed.
    const program = `"${process.execPath}" "${main}" completion bash > /dev/full`;
    const full = await run("sh", ["-c", program]);
    assert.match(errorLine(full, 1), /standard output: ENOSPC/);
    assertNoStack(full);
  });
});
