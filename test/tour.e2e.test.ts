/** The first five minutes: the tour at a real terminal, what `bridle dev` shows, and what a browser finds there. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { bridle, errorLine, succeeded } from "./support/cli.ts";
import { Client, until } from "./support/client.ts";
import { startProcess, temporaryDirectory } from "./support/server.ts";
import { bridleInTerminal, ctrl, noTerminal } from "./support/terminal.ts";

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Commands are not broken: they are there to be copied. */
function assertWithin(columns: number, text: string): void {
  const lines = text.split("\n").filter((line) => !line.includes("receipt verify"));
  assert.deepEqual(
    lines.filter((line) => line.length > columns),
    [],
  );
}

/** A folder for everything temporary, and a data directory that nobody uses. */
async function emptyPlace() {
  const directory = await temporaryDirectory();
  const temporary = join(directory.path, "tmp");
  await mkdir(temporary);
  return {
    temporary,
    data: join(directory.path, "none"),
    keep: join(directory.path, "kept"),
    env: { TMPDIR: temporary, BRIDLE_API_KEY: undefined },
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  };
}

describe("bridle tour", { skip: noTerminal, concurrency: false }, () => {
  test("TOU-3 the tour runs without a server in 80 columns, and its receipt verifies after", async () => {
    // Given nothing that runs, and the address of a server that was killed, when the tour is taken and the person
    // answers, then all of it is shown within 80 columns, and the receipt holds with the server gone.
    await using place = await emptyPlace();
    const { data, keep, env } = place;
    await mkdir(data);
    await writeFile(join(data, "admin.key"), "key-of-a-server-of-long-ago");
    // Somebody else has the number of its process by now.
    const left = { url: "http://127.0.0.1:1", pid: process.pid };
    await writeFile(join(data, "server.json"), JSON.stringify(left));
    await using terminal = bridleInTerminal(["tour", "--data", data, "--keep", keep], { env });
    const pid = Number((await terminal.sees(/pid \d+/)).slice(4));
    assert.ok(isRunning(pid));
    await terminal.sees("a script and no model");
    await terminal.answer('nothing for "First light":', "Harvest");
    await terminal.sees("publish Harvest");
    await terminal.sees(/Its fingerprint:\s+[0-9a-f]{64}/);
    await terminal.answer("Approve? [yes/no]", "perhaps");
    await terminal.answer("Approve? [yes/no]", "yes");
    await terminal.sees(/Harvest is published/);
    await terminal.sees(`pid ${pid} is gone`);
    await terminal.sees("The receipt is valid.");
    assert.equal(await terminal.ended(), 0, terminal.text());
    assert.ok(!isRunning(pid));
    assertWithin(80, terminal.text());
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are what a terminal is for
    assert.match(terminal.raw(), /\u001b\[1mA receipt/);
    const files = [join(keep, "receipt.json"), "--jwks", join(keep, "keys.json")];
    assert.match(succeeded(await bridle(["receipt", "verify", ...files])), /receipt\.json is valid\./);
    assert.deepEqual(await readdir(place.temporary), []);
  });

  test("TOU-6 Ctrl-C at the tour's question stops everything and leaves nothing behind", async () => {
    // Given the question of the tour, when the person leaves with Ctrl-C, then nothing runs any more and nothing is left
    // behind.
    await using place = await emptyPlace();
    const options = { columns: 120, env: place.env };
    await using terminal = bridleInTerminal(["tour", "--data", place.data], options);
    const pid = Number((await terminal.sees(/pid \d+/)).slice(4));
    await terminal.sees('nothing for "First light":');
    terminal.press(ctrl.c);
    await terminal.sees("You left the tour");
    assert.equal(await terminal.ended(), 130);
    assertWithin(100, terminal.text());
    assert.ok(!isRunning(pid));
    assert.deepEqual(await readdir(place.temporary), []);
    assert.ok(!existsSync(place.data));
  });

  test("TOU-6 leaving the tour midway leaves no open task on somebody's server", async () => {
    // Given a server of somebody's, when the person leaves the tour in the middle, then its task does not stay open
    // there.
    await using server = await startProcess();
    const args = ["tour", "--data", server.data];
    await using terminal = bridleInTerminal(args, { env: { BRIDLE_URL: server.url } });
    await terminal.sees("collect");
    terminal.press(ctrl.c);
    assert.equal(await terminal.ended(), 130);
    const tasks = await until(
      async () => (await new Client(server).get("/v1/tasks")).body.data,
      (found) => found.length > 0,
    );
    assert.equal(tasks[0].status, "CANCELED", JSON.stringify(tasks[0]));
  });
});

test("TOU-4 the tour refuses to crash a server at an address or to write in a used directory", async () => {
  // Given an address, or a directory that somebody uses, when the tour is to kill or to write there, then it says why
  // not and nothing is done.
  const refused = await bridle(["tour", "--crash", "--url", "http://127.0.0.1:1"]);
  assert.match(errorLine(refused, 2), /--crash kills a server of its own/);
  await using place = await emptyPlace();
  await mkdir(join(place.keep, "mine"), { recursive: true });
  const full = await bridle(["tour", "--keep", place.keep, "--data", place.data], { env: place.env });
  assert.match(errorLine(full, 1), /is not empty: --keep takes a directory of its own/);
  assert.deepEqual(await readdir(place.keep), ["mine"]);
});

test("TOU-7, TOU-8, CON-2 bridle dev in an empty folder prints little, and a link into the console", async () => {
  // Given an empty folder, when bridle dev starts and somebody opens its URL, then the screen is short, a program finds
  // links that work, and the link on the screen signs in once.
  await using folder = await temporaryDirectory();
  await using server = await startProcess({
    command: "dev",
    args: ["--port", "0"],
    cwd: folder.path,
    env: { BRIDLE_API_KEY: undefined },
  });
  const screen = await until(
    async () => server.output(),
    (output) => output.includes("Stop with Ctrl-C"),
  );
  assert.equal(screen.match(/https?:\/\//g)?.length, 2, screen);
  assert.ok(screen.trim().split("\n").length <= 14, screen);
  assert.match(screen, /^ +bridle tour /m);
  assert.ok(screen.includes(`${folder.path}/.bridle (API key in admin.key)`), screen);
  assert.doesNotMatch(screen, /bridle_admin_/);

  const plain = await fetch(server.url);
  assert.match(plain.headers.get("content-type") ?? "", /^application\/json/);
  const { name, links } = JSON.parse(await plain.text());
  assert.equal(name, "Bridle");
  for (const path of Object.keys(links)) assert.equal((await fetch(server.url + path)).status, 200, path);
  const [, link = ""] = /#login=([\w-]+)/.exec(screen) ?? [];
  const signIn = () =>
    fetch(`${server.url}/console/sign-in`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ link }),
    });
  assert.deepEqual([(await signIn()).status, (await signIn()).status], [200, 401]);
  const page = await fetch(server.url, { headers: { accept: "text/html,*/*;q=0.8" } });
  assert.doesNotMatch(await page.text(), /bridle_admin_|https?:/);
});
