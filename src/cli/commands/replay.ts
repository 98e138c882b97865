/** `bridle replay`: run a task's log again, compare the two runs, or keep the log as a fixture for tests. */

import { type Command, InvalidArgumentError, Option } from "commander";
import { liveKinds, replayModes } from "../../kernel/kinds/replay.ts";
import { type OverrideKind, overrideKindOf } from "../../sdk/client/index.ts";
import { Remote, type RemoteSettings, withRemoteOptions } from "../remote.ts";
import { type JsonSettings, show, withJson, withProgress, writeLines } from "../terminal/output.ts";
import { escapeControls, oneLine } from "../terminal/text.ts";
import { compareRuns } from "./compare-runs.ts";

interface ReplaySettings extends RemoteSettings, JsonSettings {
  mode?: string;
  override: Record<string, { kind: OverrideKind; value: unknown }>;
  checkpoint?: string;
  allowLive: string[];
  agentVersion?: string;
  reason?: string;
  diff?: boolean;
  fixture?: string;
}

interface Task {
  id: string;
  status: string;
  receipt_id: string | null;
  failure: { code: string; message: string } | null;
}

const waitSeconds = 60;

export function addReplayCommand(program: Command): void {
  withRemoteOptions(
    withJson(program.command("replay <task>"))
      .summary("Run a task's log again: nothing is called, nobody is asked.")
      .description("Run a task's log again: nothing is called, nobody is asked. Exit code 1 when it fails.")
      .option(
        "--override <key=json>",
        'what a step gave instead, e.g. llm:main:1=\'{"text":"Done."}\'',
        addOverride,
        {},
      )
      .option("--checkpoint <id>", "replay only what came after this checkpoint")
      .addOption(
        new Option("--mode <mode>", "follows from the other options when left out").choices(replayModes),
      )
      .addOption(
        new Option(
          "--allow-live <kind>",
          "let missing steps of these kinds run for real; can be given several times",
        )
          .choices(liveKinds)
          .argParser(addLive)
          .default([], "none"),
      )
      .option("--agent-version <version>", "run this version of the agent instead of the one that ran then")
      .option("--reason <text>", "why, for the receipt")
      .option("--diff", "show the two runs side by side")
      .option("--fixture <file>", "replay nothing, but write the run to a file that a test can replay"),
  ).action(async (named: string, settings: ReplaySettings) => {
    const remote = new Remote(settings);
    const { taskIdOf } = await import("../task/find-task.ts");
    const taskId = await taskIdOf(remote.client, named);
    if (settings.fixture !== undefined) await writeFixture(remote, taskId, settings.fixture, settings);
    else await replay(remote, taskId, settings);
  });
}

async function replay(remote: Remote, taskId: string, settings: ReplaySettings): Promise<void> {
  const { override, checkpoint, allowLive, agentVersion, reason, diff } = settings;
  const changes = Object.keys(override).length + allowLive.length > 0 || agentVersion !== undefined;
  const derived = checkpoint !== undefined ? "from_checkpoint" : changes ? "with_overrides" : "exact";
  const task = await remote.json<Task>(
    "POST",
    `/v1/tasks/${encodeURIComponent(taskId)}/replay`,
    {
      mode: settings.mode ?? derived,
      override,
      checkpoint_id: checkpoint ?? null,
      reason: reason ?? null,
      metadata: {
        allow_live: allowLive,
        ...(agentVersion === undefined ? {} : { agent_version: agentVersion }),
      },
    },
    { Prefer: `wait=${waitSeconds}` },
  );
  const comparison = diff === true ? await compareRuns(remote, taskId, task.id) : null;
  const { id, status, receipt_id, failure } = task;
  const facts = {
    source_task_id: taskId,
    task: { id, status, receipt_id, failure },
    ...(comparison === null ? {} : { is_same: comparison.isSame, rows: comparison.rows }),
  };
  show(settings, facts, () => {
    const why = failure === null ? "" : escapeControls(`${failure.code}: ${failure.message}\n`);
    return `${comparison?.text ?? ""}${oneLine(`${id} is ${status}, receipt ${receipt_id ?? "none"}.`)}\n${why}`;
  });
  if (task.status !== "COMPLETED") process.exitCode = 1;
}

async function writeFixture(
  remote: Remote,
  taskId: string,
  file: string,
  settings: JsonSettings,
): Promise<void> {
  const path = `/v1/tasks/${encodeURIComponent(taskId)}/export`;
  const lines = await withProgress("lines written", (shown) =>
    writeLines(remote.lines(path), file, (line) => shown.at(line)),
  );
  show(settings, { task_id: taskId, file, lines }, () => howToReplay(taskId, file));
}

function howToReplay(taskId: string, file: string): string {
  return `${file} holds the run of ${taskId}. Replay it in a test, without a server:

  import { test } from "node:test";
  import { replayFixture } from "bridle/testing";
  import agent from "./my-agent.ts";

  test("my agent still does what it did", () => replayFixture(agent, ${JSON.stringify(file)}));
`;
}

function addLive(kind: string, before: string[]): string[] {
  if (liveKinds.some((known) => known === kind)) return [...before, kind];
  throw new InvalidArgumentError(`It is one of ${liveKinds.join(", ")}; found ${kind}.`);
}

/** The kind follows from the key. */
function addOverride(text: string, before: ReplaySettings["override"]): ReplaySettings["override"] {
  const equals = text.indexOf("=");
  if (equals <= 0)
    throw new InvalidArgumentError("It must be KEY=JSON, e.g. time:now:1='\"2026-04-25T19:00:00Z\"'.");
  const key = text.slice(0, equals);
  const kind = overrideKindOf(key) ?? "event_payload";
  try {
    return { ...before, [key]: { kind, value: JSON.parse(text.slice(equals + 1)) } };
  } catch {
    throw new InvalidArgumentError(
      `What follows ${key}= is not JSON; text needs double quotes inside the shell's own.`,
    );
  }
}
