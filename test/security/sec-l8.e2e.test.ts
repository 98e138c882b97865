/** SEC-L8: where a secret stays in the initial environment of the process, which other programs of the same user can read. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { takeSecrets } from "../../src/cli/settings/secret-files.ts";
import { startProcess, temporaryDirectory } from "../support/server.ts";

const secret = "operators-own-key-00000000001";
const elsewhere = ["--host", "0.0.0.0", "--insecure-http"];

test("SEC-L8 a secret in the environment beyond loopback is reported by its name and not its value", async () => {
  const env = { BRIDLE_API_KEY: secret, BRIDLE_LOG_LEVEL: "info" };
  await using server = await startProcess({ flags: elsewhere, env });
  assert.equal(await server.stop(), 0);
  const lines = server
    .output()
    .split("\n")
    .filter((line) => line.includes("secrets.in_environment"));
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).variables),
    [["BRIDLE_API_KEY"]],
  );
  assert.ok(!server.output().includes(secret));
});

test("SEC-L8 a secret from a file is not in /proc/PID/environ and not reported", {
  skip: process.platform !== "linux" && "there is no /proc",
}, async () => {
  await using directory = await temporaryDirectory();
  const file = join(directory.path, "key");
  writeFileSync(file, secret);
  const env = { BRIDLE_API_KEY: undefined, BRIDLE_API_KEY_FILE: file, BRIDLE_LOG_LEVEL: "info" };
  await using server = await startProcess({ flags: elsewhere, env });
  const initial = readFileSync(`/proc/${server.pid}/environ`, "utf8");
  assert.ok(initial.includes(file) && !initial.includes(secret));
  assert.equal(await server.stop(), 0);
  assert.ok(!server.output().includes("secrets.in_environment"));
});

test("SEC-L8 only variables that held a secret themselves are named", () => {
  const environment = {
    BRIDLE_API_KEY: "a",
    BRIDLE_API_KEY_FILE: "/run/a",
    BRIDLE_MASTER_KEY: "b",
    PATH: "c",
  };
  assert.deepEqual(takeSecrets(environment).inEnvironment, ["BRIDLE_MASTER_KEY"]);
  assert.deepEqual(environment, { PATH: "c" });
});
