/**
 * Generated spellings of a command that a rule is about. A real bash says which of them run it; whichever does, the rule must
 * have noticed, however it is spelled.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { isThorough, randomFrom } from "../../test/runner/seed.ts";
import { temporaryDirectory } from "../../test/support/server.ts";
import { decideGate } from "./decide.ts";
import { type GateAction, readPolicy } from "./policy.ts";

const count = isThorough ? 4000 : 1000;
const random = randomFrom();
const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] ?? assert.fail();
const maybe = (chance: number) => random() < chance;

const program = "guarded";

/** One word, in another of the ways in which a shell reads the same. */
function spelled(word: string): string {
  const ways: ((text: string) => string)[] = [
    (text) => text,
    (text) => `'${text}'`,
    (text) => `"${text}"`,
    (text) => [...text].map((char) => (maybe(0.4) ? `\\${char}` : char)).join(""),
    (text) => `${text.slice(0, 2)}''${text.slice(2)}`,
    (text) => `${text.slice(0, 1)}"${text.slice(1)}"`,
    (text) => `${text.slice(0, 3)}\\\n${text.slice(3)}`,
    (text) => `$'${text}'`,
    (text) => `$'\\x${text.charCodeAt(0).toString(16)}${text.slice(1)}'`,
    (text) => `$'\\${text.charCodeAt(0).toString(8).padStart(3, "0")}'${text.slice(1)}`,
    (text) => `$"${text}"`,
    (text) => `$(echo ${text})`,
    (text) => `\`echo ${text}\``,
    (text) => `$(printf %s ${text.slice(0, 2)})${text.slice(2)}`,
    (text) => `\${nothing:-${text}}`,
    (text) => `$nothing${text}`,
    (text) => `{${text},}`,
    (text) => `"$(cat <<< ${text})"`,
  ];
  return pick(ways)(word);
}

const place = (word: string) =>
  pick([word, word, `../bin/${word}`, `./../bin/${word}`, `$PWD/../bin/${word}`]);

function command(): string {
  const words = [
    spelled(place(program)),
    ...Array.from({ length: Math.floor(random() * 3) }, () =>
      spelled(pick(["now", "-f", "--all", "ünï", "\u00a0x"])),
    ),
  ];
  return words.join(pick([" ", "  ", "\t", " \\\n "]));
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** Around a command, what runs it all the same, or has it as a text only. */
function line(depth = 0): string {
  const inner = depth > 2 || maybe(0.4) ? command() : line(depth + 1);
  const ways: ((text: string) => string)[] = [
    (text) => text,
    (text) => `true; ${text}`,
    (text) => `false || ${text}`,
    (text) => `true && ${text} && true`,
    (text) => `true\n${text}\ntrue`,
    (text) => `echo x | ${text}`,
    (text) => `${text} & wait`,
    (text) => `( ${text} )`,
    (text) => `{ ${text}; }`,
    (text) => `echo "$(${text})"`,
    (text) => `echo \`${text.replaceAll(/[\\`$]/g, "\\$&")}\``,
    (text) => `x=$(${text})`,
    (text) => `if true; then ${text}; fi`,
    (text) => `while ${text}; false; do :; done`,
    (text) => `for i in 1; do ${text}; done`,
    (text) => `case x in x) ${text} ;; esac`,
    (text) => `f() { ${text}; }; f`,
    (text) => `! ${text}`,
    (text) => `X=1 Y='a b' ${text}`,
    (text) => `> out ${text}`,
    (text) => `2>&1 ${text} >> out`,
    (text) => `eval ${quoted(text)}`,
    (text) => `bash -c ${quoted(text)}`,
    (text) => `bash -ec ${quoted(text)} name`,
    (text) => `bash <<< ${quoted(text)}`,
    (text) => `bash <<'END'\n${text}\nEND`,
    (text) => `echo ${quoted(text)} | bash`,
    (text) => `echo ${quoted(text)} | xargs -I% bash -c %`,
    (text) => `env A=1 bash -c ${quoted(text)}`,
    (text) => `cat <(${text})`,
    (text) => `cat <<END\n$(${text})\nEND`,
    (text) => `cat <<'END'\n${text}\nEND`,
    (text) => `# it's a comment\n${text}`,
    (text) => `true # ${text}`,
    (text) => `echo ${quoted(text)}`,
    (text) => `: \${nothing:=$(${text})}`,
    (text) => `trap ${quoted(text)} EXIT`,
    (text) => `[[ -n x ]] && ${text}`,
    (text) => `time -p ${text}`,
    (text) => `command -p true; ${text}`,
  ];
  return pick(ways)(inner);
}

const prefixes = [
  "env",
  "command",
  "nohup",
  "exec",
  "time",
  "env -i PATH=$PATH",
  "nice -n 1",
  "timeout 9",
  "builtin command",
  "env env",
];
const generated = Array.from({ length: count }, () =>
  maybe(0.15) ? `${pick(prefixes)} ${command()}` : line(),
);

function policyThat(action: GateAction) {
  return readPolicy(
    `{ version: 1, default: allow, rules: [{ match: { argv: [${program}] }, action: ${action} }] }`,
    { file: "test", root: "/" },
  );
}

test("GAT-2 no spelling of a command gets past a rule, by what a real bash runs", async () => {
  await using directory = await temporaryDirectory();
  const [bin, work] = [join(directory.path, "bin"), join(directory.path, "work")];
  for (const path of [bin, work]) mkdirSync(path);
  writeFileSync(join(bin, program), `#!/bin/sh\necho ran >> "$LOG.$NUMBER"\n`);
  chmodSync(join(bin, program), 0o755);
  const log = join(directory.path, "log");
  const script = generated
    .map((text, number) => `( export NUMBER=${number}; eval ${quoted(text)} ) < /dev/null > /dev/null 2>&1`)
    .join("\n");
  const ran = spawnSync("bash", [], {
    cwd: work,
    input: `${script}\ncd / && for f in "$LOG".*; do echo "\${f##*.}"; done\n`,
    env: { PATH: `${bin}:${process.env.PATH}`, LOG: log, LC_ALL: "C.UTF-8" },
    encoding: "utf8",
    timeout: 120_000,
  });
  const numbers = ran.stdout
    .split("\n")
    .filter((text) => /^\d+$/.test(text))
    .map(Number);
  assert.ok(
    numbers.length > count / 3,
    `only ${numbers.length} of ${count} ran it: ${ran.stderr.slice(0, 500)}`,
  );
  const [ask, deny] = [policyThat("ask"), policyThat("deny")];
  const surroundings = { cwd: work, home: "/home/me" };
  const missed = numbers.flatMap((number) => {
    const text = generated[number] ?? "";
    const subject = { tool: "Bash", kind: "shell", line: text };
    const found = [
      decideGate(ask, subject, surroundings).action,
      decideGate(deny, subject, surroundings).action,
    ];
    return found[0] !== "allow" && found[1] === "deny" ? [] : [{ text, found }];
  });
  assert.deepEqual(missed.slice(0, 5), [], `${missed.length} of ${numbers.length}`);
});

test("GAT-2 nothing that a rule allows is more than one plain command", () => {
  const policy = readPolicy(
    "{ version: 1, default: deny, rules: [{ match: { argv: [echo] }, action: allow }] }",
    { file: "test", root: "/" },
  );
  const surroundings = { cwd: "/", home: "/home/me" };
  for (const text of generated) {
    const { action } = decideGate(
      policy,
      { tool: "Bash", kind: "shell", line: `echo hello; ${text}` },
      surroundings,
    );
    // Only `echo` itself, with words that are known.
    if (action === "allow") assert.match(text, /^(?:[^$`]*echo|\s*:?|true|#)/s);
  }
});
