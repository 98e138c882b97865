/** `bridle shell` in a real terminal, against an engine that does what the test says. */

import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import {
  answer,
  directives,
  failed,
  message,
  named,
  open,
  type ScriptedEngine,
  say,
  scriptedEngine,
  stream,
} from "../support/scripted-engine.ts";
import { temporaryDirectory } from "../support/server.ts";
import {
  bridleInTerminal,
  ctrl,
  noTerminal,
  type TerminalOptions,
  type TestTerminal,
} from "../support/terminal.ts";

interface Place extends AsyncDisposable {
  engine: ScriptedEngine;
  /** Where open runs are remembered. */
  home: string;
  chat(args?: string[], options?: TerminalOptions): TestTerminal;
}

async function place(...scripts: Parameters<typeof scriptedEngine>): Promise<Place> {
  const engine = await scriptedEngine(...scripts);
  const home = await temporaryDirectory();
  return {
    engine,
    home: home.path,
    chat: (args = [], options = {}) =>
      bridleInTerminal(["shell", "--url", new URL(engine.url).origin, ...args], {
        ...options,
        env: { BRIDLE_KEY: "secret-key-1", HOME: home.path, ...options.env },
      }),
    async [Symbol.asyncDispose]() {
      await engine[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

async function openRuns(home: string): Promise<string[]> {
  const directory = join(home, ".local/state/bridle/shell");
  const names = await readdir(directory).catch(() => []);
  return names.map((name) => join(directory, name));
}

const question = (text: string, more: object = {}) => say(text, named(`q:${text}`, "question", more));
const approval = (tier: string, payload: object = {}) => ({
  action_type: "request_approval",
  requires_user_approval: true,
  risk_tier: tier,
  payload: {
    message: "Deploy build 7?",
    summary: "Deploy build 7 to eu-west",
    action: "deploy",
    artifact_hash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    request_id: "perm_1",
    details: { build: 7, region: "eu-west" },
    risk: "high",
    expires_at: "2031-02-03T04:05:06.000Z",
    via: "shell",
    ...payload,
  },
  ...named("perm_1", "approval"),
});

describe("bridle shell at a terminal", { skip: noTerminal, concurrency: 2 }, () => {
  test("SHL-42 the screen shows streams, questions and answers as they come", async () => {
    // Given a person who types, when the agent streams, asks and answers, then everything is on the screen as it comes.
    const { promise: seen, resolve: see } = Promise.withResolvers<void>();
    await using here = await place(
      async (asked, reply) => {
        const { directive, frame, end } = stream(reply);
        const hello = say("Hello, I will look.", named("m1", "message"));
        directive(asked, 1, hello);
        frame("progress", { sequence: 2, progress: { message: "reading the changes", percent: 40 } });
        await seen;
        const asks = question("Which region?");
        frame(
          "response",
          message(asked, {
            action_directives: [hello, asks],
            continuation: { continuation_token: "t1" },
          }),
        );
        end();
      },
      directives(say("Deployed to eu-west.")),
    );
    await using chat = here.chat(["--agent", "deployer"]);
    await chat.sees(/Bridle \d.*agent deployer/);
    await chat.sees(/> $/);
    chat.enter("deploy build 7");
    await chat.sees(/● Hello, I will look\.\n/);
    await chat.sees(/reading the changes 40 %/);
    see();
    await chat.sees(/\? Which region\?\n/);
    await chat.sees(/answer> $/);
    chat.enter("eu-west");
    await chat.sees(/● Deployed to eu-west\.\n/);
    await chat.sees(/\n> $/);
    chat.enter("/quit");
    assert.equal(await chat.ended(), 0);
    const [first, second] = here.engine.asked.map(({ body, headers }) => ({
      ...body.request.context,
      headers,
    }));
    assert.equal(first.user_intent, "deploy build 7");
    assert.deepEqual(first.task_hint, { sop_id: "deployer" });
    assert.equal(first.shell.shell_kind, "command_shell");
    assert.equal(first.headers.authorization, "Bearer secret-key-1");
    assert.equal(second.user_intent, "eu-west");
    assert.equal(second.continuation.continuation_token, "t1");
  });

  test("SHL-43 an approval shows summary, action, details, risk in colour and the full hash", async () => {
    // Given an approval, when it is shown, then summary, action, details, risk and the whole hash are there, in the
    // colour of the risk.
    await using here = await place(
      open("t1", approval("caution")),
      open("t2", { ...approval("dangerous"), ...named("perm_2", "approval") }),
      directives(say("Done.")),
    );
    await using chat = here.chat();
    await chat.sees(/> $/);
    chat.enter("deploy");
    const card = await chat.sees(/── Approval [\s\S]*Approve\? \[y\/N\] $/);
    for (const text of [
      /caution ──\n/,
      /Summary {2}Deploy build 7 to eu-west\n/,
      /Message {2}Deploy build 7\?\n/,
      /Action {3}deploy\n/,
      /Risk {5}high\n/,
      /Expires {2}2031-02-03 04:05 UTC\n/,
      /Hash {5}9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n/,
      /"region": "eu-west"\n/,
    ]) {
      assert.match(card, text);
    }
    assert.ok(chat.raw().includes("\u001b[33mcaution"), "yellow");
    chat.enter("perhaps");
    await chat.sees(/Type yes or no\.\n/);
    await chat.sees(/Approve\? .* $/);
    chat.enter("y");
    await chat.sees(/Approved\.\n/);
    await chat.sees(/dangerous ──\n[\s\S]*Approve\? \[yes\/N\] $/);
    assert.ok(chat.raw().includes("\u001b[1m\u001b[31mdangerous"), "bold and red");
    chat.enter("y");
    await chat.sees(/type yes in full/);
    await chat.sees(/Approve\? .* $/);
    chat.enter("");
    await chat.sees(/Not approved\.\n/);
    await chat.sees(/● Done\.\n/);
    const decisions = here.engine.asked
      .slice(1)
      .map(({ body }) => body.request.context.continuation.extensions["com.bridle"].approvals[0].approved);
    assert.deepEqual(decisions, [true, false]);
  });

  test("SHL-43 a person can ask for all details of an approval that do not fit", async () => {
    // Given an approval with more details than fit, when the person asks for them, then all are shown.
    const details = Array.from({ length: 60 }, (_, n) => `line ${n}`).join("\n");
    await using here = await place(open("t1", approval("safe", { details })), directives());
    await using chat = here.chat();
    await chat.sees(/> $/);
    chat.enter("go");
    assert.doesNotMatch(await chat.sees(/and 20 more lines[\s\S]*d for all details\] $/), /line 59/);
    chat.enter("d");
    await chat.sees(/line 59\n/);
    await chat.sees(/\] $/);
    chat.enter("no");
    await chat.sees(/Not approved/);
  });

  test("SHL-44 given NO_COLOR, when the shell writes, then nothing is coloured", async () => {
    await using here = await place(open("t1", approval("dangerous")), directives(say("x")));
    await using chat = here.chat([], { env: { NO_COLOR: "1" } });
    await chat.sees(/> $/);
    chat.enter("go");
    await chat.sees(/Approve\? .* $/);
    chat.enter("no");
    await chat.sees(/● x\n/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: this is what colours are made of
    assert.doesNotMatch(chat.raw(), /\u001b\[[\d;]*m/);
  });

  test("SHL-45 terminal control sequences are shown as text in every place", async () => {
    // Given text that would drive the terminal, when it comes in any place, then it is shown as text.
    const evil = "a\u001b[2Jb\u001b]0;title\u0007c\u009bd\u0008e\u202ef\u2028g\rh";
    await using here = await place(
      open("t1", say(evil, { extensions: {} }), {
        ...approval("safe", {
          summary: evil,
          message: evil,
          action: evil,
          details: evil,
          artifact_hash: evil,
        }),
      }),
      failed("odd\u001b[2J", { message: evil }),
    );
    await using chat = here.chat();
    await chat.sees(/> $/);
    chat.enter("go");
    await chat.sees(/Approve\? .* $/);
    chat.enter("y");
    await chat.sees(/odd\\u\{1b\}\[2J\)\n/);
    assert.ok(!chat.raw().includes("\u001b[2J"), "the screen is not cleared");
    assert.ok(!chat.raw().includes("\u001b]0;"), "the title stays");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be there
    assert.doesNotMatch(chat.raw(), /[\u0007\u0008\u009b\u202e\u2028]/);
  });

  for (const columns of [80, 120]) {
    test(`SHL-51 no line exceeds a terminal of ${columns} columns`, async () => {
      // Given a terminal of ${columns} columns, when long texts and approvals are shown, then no line is longer.
      const long = `${"Many words that go on and on. ".repeat(12)}\n- ${"a list ".repeat(30)}\n${"x".repeat(300)}\n${"漢字".repeat(80)}`;
      await using here = await place(
        open("t1", say(long), approval("caution", { summary: long, details: { text: long } })),
        directives(),
      );
      await using chat = here.chat([], { columns });
      await chat.sees(/> $/);
      chat.enter("go");
      await chat.sees(/Approve\? .* $/);
      const lines = chat.text().split("\n");
      // Chinese characters are two columns wide.
      const width = (line: string) =>
        [...line].reduce((sum, one) => sum + (/\p{Script=Han}/u.test(one) ? 2 : 1), 0);
      assert.deepEqual(
        lines.filter((line) => width(line) > columns),
        [],
      );
      assert.ok(
        lines.some((line) => width(line) > columns - 12),
        "and the room is used",
      );
    });
  }

  test("SHL-46 Ctrl-C ends the wait for a long run, and /resume returns to it", async () => {
    // Given a run that takes long, when Ctrl-C is pressed, then the wait ends and /resume comes back to it with the same
    // message.
    await using here = await place(() => undefined, directives(say("Here it is.")));
    await using chat = here.chat();
    await chat.sees(/> $/);
    chat.enter("go");
    await chat.sees(/working/);
    chat.press(ctrl.c);
    await chat.sees(/Stopped waiting; the run goes on\. \/resume/);
    await chat.sees(/> $/);
    chat.enter("/resume");
    await chat.sees(/● Here it is\.\n/);
    assert.equal(here.engine.asked[1]?.text, here.engine.asked[0]?.text);
    await chat.sees(/> $/);
    chat.press(ctrl.d);
    assert.equal(await chat.ended(), 0);
  });

  test("SHL-46 given Ctrl-C while waiting, when it is pressed a second time, then the shell quits", async () => {
    await using here = await place(() => undefined);
    await using chat = here.chat();
    await chat.sees(/> $/);
    chat.enter("go");
    await chat.sees(/working/);
    chat.press(ctrl.c);
    await chat.sees(/Stopped waiting/);
    await chat.sees(/> $/);
    chat.press(ctrl.c);
    await chat.sees(/still open[\s\S]*bridle shell --session sess_\w+\n/);
    assert.equal(await chat.ended(), 0);
  });

  test("SHL-46 Ctrl-C while typing clears the line and keeps the shell", async () => {
    // Given a line that is being typed, when Ctrl-C is pressed, then the line is gone and the shell stays.
    await using here = await place(directives(say("ok")));
    await using chat = here.chat();
    await chat.sees(/> $/);
    chat.press("never sent");
    await chat.sees(/never sent/);
    chat.press(ctrl.c);
    await chat.sees(/> $/);
    chat.enter("sent");
    await chat.sees(/● ok\n/);
    assert.deepEqual(
      here.engine.asked.map(({ body }) => body.request.context.user_intent),
      ["sent"],
    );
  });

  test("SHL-47 /resume in a new shell continues the open run, and its private file is deleted", async () => {
    // Given a shell that was quit with a run open, when another is started, then /resume goes on with it, and the file
    // was private and is gone at the end.
    await using here = await place(
      open("t1", question("Which region?")),
      open("t2", question("Which region?")),
      directives(say("Deployed.")),
    );
    {
      await using chat = here.chat(["--agent", "deployer"]);
      await chat.sees(/> $/);
      chat.enter("deploy");
      await chat.sees(/answer> $/);
      chat.press(ctrl.d);
      await chat.sees(/still open/);
      assert.equal(await chat.ended(), 0);
    }
    const [file = "", ...others] = await openRuns(here.home);
    assert.deepEqual(others, []);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.equal((await stat(join(file, ".."))).mode & 0o777, 0o700);
    const text = await readFile(file, "utf8");
    assert.match(text, /"t1"/);
    assert.doesNotMatch(text, /secret-key-1/);

    await using chat = here.chat();
    await chat.sees(/A run was left open just now\. \/resume/);
    await chat.sees(/> $/);
    chat.enter("/resume");
    await chat.sees(/\? Which region\?\n/);
    await chat.sees(/answer> $/);
    chat.enter("eu");
    await chat.sees(/● Deployed\.\n/);
    const [before, resumed, answered] = here.engine.asked.map(({ body }) => body.request.context);
    assert.equal(resumed.session_id, before.session_id);
    assert.equal(resumed.continuation.continuation_token, "t1");
    assert.equal(answered.user_intent, "eu");
    await chat.sees(/> $/);
    assert.deepEqual(await openRuns(here.home), []);
    chat.enter("/resume");
    await chat.sees(/There is no open run/);
  });

  test("SHL-42 a question with several parts asks for each and answers with an object", async () => {
    // Given a question with several parts, when it is answered at the terminal, then each part is asked for and the
    // answer is an object.
    const schema = {
      type: "object",
      required: ["region", "replicas"],
      properties: {
        region: { anyOf: [{ const: "eu" }, { const: "us" }] },
        replicas: { type: "integer", description: "How many at once" },
        canary: { type: "boolean" },
      },
    };
    await using here = await place(open("t1", question("Where to?", { schema })), directives(say("Ok.")));
    await using chat = here.chat();
    await chat.sees(/> $/);
    chat.enter("deploy");
    await chat.sees(/answer> $/);
    chat.enter("");
    await chat.sees(/region \(eu\/us\): $/);
    chat.enter("mars");
    await chat.sees(/has to be eu or us/);
    await chat.sees(/region \(eu\/us\): $/);
    chat.enter("eu");
    await chat.sees(/How many at once\n/);
    await chat.sees(/replicas \(number\): $/);
    chat.enter("3");
    await chat.sees(/canary .*: $/);
    chat.enter("");
    await chat.sees(/● Ok\.\n/);
    assert.deepEqual(
      here.engine.asked[1]?.body.request.context.continuation.extensions["com.bridle"].answers,
      [{ question_id: "q:Where to?", value: { region: "eu", replicas: 3 } }],
    );
  });

  test("SHL-42 given the commands, when they are typed, then they do what /help says", async () => {
    await using here = await place(
      answer({ action_directives: [question("a")], continuation: { continuation_token: "t1" } }),
      directives(),
      directives(say("slash")),
    );
    await using chat = here.chat(["--session", "sess_mine"]);
    await chat.sees(/> $/);
    chat.enter("/help");
    await chat.sees(/\/attach PATH[\s\S]*\/resume[\s\S]*\/new[\s\S]*\/quit[\s\S]*--session sess_mine\n/);
    await chat.sees(/> $/);
    chat.enter("/what");
    await chat.sees(/There is no command \/what/);
    await chat.sees(/> $/);
    chat.enter("first\\");
    await chat.sees(/\.\.\. $/);
    chat.enter("second");
    await chat.sees(/answer> $/);
    chat.enter("/cancel");
    await chat.sees(/\n> $/);
    chat.enter("/new");
    await chat.sees(/A new conversation/);
    await chat.sees(/> $/);
    chat.enter("//slash");
    await chat.sees(/● slash/);
    const contexts = here.engine.asked.map(({ body }) => body.request.context);
    assert.equal(contexts[0].user_intent, "first\nsecond");
    assert.equal(contexts[0].session_id, "sess_mine");
    assert.ok(contexts[1].continuation.extensions["com.bridle"].cancel);
    assert.equal(contexts[2].user_intent, "/slash");
    assert.notEqual(contexts[2].session_id, "sess_mine");
  });
});
