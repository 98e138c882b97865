/** Every rule of the specification is proved by a test that names it. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { requirements as others } from "./requirements.ts";
import { acpRequirements } from "./requirements-acp.ts";
import { agentRequirements } from "./requirements-agents.ts";
import { auditRequirements } from "./requirements-audit.ts";
import { clientRequirements } from "./requirements-client.ts";
import { commandRequirements } from "./requirements-commands.ts";
import { consoleRequirements } from "./requirements-console.ts";
import { docsRequirements } from "./requirements-docs.ts";
import { exampleRequirements } from "./requirements-examples.ts";
import { gateRequirements } from "./requirements-gate.ts";
import { harpRequirements } from "./requirements-harp.ts";
import { initRequirements } from "./requirements-init.ts";
import { keyRequirements } from "./requirements-keys.ts";
import { manageRequirements } from "./requirements-manage.ts";
import { mcpRequirements } from "./requirements-mcp.ts";
import { mcpSurfaceRequirements } from "./requirements-mcp-surface.ts";
import { modelRunRequirements } from "./requirements-model-runs.ts";
import { modelRequirements } from "./requirements-models.ts";
import { openHarnessRequirements } from "./requirements-openharness.ts";
import { opvsRequirements } from "./requirements-opvs.ts";
import { packageRequirements } from "./requirements-package.ts";
import { postgresRequirements } from "./requirements-postgres.ts";
import { proofRequirements } from "./requirements-proof.ts";
import { retryRequirements } from "./requirements-retries.ts";
import { shellRequirements } from "./requirements-shell.ts";
import { taxonomyRequirements } from "./requirements-taxonomy.ts";
import { telemetryRequirements } from "./requirements-telemetry.ts";
import { testingRequirements } from "./requirements-testing.ts";
import { tourRequirements } from "./requirements-tour.ts";
import { traceRequirements } from "./requirements-traces.ts";

const requirements = [
  ...others,
  ...taxonomyRequirements,
  ...opvsRequirements,
  ...gateRequirements,
  ...harpRequirements,
  ...agentRequirements,
  ...retryRequirements,
  ...openHarnessRequirements,
  ...shellRequirements,
  ...modelRequirements,
  ...modelRunRequirements,
  ...mcpRequirements,
  ...mcpSurfaceRequirements,
  ...testingRequirements,
  ...acpRequirements,
  ...exampleRequirements,
  ...initRequirements,
  ...packageRequirements,
  ...clientRequirements,
  ...docsRequirements,
  ...telemetryRequirements,
  ...postgresRequirements,
  ...traceRequirements,
  ...manageRequirements,
  ...keyRequirements,
  ...commandRequirements,
  ...tourRequirements,
  ...auditRequirements,
  ...consoleRequirements,
  ...proofRequirements,
];

const root = fileURLToPath(new URL("..", import.meta.url));

const nameCharsMax = 100;

/** The names of all tests as they are written, with places in them that are filled in later. */
function testNames(): string[] {
  const files = ["src", "test"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".test.ts") || file.endsWith("-contract.ts"))
      .map((file) => join(root, folder, file)),
  );
  return files.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/\b(?:test|onEveryBinding|inBothEras)\(\s*(["`])(.+?)\1,/g)].map(
      ([, , name = ""]) => name,
    ),
  );
}

/** The ids at the beginning of the names of all tests. */
function citedIds(): Set<string> {
  const cited = testNames().flatMap((name) => /^(?:[A-Z]{3,4}-\d+[, ]+)+/.exec(name)?.[0] ?? []);
  return new Set(cited.flatMap((ids) => ids.match(/[A-Z]{3,4}-\d+/g) ?? []));
}

test("given the tests' names, when they are read, then each fits a line", () => {
  const names = testNames();
  assert.ok(names.length > 2000, `${names.length} names`);
  assert.deepEqual(
    names.filter(({ length }) => length > nameCharsMax),
    [],
  );
});

test("given the list of requirements, when the tests' names are read, then each one is cited", () => {
  const cited = citedIds();
  assert.deepEqual(
    requirements.map(({ id }) => id).filter((id) => !cited.has(id)),
    [],
  );
});

test("given the tests' names, when they cite an id, then it is a requirement", () => {
  const known = new Set([...requirements, ...harpRequirements].map(({ id }) => id));
  assert.deepEqual(
    [...citedIds()].filter((id) => !known.has(id)),
    [],
  );
});

/** The ids at the beginning of the names of all tests, also those of findings. */
function provedIds(): Set<string> {
  const heads = testNames().flatMap((name) => /^(?:[A-Z]{3,4}-[A-Z0-9]+[, ]+)+/.exec(name)?.[0] ?? []);
  return new Set(heads.flatMap((ids) => ids.match(/[A-Z]{3,4}-[A-Z0-9]+/g) ?? []));
}

/** What the security model promises: each row, paragraph and point of the sections about who can do what, and why. */
function securityClaims(): { page: string; claims: string[] } {
  const page = readFileSync(join(root, "docs/concepts/security-model.md"), "utf8");
  const sections = ["## Who is trusted with what", "## What each protection rests on"].map(
    (heading) => page.split(heading)[1]?.split("\n## ")[0] ?? "",
  );
  const blocks = sections.flatMap((text) =>
    text.replaceAll(/^```[\s\S]*?^```$/gm, "").split(/\n(?=\n|- |\| )/),
  );
  const claims = blocks.map((block) => block.trim()).filter((block) => !/^(?:$|\| (?:who|---) )/.test(block));
  return { page, claims };
}

test("given the security model, when it is read, then every claim names a test that exists", () => {
  const proved = provedIds();
  const families = new Set([...proved].map((id) => id.split("-")[0]));
  const { page, claims } = securityClaims();
  const idsIn = (text: string) =>
    (text.match(/\b[A-Z]{3,4}-[A-Z0-9]+\b/g) ?? []).filter((id) => families.has(id.split("-")[0]));
  assert.ok(claims.length > 30, `${claims.length} claims`);
  assert.deepEqual(
    idsIn(page).filter((id) => !proved.has(id)),
    [],
  );
  assert.deepEqual(
    claims.filter((claim) => idsIn(claim).length === 0),
    [],
  );
});
