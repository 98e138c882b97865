/** `bridle backup`, of a server that works meanwhile, and restoring it as the documentation says. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, readFile, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as after } from "node:timers/promises";
import { bridle, errorLine, run, succeeded } from "../support/cli.ts";
import { Client, until, userMessage } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import { environment, main, startProcess, temporaryDirectory } from "../support/server.ts";

const page = new URL("../../docs/operations/backup.md", import.meta.url);

describe("bridle backup", () => {
  test("CMD-61 a backup of a busy server restores soundly with all that was acknowledged before", async () => {
    // Given a server that takes work all the time, when it is backed up and the copy is put in place as the
    // documentation says, then the copy is sound and has all that was acknowledged before.
    await using place = await temporaryDirectory();
    const data = join(place.path, "data");
    const backup = join(place.path, "backups", "first");
    const server = await startProcess({ data, env: { BRIDLE_API_KEY: undefined } });
    const key = (await readFile(join(data, "admin.key"), "utf8")).trim();
    const client = new Client(server, key);
    const session = await client.createSession();
    const done = await client.rehearse(session.id, `artifact a.txt ${"x".repeat(500)}`, "return done");
    const upload = `/v1/artifacts/upload?session_id=${session.id}`;
    const { body: artifact } = await client.call(upload, { raw: "y".repeat(300_000) });

    let isOver = false;
    const working = (async () => {
      while (!isOver)
        await client.post(`/v1/sessions/${session.id}/messages`, {
          message: userMessage("work ".repeat(200)),
        });
    })();
    const made = JSON.parse(succeeded(await bridle(["backup", backup, "--data", data, "--json"])));
    isOver = true;
    await working;
    assert.ok(made.events > 0 && made.files > 3);
    assert.equal((await stat(backup)).mode & 0o777, 0o700);
    for (const name of ["admin.key", "signing.key", "bridle.db"]) {
      assert.equal((await stat(join(backup, name))).mode & 0o777, 0o600, name);
    }
    const names = await readdir(backup);
    for (const name of ["server.json", "server.pid", "lock.db"]) assert.ok(!names.includes(name), name);
    assert.deepEqual(await readdir(join(place.path, "backups")), ["first"], "nothing is left beside it");
    const again = await bridle(["backup", backup, "--data", data]);
    assert.match(errorLine(again, 1), /is there already/);
    const link = join(place.path, "link");
    await symlink(data, link);
    const inside = await bridle(["backup", join(link, "..b"), "--data", data]);
    assert.match(errorLine(inside, 1), /inside of/);
    await server.kill();

    const [, commands = ""] =
      /## Restoring[\s\S]+?```sh\n([\s\S]+?)```/.exec(await readFile(page, "utf8")) ?? [];
    assert.match(commands, /bridle restore/);
    const program = `set -eu; bridle() { "${process.execPath}" "${main}" "$@"; }\n${commands}`;
    const restored = await run("bash", ["-c", program], { env: { DATA: data, BACKUP: backup } });
    assert.match(succeeded(restored), /each is what the log says/);
    await assertRebuildable(data);
    await using other = await startProcess({ data, env: { BRIDLE_API_KEY: undefined } });
    const now = new Client(other, key);
    assert.equal((await now.get(`/v1/tasks/${done.id}`)).body.status, "COMPLETED");
    const content = await fetch(`${other.url}/v1/artifacts/${artifact.id}/content`, {
      headers: now.headers(),
    });
    assert.equal((await content.text()).length, 300_000);
    assert.equal((await now.rehearse(session.id, "return more")).status, "COMPLETED");
  });

  test("CMD-61 a killed backup leaves a whole backup or none, and the next one succeeds", async () => {
    // Given a directory at rest, when a backup of it is killed at any time, then there is a whole backup or none, and
    // the next one is made.
    await using place = await temporaryDirectory();
    const data = join(place.path, "data");
    const server = await startProcess({ data });
    await new Client(server).createSession();
    assert.equal(await server.stop(), 0);
    for (const afterMs of [0, 15, 60]) {
      const target = join(place.path, `backup-${afterMs}`);
      const child = spawn(process.execPath, [main, "backup", target, "--data", data], {
        env: environment,
        stdio: "ignore",
      });
      const exited = once(child, "exit");
      // Once it has begun to write, and then some.
      const begun = async () =>
        (await readdir(place.path)).some((name) => name.includes(`backup-${afterMs}`));
      await until(begun, (isThere) => isThere || child.exitCode !== null);
      await after(afterMs);
      child.kill("SIGKILL");
      await exited;
      if (existsSync(target)) await assertRebuildable(target);
    }
    const last = join(place.path, "last");
    assert.match(succeeded(await bridle(["backup", last, "--data", data])), /keep it as safe as the server/);
    await assertRebuildable(last);
  });
});
