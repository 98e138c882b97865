/** `bridle check`: would the code that is on disk now repeat what the log says? Run it before a deployment. */

import type { Command } from "commander";
import type { HistoryReport } from "../../runtime/run/history.ts";
import { exitCodes } from "../exit-codes.ts";
import { Remote, type RemoteSettings, withRemoteOptions } from "../remote.ts";
import { sinceTime } from "../settings/since.ts";
import { type JsonSettings, show, withJson, withProgress } from "../terminal/output.ts";
import { escapeControls } from "../terminal/text.ts";

interface CheckSettings extends RemoteSettings, JsonSettings {
  agents: string[];
  config?: string;
  agent?: string;
  since?: Date;
}

interface Task {
  id: string;
  status: string;
  created_at: string;
  assigned_agent_id: string | null;
  replay: object | null;
}

export function addCheckCommand(program: Command): void {
  withRemoteOptions(
    withJson(program.command("check"))
      .summary("Say which tasks the code on disk would not repeat.")
      .description(
        "Replay stored histories against the code on disk and report every task that would diverge. Exit code 1 on any.",
      )
      .option(
        "--agents <module...>",
        "modules that export the agents' new code, beside those of the project",
        [],
      )
      .option("--config <file>", "the project's configuration, if it is not in the working directory")
      .option("--agent <name>", "only tasks of this agent")
      .option("--since <time>", "only tasks created since: a time, or 30m, 2h, 5d", sinceTime),
  ).action(async (settings: CheckSettings) => {
    // What runs agents is large; the other commands do not need it.
    const { builtInAgents } = await import("../../agents/index.ts");
    const { parseLogBundle } = await import("../../kernel/sessions/transfer/bundle.ts");
    const { replayHistory } = await import("../../runtime/run/history.ts");
    const { AgentRegistry } = await import("../../runtime/agents/registry.ts");
    const { loadProject } = await import("../../project/load.ts");
    const { ProjectModules } = await import("../../project/modules.ts");
    const { settingNames } = await import("../settings/config-settings.ts");
    const place = { directory: process.cwd(), settingNames, ...settings };
    const modules = new ProjectModules();
    const project = await loadProject(place, modules);
    const registry = new AgentRegistry([...builtInAgents, ...project.agents.map(({ agent }) => agent)]);
    const remote = new Remote(settings);
    const tasks = await tasksToCheck(remote, settings);
    const counts = { same: 0, unfinished: 0, diverged: 0, unknown: 0 };
    const differing: object[] = [];
    const tell = (facts: object, words: string) => {
      differing.push(facts);
      if (settings.json !== true) process.stdout.write(words);
    };
    await withProgress("histories checked", async (shown) => {
      for (const [index, { id, agent: ran }] of tasks.entries()) {
        shown.at(index, tasks.length);
        const name = ran.split("@")[0] ?? ran;
        const agent = registry.newest(name);
        if (agent === undefined) {
          counts.unknown += 1;
          const words = `unknown  ${id}  ${ran} is in none of the modules\n`;
          tell({ task_id: id, outcome: "unknown", agent: ran }, escapeControls(words));
          continue;
        }
        const bundle = parseLogBundle(await remote.text(`/v1/tasks/${id}/export`));
        const report = await replayHistory(agent, bundle, project);
        counts[report.outcome] += 1;
        if (report.outcome !== "diverged") continue;
        const now = `${name}@${agent.version}`;
        tell(factsOf(report, now), escapeControls(describe(report, now)));
      }
    });
    modules.close();
    const { same, unfinished, diverged, unknown } = counts;
    const checked = same + unfinished + diverged;
    show(settings, { checked, ...counts, tasks: differing }, () => {
      const notChecked = unknown === 0 ? "" : `; ${unknown} not checked`;
      return `${checked} histories checked: ${same} the same, ${unfinished} the same so far, ${diverged} diverge${notChecked}.\n`;
    });
    if (diverged > 0) process.exitCode = exitCodes.failed.code;
  });
}

/** Known before the first is checked, so that it can be said how many are left. */
async function tasksToCheck(
  remote: Remote,
  { since = new Date(0), agent }: CheckSettings,
): Promise<{ id: string; agent: string }[]> {
  return await withProgress("tasks found", async (shown) => {
    const found: { id: string; agent: string }[] = [];
    for await (const task of remote.items<Task>("/v1/tasks")) {
      // What was imported comes late and may be older than what follows.
      if (Date.parse(task.created_at) < since.getTime() || task.assigned_agent_id === null) continue;
      const isMeant = agent === undefined || agent === task.assigned_agent_id.split("@")[0];
      if (task.replay === null && isMeant) found.push({ id: task.id, agent: task.assigned_agent_id });
      shown.at(found.length);
    }
    return found;
  });
}

function factsOf({ taskId, agent, failure }: HistoryReport, now: string): object {
  const { recorded = null, attempted = null } = failure?.details ?? {};
  const message = failure?.message ?? null;
  return { task_id: taskId, outcome: "diverged", agent, checked_with: now, recorded, attempted, message };
}

function describe({ taskId, agent, failure }: HistoryReport, now: string): string {
  const { recorded, attempted } = failure?.details ?? {};
  const difference =
    recorded === undefined
      ? `  ${failure?.message ?? "It ended differently."}`
      : `  recorded   ${String(recorded)}\n  attempted  ${String(attempted)}`;
  return `diverges ${taskId}  ${agent} → ${now}\n${difference}\n`;
}
