/**
 * `npm run docs` writes what is made from code: the conformance table, the settings, the lifecycle, the OpenAPI document,
 * the index for assistants (`llms.txt`), the form of a receipt for verifiers that have no library of schemas, and the
 * payloads of events for imports. `npm run docs -- --check` fails when one of them is stale.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Option } from "commander";
import { payloadSchemas } from "../build/payload-schemas.ts";
import manifest from "../package.json" with { type: "json" };
import { commandReference } from "../src/cli/command-reference.ts";
import { gatewayOptions } from "../src/cli/commands/gateway-command.ts";
import { createProgram } from "../src/cli/program.ts";
import { secretVariables } from "../src/cli/settings/secret-files.ts";
import { serveOptions } from "../src/cli/settings/settings.ts";
import { GatePolicy } from "../src/gate/policy.ts";
import { taskTransitions } from "../src/kernel/tasks/lifecycle.ts";
import { ReceiptSchema } from "../src/receipts/schema.ts";
import { startServer } from "../src/server/server.ts";
import { catalogue } from "../src/telemetry/metrics/definitions.ts";
import {
  conformanceNotes,
  errorCodesProduced,
  eventKindsProduced,
  type Inventory,
  type NotKept,
} from "../test/protocol-inventory.ts";
import { type Requirement, requirements } from "../test/requirements.ts";
import { acpRequirements } from "../test/requirements-acp.ts";
import { harpRequirements } from "../test/requirements-harp.ts";
import { mcpRequirements } from "../test/requirements-mcp.ts";
import { mcpSurfaceRequirements } from "../test/requirements-mcp-surface.ts";
import { openHarnessRequirements } from "../test/requirements-openharness.ts";
import { opvsRequirements } from "../test/requirements-opvs.ts";
import { shellRequirements } from "../test/requirements-shell.ts";
import { taxonomyRequirements } from "../test/requirements-taxonomy.ts";

const made = "<!-- Made by `npm run docs`. Change the code it is made from, not this page. -->";

const levelNames = {
  Core: "Core",
  Extended: "Extended",
  Receipts: "Receipts",
  Replay: "Replay",
  Bridle: "Bridle's own promises",
  OPVS: "OPVS",
  OpenHarness: "OpenHarness",
  HARP: "HARP",
} as const satisfies Record<Requirement["level"], string>;

function tables(list: readonly Requirement[]): string {
  const sections = [...new Set(list.map(({ source }) => source))].map((source) => {
    const rules = list.filter((requirement) => requirement.source === source);
    const rows = rules.map(({ id, rule }) => `| ${id} | ${rule} |`);
    return [
      `## ${source} (${levelNames[rules[0]?.level ?? "Core"]})`,
      "",
      "| id | rule |",
      "| --- | --- |",
      ...rows,
    ].join("\n");
  });
  return sections.join("\n\n");
}

/** What of a protocol's names there is, and how each comes about. */
function inventoryTable(title: string, name: string, inventory: Inventory): string {
  const rows = Object.entries(inventory).map(
    ([key, { by, ids }]) => `| ${key} | ${by} | ${ids.join(", ")} |`,
  );
  return [`## ${title}`, "", `| ${name} | comes from | proved by |`, "| --- | --- | --- |", ...rows].join(
    "\n",
  );
}

function notKept(protocol: NotKept["protocol"]): string {
  const rows = conformanceNotes
    .filter((note) => note.protocol === protocol)
    .map(({ statement, because, instead }) => `| ${statement} | ${because} | ${instead} |`);
  if (rows.length === 0) return "## Not kept, because\n\nNothing that is known.";
  return [
    "## Not kept, because",
    "",
    "| statement | why | what a client sees instead |",
    "| --- | --- | --- |",
    ...rows,
  ].join("\n");
}

function conformanceOpvs(): string {
  return `${made}

# Conformance: OPVS (A2A 1.0)

Every rule here is proved by at least one test whose name begins with its id (\`git grep OPVS-17 -- '*.test.ts'\`), over every
binding that it applies to. Numbers that are missing are duties of clients, or of bindings that Bridle does not define.

${tables(opvsRequirements)}

${notKept("opvs")}
`;
}

function conformanceOpenHarness(): string {
  return `${made}

# Conformance: OpenHarness v1.0.0-draft

Every rule here is proved by at least one test whose name begins with its id (\`git grep OPH-17 -- '*.test.ts'\`). What the draft leaves
open is Bridle's profile, described in [openharness.md](openharness.md).

${tables([...openHarnessRequirements, ...shellRequirements])}

${notKept("openharness")}
`;
}

function conformanceHarp(): string {
  return `${made}

# Conformance: HARP 0.2

The rules of the Human Authorization & Review Protocol for enforcers, approvers and gateways, with Bridle's own decisions
where the protocol leaves them open. A rule is proved by tests whose names begin with its id (\`git grep HARP-54 -- '*.test.ts'\`).

${tables(harpRequirements)}

${notKept("harp")}
`;
}

function conformanceMcp(): string {
  return `${made}

# Conformance: Model Context Protocol

Both sides of it: [agents as tools](mcp-server.md), for clients of the revisions of 2025 and of 2026-07-28, and [tools of servers](../guides/mcp.md) that agents
call. A rule is proved by tests whose names begin with its id (\`git grep MCS-7 -- '*.test.ts'\`).

${tables([...mcpSurfaceRequirements, ...mcpRequirements])}
`;
}

function conformanceAcp(): string {
  return `${made}

# Conformance: Agent Client Protocol

What [\`bridle acp\`](../guides/acp.md) keeps to as the agent of an editor. A rule is proved by tests whose names begin with its id (\`git grep ACP-3 -- '*.test.ts'\`).

${tables(acpRequirements)}
`;
}

function conformance(): string {
  return `${made}

# Conformance: Harn Agents Protocol v1, all levels

Every rule here is proved by at least one test whose name begins with its id (\`git grep SES-3 -- '*.test.ts'\`), and the
test suite fails for a rule that no test names. Levels served: **Core**, **Extended**, **Receipts**, **Replay**.

${tables([...requirements, ...taxonomyRequirements])}

${inventoryTable("Event kinds", "event", eventKindsProduced)}

${inventoryTable("Error codes", "code", errorCodesProduced)}

${notKept("harn")}
`;
}

function optionTable(options: readonly Option[]): string {
  const rows = options.map((option) => {
    const value = option.defaultValue === undefined ? "" : `\`${String(option.defaultValue)}\``;
    return `| \`${option.long}\` | \`${option.envVar}\` | ${value} | ${option.description} |`;
  });
  return ["| flag | environment | default | what |", "| --- | --- | --- | --- |", ...rows].join("\n");
}

const secretMeanings: Record<(typeof secretVariables)[number], string> = {
  BRIDLE_API_KEY: "a fixed administrator key of the server",
  BRIDLE_KEY: "the key with which commands ask a server",
  BRIDLE_MASTER_KEY: "what [vaults](../guides/vaults.md) are locked with: 32 bytes, as hex or base64",
  BRIDLE_MASTER_KEY_PREVIOUS: "the one before it, until `bridle vault rotate`",
  BRIDLE_GATEWAY_KEY: "the key for the gateway that `--gateway` names",
  BRIDLE_DATABASE_URL: "the [PostgreSQL database](../operations/postgresql.md) that keeps the log",
  BRIDLE_APPROVER_PASSPHRASE: "what the keys of `bridle approver` are locked with",
};

function settings(): string {
  return `${made}

# Settings of \`bridle serve\` and \`bridle dev\`

A flag beats the environment, the environment beats [bridle.config.ts](../guides/authoring.md), and that beats the default. In the file a setting
has the name of its flag in camel case: \`--grpc-port\` is \`grpcPort\`. A bad value is a one-line error and exit code 2.

${optionTable(serveOptions)}

With npm, flags go behind two dashes: \`npm start -- --port 9000\`.

Exit codes: 0 stopped as asked, 1 could not start or failed, 2 wrong use; [all of them](cli.md#exit-codes).

\`bridle config print --sources\` shows what they come to where it is called, and where each comes from.

## Secrets

Secrets are not given by flags, which everybody on the machine can read, but by the environment, or by a file each, as containers mount them: a variable
with \`_FILE\` behind its name names the file. Both at once, an empty file or one that cannot be read is an error, exit code 2. They are removed from
\`process.env\` before any code of the project runs, and programs that agents start do not inherit them. Prefer files: the operating system keeps the initial environment of a process
(\`/proc/PID/environ\`), where other programs of the same user can read it.

| variable | or | what |
| --- | --- | --- |
${secretVariables.map((name) => `| \`${name}\` | \`${name}_FILE\` | ${secretMeanings[name]} |`).join("\n")}

The keys of [model providers](../guides/models.md) are read in the same way, and stay where agents' code finds them.

# Settings of \`bridle gateway\`

The [HARP gateway](../protocols/harp-gateway.md) alone.

${optionTable(gatewayOptions)}
`;
}

function metrics(): string {
  const rows = catalogue.map(({ name, type, labels, help }) => {
    const named = labels.map((label) => `\`${label}\``).join(", ");
    return `| \`${name}\` | ${type} | ${named} | ${help} |`;
  });
  return `${made}

# Metrics

What \`/metrics\` says, beside \`process_…\` and \`nodejs_…\`, which are about the process (memory, processor, file descriptors, event loop, garbage collection) and
are watched from the first time that somebody asks. How to have them read, and what to be woken up for: [monitoring](../operations/monitoring.md).

| name | type | labels | what |
| --- | --- | --- | --- |
${rows.join("\n")}

Counters begin at 0 when the process starts, also those that the log tells: they say what happened in this process. Values of labels are closed sets, or
names of agents, tools, MCP servers and models that are loaded or set up here; everything else is \`other\`.
`;
}

function lifecycle(): string {
  const rows = Object.entries(taskTransitions).map(
    ([from, to]) => `| ${from} | ${to.length === 0 ? "*final*" : to.join(", ")} |`,
  );
  return `${made}

# The life of a task

| from | to |
| --- | --- |
${rows.join("\n")}

Every move emits \`task.status_changed\` and the event that names it (\`task.started\`, \`task.input_required\`, …) in one
commit. A final state is final: what a run still does after that is not written.
`;
}

async function openApi(): Promise<string> {
  const data = mkdtempSync(join(tmpdir(), "bridle-docs-"));
  const server = await startServer({ port: 0, dataDirectory: data });
  try {
    const response = await fetch(`${server.url}/openapi.json`);
    return `${JSON.stringify(await response.json(), null, 2)}\n`;
  } finally {
    await server.stop(0);
    rmSync(data, { recursive: true, force: true });
  }
}

function receiptForm(): string {
  return `/** Made by \`npm run docs\` from the schema of receipts. Change that one. */

import type { Form } from "./form.ts";

// biome-ignore format: nobody reads it
export const receiptForm: Form = ${JSON.stringify(ReceiptSchema)};
`;
}

/** The index for assistants, in the form of llmstxt.org: a title, a summary, and links by section, made from the index for people. */
function llms(): string {
  const index = readFileSync(new URL("README.md", import.meta.url), "utf8");
  const [, ...sections] = index.split(/^## /m);
  const made = sections.map((section) => {
    const [title = ""] = section.split("\n");
    const links = section.match(/^- \[.*(?:\n {2}.*)*$/gm) ?? [];
    return [`## ${title.replace(/:.*/, "")}`, "", ...links.map(fromRoot)].join("\n");
  });
  return `# Bridle

> ${manifest.description}

Bridle is a server that runs agents written in TypeScript. Agents are async functions whose calls on \`ctx\` are
recorded, so that they survive crashes and waits. Rules and the smallest complete example are in [AGENTS.md](AGENTS.md).

${made.join("\n\n")}
`;
}

/** A link of the index, as seen from the root. */
function fromRoot(line: string): string {
  return line
    .replaceAll(/\n +/g, " ")
    .replace(/\]\(([^)]+)\)/, (_, target: string) =>
      target.startsWith("../") ? `](${target.slice(3)})` : `](docs/${target})`,
    );
}

const pages: Record<string, string> = {
  "../llms.txt": llms(),
  "protocols/conformance-harn.md": conformance(),
  "protocols/conformance-harp.md": conformanceHarp(),
  "protocols/conformance-opvs.md": conformanceOpvs(),
  "protocols/conformance-openharness.md": conformanceOpenHarness(),
  "reference/cli.md": `${made}\n\n${commandReference(createProgram())}`,
  "reference/settings.md": settings(),
  "reference/metrics.md": metrics(),
  "concepts/task-lifecycle.md": lifecycle(),
  "protocols/conformance-mcp.md": conformanceMcp(),
  "protocols/conformance-acp.md": conformanceAcp(),
  "openapi.json": await openApi(),
  "reference/gate-policy.schema.json": `${JSON.stringify(GatePolicy, null, 2)}\n`,
  "../src/sdk/verify/receipt-form.ts": receiptForm(),
  "../src/kernel/sessions/transfer/payload-schemas.json": payloadSchemas(),
};

const checking = process.argv.includes("--check");
for (const [name, text] of Object.entries(pages)) {
  const file = fileURLToPath(new URL(name, import.meta.url));
  if (!checking) {
    writeFileSync(file, text);
  } else if (readIfThere(file) !== text) {
    console.error(`docs/${name} is stale: run \`npm run docs\`.`);
    process.exitCode = 1;
  }
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}
