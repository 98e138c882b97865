/** SEC-M10: everything that an installation runs, Node.js itself included, is in the lock file with its hash. */

import assert from "node:assert/strict";
import { readFileSync, realpathSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import manifest from "../../package.json" with { type: "json" };
import lock from "../../package-lock.json" with { type: "json" };

interface Locked {
  version?: string;
  integrity?: string;
  resolved?: string;
  hasInstallScript?: boolean;
  os?: string | string[];
  cpu?: string | string[];
}
const root = fileURLToPath(new URL("../..", import.meta.url));
const locked: [path: string, entry: Locked][] = Object.entries(lock.packages).filter(([path]) => path !== "");

test("SEC-M10 every locked package has a hash and no download address", () => {
  assert.ok(locked.length > 200);
  for (const [path, { integrity, resolved }] of locked) {
    assert.match(integrity ?? "", /^sha512-/, path);
    assert.equal(resolved, undefined, path);
  }
});

test("SEC-M10 Node.js is a locked package for one platform each, without an install script", () => {
  const nodes = Object.entries(manifest.optionalDependencies);
  assert.ok(nodes.length >= 5);
  for (const [name, version] of nodes) {
    const entry = locked.find(([path]) => path === `node_modules/${name}`)?.[1];
    assert.equal(entry?.version, version, name);
    assert.equal(entry?.hasInstallScript, undefined, name);
    assert.ok(entry?.os !== undefined && entry.cpu !== undefined, `${name} would be installed everywhere`);
  }
});

test("SEC-M10 these tests run on the locked Node.js, and no package runs a script at installation", () => {
  const linked = realpathSync(`${root}/node_modules/.bin/node`);
  const [name = ""] = Object.keys(manifest.optionalDependencies).filter((each) => linked.includes(each));
  assert.equal(linked, realpathSync(`${root}/node_modules/${name}/bin/node`));
  assert.equal(realpathSync(process.execPath), linked);
  assert.match(readFileSync(`${root}/.npmrc`, "utf8"), /^ignore-scripts=true$/m);
});
