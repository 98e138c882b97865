/** What projects and pages say about running a server for others: parsed, and done as far as it can be without a daemon. */

import assert from "node:assert/strict";
import { cp, mkdir, readdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { parse, parseAllDocuments } from "yaml";
import { bridle, runNode, succeeded } from "./support/cli.ts";
import type { Json } from "./support/client.ts";
import { temporaryDirectory } from "./support/server.ts";

const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
const read = (file: string) => readFile(join(root, file), "utf8");
const template = (file: string) => read(`src/cli/init/template/${file}`);

/** Of `bridle serve`, each also with `_FILE` where it is a secret. */
async function settingsOfServers(): Promise<Set<string>> {
  const pages = await Promise.all([read("docs/reference/settings.md"), read("docs/guides/models.md")]);
  return new Set(pages.join("\n").match(/\bBRIDLE_[A-Z_]+\b/g));
}

async function blocks(page: string, language: string): Promise<string[]> {
  const fences = (await read(page)).matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"));
  return [...fences].map(([, text = ""]) => text);
}

/** Without anchors that lead nowhere, keys that repeat, and other mistakes of form. */
function documents(text: string): Json[] {
  return parseAllDocuments(text).map((document) => {
    assert.deepEqual(document.errors, []);
    return document.toJS();
  });
}

test("DEP-2 all settings that templates and the page on deployment name are settings of the server", async () => {
  const known = await settingsOfServers();
  const files = ["Dockerfile", "compose.yaml", "compose.postgres.yaml", "env.example"].map(template);
  for (const text of await Promise.all([...files, read("docs/operations/deployment.md")])) {
    const unknown = (text.match(/\bBRIDLE_[A-Z_]+\b/g) ?? []).filter(
      (name) => !known.has(name) && !known.has(name.replace(/_FILE$/, "")),
    );
    assert.deepEqual(unknown, []);
  }
});

test("DEP-2 compose runs the image read-only, without rights, with its data in a volume", async () => {
  const [single, postgres] = [
    parse(await template("compose.yaml")),
    parse(await template("compose.postgres.yaml")),
  ];
  const { bridle: service } = single.services;
  assert.deepEqual([service.read_only, service.cap_drop], [true, ["ALL"]]);
  assert.deepEqual(service.ports, ["127.0.0.1:8080:8080"]);
  assert.deepEqual([service.volumes, Object.keys(single.volumes)], [["data:/data"], ["data"]]);
  assert.match(
    postgres.services.bridle.environment.BRIDLE_DATABASE_URL,
    /^postgres:\/\/bridle:.*@postgres:5432\/bridle$/,
  );
  assert.equal(postgres.services.bridle.depends_on.postgres.condition, "service_healthy");
  assert.ok(postgres.services.postgres.volumes[0].startsWith(`${Object.keys(postgres.volumes)[0]}:`));
});

test("DEP-2 the CI workflow runs scripts that the project has, without rights to write", async () => {
  await using place = await temporaryDirectory();
  succeeded(await bridle(["init", "p", "--link"], { cwd: place.path }));
  const { scripts } = JSON.parse(await readFile(join(place.path, "p/package.json"), "utf8"));
  const { jobs, permissions } = parse(await readFile(join(place.path, "p/.github/workflows/ci.yml"), "utf8"));
  assert.deepEqual(permissions, { contents: "read" });
  const commands = jobs.test.steps.flatMap(({ run }: Json) => (run === undefined ? [] : [run]));
  assert.deepEqual(commands, ["npm ci", "npm run check", "npm test"]);
  assert.deepEqual(Object.keys(scripts), ["dev", "start", "test", "check"]);
});

test("DEP-2 manifests of the page are well formed, keep one server, and probe what the server answers", async () => {
  const [render, kubernetes] = await blocks("docs/operations/deployment.md", "yaml");
  const [web] = parse(render ?? "").services;
  assert.deepEqual([web.numInstances, web.healthCheckPath, web.disk.mountPath], [1, "/readyz", "/data"]);
  const [set = {}, service = {}]: Json[] = documents(kubernetes ?? "");
  const { containers, volumes, securityContext } = set.spec.template.spec;
  assert.deepEqual([set.kind, set.spec.replicas, securityContext.runAsNonRoot], ["StatefulSet", 1, true]);
  const [container] = containers;
  assert.equal(container.securityContext.readOnlyRootFilesystem, true);
  const named = [...volumes, ...set.spec.volumeClaimTemplates.map(({ metadata }: Json) => metadata)];
  assert.deepEqual(
    container.volumeMounts.map(({ name }: Json) => name).sort(),
    named.map(({ name }: Json) => name).sort(),
  );
  const ports = container.ports.map(({ name }: Json) => name);
  for (const { targetPort } of service.spec.ports) assert.ok(ports.includes(targetPort), targetPort);
  assert.deepEqual(service.spec.selector, set.spec.template.metadata.labels);
  const [fly = ""] = await blocks("docs/operations/deployment.md", "toml");
  // Each line is a table, a list of tables, or a name with a value that is JSON as well.
  for (const line of fly.split("\n").filter((text) => text !== "")) {
    const value = /^(?:\[\[?[\w.]+\]\]?|\w+ = (.+))$/.exec(line);
    assert.ok(value !== null, line);
    if (value[1] !== undefined) JSON.parse(value[1]);
  }
  const [unit = ""] = await blocks("docs/operations/deployment.md", "ini");
  for (const line of unit.trim().split("\n")) assert.match(line, /^(?:|\[\w+\]|[A-Z]\w+=.+)$/);
  assert.match(
    unit,
    /^ExecStart=\/usr\/bin\/node \/srv\/agents\/node_modules\/bridle\/lib\/main\.js serve$/m,
  );
});

test("DEP-4 a clone without development packages runs from its sources, and says so", async () => {
  await using place = await temporaryDirectory();
  for (const file of ["bridle.js", "package.json", "build", "src", "proto/generated"])
    await cp(join(root, file), join(place.path, file), { recursive: true });
  await mkdir(join(place.path, "node_modules"));
  for (const name of await readdir(join(root, "node_modules")))
    if (name !== "esbuild")
      await symlink(join(root, "node_modules", name), join(place.path, "node_modules", name));
  const ended = await runNode([join(place.path, "bridle.js"), "--version"]);
  assert.match(succeeded(ended), /^\d+\.\d+\.\d+\n$/);
  assert.match(ended.stderr, /^Without development packages Bridle runs from its sources/);
});

test("DEP-4 an older Node.js is told in one line what is wrong", async () => {
  await using place = await temporaryDirectory();
  await cp(join(root, "bridle.js"), join(place.path, "bridle.js"));
  const old = 'data:text/javascript,Object.defineProperty(process.versions,"node",{value:"20.20.2"})';
  const { code, stderr } = await runNode(["--import", old, join(place.path, "bridle.js"), "serve"]);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^bridle: Node\.js 24 or later is required, this is 20\.20\.2\. Install it, or run "npm ci"[^\n]*\n$/,
  );
});
