/** SEC-M10: everything that an installation runs, Node.js itself included, is in the lock file with its hash. */

import assert from "node:assert/strict";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import node from "../../build/node/package.json" with { type: "json" };
import lock from "../../package-lock.json" with { type: "json" };

interface Locked {
  version?: string;
  integrity?: string;
  resolved?: string;
  link?: boolean;
  hasInstallScript?: boolean;
  os?: string | string[];
  cpu?: string | string[];
}
const root = fileURLToPath(new URL("../..", import.meta.url));
const locked: [path: string, entry: Locked][] = Object.entries(lock.packages).filter(([path]) => path !== "");

test("SEC-M10 every locked package has a hash and no download address", () => {
  assert.ok(locked.length > 200);
  for (const [path, { integrity, resolved, link }] of locked) {
    // A folder of this repository.
    if (link === true || !path.startsWith("node_modules/")) {
      assert.ok(existsSync(`${root}/${resolved ?? path}/package.json`), path);
      continue;
    }
    assert.match(integrity ?? "", /^sha512-/, path);
    assert.equal(resolved, undefined, path);
  }
});

test("SEC-M10 Node.js is a locked package for one platform each, without an install script", () => {
  const nodes = Object.entries(node.optionalDependencies);
  assert.ok(nodes.length >= 5);
  for (const [name, version] of nodes) {
    const entry = locked.find(([path]) => path === `node_modules/${name}`)?.[1];
    assert.equal(entry?.version, version, name);
    assert.equal(entry?.hasInstallScript, undefined, name);
    assert.ok(entry?.os !== undefined && entry.cpu !== undefined, `${name} would be installed everywhere`);
  }
});

test("SEC-M10 tests run on the locked Node.js where npm installed it; no package runs a script", () => {
  assert.match(readFileSync(`${root}/.npmrc`, "utf8"), /^ignore-scripts=true$/m);
  // npm leaves it out where the machine's own is recent enough.
  if (!existsSync(`${root}/node_modules/.bin/node`))
    return assert.ok(Number.parseInt(process.versions.node, 10) >= 24);
  const linked = realpathSync(`${root}/node_modules/.bin/node`);
  const [name = ""] = Object.keys(node.optionalDependencies).filter((each) => linked.includes(each));
  assert.equal(linked, realpathSync(`${root}/node_modules/${name}/bin/node`));
  assert.equal(realpathSync(process.execPath), linked);
});
