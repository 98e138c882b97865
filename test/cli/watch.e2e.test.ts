/** `bridle task watch` and `bridle approve` in a real terminal, and a watch over a server that is killed. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { Client, isFinal, type Json, until } from "../support/client.ts";
import { reservedPort } from "../support/ports.ts";
import {
  adminKey,
  environment,
  main,
  startProcess,
  startServer,
  type TestServer,
  temporaryDirectory,
} from "../support/server.ts";
import {
  bridleInTerminal,
  commandInTerminal,
  ctrl,
  noTerminal,
  type TestTerminal,
} from "../support/terminal.ts";

/** No cursor and no line breaks while the view is drawn, and both back in the end. */
const taken = "\u001b[?25l\u001b[?7l";
const given = "\u001b[?25h\u001b[?7h";

function assertGivenBack(terminal: TestTerminal): void {
  const raw = terminal.raw();
  assert.ok(raw.includes(taken), "it was a view");
  assert.ok(raw.lastIndexOf(given) > raw.lastIndexOf(taken), "the terminal is as it was");
}

describe("A watch in a terminal", { skip: noTerminal }, () => {
  let server: TestServer;
  let client: Client;
  before(async () => {
    server = await startServer();
    client = new Client(server);
  });
  after(() => server[Symbol.asyncDispose]());

  const open = (...args: string[]) =>
    bridleInTerminal(args, { columns: 80, env: { BRIDLE_URL: server.url, BRIDLE_KEY: adminKey } });

  test("CMD-24 answering and approving in the view continues the task, and its end stays shown", async () => {
    // Given a task that asks and wants an approval, when the person answers both in the view, then it goes on, and how
    // it ended stays on the screen.
    await using terminal = open(
      ...["task", "submit", "rehearsal", "--watch"],
      "ask Which region?\nstep measure\napprove deploy\nreturn deployed",
    );
    await terminal.sees(/rehearsal@1\.0\.0 {2}INPUT_REQUIRED/);
    await terminal.answer("Your answer: ", "eu-west");
    await terminal.sees("May it do this: deploy");
    await terminal.answer("Approve? [y/n, Enter for later] ", "y");
    await terminal.sees(
      /COMPLETED[\s\S]*asked: Which region\?[\s\S]*You said: eu-west[\s\S]*✓ measure[\s\S]*✓ approved by \S+: deploy[\s\S]*● deployed/,
    );
    assert.equal(await terminal.ended(), 0);
    assertGivenBack(terminal);
  });

  test("CMD-25 pressing Ctrl-C restores the terminal, exits with 130 and leaves the task running", async () => {
    // Given a watch, when Ctrl-C is pressed, then the terminal is as it was, the exit code is 130 and the task goes on.
    const session = await client.createSession();
    const task = await client.submit(session.id, "sleep 600000", { persona_id: "persona_rehearsal" });
    await using terminal = open("task", "watch", task.id);
    await terminal.sees(/WORKING[\s\S]*◦ sleep/);
    terminal.press(ctrl.c);
    assert.equal(await terminal.ended(), 130);
    assert.match(terminal.text(), new RegExp(`The task goes on\\. .*bridle task watch ${task.id}`));
    assertGivenBack(terminal);
    assert.equal(isFinal((await client.get(`/v1/tasks/${task.id}`)).body), false);
    await client.post(`/v1/tasks/${task.id}/cancel`);
  });

  test("CMD-24 a question that somebody else answers is withdrawn and the view goes on", async () => {
    // Given a question in the view, when somebody else answers it, then it is withdrawn and the view goes on.
    const session = await client.createSession();
    const task = await client.rehearse(session.id, "ask Which region?", "return done");
    await using terminal = open("task", "watch", task.id);
    await terminal.sees("Your answer: ");
    await client.answer(task.id, "us-east");
    await terminal.sees(/COMPLETED[\s\S]*You said: us-east/);
    assert.equal(await terminal.ended(), 0);
    assertGivenBack(terminal);
  });

  test("CMD-12 bridle approve shows each waiting request in full and decides as the person says", async () => {
    // Given requests that wait, when bridle approve walks through them, then each is shown with all of it, and decided
    // as the person says.
    const session = await client.createSession();
    const first = await client.rehearse(session.id, "approve ship it", "return done");
    const second = await client.rehearse(session.id, "approve delete it", "return done");
    await using terminal = open("approve");
    await terminal.sees(/1 of 2\n\? May it do this: ship it\n {2}risk: medium, until .* UTC\n/);
    await terminal.sees(new RegExp(`asked by rehearsal@1\\.0\\.0 for \\S+, in ${first.id}`));
    await terminal.answer("Approve? [y/n, Enter for later] ", "perhaps");
    await terminal.sees("Type yes or no.");
    await terminal.answer("Approve? [y/n, Enter for later] ", "yes");
    await terminal.sees("is approved.");
    await terminal.sees(/2 of 2\n\? May it do this: delete it\n/);
    await terminal.answer("Approve? [y/n, Enter for later] ", "n");
    await terminal.sees("is denied.");
    assert.equal(await terminal.ended(), 0);
    assert.equal((await client.untilTask(first.id, isFinal)).status, "COMPLETED");
    assert.equal((await client.untilTask(second.id, isFinal)).status, "FAILED");
  });

  test("CMD-12, CMD-25 redirected output still shows the request, and Ctrl-C decides nothing", async () => {
    // Given results that go to a file, when one request is to be approved, then the person sees what it is all the same,
    // and Ctrl-C decides nothing.
    const session = await client.createSession();
    const task = await client.rehearse(session.id, `approve ship it ${". ".repeat(2000)}`, "return done");
    const words = ["sh", "-c", `exec "$0" "$@" > /dev/null`, process.execPath, main, "approve", task.id];
    const env = { BRIDLE_URL: server.url, BRIDLE_KEY: adminKey };
    await using terminal = commandInTerminal(words, { env });
    await terminal.sees("May it do this: ship it");
    // It is longer than the screen, so its beginning is there again.
    await terminal.sees(/more of it than the screen holds: \d+ lines.*\n {2}ship it .*\n {2}risk: medium\n/);
    await terminal.sees("Type yes to approve: ");
    terminal.press(ctrl.c);
    assert.equal(await terminal.ended(), 130);
    assert.equal((await client.get(`/v1/tasks/${task.id}`)).body.status, "AUTH_REQUIRED");
  });
});

test("CMD-23 a watch reconnects after a server crash, misses nothing and ends with the task", async () => {
  // Given a watch, when the server is killed and started again, then it says that it reconnects, goes on, misses nothing
  // and ends with the task.
  await using place = await temporaryDirectory();
  const port = await reservedPort();
  const first = await startProcess({ args: ["--port", port, "--data", place.path] });
  const client = new Client(first);
  const session = await client.createSession();
  const task: Json = await client.rehearse(
    session.id,
    "say before",
    "ask Go on?",
    "say behind",
    "return done",
  );
  const watch = spawn(process.execPath, [main, "task", "watch", task.id], {
    env: { ...environment, BRIDLE_URL: first.url, BRIDLE_KEY: adminKey },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(watch, "exit");
  let [stdout, stderr] = ["", ""];
  watch.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  watch.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  await until(
    async () => stdout,
    (text) => /asks +Go on\?/.test(text),
  );
  await first.kill();
  await until(
    async () => stderr,
    (text) => text.includes("reconnecting"),
  );
  await using second = await startProcess({ args: ["--port", port, "--data", place.path] });
  await new Client(second).answer(task.id, "yes");
  await exited;
  assert.equal(watch.exitCode, 0, stdout + stderr);
  assert.match(stderr, /reconnecting\n[\s\S]*connected again\n/);
  for (const text of ["says      before", "says      You said: yes", "says      behind", "completed "]) {
    assert.equal(stdout.split(text).length, 2, `${text} once in:\n${stdout}`);
  }
});
