/** `bridle shell` without a terminal: one message a line, plain output, and an exit code that scripts can use. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { assertNoStack, type Ended, errorLine } from "../support/cli.ts";
import { Client, type Json } from "../support/client.ts";
import { directives, failed, open, say, scriptedEngine } from "../support/scripted-engine.ts";
import {
  adminKey,
  environment,
  main,
  startServer,
  type TestServer,
  temporaryDirectory,
} from "../support/server.ts";

let server: TestServer;
let home: { path: string } & AsyncDisposable;
before(async () => {
  home = await temporaryDirectory();
  server = await startServer();
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
});

/** Feeds the lines to `bridle shell` and waits for its end. */
async function talk(
  lines: readonly string[],
  args: readonly string[] = [],
  { url = server.url, key = adminKey } = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [main, "shell", ...args], {
    env: { ...environment, BRIDLE_URL: url, BRIDLE_KEY: key, HOME: home.path },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.end(lines.map((line) => `${line}\n`).join(""));
  const [stdout, stderr] = await Promise.all([
    child.stdout.setEncoding("utf8").toArray(),
    child.stderr.setEncoding("utf8").toArray(),
    once(child, "exit"),
  ]);
  const ended = { code: child.exitCode, stdout: stdout.join(""), stderr: stderr.join("") };
  assertNoStack(ended);
  return ended;
}

const rehearse = ["--agent", "rehearsal"];

describe("bridle shell in a pipe", { concurrency: 3 }, () => {
  test("SHL-49 each piped line is a message, with plain text answers and exit code 0", async () => {
    // Given several lines, when they are piped in, then each is a message, the answers are plain text, and the exit code
    // is 0.
    assert.deepEqual(await talk(["hello", "", "how are you"]), {
      code: 0,
      stdout: "hello\nhow are you\n",
      stderr: "",
    });
  });

  test("SHL-49 the next piped line answers a question, and without one the exit code is 1", async () => {
    // Given a question, when another line follows, then that is the answer; given none, then the run stays open and the
    // exit code is 1.
    const script = "say hi\\\n ask Which region?\\\n return done";
    assert.deepEqual(await talk([script, "eu"], rehearse), {
      code: 0,
      stdout: "hi\nWhich region?\nYou said: eu\ndone\n",
      stderr: "",
    });
    const { code, stdout, stderr } = await talk([script], [...rehearse, "--no-stream"]);
    assert.equal(code, 1);
    assert.equal(stdout, "hi\nWhich region?\n");
    const [, session = ""] = /still open[\s\S]*bridle shell --session (\S+)/.exec(stderr) ?? [];
    assert.deepEqual(await talk(["/resume", "us"], ["--session", session]), {
      code: 0,
      stdout: "Which region?\nYou said: us\ndone\n",
      stderr: "",
    });
  });

  test("SHL-49 after a failed message the rest is sent, with the reason on stderr and exit 1", async () => {
    // Given a message that fails, when others follow, then they are sent all the same, the reason is on standard error
    // and the exit code is 1.
    const { code, stdout, stderr } = await talk(["fail no paper", "say fine"], rehearse);
    assert.equal(code, 1);
    assert.equal(stdout, "fine\n");
    assert.match(stderr, /^bridle: no paper \(rehearsed_failure\)\n$/);
  });

  test("SHL-50 an approval nobody can give leaves the run open, sends no more and exits 1", async () => {
    // Given an approval, when nobody can be asked, then none is given: the run stays open, nothing else is sent and the
    // exit code is 1.
    const { code, stdout, stderr } = await talk(["approve deploy\\\n return done", "yes", "y"], rehearse);
    assert.equal(code, 1);
    assert.match(stdout, /deploy/);
    assert.doesNotMatch(stdout, /Approved|done/);
    assert.match(stderr, /still open/);
    const client = new Client(server);
    const waiting = (await client.listAll("/v1/tasks")).filter(({ status }) => status === "AUTH_REQUIRED");
    assert.equal(waiting.length, 1);
  });

  test("SHL-54 the server's default agent answers until another one is chosen", async () => {
    await using other = await startServer({ flags: ["--default-agent", "rehearsal"] });
    const ended = await talk(["say first", "/agents", "/agent echo", "second", "/agent ecko"], [], {
      url: other.url,
    });
    assert.match(ended.stdout, /^first\n[\s\S]*rehearsal [\s\S]*\nsecond\n$/);
    assert.match(ended.stderr, /no agent ecko\. Did you mean echo\?/);
  });

  test("SHL-48 an attached file is uploaded first and referenced in the message", async () => {
    // Given a file, when it is attached, then it is uploaded first and the message has a reference to it.
    const path = join(home.path, "my notes.md");
    await writeFile(path, "# Notes\n");
    assert.deepEqual(await talk([`/attach "${path}"`, "with a file", "without"]), {
      code: 0,
      stdout: "with a file\nwithout\n",
      stderr: "",
    });
    const client = new Client(server);
    const tasks = await client.listAll("/v1/tasks");
    const partsOf = (text: string): Json =>
      tasks.find(({ input }) => input.parts[0]?.text === text)?.input.parts.slice(1);
    assert.equal(partsOf("with a file").length, 1);
    assert.deepEqual(partsOf("without"), [], "it goes with one message");
    const { artifact_id } = partsOf("with a file")[0];
    assert.equal((await client.get(`/v1/artifacts/${artifact_id}/content`)).body, "# Notes\n");

    const missing = await talk(["/attach /nowhere/at/all"]);
    assert.match(errorLine(missing, 1), /there is no file \/nowhere\/at\/all/);
    assert.match(errorLine(await talk([`/attach ${home.path}`]), 1), /is not a file/);
  });

  test("SHL-53 no server, a wrong key or an unknown agent gives one error line and exit 1", async () => {
    // Given no server, a wrong key or an unknown agent, when a message is sent, then the error is one line and the exit
    // code is 1.
    assert.match(errorLine(await talk(["x"], [], { url: "http://127.0.0.1:1" }), 3), /Nobody answers at/);
    const { code, stderr } = await talk(["x"], [], { key: "wrong-key-wrong" });
    assert.equal(code, 1);
    assert.match(stderr, /^bridle: .*\(unauthenticated\)\n$/);
    assert.match(errorLine(await talk(["x"], ["--agent", "nobody"]), 1), /\(unknown_sop\)/);
  });

  test("SHL-45 given text that would drive a terminal, when it is piped on, then it cannot", async () => {
    await using engine = await scriptedEngine(directives(say("a\u001b[2Jb\u0007\u009bc\r\nd")));
    const { stdout } = await talk(["x"], [], { url: new URL(engine.url).origin });
    assert.equal(stdout, "a\\u{1b}[2Jb\\u{7}\\u{9b}c\nd\n");
  });

  test("SHL-47 the shell warns once about an unwritable home and goes on", async () => {
    // Given a home in which nothing can be written, when a run is open, then the shell says so once and goes on.
    await using engine = await scriptedEngine(open("t1", say("q")), open("t2", say("q")), failed("odd"));
    const child = spawn(process.execPath, [main, "shell", "--url", new URL(engine.url).origin], {
      env: { ...environment, BRIDLE_KEY: "k-k-k-k-k", XDG_STATE_HOME: "/dev/null/nowhere" },
      stdio: ["pipe", "pipe", "pipe"],
    });
    child.stdin.end("one\ntwo\nthree\n");
    const [stdout, stderr] = await Promise.all([
      child.stdout.setEncoding("utf8").toArray(),
      child.stderr.setEncoding("utf8").toArray(),
    ]);
    assert.equal(stdout.join(""), "q\nq\n");
    assert.equal(stderr.join("").match(/cannot be remembered/g)?.length, 1);
    assert.equal((await readdir(home.path)).includes("nowhere"), false);
  });
});
