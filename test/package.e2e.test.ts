/** The package, installed: Node.js strips no types under node_modules, so what works here may not work there. */

import assert from "node:assert/strict";
import { existsSync, globSync, readdirSync, readFileSync, statSync } from "node:fs";
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { after, before, describe, test } from "node:test";
import { runNode, succeeded } from "./support/cli.ts";
import { Client, isFinal } from "./support/client.ts";
import { buildImage } from "./support/dockerfile.ts";
import { destination, filesToCheck, localLinks } from "./support/docs.ts";
import { install, linkForTypes, npm, type Packed, pack, root, runBin } from "./support/installed.ts";
import { startProcess, temporaryDirectory } from "./support/server.ts";

/** Somewhat more than it is; CONTRIBUTING.md says how much that was. */
const packedBytesMax = 4_900_000;
const unpackedBytesMax = 22_500_000;

const { version, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** Whoever loads one of these starts a program or a thread; the other tests do. */
const programs = ["main.js", "writer.js", "checkpointer.js", "receipts-worker.js", "redaction-worker.js"];
/** It needs React, which the others do without. */
const withReact = ["react.js"];

/** Loads every module, those that others may import by their names; and prints what did not work. */
const loadAll = `
import { globSync } from "node:fs";
const folder = new URL("node_modules/bridle/lib/", import.meta.url);
const files = globSync("*.js", { cwd: folder.pathname }).filter((file) => !${JSON.stringify([...programs, ...withReact])}.includes(file));
const failures = [];
const load = (what, from) => import(from).catch((error) => failures.push(what + ": " + error));
for (const file of files) await load(file, new URL(file, folder));
for (const name of ${JSON.stringify(entries())}) await load(name, name);
const [{ defineAgent, startServer }, { rehearse }, { Approver }, { Shell }, { createClient }, { verifyReceipt }] = await Promise.all(
  ["bridle", "bridle/testing", "bridle/approver", "bridle/shell", "bridle/client", "bridle/verify"].map((name) => import(name)),
);
const exported = [defineAgent, startServer, rehearse, Approver, Shell, createClient, verifyReceipt].map((one) => typeof one);
console.log(JSON.stringify({ count: files.length, failures, exported }));
`;

/** Uses the types of all that can be imported; the last line is a mistake. */
const typesOfAll = `
import { type Server, startServer } from "bridle";
import { Approver } from "bridle/approver";
import { useTask } from "bridle/react";
import { Shell } from "bridle/shell";
import { rehearse } from "bridle/testing";
import hello from "./hello.ts";

export const parts: readonly (typeof Approver | typeof Shell)[] = [Approver, Shell];
export const hook: typeof useTask = useTask;
export const serve = (): Promise<Server> => startServer({ agents: [hello] });
export const said: string | null = (await rehearse(hello, { input: "Hi!" })).status;
export const wrong = rehearse(hello, { input: "Hi!", poeple: {} });
`;

/** The names that others may import. */
function entries(): string[] {
  return Object.keys(exports)
    .filter((path) => !withReact.includes(`${path.slice(2)}.js`))
    .map((path) => path.replace(/^\./, "bridle"));
}

/** The packages that these files import. */
function packagesUsed(folder: string, files: string): Set<string> {
  const text = globSync(files, { cwd: folder })
    .map((file) => readFileSync(join(folder, file), "utf8"))
    .join("\n");
  const imports = text.matchAll(
    /(?:^(?:import|export|\}).* from |^import |\bimport\()"(?!node:)((?:@[\w.-]+\/)?[\w-][\w.-]*)[/"]/gm,
  );
  return new Set([...imports].map(([, name = ""]) => name));
}

/** With those whose names begin with a dot. */
function initFiles(): string[] {
  return ["src/cli/init/template", "src/cli/init/templates"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => relative(root, join(parentPath, name))),
  );
}

describe("the package that is published", () => {
  let place: { path: string } & AsyncDisposable;
  let packed: Packed;
  let project: string;
  let said: string;

  before(async () => {
    place = await temporaryDirectory();
    packed = await pack(place.path);
    project = join(place.path, "my-agents");
    await mkdir(project);
    await install(join(place.path, packed.filename), project);
    said = succeeded(await runBin(project, "bridle", ["init"]));
  });

  after(() => place[Symbol.asyncDispose]());

  test("PKG-1 the package is small and holds only bundle, types, notices and pages", () => {
    // Given the package, when its files are listed, then they are the bundle, its types, notices and pages, and small.
    const paths = packed.files.map(({ path }) => path);
    const made =
      /^lib\/[\w-]+\.js(\.map)?$|^lib\/console\/(index\.html|favicon\.svg|manifest\.webmanifest|sw\.js|assets\/[\w-]+\.(js|css))$|^(src|client|proto)\/.*\.d\.ts$/;
    const rest = paths.filter((path) => !made.test(path));
    const asTheyAre = globSync(["docs/**/*.md"], { cwd: root, exclude: ["docs/decisions/**"] }).concat(
      initFiles(),
    );
    const atTheTop = ["AGENTS.md", "CHANGELOG.md", "LICENSE", "README.md", "llms.txt", "package.json"];
    assert.deepEqual(rest.sort(), [...atTheTop, "THIRD-PARTY-NOTICES.md", ...asTheyAre].sort());
    for (const path of [
      "lib/main.js",
      "lib/writer.js",
      "lib/index.js",
      "lib/console/index.html",
      "src/index.d.ts",
    ]) {
      assert.ok(paths.includes(path), path);
    }
    const notices = readFileSync(join(project, "node_modules/bridle/THIRD-PARTY-NOTICES.md"), "utf8");
    for (const name of ["fastify", "typebox", "ai", "react-dom"])
      assert.match(notices, new RegExp(`^## ${name} \\d`, "m"));
    // The same wherever it is built: its source maps lead to the sources of a clone, not of the builder's folders.
    const { sources } = JSON.parse(
      readFileSync(join(project, "node_modules/bridle/lib/main.js.map"), "utf8"),
    );
    assert.deepEqual(sources, ["../src/cli/main.ts"]);
    assert.ok(packed.size < packedBytesMax, `${packed.size} bytes packed`);
    assert.ok(packed.unpackedSize < unpackedBytesMax, `${packed.unpackedSize} bytes unpacked`);
  });

  test("PKG-2, CLT-10 all modules of the package load without its dependencies", async () => {
    // Given the package and none of its dependencies, when all modules are loaded, then none lacks anything.
    const alone = join(place.path, "alone");
    const installed = join(alone, "node_modules/bridle");
    // A copy: beside a link there would be what it leads to.
    await cp(join(project, "node_modules/bridle"), installed, { recursive: true });
    const script = join(alone, "load-all.mjs");
    await writeFile(script, loadAll);
    const { count, failures, exported } = JSON.parse(succeeded(await runNode([script])));
    assert.deepEqual(failures, []);
    assert.ok(count > 50, `${count} modules`);
    assert.deepEqual(exported, Array(7).fill("function"));
    const { dependencies } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
    const forTypes = packagesUsed(installed, "{src,client,proto}/**/*.d.ts");
    assert.deepEqual([...forTypes].sort(), Object.keys(dependencies).sort());
    // Libraries for browsers import nothing of Node.js either.
    for (const name of ["client", "verify", "shell", "approver"]) {
      const text = readFileSync(join(installed, `lib/${name}.js`), "utf8");
      assert.doesNotMatch(text, /from "(?!\.\/)|\brequire\b/, name);
    }
    const hooks = readFileSync(join(installed, "lib/react.js"), "utf8");
    assert.deepEqual(
      [...new Set([...hooks.matchAll(/from "(?!\.\/)([^"]+)"/g)].map(([, name]) => name))],
      ["react"],
    );
  });

  test("PKG-3, INI-1, DCS-4 a project of the installed package passes tests, and all page code compiles", async () => {
    // Given a project of the installed package with the code of all pages, when it is tested and its types checked, then
    // it depends on that version, and only a mistake that is put in is found.
    const npx = await npm(["exec", "--offline", "--", "bridle", "--version"], project);
    assert.equal(succeeded(npx).trim(), version);
    assert.match(said, /no registry release yet, so package\.json depends on the package in `vendor\//);
    const manifest = JSON.parse(readFileSync(join(project, "package.json"), "utf8"));
    assert.deepEqual(manifest.dependencies, { bridle: `file:vendor/bridle-${version}.tgz` });
    assert.ok(statSync(join(project, `vendor/bridle-${version}.tgz`)).size > 1_000_000);
    const tests = await runNode(["--test", "agents/**/*.test.ts"], { cwd: project });
    assert.match(succeeded(tests), /\bpass 2$/m);

    await linkForTypes(project);
    const file = join(project, "agents/types-of-all.ts");
    await writeFile(file, typesOfAll);
    const fromPages = filesToCheck();
    assert.ok(fromPages.size > 20, `${fromPages.size} files`);
    for (const [path, text] of fromPages) {
      const target = join(project, "agents/of-pages", path);
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, text);
    }
    // Also what is wrong inside of the package's types, which a project need not care about.
    const { code, stdout } = await runBin(project, "tsc", ["--noEmit", "--skipLibCheck", "false"]);
    await rm(file);
    await rm(join(project, "agents/of-pages"), { recursive: true });
    assert.notEqual(code, 0);
    const errors = stdout.split("\n").filter((line) => /\berror\b/.test(line));
    assert.equal(errors.length, 1, stdout);
    assert.match(errors[0] ?? "", /^agents\/types-of-all\.ts.*'poeple'/);
  });

  test("PKG-5 every link in the installed pages leads to a file of the package", () => {
    // Given the installed package, when the links in its pages are followed, then each leads to a file of it.
    const installed = join(project, "node_modules/bridle");
    const packedPages = globSync(["*.md", "docs/**/*.md"], { cwd: installed });
    const links = packedPages.flatMap((page) =>
      localLinks(page, readFileSync(join(installed, page), "utf8")),
    );
    assert.ok(links.length > 100, `${links.length} links`);
    assert.deepEqual(
      links.filter((link) => !existsSync(join(installed, destination(link).path))),
      [],
    );
  });

  test("PKG-4, DEP-1 the container of a project with the package completes a task, and writes to /data only", async () => {
    // `npm ci` of the first stage is what installed the project.
    const image = await buildImage(project, join(place.path, "image"), {
      packages: (path) => join(project, path.replace(/^\/app\//, "")),
    });
    assert.deepEqual(image.ran, [
      "npm ci --omit=dev --omit=optional --ignore-scripts",
      "mkdir /data && chown node:node /data",
    ]);
    assert.equal(image.user, "node");
    const cwd = join(image.root, image.workdir);
    const files = () => readdirSync(cwd, { recursive: true }).sort();
    const before = files();
    const [program, script = "", ...args] = image.command;
    assert.equal(program, "node");
    const data = join(place.path, "image-data");
    // Reached from this machine only.
    const env = { ...image.env, BRIDLE_DATA: data, BRIDLE_PORT: "0", BRIDLE_HOST: "127.0.0.1" };
    await using server = await startProcess({ script: join(cwd, script), args, cwd, env });
    const [, ...check] = image.health;
    const healthy = (port: string) => runNode(check, { env: { BRIDLE_PORT: port } });
    assert.equal((await healthy(new URL(server.url).port)).code, 0);
    assert.equal((await healthy("1")).code, 1);
    const client = new Client(server);
    const session = await client.createSession();
    const task = await client.submit(session.id, "Hi!", { persona_id: "persona_hello" });
    const waiting = await client.untilTask(task.id, (now) => isFinal(now) || now.status === "INPUT_REQUIRED");
    assert.equal(waiting.waiting_for?.description, "Who is there?", JSON.stringify(waiting));
    assert.equal((await client.answer(task.id, "Ada")).status, 201);
    const ended = await client.untilTask(task.id, isFinal);
    assert.equal((await client.get(`/v1/outcomes/${ended.outcome_id}`)).body.summary, "Hello, Ada!");
    assert.equal(await server.stop(), 0, server.output());
    assert.deepEqual(files(), before);
    assert.ok(existsSync(join(data, "bridle.db")));
  });

  test("DEP-3 npm create bridle makes a project from a template, as bridle init does", async () => {
    const creator = join(project, "node_modules/create-bridle");
    await cp(join(root, "create-bridle"), creator, { recursive: true });
    const { bin, dependencies } = JSON.parse(readFileSync(join(creator, "package.json"), "utf8"));
    assert.deepEqual(dependencies, { bridle: version });
    const script = join(creator, bin["create-bridle"]);
    const create = (...args: string[]) => runNode([script, ...args], { cwd: place.path });
    assert.match(succeeded(await create("library", "--template", "a2a", "--link")), /from the template a2a/);
    assert.ok(existsSync(join(place.path, "library/agents/desk.ts")));
    assert.equal((await create("library")).code, 1);
  });

  test("TOU-4, TOU-9 bridle dev, tour, verification and crash tour work in an empty folder", async (t) => {
    // Given an empty folder, when bridle dev, the tour, the verification and a tour with a crash follow one another,
    // then each does what it says.
    const folder = join(place.path, "empty");
    await mkdir(folder);
    // As somebody who has set nothing.
    const env = { BRIDLE_API_KEY: undefined, BRIDLE_LOG_LEVEL: undefined };
    const bin = join(project, "node_modules/.bin/bridle");
    const timed = async <T>(what: string, act: () => Promise<T>): Promise<T> => {
      const begun = performance.now();
      const done = await act();
      t.diagnostic(`${what}: ${((performance.now() - begun) / 1000).toFixed(1)} s`);
      return done;
    };
    const bridle = async (what: string, args: string[]) =>
      succeeded(await timed(what, () => runBin(project, "bridle", args, { cwd: folder, env })));

    const options = { script: bin, args: ["dev", "--port", "0"], cwd: folder, env };
    await using server = await timed("bridle dev until its URL", () => startProcess(options));
    const toured = await bridle("bridle tour beside it", ["tour", "--keep", "kept"]);
    assert.ok(toured.includes(`The one that runs here: ${server.url}`), toured);
    assert.match(toured, /Answered by the tour itself: yes/);
    assert.equal(await server.stop(), 0, server.output());
    const files = ["kept/receipt.json", "--jwks", "kept/keys.json"];
    assert.match(await bridle("bridle receipt verify", ["receipt", "verify", ...files]), /is valid\.$/m);

    const crashed = await bridle("bridle tour --crash", ["tour", "--crash", "--yes"]);
    const [, killed = "", restarted = ""] = /kill -9 (\d+)\n[\s\S]*?pid (\d+), back/.exec(crashed) ?? [];
    const ran = [...crashed.matchAll(/^ \S (once|twice) +(\S+) +(.+)$/gm)].map(([, ...words]) => words);
    const before = `pid ${killed} (killed)`;
    assert.deepEqual(ran, [
      ["once", "collect", before],
      ["once", "tour.today", before],
      ["once", "draft", before],
      ["twice", "proofread", `${before}, then pid ${restarted}`],
      ["once", "publish", `pid ${restarted}`],
    ]);
    assert.match(crashed, /The receipt is valid\./);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: there is no terminal to be driven
    assert.doesNotMatch(toured + crashed, /\u001b/);
  });
});
