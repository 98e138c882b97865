/** `bridle doctor`: in a place that is well, in one that is not, and beside a server. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { chmod, readdir } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { bridle, type Ended, errorLine, succeeded } from "./support/cli.ts";
import { Client, type Json } from "./support/client.ts";
import { agentModule, makeProject } from "./support/project.ts";
import { startProcess, temporaryDirectory, withGrpc } from "./support/server.ts";

const canary = "sk-canary-5f1e0c7a9d-long-enough-for-a-key";
/** Other tests may have the usual ones. */
const anyPorts = ["--port", "0", "--grpc-port", "0"];

/** The findings of `--json`, by the names of the checks. */
function findings({ stdout, stderr }: Ended): Record<string, Json> {
  assert.equal(stderr, "");
  const all: Json[] = JSON.parse(stdout);
  return Object.fromEntries(all.map(({ check, ...found }) => [check, found]));
}

function statuses(found: Record<string, Json>, status: string): string[] {
  return Object.keys(found).filter((check) => found[check].status === status);
}

test("DOC-1, DOC-5 a healthy project is ok in every line, shows no keys and stays unchanged", async () => {
  // Given a project in which all is well, when the doctor is asked, then every line is ok, providers are named without
  // keys, and nothing is written.
  await using project = await makeProject({
    "bridle.config.ts": `import { defineConfig } from "bridle";
export default defineConfig({
  data: "state",
  models: { default: "house/large", providers: { house: {
    kind: "openai-compatible", baseUrl: "http://127.0.0.1:1/v1", apiKey: "${canary}",
  } } },
});
`,
    // What a project leaves running does not keep the doctor.
    "agents/teller.ts": agentModule("teller", "1.0.0", 'return "x";', "setInterval(() => {}, 1000);"),
  });
  const before = await readdir(project.path, { recursive: true });
  const env = { ANTHROPIC_API_KEY: canary, BRIDLE_API_KEY: canary, BRIDLE_MASTER_KEY: "ab".repeat(32) };
  const said = succeeded(await bridle(["doctor", ...anyPorts], { cwd: project.path, env }));
  const lines = said.trimEnd().split("\n");
  assert.equal(lines.length, 12);
  for (const line of lines) assert.match(line, /^(ok|warning {2}disk) +\S/);
  assert.match(said, /^ok +config +bridle\.config\.ts loads; agents teller@1\.0\.0$/m);
  assert.match(
    said,
    /^ok +models +providers that can be used: anthropic, house; the default model is house\/large$/m,
  );
  assert.ok(said.includes(`${project.path}/state, which is made at the first start`));
  assert.ok(!said.includes("canary") && !said.includes("abab"), "no key is shown");
  assert.ok(!said.includes("\x1b"), "no colours where there is no terminal");
  assert.deepEqual(await readdir(project.path, { recursive: true }), before);
});

test("DOC-2 each problem is one line with what to do, and the exit code is 1", async () => {
  // Given a place in which much is wrong, when the doctor is asked, then each problem is one line with what to do, and
  // the exit code is 1.
  const stranger = createServer((_, response) => response.end("{}")).listen(0, "127.0.0.1");
  await once(stranger, "listening");
  const { port } = stranger.address() as AddressInfo;
  await using project = await makeProject({
    "bridle.config.ts": "export default { corsOrgin: [] };\n",
    "fine.ts": "export default { agents: [] };\n",
    "data/admin.key": "bridle_admin_canary\n",
    "data/signing.key": "canary\n",
    "data/bridle.db": "not a database, by far".repeat(100),
  });
  await chmod(join(project.path, "data/admin.key"), 0o644);
  await chmod(join(project.path, "data/signing.key"), 0o600);
  const doctor = (args: string[], env = {}) => bridle(["doctor", ...args], { cwd: project.path, env });
  try {
    const ports = ["--port", `${port}`, "--grpc-port", "off"];
    const [text, json, wrong] = await Promise.all([
      doctor(["--data", "data", ...ports]),
      doctor(["--json", "--data", "fine.ts/below", "--config", "fine.ts", "--gateway", "https://a.example"], {
        BRIDLE_MODEL: "anthropic/large",
        BRIDLE_PORT: "0",
      }),
      doctor(["--port", "many"]),
    ]);
    assert.equal(text.code, 1);
    const problems = text.stdout.split("\n").filter((line) => line.startsWith("problem"));
    assert.equal(problems.length, 4, text.stdout);
    assert.match(problems[0] ?? "", /config .*no setting corsOrgin\. Did you mean corsOrigin\?/);
    assert.match(
      problems[1] ?? "",
      /keys .*others can read \S+\/data\/admin\.key\. chmod 600 \S+admin\.key,/,
    );
    assert.match(problems[2] ?? "", /store .*not a SQLite database\. Restore it from a backup.* Copy /);
    assert.match(problems[3] ?? "", new RegExp(`port +${port} is taken by another program.*--port`));
    assert.ok(!text.stdout.includes("canary"));

    assert.equal(json.code, 1);
    const found = findings(json);
    assert.deepEqual(statuses(found, "problem"), ["settings", "models", "data"]);
    assert.match(found.settings.message, /BRIDLE_GATEWAY_KEY/);
    assert.match(found.models.message, /ANTHROPIC_API_KEY/);
    assert.match(found.data.message, /fine\.ts is not a directory/);

    assert.match(errorLine(wrong, 2), /--port <number>/);
  } finally {
    stranger.close();
  }
});

test("DOC-3, DOC-4 the doctor asks a live server, reads a dead one's store and checks the clock", async () => {
  // Given a server, when it runs, then it is asked; when it was killed, then its store is looked at; when its log is of
  // the future, then the clock is a problem.
  await using place = await temporaryDirectory();
  await using server = await startProcess({ data: place.path, env: withGrpc });
  await new Client(server).createSession();
  const { port } = new URL(server.url);
  const { port: grpcPort } = new URL(server.grpcUrl());
  const args = ["doctor", "--json", "--port", port, "--grpc-port", grpcPort];
  const doctor = (data: string) => bridle([...args, "--data", data], { cwd: place.path });

  const [beside, elsewhere, astray] = await Promise.all([
    doctor(place.path),
    doctor(join(place.path, "other")),
    bridle(["doctor", "--json", ...anyPorts, "--data", place.path], { cwd: place.path }),
  ]);
  assert.equal(beside.code, 0, beside.stdout);
  const running = findings(beside);
  assert.match(running.store.message, /^open in Bridle \S+, which is ready$/);
  for (const check of ["port", "grpc-port"]) {
    assert.equal(running[check].status, "ok");
    assert.match(running[check].message, /is held by Bridle/);
  }
  assert.equal(elsewhere.code, 0, "another server is no problem of the place");
  assert.match(findings(elsewhere).port.message, /a Bridle with another data directory is running/);
  assert.match(findings(astray).store.message, new RegExp(`process ${server.process.pid}\\).*not answer`));

  await server.kill();
  const rested = findings(await doctor(place.path));
  assert.deepEqual(statuses(rested, "problem"), []);
  assert.match(rested.store.message, /not damaged/);
  assert.match(rested.port.message, /is free/);

  const db = new DatabaseSync(join(place.path, "bridle.db"));
  db.exec("UPDATE log SET created_at = '2090-01-01T00:00:00.000Z' WHERE last = (SELECT max(last) FROM log)");
  db.close();
  const late = await doctor(place.path);
  assert.equal(late.code, 1);
  assert.deepEqual(statuses(findings(late), "problem"), ["clock"]);
  assert.match(findings(late).clock.message, /2090-01-01/);
});
