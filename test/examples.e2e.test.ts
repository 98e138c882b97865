/** The examples find themselves right: each is run as its README says. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { settingNames } from "../src/cli/settings/config-settings.ts";
import { assertPersonas, loadProject } from "../src/project/load.ts";
import { ProjectModules } from "../src/project/modules.ts";
import { environment } from "./support/server.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** What the check printed; it is thrown when the check exits with 1, or does not end. */
async function check(example: string): Promise<string> {
  // What is set for the reader's own work is not the example's.
  const { BRIDLE_MODEL: _, NODE_TEST_CONTEXT: __, ...rest } = process.env;
  const { NODE_COMPILE_CACHE, NODE_OPTIONS } = environment;
  const env = { ...rest, NODE_COMPILE_CACHE, NODE_OPTIONS };
  const file = `examples/${example}/check.ts`;
  const { stdout } = await promisify(execFile)(process.execPath, [file], {
    cwd: root,
    env,
    timeout: 240_000,
  });
  return stdout;
}

test("the examples load as in bridle dev, with valid settings and all their agents", async () => {
  // Given the examples, when they are loaded as `bridle dev` does it, then their settings are right and their agents are
  // there.
  const files = globSync("examples/**/bridle.config.ts", { cwd: root });
  assert.ok(files.length >= 4, files.join());
  const modules = new ProjectModules();
  try {
    for (const file of files) {
      const place = { directory: join(root, dirname(file)), agents: [], settingNames };
      const project = await loadProject(place, modules);
      assertPersonas(project);
      assert.ok(project.agents.length > 0, file);
    }
  } finally {
    modules.close();
  }
});

test("EXA-1 the release assistant publishes a release after it is approved", async () => {
  // Given the release assistant, when its check is run, then a release is published after it was approved.
  assert.match(
    await check("release-assistant"),
    /^It asks: publish v0\.2\.0\n(.*\n)*# v0\.2\.0\n(.*\n)*The receipt is valid\.$/m,
  );
});

test("EXA-2 the triage bot labels issues and finds somebody for the urgent one", async () => {
  // Given the triage bot, when its check is run, then issues are labelled and somebody is found for the urgent one.
  const lines = (await check("triage")).trim().split("\n");
  assert.match(lines[3] ?? "", /^It asks: Issue 8, .* Who takes it\?$/);
  assert.equal(lines.at(-1), "Issue 8 is an urgent bug (billing), and ada takes it.");
});

test("EXA-3 the researcher's draft is reviewed by the other server", async () => {
  // Given the researcher and its reviewer, when their check is run, then the draft is reviewed by the other server.
  const lines = (await check("research")).trim().split("\n");
  assert.deepEqual(lines, [
    "A reviewer says: Name your source.",
    "Spring tides come a day or two after new and full moon (spring-tides.md).",
    "Both servers have receipts of the same delegations.",
  ]);
});

test("EXA-4 the nightly report rehearses its nights and really runs its schedule", async () => {
  // Given the nightly report, when its check is run, then the nights are rehearsed and the schedule has really run.
  const told = await check("nightly-report");
  assert.match(told, /\| porto \| €152\.00 \| \+€42\.00 \|/);
  assert.match(
    told,
    /The schedule ran: reports\/\d{4}-\d\d-\d\d\.md\nIt ran again, and remembers: 4200 cents more/,
  );
});

test("EXA-5 the prompt check repeats old runs, finds the changed prompt and compares answers", async () => {
  // Given a prompt that was changed, when its check is run, then old runs repeat, the change is found, and the answers
  // are compared.
  const told = await check("prompt-regression");
  assert.match(told, /3 recorded runs repeat with 1\.0\.0/);
  assert.match(told, /1\.1\.0 asks something else/);
  assert.match(told, /^refund .*\n.*1\.1\.0/m);
});

test("given the kiosk, when it is run, then it sells a ticket", async () => {
  const file = join(root, "examples/kiosk/main.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [file], { timeout: 240_000 });
  assert.match(stdout, /Have a good journey\.\n$/);
});
