/** `bridle dev`: agents change under open tasks, which do not notice. One process for many changes. */

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { after, before, describe, test } from "node:test";
import { fixtureAgents } from "./support/cli.ts";
import { Client, errorOf, isFinal, type Json, until } from "./support/client.ts";
import { agentModule, makeProject, type TestProject } from "./support/project.ts";
import { adminKey, startProcess, type TestProcess } from "./support/server.ts";

const asks = (question: string) => `const answer = await ctx.ask(${JSON.stringify(question)});
    return \`\${word}: \${answer}\`;`;
const importsWord = 'import { word } from "../lib/word.ts";';
const wordIs = (word: string) => `export const word: string = ${JSON.stringify(word)};\n`;

describe("bridle dev", () => {
  let project: TestProject;
  let server: TestProcess;
  let client: Client;
  let session: Json;

  before(async () => {
    project = await makeProject({
      "package.json": '{ "type": "module" }',
      "bridle.config.ts": `import { defineConfig } from "bridle";
export default defineConfig({ port: 0, data: "state" });
`,
      "lib/word.ts": wordIs("first"),
      "agents/asker.ts": agentModule("asker", "1.0.0", asks("Which?"), importsWord),
      "agents/teller.ts": agentModule("teller", "1.10.0", 'return "new";'),
      "agents/teller@1.9.ts": agentModule("teller", "1.9.0", 'return "old";'),
      "agents/teller.test.ts": 'throw new Error("a test is no agent");',
    });
    server = await startProcess({ command: "dev", args: [], cwd: project.path });
    client = new Client(server);
    session = await client.createSession();
  });

  after(async () => {
    await server[Symbol.asyncDispose]();
    await project[Symbol.asyncDispose]();
  });

  async function start(agent: string): Promise<Json> {
    const task = await client.submit(session.id, "go", { persona_id: `persona_${agent}` });
    return await client.untilTask(task.id, (now) => isFinal(now) || now.status === "INPUT_REQUIRED");
  }

  async function outputOf(task: Json): Promise<string> {
    const ended = await client.untilTask(task.id, isFinal);
    assert.equal(ended.status, "COMPLETED", JSON.stringify(ended));
    return (await client.get(`/v1/outcomes/${ended.outcome_id}`)).body.summary;
  }

  async function answered(task: Json): Promise<string> {
    assert.equal((await client.answer(task.id, "x")).status, 201);
    return await outputOf(task);
  }

  /** Changes something and waits until the process has said this about it. */
  async function changing(change: () => Promise<void>, says: string): Promise<void> {
    const count = () => server.output().split(says).length;
    const seen = count();
    await change();
    await until(
      async () => server.output(),
      () => count() > seen,
    );
  }

  const write = (file: string, text: string) => project.write(file, text);

  test("PRJ-1 given a project, when it is started, then its settings hold, relative to it", () => {
    assert.match(server.output(), new RegExp(`Data +${project.path}/state \\(`));
  });

  test("PRJ-3 a task gets the newest of two agent versions in two files", async () => {
    // Given two versions of an agent in two files, when a task comes, then it gets the newest.
    assert.match(server.output(), /Agents +asker@1\.0\.0, teller@1\.9\.0, teller@1\.10\.0$/m);
    const task = await start("teller");
    assert.equal(task.assigned_agent_id, "teller@1.10.0");
    assert.equal(await outputOf(task), "new");
  });

  test("PRJ-5, PRJ-6, PRJ-11 a changed import applies to new tasks; a parked one keeps its code", async () => {
    // Given a task that is parked, when a module that its agent imports changes, then new tasks run the new code and the
    // open one its own.
    const open = await start("asker");
    await changing(() => write("lib/word.ts", wordIs("second")), "Loaded again: changed asker@1.0.0.");
    const between = await start("asker");
    const own = agentModule("asker", "1.0.0", asks("Which one?"), importsWord);
    await changing(() => write("agents/asker.ts", own), "Loaded again: changed asker@1.0.0.");
    await changing(() => write("lib/word.ts", wordIs("third")), "Loaded again: changed asker@1.0.0.");
    const last = await start("asker");
    assert.equal(last.waiting_for.description, "Which one?");
    assert.deepEqual(
      [await answered(last), await answered(between), await answered(open)],
      ["third: x", "second: x", "first: x"],
    );
    const warnings = server.output().match(/The code of asker@1\.0\.0 changed and its version did not/g);
    assert.equal(warnings?.length, 1);
  });

  test("PRJ-7 unreadable code is reported by file and line, and the old code runs until a fix", async () => {
    // Given code that cannot be read, when it is saved, then file and line are said, and the code before goes on until
    // it is put right.
    const right = agentModule("asker", "1.1.0", asks("Which?"), importsWord);
    const lines = right.split("\n");
    const broken = [...lines.slice(0, 6), "const = 5;", ...lines.slice(6)].join("\n");
    await changing(() => write("agents/asker.ts", broken), "Not loaded: agents/asker.ts:7: SyntaxError: ");
    assert.equal((await start("asker")).assigned_agent_id, "asker@1.0.0");
    await changing(() => write("lib/word.ts", "export const other = 1;\n"), "Not loaded: agents/asker.ts:7");
    await changing(() => write("agents/asker.ts", right), "does not provide an export named 'word'");
    assert.equal((await start("asker")).assigned_agent_id, "asker@1.0.0");
    await changing(
      () => write("lib/word.ts", wordIs("right")),
      "Loaded again: added asker@1.1.0; removed asker@1.0.0.",
    );
    assert.equal(await answered(await start("asker")), "right: x");
    await changing(
      () => write("agents/thrower.ts", "\nthrow new Error('not today');\n"),
      "Not loaded: agents/thrower.ts:2: not today",
    );
    await changing(
      () => write("agents/thrower.ts", "export const a = 1;\n"),
      "agents/thrower.ts exports no agent",
    );
    await changing(() => project.remove("agents/thrower.ts"), "Loaded again: no agent is different.");
    await changing(
      () => write("agents/thrower.js", "\nconst = 1;\n"),
      "Not loaded: agents/thrower.js:2: SyntaxError: ",
    );
    await changing(() => project.remove("agents/thrower.js"), "Loaded again: no agent is different.");
  });

  test("PRJ-8 removing an agent's file refuses new tasks and lets the open one end", async () => {
    // Given a new file, when its agent has an open task and the file is removed, then no new task is taken and the open
    // one ends.
    const late = agentModule("late", "1.0.0", asks("When?"), 'const word = "late";');
    await changing(() => write("agents/late.ts", late), "Loaded again: added late@1.0.0.");
    const open = await start("late");
    assert.equal(open.status, "INPUT_REQUIRED");
    await changing(() => project.remove("agents/late.ts"), "Loaded again: removed late@1.0.0.");
    const refused = await client.post("/v1/tasks", {
      session_id: session.id,
      persona_id: "persona_late",
      input: { text: "go" },
    });
    assert.equal(errorOf(refused, 422).code, "policy_violation");
    assert.equal(await answered(open), "late: x");
  });

  test("PRJ-12, RTY-13, VIS-3 a task whose code throws shows in the terminal where and why", async () => {
    // Given an agent whose code throws, when its task has failed, then the terminal says where, and how to talk to the
    // next one.
    const code = 'await ctx.step("dial", () => { throw new Error("no such port"); }, { retries: 0 });';
    const throwing = agentModule("thrower", "1.0.0", code);
    await changing(() => write("agents/thrower.ts", throwing), "Loaded again: added thrower@1.0.0.");
    await changing(async () => {
      const task = await start("thrower");
      assert.deepEqual(task.failure, { code: "step_failed", message: "no such port" });
    }, "Error: no such port");
    assert.match(
      server.output(),
      /The code of step:dial:1 threw an error {2}.*agent=thrower .*\n.*\n.*agents\/thrower\.ts\S*:\d+/,
    );
    assert.match(server.output(), /^\d\d:\d\d:\d\d {2}thrower \w{6} {2}step dial: failed, .*no such port$/m);
    assert.match(
      server.output(),
      /^\d\d:\d\d:\d\d {2}thrower \w{6} {2}failed step_failed: no such port after /m,
    );
    assert.match(server.output(), new RegExp(`bridle shell --data ${project.path}/state `));
    await project.remove("agents/thrower.ts");
  });

  test("PRJ-5 a changed configuration loads its agents and says that the rest needs a restart", async () => {
    // Given the configuration, when it changes, then agents that it names are loaded and it is said that the rest needs
    // a start.
    await write("more/extra.ts", agentModule("extra", "1.0.0", 'return "extra";'));
    const config = `import { defineConfig } from "bridle";
export default defineConfig({ port: 1, agents: ["agents/*.ts", "more/extra.ts"] });
`;
    await changing(() => write("bridle.config.ts", config), "bridle.config.ts changed. Agents were reloaded");
    assert.equal(await outputOf(await start("extra")), "extra");
    await changing(
      () => write("bridle.config.ts", config.replace("port: 1", "prot: 1")),
      "Not loaded: bridle.config.ts: there is no setting prot. Did you mean port?",
    );
    assert.equal(await outputOf(await start("extra")), "extra");
  });

  test("PRJ-6 a parked task resumes with the code of its version after a crash", async () => {
    // Given a task that is parked, when the process is killed and started again, then it goes on with the code of its
    // version.
    const open = await start("asker");
    await server.kill();
    await project.write("bridle.config.ts", 'export default { port: 0, data: "state" };\n');
    await project.write("lib/word.ts", wordIs("restarted"));
    server = await startProcess({ command: "dev", args: [], cwd: project.path });
    client = new Client(server);
    assert.equal(await answered(open), "restarted: x");
  });

  test("CON-18 crashed from the console, it comes back at its address, and its tasks go on", async () => {
    // Given one task that waits and one that works, when the server is crashed by those who may, then the same command
    // takes the place of the process, and both tasks end.
    const waiting = await start("asker");
    const working = await client.rehearse(session.id, "step first", "sleep 700", "return slept");
    const crash = (key: string | null) =>
      fetch(`${server.url}/console/crash`, {
        method: "POST",
        headers: key === null ? {} : { Authorization: `Bearer ${key}` },
      });
    const { key } = await client.createKey({ scopes: ["tasks:write"] });
    assert.deepEqual([(await crash(null)).status, (await crash(key)).status], [401, 403]);
    const starts = () => server.output().split("is ready, for development").length - 1;
    const before = starts();
    assert.equal((await crash(adminKey)).status, 202);
    await until(
      async () => starts(),
      (count) => count === before + 1,
    );
    assert.match(server.output(), /The server was crashed from the console/);
    assert.deepEqual([server.process.exitCode, server.process.signalCode], [null, null]);
    assert.equal(await answered(waiting), "restarted: x");
    assert.equal(await outputOf(working), "slept");
  });
});

test("PRJ-10 bridle dev without a project picks a free port and loads only the named agents", async () => {
  // Given that the usual port is taken, when bridle dev starts without a project, then it takes another, loads the
  // agents that it is told to, and says that it does not load others.
  const usual = createServer().on("error", () => {});
  // Somebody else may have it already.
  await new Promise<void>((resolve) => {
    usual.once("listening", resolve).once("error", () => resolve());
    usual.listen({ host: "127.0.0.1", port: 8080 });
  });
  await using project = await makeProject({ "agents/other.ts": agentModule("other", "1", "return 1;") });
  try {
    await using server = await startProcess({
      command: "dev",
      args: ["--agents", fixtureAgents("deployer.ts")],
      cwd: project.path,
    });
    assert.match(server.output(), /Port 8080 is in use/);
    assert.notEqual(new URL(server.url).port, "8080");
    assert.equal((await new Client(server).get("/v1/personas/persona_deployer")).status, 200);
    assert.match(server.output(), /not those in agents\/: make a bridle\.config\.ts/);
  } finally {
    usual.close();
  }
});
