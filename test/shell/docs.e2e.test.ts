/** docs/guides/shell.md says what is true: its code is the example's, its commands run, its tables list what there is. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { helpText } from "../../src/cli/shell/commands.ts";
import { environment, main, startServer, temporaryDirectory } from "../support/server.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const page = await readFile(join(root, "docs/guides/shell.md"), "utf8");
const blocks = (kind: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${kind}\\n(.*?)^\`\`\``, "gms"))].map(([, block]) => block ?? "");

/** Without what a line begins and ends with: the same code may be further in. */
const lines = (code: string) => code.split("\n").map((line) => line.trim());

test("given the code of the page, when it is looked for in the example, then it is there line by line, and the example finds itself right", async () => {
  const example = lines(await readFile(join(root, "examples/kiosk/main.ts"), "utf8")).join("\n");
  const code = blocks("ts");
  assert.equal(code.length, 2);
  for (const block of code) assert.ok(example.includes(lines(block.trim()).join("\n")), block);
  const { stdout } = await run(process.execPath, [join(root, "examples/kiosk/main.ts")]);
  assert.match(stdout, /Have a good journey\.\n$/);
});

test("given the commands of the page, when they are run, then they work; given those of the shell, then all are on the page", async () => {
  await using home = await temporaryDirectory();
  await using server = await startServer();
  const [script = ""] = blocks("sh run");
  const { stdout } = await run(
    "sh",
    ["-euc", `bridle() { "${process.execPath}" "${main}" "$@"; }\n${script}`],
    {
      env: { ...environment, BRIDLE_URL: server.url, HOME: home.path },
    },
  );
  assert.equal(stdout, "hello\n");
  const commands = [...helpText("").matchAll(/^ {2}(\/\w[^ ]*(?: [A-Z]+)?)/gm)].map(([, command]) => command);
  assert.ok(commands.length >= 6);
  for (const command of commands) assert.ok(page.includes(`\`${command}\``), String(command));
});
