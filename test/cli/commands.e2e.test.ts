/** The commands with which people and scripts work with a running server: one server, and the real command as a process. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { bridle, errorLine, errorLines, type RunOptions, succeeded } from "../support/cli.ts";
import { Client, type Json, userMessage } from "../support/client.ts";
import { startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

/** Most of the time goes into starting commands, which have nothing to do with each other. */
const concurrency = 2;

let server: TestServer;
let client: Client;
before(async () => {
  server = await startServer();
  client = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

const run = (args: string[], options: RunOptions = {}) => bridle(args, { server, ...options });
const words = async (...args: string[]) => succeeded(await run(args));
const json = async (...args: string[]): Promise<Json> => JSON.parse(await words(...args, "--json"));

/** A task of the rehearsal agent, once it has ended or waits for somebody, in a session of its own. */
async function rehearse(...lines: string[]): Promise<Json> {
  const session = await client.createSession();
  return await client.rehearse(session.id, ...lines);
}

describe("bridle agents and bridle session", { concurrency }, () => {
  test("CMD-1, CMD-14 agents are listed and shown with version, persona, skills and input", async () => {
    // Given a server, when its agents are listed and shown, then each is there with its version, persona, skills and
    // what it takes.
    const [list, agents, shown] = await Promise.all([
      words("agents"),
      json("agents", "list"),
      words("agents", "show", "rehearsal"),
    ]);
    assert.match(list, /^AGENT +VERSION +PERSONA +SKILLS +WHAT IT DOES\n/);
    assert.match(list, /^rehearsal +1\.0\.0 +persona_rehearsal +rehearse +Plays a script/m);
    assert.deepEqual(agents, (await client.get("/v1/agents")).body.data);
    assert.match(shown, /^Agent +rehearsal@1\.0\.0\nPersona +persona_rehearsal\n/);
    assert.match(shown, /^ {2}rehearse {2}Put a task into any state/m);
  });

  test("CMD-1 a task for an unknown agent suggests a similar name and lists the agents", async () => {
    // Given an agent that is not there, when it is given a task, then the error says which could be meant and which
    // there are.
    const [line, hint] = errorLines(await run(["task", "submit", "rehersal", "hi"]), 1);
    assert.match(line, /no agent rehersal\. Did you mean rehearsal\?/);
    assert.match(hint ?? "", /agents: .*echo/);
    assert.match(errorLines(await run(["agents", "show", "ecko"]), 1)[0], /Did you mean echo\?/);
  });

  test("CMD-2 the commands create, read, fork and close sessions", async () => {
    // Given sessions, when they are made, read, forked and closed by the commands, then that has happened.
    const id = (await words("session", "create")).trim();
    const task = await client.submit(id, "hello\nthere");
    await client.untilTask(task.id, ({ status }) => status === "COMPLETED");
    const [list, shown, said] = await Promise.all([
      json("sessions", "list", "--all"),
      words("session", "show", id),
      words("session", "messages", id),
    ]);
    assert.ok(list.some((session: Json) => session.id === id));
    assert.match(shown, new RegExp(`^Session +${id}\\n[\\s\\S]*${task.id} +COMPLETED +echo@`));
    assert.match(said, /^user {2}.* UTC\n {2}│ hello\n {2}│ there\nagent {2}/);
    const forked = (await words("session", "fork", id)).trim();
    assert.notEqual(forked, id);
    assert.deepEqual(await client.texts(forked), await client.texts(id));
    assert.equal((await json("session", "close", id)).state, "CLOSED");
    assert.equal((await client.get(`/v1/sessions/${id}`)).body.state, "CLOSED");
  });
});

describe("bridle task", { concurrency }, () => {
  test("CMD-3, CMD-4 submit --wait takes words, JSON, a file or stdin and prints the answer", async () => {
    // Given words, JSON, a file and standard input, when they are submitted with --wait, then the agent was given them,
    // and what it said is printed.
    await using place = await temporaryDirectory();
    const file = join(place.path, "input.json");
    await writeFile(file, '{"text":"from a file"}');
    const submit = (args: string[], input?: string) =>
      run(["task", "submit", "echo", ...args, "--wait"], input === undefined ? {} : { input });
    assert.equal(succeeded(await submit(["hello", "there"])), "hello there\n");
    assert.equal(succeeded(await submit(["-"], "from a pipe")), "from a pipe\n");
    for (const [args, input, wanted] of [
      [["--input", '{"text":"as JSON"}'], undefined, "as JSON"],
      [["--input", `@${file}`], undefined, "from a file"],
      [["--input", "-"], '{"text":"piped JSON"}', "piped JSON"],
    ] as const) {
      assert.match(succeeded(await submit([...args], input)), new RegExp(wanted));
    }
  });

  test("CMD-3 submitting twice under one idempotency key gives the same task", async () => {
    // Given an idempotency key, when a task is submitted twice under it, then it is the same task.
    const submit = () => words("task", "submit", "echo", "once", "--idempotency-key", "only-once");
    const first = await submit();
    assert.match(first, /^task_\w+\n$/);
    assert.equal(await submit(), first);
  });

  test("CMD-4 waiting for a task that fails or asks sets the exit code and says what helps", async () => {
    // Given tasks that fail or ask, when they are waited for, then the exit code says which, and standard error what
    // helps.
    const failed = await run(["task", "submit", "rehearsal", "fail no disk", "--wait"]);
    assert.equal(failed.code, 1);
    assert.match(failed.stderr, /failed: no disk \(rehearsed_failure\)/);
    const asks = await run(["task", "submit", "rehearsal", "ask Which region?", "--wait"]);
    assert.equal(asks.code, 5);
    assert.match(
      asks.stderr,
      /waits for a person: Which region\?\nAnswer with: bridle task answer task_\w+ TEXT\n/,
    );
  });

  test("CMD-5 lists tasks by session, status, agent and time, newest first, up to a limit", async () => {
    // Given tasks, when they are listed by session, status, agent and time, then those are listed, newest first and as
    // many as wanted.
    const session = await client.createSession();
    const ids: string[] = [];
    for (const text of ["fail one", "return two", "return three"]) {
      ids.unshift((await client.rehearse(session.id, text)).id);
    }
    const list = (...args: string[]) => json("task", "list", "--session", session.id, ...args);
    const idsOf = (tasks: Json[]) => tasks.map(({ id }) => id);
    assert.deepEqual(idsOf(await list()), ids);
    assert.deepEqual(idsOf(await list("--status", "FAILED")), ids.slice(2));
    assert.deepEqual(
      idsOf(await list("--agent", "rehearsal", "--since", "1h", "--limit", "2")),
      ids.slice(0, 2),
    );
    const table = await run(["tasks", "list", "--session", session.id, "--limit", "1"]);
    assert.match(
      succeeded(table),
      new RegExp(`^TASK +STATUS +AGENT +AGE +WHAT\\n${ids[0]} +COMPLETED +rehearsal@.*\\n$`),
    );
    assert.match(table.stderr, /--all/);
  });

  test("CMD-6, CMD-7 showing or explaining a task that asks names the command that answers it", async () => {
    // Given a task that asks, when it is shown, explained and answered, then the command that helps is named, and does.
    const task = await rehearse("ask Which region?", "return done");
    const [shown, why, wrong] = await Promise.all([
      words("task", "show", task.id),
      words("task", "why", task.id),
      run(["task", "answer", task.id]),
    ]);
    assert.match(shown, /^Status +INPUT_REQUIRED$/m);
    assert.match(shown, /^Waits for +input: Which region\?$/m);
    assert.match(why, /^The task asked "Which region\?" and waits for the answer, .*\n/);
    assert.match(why, new RegExp(`bridle task answer ${task.id} TEXT\\n$`));
    assert.match(errorLine(wrong, 2), /give the answer/);
    assert.match(await words("task", "answer", task.id, "eu-west"), /has its answer/);
    await client.untilTask(task.id, ({ status }) => status === "COMPLETED");
    assert.ok((await client.texts(task.session_id)).includes("You said: eu-west"));
    assert.match(errorLine(await run(["task", "answer", task.id, "again"]), 1), /has not asked anything/);
    assert.equal((await json("task", "why", task.id)).object, "task_explanation");
  });

  test("CMD-8 a sleeping task is canceled with a reason that the log keeps", async () => {
    // Given a task that sleeps, when it is canceled with a reason, then it is, and the log says why.
    const session = await client.createSession();
    const task = await client.submit(session.id, "sleep 600000", { persona_id: "persona_rehearsal" });
    assert.equal(
      await words("task", "cancel", task.id, "--reason", "wrong one"),
      `${task.id} is CANCELED.\n`,
    );
    assert.match(await words("task", "logs", task.id), /canceled by \S+: wrong one\n/);
  });

  test("CMD-9 a task's log prints each fact as a line with its time, or as JSON with --json", async () => {
    // Given a task with all kinds of facts, when its log is read, then each is a line with its time, and with --json a
    // line of JSON.
    const task = await rehearse(
      "say hello",
      "step measure",
      "progress half",
      "artifact notes.md text",
      "return done",
    );
    const lines = (await words("task", "logs", task.id)).trimEnd().split("\n");
    for (const line of lines) assert.match(line, /^(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}| {32})\S/);
    const text = lines.join("\n");
    for (const wanted of [
      /submitted task_/,
      /started +by rehearsal@1\.0\.0/,
      /says +hello$/m,
      /step +measure: done, \d+\.\d s/,
      /progress +half/,
      /file +made notes\.md \(artifact_/,
      /receipt +receipt_/,
      /completed .* after \d/,
    ]) {
      assert.match(text, wanted);
    }
    const events = (await words("task", "logs", task.id, "--follow", "--json")).trimEnd().split("\n");
    assert.deepEqual(events.map((line) => JSON.parse(line).event).slice(-2), [
      "task.completed",
      "receipt.issued",
    ]);
    assert.match(
      await words("task", "artifacts", task.id),
      /artifact_\w+ +file +4 bytes +text\/plain +notes\.md/,
    );
    assert.equal(JSON.parse(await words("task", "receipt", task.id)).receipt_id, task.receipt_id);
  });

  test("CMD-26 watch without a terminal prints a line per fact and exits as the task ended", async () => {
    // Given no terminal, when a task is watched, then it is a line for every fact, it ends with the task, and the exit
    // code is how that ended.
    const task = await rehearse("say hello", "fail no disk");
    const ended = await run(["task", "watch", task.id]);
    assert.equal(ended.code, 1);
    assert.match(
      ended.stdout,
      /says +hello\n[\s\S]*failed +rehearsed_failure: no disk after .*\n.*receipt +receipt_\w+\n$/,
    );
    assert.equal(ended.stdout.includes("\u001b"), false);
    const watched = await run(["task", "submit", "echo", "hi", "--watch", "--json"]);
    const events = succeeded(watched)
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      events.slice(-2).map(({ event }) => event),
      ["task.completed", "receipt.issued"],
    );
    assert.ok(events.every(({ object }) => object === "event"));
  });

  test("CMD-15 calls that cannot be meant are usage errors and do nothing", async () => {
    // Given calls that cannot be meant, when they are made, then they are wrong use and nothing is done.
    for (const [args, says] of [
      [["task", "submit", "echo"], /say what it is to do/],
      [["task", "submit", "echo", "hi", "--input", "{}"], /either/],
      [["task", "submit", "echo", "hi", "--wait", "--watch"], /cannot be used with/],
      [["task", "list", "--since", "yesterday"], /2h/],
      [["task", "list", "--status", "DONE"], /WORKING/],
      [["approve", "--all"], /--yes/],
    ] as const) {
      assert.match(errorLine(await run([...args]), 2), says);
    }
    assert.match(
      errorLine(await run(["task", "submit", "echo", "--input", "[1]"]), 1),
      /--input: .*JSON object/,
    );
    // A file without an end, where there is one.
    const endless = existsSync("/dev/zero")
      ? await run(["task", "submit", "echo", "--input", "@/dev/zero"])
      : null;
    if (endless !== null) assert.match(errorLine(endless, 1), /\/dev\/zero: it is larger than 16 MB/);
    const stranger = await run(["task", "submit", "echo", "hi", "--persona", "persona_rehearsal"]);
    assert.match(errorLine(stranger, 1), /persona of the agent rehearsal/);
    assert.match(errorLine(await run(["import", "."]), 1), /it is no file/);
  });
});

/** Alone with the server: what waits, and which task is the last, is the same for everybody. */
describe("bridle approve, deny, and last", () => {
  test("CMD-11 lists, approves and denies requests by request and by task, and decides no others", async () => {
    // Given requests that wait, when they are listed, approved and denied by request and by task, then that is decided,
    // and only that.
    assert.equal(await words("approve"), "Nothing waits for a decision.\n");
    const tasks = [];
    for (const action of ["one", "two", "three"])
      tasks.push(await rehearse(`approve ${action}`, "return done"));
    const [one, two, three] = tasks;
    const list = await words("approve");
    assert.match(list, /^REQUEST +RISK +ASKED BY +UNTIL +ACTION\n/);
    assert.match(
      list,
      new RegExp(`^${one.waiting_for.permission_request_id} +medium +rehearsal@\\S+ +.* UTC +one$`, "m"),
    );
    assert.match(await words("approve", one.waiting_for.permission_request_id), /is approved\.\n$/);
    assert.equal((await json("deny", two.id, "--reason", "no")).response.reason, "no");
    await client.untilTask(one.id, ({ status }) => status === "COMPLETED");
    await client.untilTask(two.id, ({ status }) => status === "FAILED");
    assert.match(errorLine(await run(["approve", two.id]), 1), /waits for no decision/);
    assert.equal((await client.get(`/v1/tasks/${three.id}`)).body.status, "AUTH_REQUIRED");
    const all = await json("approve", "--all", "--yes");
    assert.deepEqual(
      all.map((request: Json) => [request.task_id, request.status]),
      [[three.id, "approved"]],
    );
  });

  test("CMD-10 given several tasks, when the last one is named, then it is the newest", async () => {
    await rehearse("return older");
    const task = await rehearse("return newest");
    assert.equal((await json("task", "show", "last")).id, task.id);
    assert.equal((await json("session", "show", "last")).id, task.session_id);
  });

  test("CMD-13 approving without a required signature says how to sign, and the request waits", async () => {
    // Given a persona that wants signatures, when its request is approved without one, then it is said how to, and it
    // still waits.
    const persona = await client.post("/v1/personas", {
      name: "signed",
      version: "1",
      description: "wants signatures",
      entry_workflow: "rehearsal",
      autonomy_tier: "act_with_approval",
      receipt_policy: "required",
      approval_policy: { channel: "harp" },
    });
    assert.equal(persona.status, 201, JSON.stringify(persona.body));
    const session = await client.createSession();
    const submitted = await client.post(
      "/v1/tasks",
      { session_id: session.id, persona_id: persona.body.id, input: userMessage("approve deploy") },
      { prefer: "wait=30" },
    );
    assert.equal(submitted.body.waiting_for.signature_required, true);
    const { id } = submitted.body;
    assert.match(errorLine(await run(["approve", id]), 1), /only signatures.*bridle approver watch/);
    assert.match(await words("approve"), /\[signature\] deploy/);
    assert.match(await words("task", "show", id), /bridle approver watch/);
    assert.equal((await client.get(`/v1/tasks/${id}`)).body.status, "AUTH_REQUIRED");
    await client.post(`/v1/tasks/${id}/cancel`);
  });
});

const everywhere = ["--json", "--url", "--key", "--data", "--help"];
const commands: Record<string, readonly string[]> = {
  "agents list": [],
  "agents show": [],
  "session list": ["--workspace", "--limit", "--all"],
  "session show": [],
  "session messages": [],
  "session create": ["--workspace", "--persona"],
  "session close": [],
  "session fork": ["--at-event"],
  "task submit": [
    "--input",
    "--session",
    "--workspace",
    "--persona",
    "--wait",
    "--watch",
    "--idempotency-key",
  ],
  "task list": ["--status", "--agent", "--session", "--since", "--limit", "--all"],
  "task show": [],
  "task watch": ["--no-ask"],
  "task cancel": ["--reason"],
  "task answer": ["--json-answer"],
  "task logs": ["--follow"],
  "task why": [],
  "task artifacts": [],
  "task receipt": [],
  approve: ["--reason", "--all", "--yes"],
  deny: ["--reason", "--yes"],
};

test("CMD-14 given every command, when its help is asked for, then it names every option", async () => {
  const { createProgram } = await import("../../src/cli/program.ts");
  for (const [name, options] of Object.entries(commands)) {
    const found = name
      .split(" ")
      .reduce(
        (parent, word) => parent.commands.find((child) => child.name() === word) ?? parent,
        createProgram(),
      );
    const help = found.helpInformation();
    assert.match(
      help,
      new RegExp(
        `^Usage: bridle ${name
          .split(" ")
          .map((word) => `${word}\\S*`)
          .join(" ")} `,
      ),
    );
    const named = [...help.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, option]) => option);
    assert.deepEqual(
      [...options, ...everywhere].filter((option) => !named.includes(option)),
      [],
      name,
    );
  }
  assert.match(succeeded(await bridle(["task", "submit", "--help"])), /\nExamples:\n {2}bridle task submit /);
});
