/** Commands find the server of the folder they are called in, and its key, without being told. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { addressIn } from "../src/server/server-address.ts";
import { bridle, errorLine, runNode, succeeded } from "./support/cli.ts";
import { makeProject } from "./support/project.ts";
import { main, startProcess } from "./support/server.ts";

const env = { BRIDLE_API_KEY: undefined };

test("CLI-9 a command finds its project's server and key, ignoring a killed server's address", async () => {
  // Given a project that keeps its data elsewhere and its server on any port, when a command is called there, then it
  // reaches that server with its key; a killed server's address is not used.
  const config =
    'import { defineConfig } from "bridle";\nexport default defineConfig({ data: "kept", port: 0 });\n';
  await using project = await makeProject({ "bridle.config.ts": config });
  const [cwd, data] = [project.path, join(project.path, "kept")];
  const first = await startProcess({ cwd, env, args: [], data });
  try {
    assert.equal(addressIn(data), first.url);
    succeeded(await bridle(["keys", "rotate"], { cwd, env }));
  } finally {
    await first.kill();
  }
  assert.ok(existsSync(join(data, "server.json")), "it had no time to take it back");
  assert.equal(addressIn(data), null);

  await using second = await startProcess({ cwd, env, args: [], data });
  assert.equal(addressIn(data), second.url);
  assert.equal(await second.stop(), 0);
  assert.equal(existsSync(join(data, "server.json")), false);
});

test("CLI-10 with --json an error is one JSON line on stderr with its code and help page", async () => {
  // Given --json, when a command fails, then the error is one line of JSON on standard error, with its code and the page
  // that explains it.
  const { code, stdout, stderr } = await bridle(["approvers", "--json", "--url", "http://127.0.0.1:1"]);
  assert.deepEqual([code, stdout], [3, ""]);
  const { error } = JSON.parse(stderr);
  assert.equal(error.code, "connection_failed");
  assert.match(error.message, /Nobody answers at http:\/\/127\.0\.0\.1:1/);
  assert.equal(error.docs, "docs/reference/client.md");
});

test("CLI-11 a Node.js that is too old gets one line naming the versions and how to get one", async () => {
  // Given a Node.js that is too old, when bridle is called, then one line says which it takes and how to get it.
  const old = 'data:text/javascript,Object.defineProperty(process.versions, "node", { value: "20.11.1" })';
  const line = errorLine(await runNode(["--import", old, main, "--version"]), 1);
  assert.match(line, /Node\.js 20\.11\.1, and it takes 24 or later.*npm install/);
});
