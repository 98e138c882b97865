/** `bridle serve` in a project, and the personas that one has. */

import assert from "node:assert/strict";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { defineAgent, type PersonaSettings, startServer as startHere } from "../src/index.ts";
import { bridle, errorLine } from "./support/cli.ts";
import { Client, isFinal } from "./support/client.ts";
import { agentModule, makeProject } from "./support/project.ts";
import { startProcess, temporaryDirectory } from "./support/server.ts";

test("PRJ-1, PRJ-3, PRJ-4 serve loads the project, and environment and flags override it", async () => {
  // Given a project, when it is served, then its settings, agents and personas are there, and the environment and flags
  // beat it.
  await using project = await makeProject({
    "package.json": '{ "type": "module" }',
    "settings/bridle.config.ts": `import { defineConfig } from "bridle";
import { local } from "../lib/local.ts";
export default defineConfig({
  port: 1,
  grpcPort: "off",
  data: "from-config",
  agents: [local, "agents/**/*.ts"],
  personas: [{
    name: "Careful", entry_workflow: "deep", description: "Looks first.",
    autonomy_tier: "suggest", receipt_policy: "required",
  }],
});
`,
    "lib/local.ts": `${agentModule("local", "1.0.0", 'return "local";').replace("export default", "export const local =")}`,
    "settings/agents/a/deep.ts": agentModule("deep", "1.0.0", 'return "deep";'),
  });
  await symlink("settings", join(project.path, "link"));
  await using server = await startProcess({
    args: ["--config", "link/bridle.config.ts", "--port", "0"],
    env: { BRIDLE_GRPC_PORT: undefined, BRIDLE_DATA: join(project.path, "from-environment") },
    cwd: project.path,
  });
  assert.match(server.output(), new RegExp(`^ +Data +${project.path}/from-environment$`, "m"));
  assert.match(server.output(), /^ +gRPC +off$/m);
  const client = new Client(server);
  const session = await client.createSession();
  const personas = await client.listAll("/v1/personas");
  const careful = personas.find(({ name }) => name === "Careful");
  assert.equal(careful.autonomy_tier, "suggest");
  for (const [personaId, says] of [
    [careful.id, "deep"],
    ["persona_local", "local"],
  ]) {
    const task = await client.submit(session.id, "go", { persona_id: personaId });
    const ended = await client.untilTask(task.id, isFinal);
    assert.equal((await client.get(`/v1/outcomes/${ended.outcome_id}`)).body.summary, says);
  }
});

test("PRJ-2, PRJ-7 an invalid project fails with one line that says where, starting nothing", async () => {
  // Given a project that is wrong, when it is served, then one line says where, and nothing is started.
  await using project = await makeProject({
    "package.json": '{ "type": "module" }',
    "bridle.config.ts": "export default { corsOrgin: [] };\n",
    "values.ts": 'export default { agents: [], publicUrl: "ftp://a.example" };\n',
    "agents/broken.ts": "export const a: number = 1;\nconst b = ;\n",
    "fine.ts": "export default {};\n",
    "personas.ts": `export default { agents: [], personas: [{
      name: "a", entry_workflow: "ecko", description: "", autonomy_tier: "suggest", receipt_policy: "required" }] };
`,
  });
  const serve = (...flags: string[]) => bridle(["serve", ...flags], { cwd: project.path });
  const [unknown, value, broken, persona] = await Promise.all([
    serve(),
    serve("--config", "values.ts"),
    serve("--config", "fine.ts"),
    serve("--config", "personas.ts"),
  ]);
  assert.equal(
    errorLine(unknown, 2),
    "error: bridle.config.ts: there is no setting corsOrgin. Did you mean corsOrigin?",
  );
  assert.equal(errorLine(value, 2), "error: values.ts: publicUrl: It must be an http or https URL.");
  assert.match(errorLine(broken, 1), /^bridle: agents\/broken\.ts:2: SyntaxError: /);
  assert.equal(
    errorLine(persona, 2),
    "error: personas.ts: personas[0].entry_workflow: no agent is called ecko. Did you mean echo?",
  );
});

test("PRJ-4 a restart updates a configured persona only if it differs", async () => {
  // Given a persona in the configuration, when the server starts again and again, then it is changed only when it is
  // different.
  await using directory = await temporaryDirectory();
  const helper: PersonaSettings = {
    name: "helper",
    entry_workflow: "helper",
    description: "Helps.",
    autonomy_tier: "suggest",
    receipt_policy: "required",
    schedules: [{ cron: "0 0 1 1 *", input: { text: "A new year." } }],
  };
  const agent = defineAgent({ name: "helper", version: "1.0.0", run: async () => "helped" });
  async function versionAfter(personas: PersonaSettings[]): Promise<string[]> {
    const server = await startHere({
      port: 0,
      dataDirectory: directory.path,
      apiKey: "test-administrator-key-0001",
      agents: [agent],
      personas,
    });
    try {
      const all = await new Client(server).listAll("/v1/personas");
      return all.filter(({ name }) => name === "helper").map(({ id, version }) => `${id} ${version}`);
    } finally {
      await server.stop(0);
    }
  }
  // The persona that the agent has anyway is the one of this name.
  assert.deepEqual(await versionAfter([helper]), ["persona_helper 2"]);
  assert.deepEqual(await versionAfter([helper]), ["persona_helper 2"]);
  assert.deepEqual(await versionAfter([{ ...helper, version: "1" }]), ["persona_helper 2"]);
  assert.deepEqual(await versionAfter([{ ...helper, autonomy_tier: "act_auto" }]), ["persona_helper 3"]);
  assert.deepEqual(await versionAfter([{ ...helper, version: "2026-11" }]), ["persona_helper 2026-11"]);
  assert.deepEqual(await versionAfter([]), ["persona_helper 2026-11"]);
});
