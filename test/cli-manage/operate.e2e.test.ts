/** What an operator does to a running server, in words and as JSON. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as nextTurn } from "node:timers/promises";
import { bridle, type Ended, errorLine, succeeded } from "../support/cli.ts";
import type { Json } from "../support/client.ts";
import { temporaryDirectory } from "../support/server.ts";
import { bridleInTerminal, ctrl, noTerminal } from "../support/terminal.ts";
import { startTravel, type Travel } from "../support/travel.ts";

describe("bridle for operators", () => {
  let travel: Travel;
  before(async () => {
    travel = await startTravel();
  });
  after(() => travel[Symbol.asyncDispose]());

  const call = (...args: string[]): Promise<Ended> => bridle(args, { server: travel.server });
  const json = async (...args: string[]): Promise<Json> =>
    JSON.parse(succeeded(await call(...args, "--json")));

  test("CMD-58 creating, using, changing and deleting a quota shows what is used and left", async () => {
    // Given quotas, when they are made, used, shown, changed and deleted, then each step says what is used and what is
    // left.
    const made = await json("quota", "set", "tasks=2", "usd=1.5", "--scope", "tenant", "--reset", "month");
    assert.deepEqual(made.limits, { tasks: 2, usd: 1.5 });
    const { id: session } = await travel.client.createSession();
    await travel.complete(session, "plain");

    const [listed, shown, listedJson] = await Promise.all([
      call("quota", "list"),
      call("quota", "show", made.id),
      json("quota", "list"),
    ]);
    assert.match(succeeded(listed), new RegExp(`^${made.id} +tenant +tasks +1 of 2 +1 +\\d{4}-`, "m"));
    assert.match(succeeded(shown), /^ {2}tasks +1 of 2, 1 left$/m);
    assert.match(shown.stdout, /at a limit a task ends; counts anew every month/);
    assert.equal(listedJson[0].usage.tasks, 1);

    const changed = await call(
      "quota",
      "set",
      "tasks=5",
      "--id",
      made.id,
      "--watch-only",
      "--on-exhaustion",
      "ask",
    );
    assert.match(succeeded(changed), /passing a limit is said, not refused.*\n {2}tasks +1 of 5, 4 left\n$/);
    assert.match(succeeded(await call("quota", "delete", made.id)), new RegExp(`^${made.id} limits nothing`));
    assert.match(errorLine(await call("quota", "show", made.id), 1), /resource_not_found/);
  });

  test("CMD-58 a quota with senseless limits or options is a usage error in one line", async () => {
    // Given limits and options that make no sense, when a quota is set, then one line says so as wrong use.
    const wrong: [string[], RegExp][] = [
      [["--scope", "tenant"], /needs a limit/],
      [["tasks=1"], /--scope/],
      [["tasks=many", "--scope", "tenant"], /NAME=NUMBER/],
      [["taks=1", "--scope", "tenant"], /tasks_per_minute/],
      [["--id", "quota_1"], /say what is to be changed/],
      [["tasks=1", "--scope", "tennant"], /Did you mean tenant\?/],
    ];
    const ended = await Promise.all(wrong.map(([args]) => call("quota", "set", ...args)));
    for (const [index, [, says]] of wrong.entries()) assert.match(errorLine(ended[index] as Ended, 2), says);
  });

  test("CMD-58 a terminal shows quota usage as a bar, without colours where none are wanted", {
    skip: noTerminal,
  }, async () => {
    // Given a terminal, when a quota is shown, then what is used is a bar, without colours where none are wanted.
    const made = await json("quota", "set", "tool_calls=4", "--scope", "persona");
    const env = { BRIDLE_URL: travel.server.url, NO_COLOR: "1" };
    await using terminal = bridleInTerminal(["quota", "show", made.id], { env });
    await terminal.sees(/tool_calls {2}░{20} {2}0 of 4, 4 left/);
    assert.equal(await terminal.ended(), 0);
    assert.ok(!terminal.raw().includes("\x1b["), "no colours");
  });

  test("CMD-50 commands that printed only words print nothing but JSON with --json", async () => {
    // Given commands that had only words, when they are called with --json, then standard output is JSON and nothing
    // else.
    await using place = await temporaryDirectory();
    const { id: session } = await travel.client.createSession();
    const task = await travel.complete(session, "artifact");
    const [fixture, bundle, exported] = ["run", "bundle", "session"].map((name) => join(place.path, name));

    assert.match((await json("keys", "rotate")).id, /./);
    assert.ok((await json("keys", "list")).keys.length > 1);
    assert.equal(typeof (await json("vault", "rotate")).rewrapped, "number");
    const replayed = await json("replay", task.id, "--diff");
    assert.equal(replayed.task.status, "COMPLETED");
    assert.equal(replayed.is_same, true);
    assert.ok(replayed.rows.length > 2 && replayed.rows.every((row: Json) => row.is_same));
    const kept = await json("replay", task.id, "--fixture", String(fixture));
    assert.deepEqual({ ...kept, lines: 0 }, { task_id: task.id, file: fixture, lines: 0 });
    const written = await json(
      "receipt",
      "export",
      "--workspace",
      "workspace_default",
      "--out",
      String(bundle),
    );
    assert.equal(written.file, bundle);
    const verified = await json("receipt", "verify", String(bundle));
    assert.deepEqual([verified.valid, verified.receipts], [true, written.receipts]);
    const moved = await json("export", session, "--out", String(exported));
    assert.equal(moved.session_id, session);
    assert.ok(existsSync(String(exported)) && !existsSync(`${exported}.part`));
    const twice = await call("import", String(exported), "--json");
    assert.equal(twice.code, 1);
    assert.equal(JSON.parse(twice.stderr).error.code, "conflict");
    const missing = await call("import", join(place.path, "none"));
    assert.match(errorLine(missing, 1), /none/);
    const made = await json("init", "--link", join(place.path, "made"));
    assert.equal(made.name, "made");
    assert.ok(made.files.some((file: Json) => file.path === "bridle.config.ts" && !file.written_over));
  });

  test("CMD-57, CMD-62 an export shows a progress bar and leaves no file when interrupted", {
    skip: noTerminal,
  }, async () => {
    // Given an export without end, when it is shown on a terminal, and when it is interrupted, then there is a bar, and
    // no file is left.
    await using place = await temporaryDirectory();
    const slow = createServer(async (_request, response) => {
      response.writeHead(200, { "content-type": "application/jsonl" });
      response.write('{"format":"bridle-receipts/1","count":1000}\n{"keys":[]}\n');
      while (!response.destroyed) {
        response.write(`${JSON.stringify({ filler: "x".repeat(5000) })}\n`);
        await nextTurn(20);
      }
    });
    await once(slow.listen(0, "127.0.0.1"), "listening");
    try {
      const env = { BRIDLE_URL: `http://127.0.0.1:${Object(slow.address()).port}`, BRIDLE_KEY: "any-key" };
      const out = join(place.path, "bundle");
      const args = ["receipt", "export", "--workspace", "workspace_default", "--out", out];
      await using terminal = bridleInTerminal(args, { env });
      await terminal.sees(/receipts exported [█░]{8,} {2,}\d+% {2}\d+ of 1000 {2}\d+\/s/);
      assert.deepEqual(await readdir(place.path), ["bundle.part"]);
      terminal.press(ctrl.c);
      assert.equal(await terminal.ended(), 130);
      assert.deepEqual(await readdir(place.path), []);
    } finally {
      slow.closeAllConnections();
      await once(slow.close(), "close");
    }
  });
});
