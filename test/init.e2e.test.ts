/** `bridle init`: what it makes is used as its owner would use it. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { settingNames } from "../src/cli/settings/config-settings.ts";
import { assertPersonas, loadProject } from "../src/project/load.ts";
import { ProjectModules } from "../src/project/modules.ts";
import { bridle, type Ended, errorLine, errorLines, run, succeeded } from "./support/cli.ts";
import { Client, isFinal } from "./support/client.ts";
import { makeProject } from "./support/project.ts";
import { startProcess, temporaryDirectory } from "./support/server.ts";

const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
const files = [
  ".dockerignore",
  ".env.example",
  ".github/workflows/ci.yml",
  ".gitignore",
  "AGENTS.md",
  "Dockerfile",
  "README.md",
  "agents/hello.test.ts",
  "agents/hello.ts",
  "bridle.config.ts",
  "compose.postgres.yaml",
  "compose.yaml",
  "package.json",
  "tsconfig.json",
];

const agentOf = {
  hello: "hello",
  assistant: "orders",
  approvals: "publisher",
  a2a: "desk",
  nightly: "nightly",
};

/** As `npm install` would, without a network. */
async function install(project: string): Promise<void> {
  await mkdir(join(project, "node_modules"));
  await symlink(root, join(project, "node_modules/bridle"));
}

describe("a project that bridle init made", () => {
  let place: { path: string } & AsyncDisposable;
  let project: string;
  let said: string;

  before(async () => {
    place = await temporaryDirectory();
    project = join(place.path, "my-agents");
    said = succeeded(await bridle(["init", "my-agents", "--link"], { cwd: place.path }));
    await install(project);
  });

  after(() => place[Symbol.asyncDispose]());

  const read = (file: string) => readFile(join(project, file), "utf8");

  /** A script of its package.json, as `npm run` does it. */
  async function script(name: "test"): Promise<Ended> {
    const { scripts } = JSON.parse(await read("package.json"));
    const PATH = [join(project, "node_modules/.bin"), dirname(process.execPath), "/usr/bin", "/bin"].join(
      ":",
    );
    return await run("/bin/sh", ["-c", scripts[name]], { cwd: project, env: { PATH } });
  }

  test("INI-1, DCS-8 a new project lists its files, depends on this Bridle and passes its tests", async () => {
    // Its types are checked with the installed package, in package.e2e.test.ts.
    for (const file of files) assert.ok(said.includes(`  ${file}\n`), `${file} is listed`);
    assert.match(said, /cd my-agents\n +npm install\n +npm test\n +npm run dev\n/);
    const { name, dependencies } = JSON.parse(await read("package.json"));
    assert.equal(name, "my-agents");
    assert.equal(dependencies.bridle, `file:${root}`);
    assert.ok(said.includes(`the Bridle in ${root}, on this machine only.`), "the reference is told");
    assert.match(await read("README.md"), /^# my-agents\n/);
    assert.ok((await read("AGENTS.md")).includes("crashEverywhere"), "assistants are told what matters");
    assert.deepEqual((await read(".gitignore")).trim().split("\n"), ["node_modules", ".bridle", ".env"]);

    const tests = succeeded(await script("test"));
    assert.match(tests, /\bpass 2$/m);
  });

  test("INI-2 a new project runs in bridle dev and its answered task ends with the greeting", async () => {
    // Given a new project, when bridle dev is started and the agent's question answered, then the task ends with the
    // greeting.
    await using server = await startProcess({ command: "dev", args: ["--port", "0"], cwd: project });
    assert.match(server.output(), new RegExp(`Data +${project}/\\.bridle \\(`));
    const client = new Client(server);
    const session = await client.createSession();
    const task = await client.submit(session.id, "Hi!", { persona_id: "persona_hello" });
    const waiting = await client.untilTask(task.id, (now) => isFinal(now) || now.status === "INPUT_REQUIRED");
    assert.equal(waiting.waiting_for?.description, "Who is there?", JSON.stringify(waiting));
    assert.equal((await client.answer(task.id, "Ada")).status, 201);
    const ended = await client.untilTask(task.id, isFinal);
    assert.equal((await client.get(`/v1/outcomes/${ended.outcome_id}`)).body.summary, "Hello, Ada!");
  });
});

test("INI-3 existing files are listed and kept, and overwritten only with --force", async () => {
  // Given files that are there, when a project is made, then they are listed and nothing is changed, and with --force
  // they are written over.
  await using project = await makeProject({ "agents/hello.ts": "mine\n", "notes.md": "mine too\n" });
  const init = (...flags: string[]) =>
    bridle(["init", "--link", "--name", "mine", ...flags], { cwd: project.path });
  const [line, ...hints] = errorLines(await init(), 1);
  assert.match(line, /nothing was changed.*--force/);
  assert.deepEqual(hints, ["  agents/hello.ts"]);
  assert.deepEqual((await readdir(project.path)).sort(), ["agents", "notes.md"]);
  const read = (file: string) => readFile(join(project.path, file), "utf8");
  assert.equal(await read("agents/hello.ts"), "mine\n");

  const said = succeeded(await init("--force"));
  assert.match(said, /^ +agents\/hello\.ts +\(overwritten\)$/m);
  assert.doesNotMatch(said, /^ +package\.json.*overwritten/m);
  assert.doesNotMatch(said, /^ +cd /m);
  assert.match(await read("agents/hello.ts"), /defineAgent/);
  assert.equal(await read("notes.md"), "mine too\n");

  const [, ...again] = errorLines(await init(), 1);
  assert.deepEqual(again.map((hint) => hint.trim()).sort(), files);
});

test("INI-3 --force refuses a link or a file in place of a folder and changes nothing", async () => {
  // Given a link or a file where a folder is to be, when a project is made with --force, then it is refused and nothing
  // is changed.
  await using project = await makeProject({ "outside.json": "mine\n", "flat/agents": "a file\n", file: "" });
  await mkdir(join(project.path, "linked"));
  await symlink("../outside.json", join(project.path, "linked/package.json"));
  const init = (folder: string) => bridle(["init", folder, "--link", "--force"], { cwd: project.path });
  const [linked, flat, file] = await Promise.all([init("linked"), init("flat"), init("file")]);
  assert.match(errorLine(linked, 1), /linked\/package\.json is in the way/);
  assert.match(errorLine(flat, 1), /flat\/agents is not a folder/);
  assert.match(errorLine(file, 1), /file is not a folder/);
  assert.deepEqual(await readdir(join(project.path, "flat")), ["agents"]);
  assert.equal(await readFile(join(project.path, "outside.json"), "utf8"), "mine\n");
});

test("INI-4 an invalid package name, by flag or folder, is refused and creates nothing", async () => {
  // Given a name that no package can have, by flag or by folder, when a project is made, then it is refused and nothing
  // is there.
  await using place = await temporaryDirectory();
  const init = (...args: string[]) => bridle(["init", "--link", ...args], { cwd: place.path });
  const refused = await Promise.all([
    init("a", "--name", "My Agents"),
    init("a", "--name", "../up"),
    init("a", "--name", "bridle"),
    init("a", "--name", "x".repeat(215)),
    init("Upper"),
  ]);
  for (const ended of refused)
    assert.match(errorLine(ended, 2), /--name <name>.*name of a (package|project)/);
  assert.ok(!existsSync(join(place.path, "a")));
  assert.deepEqual(await readdir(place.path), []);
  succeeded(await init("Upper", "--name", "@team/agents"));
});

test("INI-5 each template is a project of its own whose files load and name its agent", async () => {
  // Their rehearsals run with all other tests, in src/cli/init/templates.
  await using place = await temporaryDirectory();
  const modules = new ProjectModules();
  try {
    for (const [template, agent] of Object.entries(agentOf)) {
      const said = succeeded(
        await bridle(["init", template, "--template", template, "--link"], { cwd: place.path }),
      );
      assert.match(said, new RegExp(`from the template ${template}:[^]*bridle shell --agent ${agent} `));
      const directory = join(place.path, template);
      await install(directory);
      const loaded = await loadProject({ directory, agents: [], settingNames }, modules);
      assertPersonas(loaded);
      assert.ok(
        loaded.agents.some((one) => one.agent.name === agent),
        template,
      );
      const readme = await readFile(join(directory, "README.md"), "utf8");
      assert.match(readme, new RegExp(`from the template .${template}.`));
      for (const file of await readdir(directory, { recursive: true, withFileTypes: true })) {
        if (!file.isFile() || file.parentPath.includes("node_modules")) continue;
        const text = await readFile(join(file.parentPath, file.name), "utf8");
        assert.doesNotMatch(text, /\{\{\w+\}\}/, file.name);
      }
    }
  } finally {
    modules.close();
  }
  const wrong = await bridle(["init", "x", "--template", "chat"], { cwd: place.path });
  assert.match(errorLines(wrong, 2)[0] ?? "", /--template.*Allowed choices are hello, assistant/);
});
