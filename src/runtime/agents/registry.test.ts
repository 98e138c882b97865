import assert from "node:assert/strict";
import { test } from "node:test";
import type { Agent } from "./agent.ts";
import { AgentRegistry } from "./registry.ts";

function agent(version: string, name = "deployer"): Agent {
  return { name, version, run: async () => version };
}

const orders: [listed: string[], newest: string][] = [
  [["1.0.0", "2.0.0"], "2.0.0"],
  [["2.0.0", "1.0.0"], "2.0.0"],
  [["1.9.0", "1.10.0", "1.2.0"], "1.10.0"],
  [["2.0.0-beta.2", "2.0.0-beta.11", "2.0.0-beta"], "2.0.0-beta.11"],
  [["2.0.0", "2.0.0-rc.1"], "2.0.0"],
  [["1.0.0-1", "1.0.0-alpha"], "1.0.0-alpha"],
  [["1.0.0-alpha", "1.0.0-alpha.1"], "1.0.0-alpha.1"],
  [["1.0.0+b", "1.0.0+a"], "1.0.0+a"],
  [["2", "1"], "1"],
  [["next", "1.0.0"], "1.0.0"],
  [["3.0.0", "next"], "next"],
];

for (const [listed, newest] of orders) {
  test(`PRJ-3 a new task gets version ${newest} out of ${listed.join(", ")}`, () => {
    // Given the versions ${listed.join(", ")} of an agent, when a new task comes, then it gets ${newest}.
    const registry = new AgentRegistry(listed.map((version) => agent(version)));
    assert.equal(registry.newest("deployer")?.version, newest);
    assert.equal(registry.find("deployer")?.version, newest);
    for (const version of listed) assert.ok(registry.has("deployer", version));
  });
}

test("PRJ-5 replaces all agents at once and notifies listeners", () => {
  // Given agents, when they are replaced, then all of them are others at once, and who listens is told.
  const registry = new AgentRegistry([agent("1.0.0"), agent("1.0.0", "gone")]);
  let told = 0;
  registry.onReplace(() => {
    told += 1;
  });
  registry.replace([agent("1.1.0"), agent("1.0.0", "fresh")]);
  assert.deepEqual(
    registry.list().map(({ name, version }) => `${name}@${version}`),
    ["deployer@1.1.0", "fresh@1.0.0"],
  );
  assert.equal(registry.has("deployer", "1.0.0"), false);
  assert.equal(told, 1);
});

test("PRJ-7 keeps the previous agents if their replacements cannot be loaded together", () => {
  // Given agents that cannot be loaded together, when they are to replace others, then those before stay.
  const registry = new AgentRegistry([agent("1.0.0")]);
  assert.throws(() => registry.replace([agent("2.0.0"), agent("2.0.0")]), /loaded twice in version 2\.0\.0/);
  assert.equal(registry.newest("deployer")?.version, "1.0.0");
});
