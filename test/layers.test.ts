/** Imports point down the layers; no surface knows another; nothing but the store's folder knows SQL. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { importGraphOf } from "./support/import-graph.ts";

const source = fileURLToPath(new URL("../src", import.meta.url));

/** What each folder may import beside itself. */
const mayImport: Record<string, readonly string[]> = {
  store: [],
  files: [],
  gate: [],
  web: [],
  "harp/core": ["web"],
  "harp/gateway": ["harp/core", "store"],
  policy: ["receipts", "store", "web"],
  receipts: ["web"],
  "sdk/shell": ["web"],
  "sdk/verify": ["harp/core", "receipts", "web"],
  "sdk/approver": ["harp/core", "web"],
  // Of the server it takes types alone.
  "sdk/client": ["harp/core", "kernel", "receipts", "sdk/verify", "surfaces", "web"],
  "sdk/react": ["sdk/client"],
  models: ["store", "web"],
  "mcp-client": ["store", "web"],
  tools: ["files", "policy", "store", "web"],
  kernel: ["files", "harp/core", "policy", "receipts", "store", "web"],
  runtime: [
    "files",
    "harp/core",
    "kernel",
    "mcp-client",
    "models",
    "policy",
    "receipts",
    "store",
    "tools",
    "web",
  ],
  telemetry: ["kernel", "models", "policy", "store", "web"],
  agents: ["models", "runtime", "store", "tools"],
  surfaces: ["files", "harp/core", "harp/gateway", "kernel", "policy", "receipts", "store", "web"],
};
/** They put everything together: the server, the command line, what loads a project, and what tests of agents are run on. */
const composition = new Set(["server", "index.ts", "version.ts", "cli", "testing", "project"]);

/** Rooms that every other room of the kernel may use. */
const everywhere = ["core", "kinds", "access", "audit"];
/** What else the rooms of the kernel may use of each other. Files outside of a room put the rooms together. */
const kernelRooms: Record<string, readonly string[]> = {
  core: [
    "approvals",
    "openharness",
    "personas",
    "quotas",
    "receipts",
    "replay",
    "retention",
    "sessions",
    "tasks",
  ],
  kinds: ["tasks"],
  access: ["approvals", "push", "receipts", "workspaces"],
  approvals: ["personas", "receipts", "tasks"],
  artifacts: ["quotas", "retention", "tasks"],
  audit: ["workspaces"],
  connectors: ["sessions", "tasks", "vaults"],
  handoffs: ["quotas", "receipts", "tasks"],
  harp: ["approvals", "tasks"],
  memory: [],
  openharness: ["approvals", "personas", "sessions", "tasks", "vaults"],
  personas: ["approvals", "openharness", "quotas", "schedules", "skills", "workspaces"],
  push: ["retention", "tasks", "vaults"],
  quotas: ["workspaces"],
  receipts: ["replay", "tasks", "workspaces"],
  replay: ["artifacts", "quotas", "receipts", "tasks"],
  retention: ["push", "receipts", "sessions", "tasks", "workspaces"],
  schedules: ["quotas", "sessions", "tasks"],
  sessions: ["personas", "push", "receipts", "retention", "skills", "tasks", "workspaces"],
  skills: ["personas"],
  tasks: ["approvals", "handoffs", "personas", "quotas", "receipts", "sessions", "skills"],
  vaults: ["push", "workspaces"],
  workspaces: ["quotas"],
};
/** What each part of the runtime may use of the others. */
const runtimeParts: Record<string, readonly string[]> = {
  agents: [],
  run: ["agents", "context"],
  context: ["agents", "handoff", "models", "run", "tools"],
  models: ["agents", "run", "tools"],
  tools: ["agents", "context", "run"],
  handoff: ["agents", "context", "run", "scheduler"],
  scheduler: ["run"],
  webhooks: ["scheduler"],
  approvals: ["scheduler"],
};

/** Without a subject of their own: every layer may use them. */
const shared = new Set(["package-files.ts", "lazy.ts", "periodic.ts", "slices.ts", "start-thread.ts"]);

interface Import {
  from: string;
  to: string;
  /** Gone when the code runs. */
  isTypeOnly: boolean;
}

function imports(): Import[] {
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".ts") && !file.endsWith(".test.ts"),
  );
  return files.flatMap((file) => {
    const text = readFileSync(join(source, file), "utf8");
    return [...text.matchAll(/^(?:import|export) (type )?[^;"]*?from "(\.[^"]+)"/gm)].map(
      ([, type, target = ""]) => ({
        from: file,
        to: relative(source, resolve(source, dirname(file), target)),
        isTypeOnly: type !== undefined,
      }),
    );
  });
}

function layerOf(file: string): string {
  const [folder = "", inside = ""] = file.split("/");
  return folder === "harp" || folder === "sdk" ? `${folder}/${inside}` : folder;
}

/** The folder inside of another one that a file lies in, if it lies in one. */
function roomOf(folder: string, file: string): string | null {
  const [first, room, ...rest] = file.split("/");
  return first === folder && room !== undefined && rest.length > 0 ? room : null;
}

function crossings(folder: string, rooms: Record<string, readonly string[]>, shared: readonly string[]) {
  const all = imports().flatMap(({ from, to }) => {
    const [room, other] = [roomOf(folder, from), roomOf(folder, to)];
    return room === null || other === null || room === other ? [] : [{ from, to, room, other }];
  });
  assert.ok(all.length > 20, "the imports were found");
  const unlisted = all.filter(({ room, other }) => !shared.includes(other) && !rooms[room]?.includes(other));
  const idle = Object.entries(rooms).flatMap(([room, others]) =>
    others
      .filter((other) => !all.some((found) => found.room === room && found.other === other))
      .map((other) => `${room} → ${other}`),
  );
  return { unlisted: unlisted.map(({ from, to }) => `${from} → ${to}`), idle };
}

test("given the imports of all modules, when they cross folders, then they point down the layers", () => {
  const found = imports();
  assert.ok(found.length > 100, "the imports were found");
  const upward = found.filter(({ from, to }) => {
    const [layer, target] = [layerOf(from), layerOf(to)];
    // What is generated from a protocol's definition is like a library.
    if (composition.has(layer) || layer === target || shared.has(to) || to.startsWith("../proto/generated/"))
      return false;
    return !mayImport[layer]?.includes(target);
  });
  assert.deepEqual(upward, []);
});

test("the rooms of the kernel use only the rooms that are listed, and all of those", () => {
  assert.deepEqual(crossings("kernel", kernelRooms, everywhere), { unlisted: [], idle: [] });
});

test("the parts of the runtime use only the parts that are listed, and all of those", () => {
  assert.deepEqual(crossings("runtime", runtimeParts, []), { unlisted: [], idle: [] });
});

test("given what modules import at run time, when it is followed, then no module reaches itself", () => {
  const imported = new Map<string, string[]>();
  for (const { from, to, isTypeOnly } of imports()) {
    if (!isTypeOnly) imported.set(from, [...(imported.get(from) ?? []), to]);
  }
  assert.ok(imported.size > 500, "the imports were found");
  const done = new Set<string>();
  const cycleFrom = (file: string, path: readonly string[]): string[] | null => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return null;
    for (const next of imported.get(file) ?? []) {
      const cycle = cycleFrom(next, [...path, file]);
      if (cycle !== null) return cycle;
    }
    done.add(file);
    return null;
  };
  for (const file of imported.keys()) assert.equal(cycleFrom(file, [])?.join(" → ") ?? null, null);
});

test("given the surfaces, when their imports are read, then none knows another", () => {
  const surfaceOf = (file: string) => /^surfaces\/([^/]+)\//.exec(file)?.[1];
  const crossing = imports().filter(({ from, to }) => {
    const [surface, other] = [surfaceOf(from), surfaceOf(to)];
    return surface !== undefined && other !== undefined && surface !== other;
  });
  assert.deepEqual(crossing, []);
});

test("code outside the store imports only the store's port", () => {
  // Given everything outside the store, when it imports the store, then it imports the port only.
  const leaks = imports().filter(
    ({ from, to }) =>
      layerOf(from) !== "store" &&
      layerOf(to) === "store" &&
      to !== "store/port.ts" &&
      // Where a process may end is named in one place, and matters beside the store as well.
      to !== "store/fail-point.ts" &&
      to !== wholeStore &&
      !composition.has(layerOf(from)),
  );
  assert.deepEqual(leaks, []);
});

const wholeStore = "store/whole-store.ts";

/** Who looks after all tenants, and nobody else: where it is decided whose something is, and what the server does by itself. */
const looksAfterAll: readonly RegExp[] = [
  /^kernel\/(kernel|operations)\.ts$/,
  /^kernel\/core\/(unit|log-tail|rebuild|salvage)\.ts$/,
  // The tenant follows from a key, a connector's id, or a time that has come.
  /^kernel\/access\/(auth-failure|authenticate|client-keys)\.ts$/,
  /^kernel\/connectors\/connector-secret\.ts$/,
  /^kernel\/push\/push-configs\.ts$/,
  /^kernel\/vaults\/rewrap\.ts$/,
  /^kernel\/(receipts|retention)\//,
  /^harp\/gateway\//,
  /^runtime\/run\/history\.ts$/,
  /^telemetry\//,
];

test("SEC-C2 only those who look after all tenants import the store of all tenants", () => {
  const users = imports().filter(({ from, to }) => to === wholeStore && layerOf(from) !== "store");
  assert.ok(users.length > 5, "the imports were found");
  const others = users.filter(
    ({ from }) => !composition.has(layerOf(from)) && !looksAfterAll.some((place) => place.test(from)),
  );
  assert.deepEqual(others, []);
  // What carries it under another name is for the same few.
  const carriers = /\b(WholeDeps|WholeKernel)\b/;
  const carrying = readdirSync(source, { recursive: true, encoding: "utf8" }).filter(
    (file) =>
      /^(surfaces|kernel)\/.*(?<!\.test)\.ts$/.test(file) &&
      !looksAfterAll.some((place) => place.test(file)) &&
      carriers.test(readFileSync(join(source, file), "utf8")),
  );
  assert.deepEqual(carrying, []);
});

test("the shell imports only what a browser has", () => {
  // Given the shell, when its imports are read, then it needs nothing that a browser does not have.
  const files = readdirSync(join(source, "sdk/shell")).filter(
    (file) => file.endsWith(".ts") && !file.endsWith(".test.ts"),
  );
  const imported = files.flatMap((file) =>
    [...readFileSync(join(source, "sdk/shell", file), "utf8").matchAll(/from "([^"]+)"/g)].map(
      ([, from]) => from,
    ),
  );
  assert.ok(imported.length > 10, "the imports were found");
  assert.deepEqual(
    imported.filter((from) => !/^\.\/|^\.\.\/\.\.\/web\//.test(from ?? "")),
    [],
  );
});

test("the verifier imports no package and only what a browser has", () => {
  // Given the verifier, when its imports are followed, then it needs no package and nothing that a browser does not
  // have.
  const { files, foreign, nodeOnly } = importGraphOf("src/sdk/verify/index.ts");
  assert.ok(files.includes("src/web/canonical-json.ts"), "the imports were followed");
  assert.ok(files.includes("src/harp/core/proof.ts"), "the imports were followed");
  assert.deepEqual({ foreign, nodeOnly }, { foreign: [], nodeOnly: [] });
});

test("CLT-10 the client imports no package, only the verifier and what a browser has", () => {
  // Given the client, when its imports are followed, then it needs no package, nothing of the server's but the verifier,
  // and nothing that a browser does not have.
  const shared = new Set(importGraphOf("src/sdk/verify/index.ts").files);
  const { files, foreign, nodeOnly } = importGraphOf("src/sdk/client/index.ts");
  assert.ok(files.includes("src/sdk/client/follow.ts"), "the imports were followed");
  assert.deepEqual(
    files.filter((file) => !/^src\/(sdk\/client|web)\//.test(file) && !shared.has(file)),
    [],
  );
  assert.deepEqual({ foreign, nodeOnly }, { foreign: [], nodeOnly: [] });
});
