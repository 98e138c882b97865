/** `bridle check`: would the code that is on disk now repeat what the log says? Run it before a deployment. */

import { type Command, InvalidArgumentError } from "commander";
import type { HistoryReport } from "../runtime/history.ts";
import { progress } from "./output.ts";
import { Remote, type RemoteSettings, withRemoteOptions } from "./remote.ts";

interface CheckSettings extends RemoteSettings {
  agents: string[];
  config?: string;
  agent?: string;
  since?: number;
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
    program
      .command("check")
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
      .option("--since <time>", "only tasks created since then: RFC 3339, or as 30m, 12h, 7d", timeOf),
  ).action(async (settings: CheckSettings) => {
    // What runs agents is large; the other commands do not need it.
    const { builtInAgents } = await import("../agents/index.ts");
    const { parseLogBundle } = await import("../kernel/transfer/bundle.ts");
    const { replayHistory } = await import("../runtime/history.ts");
    const { AgentRegistry } = await import("../runtime/registry.ts");
    const { loadProject } = await import("../project/load.ts");
    const { ProjectModules } = await import("../project/modules.ts");
    const { settingNames } = await import("./config-settings.ts");
    const place = { directory: process.cwd(), settingNames, ...settings };
    const project = await loadProject(place, new ProjectModules());
    const registry = new AgentRegistry([...builtInAgents, ...project.agents.map(({ agent }) => agent)]);
    const remote = new Remote(settings);
    const shown = progress("histories checked");
    const counts = { same: 0, unfinished: 0, diverged: 0, unknown: 0 };
    for await (const task of remote.items<Task>("/v1/tasks")) {
      // What was imported comes late and may be older than what follows.
      if (Date.parse(task.created_at) < (settings.since ?? 0)) continue;
      const name = task.assigned_agent_id?.split("@")[0];
      if (name === undefined || task.replay !== null) continue;
      if (settings.agent !== undefined && settings.agent !== name) continue;
      const agent = registry.newest(name);
      if (agent === undefined) {
        counts.unknown += 1;
        process.stdout.write(`unknown  ${task.id}  ${task.assigned_agent_id} is in none of the modules\n`);
        continue;
      }
      const bundle = parseLogBundle(await remote.text(`/v1/tasks/${task.id}/export`));
      const report = await replayHistory(agent, bundle, project);
      counts[report.outcome] += 1;
      if (report.outcome === "diverged") process.stdout.write(describe(report, `${name}@${agent.version}`));
      shown.at(counts.same + counts.unfinished + counts.diverged);
    }
    shown.end();
    const { same, unfinished, diverged, unknown } = counts;
    process.stdout.write(
      `${same + unfinished + diverged} histories checked: ${same} the same, ${unfinished} the same so far, ${diverged} diverge${unknown === 0 ? "" : `; ${unknown} not checked`}.\n`,
    );
    if (diverged > 0) process.exitCode = 1;
  });
}

function describe({ taskId, agent, failure }: HistoryReport, now: string): string {
  const { recorded, attempted } = failure?.details ?? {};
  const difference =
    recorded === undefined
      ? `  ${failure?.message ?? "It ended differently."}`
      : `  recorded   ${String(recorded)}\n  attempted  ${String(attempted)}`;
  return `diverges ${taskId}  ${agent} → ${now}\n${difference}\n`;
}

const units: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

function timeOf(text: string): number {
  const [, count, unit] = /^(\d+)([mhd])$/.exec(text) ?? [];
  const time = count === undefined ? Date.parse(text) : Date.now() - Number(count) * (units[unit ?? ""] ?? 0);
  if (Number.isFinite(time)) return time;
  throw new InvalidArgumentError("It is a time such as 2026-04-25T19:00:00Z, or how long ago: 30m, 12h, 7d.");
}
