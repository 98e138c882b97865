/** `bridle check`: would the code that is on disk now repeat what the log says? Run it before a deployment. */

import type { Command } from "commander";
import type { AgentRegistry } from "../../runtime/agents/registry.ts";
import type { HistoryReport } from "../../runtime/run/history.ts";
import { isFinal, type TaskStatus } from "../../sdk/client/index.ts";
import { exitCodes } from "../exit-codes.ts";
import { Remote, type RemoteSettings, withRemoteOptions } from "../remote.ts";
import { parseMoment } from "../settings/parse-moment.ts";
import { type JsonSettings, show, withJson, withProgress } from "../terminal/output.ts";
import { escapeControls } from "../terminal/text.ts";

interface CheckSettings extends RemoteSettings, JsonSettings {
  agents: string[];
  config?: string;
  agent?: string;
  since?: Date;
}

interface TaskToCheck {
  id: string;
  /** With the version that it began with. */
  agent: string;
  isOpen: boolean;
}

interface Task {
  id: string;
  status: TaskStatus;
  created_at: string;
  assigned_agent_id: string | null;
  replay: object | null;
}

export function addCheckCommand(program: Command): void {
  withRemoteOptions(
    withJson(program.command("check"))
      .summary("Report tasks whose history is incompatible with the current code.")
      .description(
        "Replay each stored task against the version of its agent that it began with, as it is on disk now. Exit code 1 if any diverges, or if an open task's version is missing. Tasks that ended in versions that are not loaded are skipped.",
      )
      .option(
        "--agents <module...>",
        "modules that export the agents' new code, beside those of the project",
        [],
      )
      .option("--config <file>", "the project's configuration, if it is not in the working directory")
      .option("--agent <name>", "only tasks of this agent")
      .option("--since <time>", "only tasks created since: a time, or 30m, 2h, 5d", parseMoment),
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
    const counts = { same: 0, unfinished: 0, diverged: 0, missing: 0, skipped: 0 };
    const differing: object[] = [];
    const tell = (facts: object, words: string) => {
      differing.push(facts);
      if (settings.json !== true) process.stdout.write(escapeControls(words));
    };
    await withProgress("histories checked", async (shown) => {
      for (const [index, task] of tasks.entries()) {
        shown.at(index, tasks.length);
        const { id, agent: ran } = task;
        const [name = ran, version = ""] = ran.split("@");
        const agent = registry.version(name, version);
        if (agent === undefined) {
          counts[task.isOpen ? "missing" : "skipped"] += 1;
          // A task that has ended needs its version no more.
          if (task.isOpen)
            tell(
              { task_id: id, outcome: "missing", agent: ran },
              `missing  ${id}  ${missing(ran, registry)}\n`,
            );
          continue;
        }
        const bundle = parseLogBundle(await remote.text(`/v1/tasks/${id}/export`));
        const report = await replayHistory(agent, bundle, project);
        counts[report.outcome] += 1;
        if (report.outcome === "diverged") tell(factsOf(report), describe(report));
      }
    });
    modules.close();
    const checked = counts.same + counts.unfinished + counts.diverged;
    show(settings, { checked, ...counts, tasks: differing }, () => summary(checked, counts));
    if (counts.diverged + counts.missing > 0) process.exitCode = exitCodes.failed.code;
  });
}

function summary(
  checked: number,
  counts: Record<HistoryReport["outcome"] | "missing" | "skipped", number>,
): string {
  const { same, unfinished, diverged, missing, skipped } = counts;
  const lacking = missing === 0 ? "" : ` ${missing} open without their version.`;
  const ended = skipped === 0 ? "" : ` ${skipped} ended in versions that are not loaded: skipped.`;
  return `${checked} histories checked: ${same} the same, ${unfinished} the same so far, ${diverged} diverge.${lacking}${ended}\n`;
}

function missing(ran: string, registry: AgentRegistry): string {
  const versions = registry.versions(ran.split("@")[0] ?? ran);
  const loaded =
    versions.length === 0 ? "" : `; ${versions.join(", ")} ${versions.length === 1 ? "is" : "are"}`;
  return `${ran} is not loaded${loaded}. The task is open and would wait for it.`;
}

/** Known before the first is checked, so that it can be said how many are left. */
async function tasksToCheck(
  remote: Remote,
  { since = new Date(0), agent }: CheckSettings,
): Promise<TaskToCheck[]> {
  return await withProgress("tasks found", async (shown) => {
    const found: TaskToCheck[] = [];
    for await (const task of remote.items<Task>("/v1/tasks")) {
      // What was imported comes late and may be older than what follows.
      if (Date.parse(task.created_at) < since.getTime() || task.assigned_agent_id === null) continue;
      const isMeant = agent === undefined || agent === task.assigned_agent_id.split("@")[0];
      if (task.replay === null && isMeant) {
        found.push({ id: task.id, agent: task.assigned_agent_id, isOpen: !isFinal(task) });
      }
      shown.at(found.length);
    }
    return found;
  });
}

function factsOf({ taskId, agent, failure }: HistoryReport): object {
  const { recorded = null, attempted = null } = failure?.details ?? {};
  const message = failure?.message ?? null;
  return { task_id: taskId, outcome: "diverged", agent, recorded, attempted, message };
}

function describe({ taskId, agent, failure }: HistoryReport): string {
  const { recorded, attempted } = failure?.details ?? {};
  const difference =
    recorded === undefined
      ? `  ${failure?.message ?? "It ended differently."}`
      : `  recorded   ${String(recorded)}\n  attempted  ${String(attempted)}`;
  return `diverges ${taskId}  ${agent}\n${difference}\n`;
}
