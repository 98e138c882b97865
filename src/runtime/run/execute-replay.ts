/** Runs an agent's function for a replay, and says how it compares with its source. */

import { isDeepStrictEqual } from "node:util";
import { MissingContent, unseal } from "../../kernel/core/content.ts";
import type { Unit } from "../../kernel/core/unit.ts";
import type { MessageRecord, Part } from "../../kernel/kinds/message.ts";
import type { Failure } from "../../kernel/kinds/outcome.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { endTask } from "../../kernel/tasks/tasks.ts";
import type { JsonValue } from "../../store/port.ts";
import type { Agent } from "../agents/agent.ts";
import { completed, partsOf, readInput, runAgent, sayResult, start } from "./execute.ts";
import {
  type AgentFailure,
  failureOf,
  NondeterministicRun,
  ReplayDependencyUnavailable,
} from "./failures.ts";
import { jsonCopy } from "./json.ts";
import type { Replay } from "./open-replay.ts";
import { endedByItself } from "./replay-recording.ts";

export async function executeReplay(run: Replay, agent: Agent): Promise<void> {
  if (run.task.status === "SUBMITTED") {
    await run.record((unit, task) =>
      unit.emit(start(unit, task, agent), "replay.started", run.recording.startedPayload()),
    );
  }
  try {
    const result = jsonCopy(await run.unlessFatal(runAgent(run, agent, await readInput(run))));
    await run.recording.assertNothingLeft();
    await run.unlessFatal(endAsReturned(run, result));
  } catch (error) {
    await endAsThrown(run, error);
  }
  run.finish({ how: "ended" });
}

/** A result that is the source's own is told again; another one is the replay's. */
async function endAsReturned(run: Replay, result: JsonValue | undefined): Promise<void> {
  const { source } = run.recording;
  const found = await run.redact((redactor) => redactor.value(partsOf(result)));
  const recorded = source.status === "COMPLETED" ? await resultOf(run, source) : null;
  if (recorded !== null && isDeepStrictEqual(found, recorded)) {
    run.recording.repeatRest();
    const messageIds = source.outcome?.message_ids ?? [];
    await run.conclude((unit, task) =>
      endTask(unit, tellCompleted(unit, task, run), completed(result, messageIds)),
    );
    return;
  }
  if (run.recording.isExact) throw endedOtherwise(source, recorded, `the result ${JSON.stringify(found)}`);
  await run.conclude((unit, task) => {
    unit.mark = run.recording.ownMark();
    const messageIds = sayResult(unit, task, result);
    unit.mark = null;
    return endTask(unit, tellCompleted(unit, task, run), completed(result, messageIds));
  });
}

/** The same failure as the source's is a replay that went well. */
async function endAsThrown(run: Replay, error: unknown): Promise<void> {
  const { source } = run.recording;
  const failure = replayFailure(run, error);
  const isReplayFailure =
    error instanceof NondeterministicRun || failure.code === "replay_dependency_unavailable";
  const isSame = source.failure?.code === failure.code && source.failure.message === failure.message;
  const diverged =
    run.recording.isExact && !isReplayFailure && !isSame
      ? failureOf(endedOtherwise(source, null, `failed with ${failure.code}: ${failure.message}`))
      : null;
  const ending = diverged ?? failure;
  if (run.recording.isExact && isSame) run.recording.repeatRest();
  await run.conclude((unit, task) => {
    const told =
      isReplayFailure || diverged !== null
        ? unit.emit(task, "replay.failed", { source_task_id: source.id, failure: ending })
        : tellCompleted(unit, task, run);
    return endTask(unit, told, { status: "FAILED", failure: ending });
  });
}

/** Content that is no longer there is a dependency like any other. */
function replayFailure(run: Replay, error: unknown): Failure {
  const missing =
    error instanceof MissingContent
      ? new ReplayDependencyUnavailable(
          run.recording.source.id,
          { kind: "artifact", key: `sha256:${error.sha256}` },
          "its content is no longer held here",
        )
      : error;
  return run.redactor.value(failureOf(missing));
}

function tellCompleted(unit: Unit, task: TaskRecord, run: Replay): TaskRecord {
  return unit.emit(task, "replay.completed", {
    source_task_id: run.recording.source.id,
    replayed_events: run.recording.replayedEvents,
    substituted_steps: run.recording.substitutedSteps,
  });
}

/** The code came to an end that is not the source's: because it changed, or because the source never came to one. */
function endedOtherwise(source: TaskRecord, recorded: Part[] | null, attempted: string): AgentFailure {
  if (endedByItself(source)) return new NondeterministicRun(describeEnd(source, recorded), attempted);
  const end = { kind: "event", key: "the end" };
  return new ReplayDependencyUnavailable(source.id, end, `the source was ${source.status} before`);
}

function describeEnd(source: TaskRecord, result: Part[] | null): string {
  if (source.failure !== null) return `failed with ${source.failure.code}: ${source.failure.message}`;
  return `the result ${JSON.stringify(result)}`;
}

/** What the source returned; nothing said means nothing returned. */
async function resultOf({ own }: Replay, { outcome }: TaskRecord): Promise<Part[]> {
  const [messageId] = outcome?.message_ids ?? [];
  if (messageId === undefined) return [];
  const document = await own.get("message", messageId);
  return document === undefined ? [] : await unseal((document.body as MessageRecord).parts, own);
}
