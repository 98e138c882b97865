/** REL-R4 with the clock of the whole process set from outside, where libfaketime is installed (or LIBFAKETIME names it). */

import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Client, isFinal, until } from "../support/client.ts";
import { startProcess, temporaryDirectory } from "../support/server.ts";

const libraries = [
  process.env.LIBFAKETIME ?? "",
  "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
  "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
  "/usr/lib64/faketime/libfaketimeMT.so.1",
  "/usr/lib/faketime/libfaketimeMT.so.1",
];
const library = libraries.find((file) => file !== "" && existsSync(file));
const note = library === undefined ? " (skipped: libfaketime is not installed)" : "";

test(`REL-R4 a server whose clock was an hour ahead wakes what was due and then rests${note}`, {
  skip: library === undefined,
}, async () => {
  await using directory = await temporaryDirectory();
  const file = join(directory.path, "time");
  const set = (offset: string) => writeFileSync(file, `${offset}\n`);
  set("+0");
  const env = {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
  };
  await using server = await startProcess({ env });
  const client = new Client(server);
  const session = await client.createSession();
  const persona = { persona_id: "persona_rehearsal" };
  const first = await client.submit(session.id, "sleep 1800000", persona);
  await client.untilTask(first.id, ({ status }) => status === "WORKING");
  set("+1h");
  assert.equal((await client.untilTask(first.id, isFinal)).status, "COMPLETED");
  set("+0");
  const jumps = () => server.output().split("clock.jumped").length - 1;
  await until(
    async () => jumps(),
    (count) => count === 2,
  );
  const second = await client.submit(session.id, "sleep 60000", persona);
  await client.untilTask(second.id, ({ status }) => status === "WORKING");
  const events = async () => (await client.get(`/v1/tasks/${second.id}/events`)).body.data.length;
  const settled = await until(events, (count) => count > 2);
  // Three looks of the scheduler.
  await new Promise((resolve) => setTimeout(resolve, 800));
  assert.ok((await events()) <= settled + 2, "it sleeps");
});
