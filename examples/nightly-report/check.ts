/**
 * Checks the report without waiting for the night: two nights are rehearsed, and then a server really runs the schedule, which is
 * due every second for once. Exits with 1 when something is wrong.
 *
 *   node examples/nightly-report/check.ts
 */

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "bridle";
import { rehearse, scripted } from "bridle/testing";
import { nightlyReport } from "./agents/nightly-report.ts";
import config from "./bridle.config.ts";

const personas = config.personas ?? [];
const persona = personas[0] ?? assert.fail("the configuration has a persona");
const files = {
  "sales/berlin.csv": await readFile(new URL("sales/berlin.csv", import.meta.url), "utf8"),
  "sales/porto.csv": await readFile(new URL("sales/porto.csv", import.meta.url), "utf8"),
};
const oneMore = `${files["sales/porto.csv"]}P-2003,4200\n`;

await rehearseTwoNights();
await runOnSchedule();

/** The second night knows the first; dying after any step changes nothing. */
async function rehearseTwoNights(): Promise<void> {
  const rehearsed = { input: {}, persona, crashEverywhere: true };
  const first = await rehearse(nightlyReport, {
    ...rehearsed,
    files,
    now: "2026-03-02T01:00:00Z",
    models: ["We sold for €187.49."],
  });
  const report = first.files["reports/2026-03-02.md"] ?? "";
  assert.match(report, /^# Sales, 2026-03-02\n\nWe sold for €187\.49\.\n/);
  assert.match(report, /\| all \| €187\.49 \| new \|/);
  assert.equal(first.artifacts[0]?.text, report);
  first.expectSteps([
    "time:now:1",
    "file_list:sales:1",
    "tool:sales.total:1",
    "tool:sales.total:2",
    "memory:read:last-totals:1",
    "llm:summary:1",
    "artifact:1",
    "file:reports/2026-03-02.md:1",
    "memory:write:last-totals:1",
  ]);

  const second = await rehearse(nightlyReport, {
    ...rehearsed,
    files: { ...files, "sales/porto.csv": oneMore },
    memory: { "last-totals": { berlin: 7749, porto: 11_000 } },
    now: "2026-03-03T01:00:00Z",
    models: ["Porto sold €42.00 more."],
  });
  assert.match(second.models[0]?.prompt ?? "", /\| porto \| €152\.00 \| \+€42\.00 \|/);
  assert.match(second.files["reports/2026-03-03.md"] ?? "", /\| berlin \| €77\.49 \| \+€0\.00 \|/);
  console.log("Rehearsed two nights, with a crash after every step:\n");
  console.log(second.files["reports/2026-03-03.md"]);
}

/** What is read of a task's result, and of the resources on the way to it. */
interface Result {
  report: string;
  change: number | null;
}
interface Resource {
  id: string;
  status: string;
  outcome_id: string;
  metadata: { schedule_id?: string };
  schedules: { id: string }[];
  content: string;
  messages: { parts: { value: Result }[] }[];
  data: Resource[];
}

async function runOnSchedule(): Promise<void> {
  const data = await mkdtemp(join(tmpdir(), "bridle-example-"));
  const server = await startServer({
    agents: [nightlyReport],
    personas,
    models: scripted(({ prompt }) => `In short: ${prompt.split("\n")[0]}`),
    port: 0,
    dataDirectory: data,
    apiKey: "example-key-for-this-machine",
  });

  async function api(method: string, path: string, body?: object): Promise<Resource> {
    const response = await fetch(server.url + path, {
      method,
      headers: {
        authorization: "Bearer example-key-for-this-machine",
        "harn-agents-protocol-version": "agents-protocol-2026-04-25",
        "content-type": "application/json",
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    assert.ok(response.ok, await response.clone().text());
    return (await response.json()) as Resource;
  }
  const fileAt = (path: string) => `/v1/workspaces/workspace_default/files?path=${encodeURIComponent(path)}`;
  const schedule = (schedules: object[]) =>
    api("PATCH", "/v1/personas/persona_nightly-report", { schedules });

  /** The first report of the schedule with this change. */
  async function reported(scheduleId: string | undefined, change: number | null): Promise<Result> {
    const seen = new Set<string>();
    for (const until = performance.now() + 60_000; performance.now() < until; ) {
      const { data: tasks } = await api("GET", "/v1/tasks?limit=100");
      for (const { id, status, outcome_id, metadata } of tasks) {
        if (metadata.schedule_id !== scheduleId || seen.has(id)) continue;
        assert.notEqual(status, "FAILED", `task ${id}`);
        if (status !== "COMPLETED") continue;
        seen.add(id);
        const { messages } = await api("GET", `/v1/outcomes/${outcome_id}`);
        const result = messages[0]?.parts[0]?.value;
        if (result?.change === change) return result;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`No report of the schedule with the change ${change} came`);
  }

  try {
    for (const [path, content] of Object.entries(files)) await api("PUT", fileAt(path), { content });
    const { schedules } = await schedule([{ cron: "* * * * * *" }]);
    const first = await reported(schedules[0]?.id, null);
    console.log(`The schedule ran: ${first.report}`);

    await api("PUT", fileAt("sales/porto.csv"), { content: oneMore });
    const { report, change } = await reported(schedules[0]?.id, 4200);
    console.log(`It ran again, and remembers: ${change} cents more`);
    await schedule([]);
    assert.match((await api("GET", fileAt(report))).content, /\| porto \| €152\.00 \|/);
  } finally {
    await server.stop(1000);
    await rm(data, { recursive: true, force: true });
  }
}
