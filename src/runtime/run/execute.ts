/** Runs an agent's function for one task, from its input to its ending. */

import { inlined, unseal } from "../../kernel/core/content.ts";
import type { Unit } from "../../kernel/core/unit.ts";
import { type ClientSaidPart, clientSaid } from "../../kernel/kinds/client-message.ts";
import {
  firstJsonObject,
  type MessageRecord,
  type Part,
  textOf,
  textPart,
} from "../../kernel/kinds/message.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { appendMessage, type Ending, endTask, moveTask } from "../../kernel/tasks/tasks.ts";
import { type JsonObject, type JsonValue, StoreUnavailable } from "../../store/port.ts";
import { checkValue, listProblems } from "../../tools/schema.ts";
import type { Agent, ReceivedMessage, ReceivedPart } from "../agents/agent.ts";
import { inputSchemaOf } from "../agents/registry.ts";
import { createContext, type RunInput } from "../context/context.ts";
import { AgentFailure, failureOf } from "./failures.ts";
import { jsonCopy } from "./json.ts";
import type { Run } from "./run.ts";

export async function execute(run: Run, agent: Agent): Promise<void> {
  const { task } = run;
  const input = await readInput(run);
  if (task.status === "SUBMITTED") {
    const room = run.record((unit, current) => start(unit, current, agent));
    if (room !== null) await room;
  }
  let thrown: unknown;
  try {
    const result = jsonCopy(await run.unlessFatal(runAgent(run, agent, input)));
    const left = run.recording.assertNothingLeft();
    if (left !== null) await left;
    await run.unlessFatal(run.conclude((unit, current) => complete(unit, current, result)));
  } catch (error) {
    // The database is at fault, not the agent: the run begins again from what is recorded.
    if (error instanceof StoreUnavailable) return run.finish({ how: "crashed", error });
    if (!(error instanceof AgentFailure)) thrown = error;
    await run.conclude((unit, current) =>
      endTask(unit, current, { status: "FAILED", failure: failureOf(error) }),
    );
  }
  run.finish({ how: "ended", thrown });
}

/** Whatever the submission was checked against, it is this code that gets the input. */
export async function runAgent(run: Run, agent: Agent, given: RunInput): Promise<JsonValue | undefined> {
  const schema = inputSchemaOf(agent);
  const checked = schema === undefined ? { value: given.input } : await checkValue(schema, given.input);
  if ("value" in checked) {
    // What a schema makes of the input has the type that the agent's definition inferred from it.
    return await agent.run(createContext(run, { ...given, input: checked.value as JsonObject }, agent));
  }
  const problems = listProblems(checked.problems);
  throw new AgentFailure("invalid_input", `The input is not what ${agent.name} takes: ${problems}.`);
}

export function start(unit: Unit, task: TaskRecord, { name, version }: Agent): TaskRecord {
  return unit.emit(moveTask(unit, task, "WORKING"), "task.started", { agent: { name, version } });
}

function complete(unit: Unit, task: TaskRecord, result: JsonValue | undefined): TaskRecord {
  return endTask(unit, task, completed(result, sayResult(unit, task, result)));
}

/** The result is said as the agent's last message; a run that returns nothing just ends. */
export function sayResult(unit: Unit, task: TaskRecord, result: JsonValue | undefined): string[] {
  const parts = partsOf(result);
  if (parts.length === 0) return [];
  const session = { id: task.session_id, workspace_id: task.workspace_id };
  return [appendMessage(unit, { session, taskId: task.id }, { role: "agent", parts }).id];
}

export function completed(result: JsonValue | undefined, messageIds: string[]): Ending {
  const summary = typeof result === "string" ? result : "Completed.";
  return { status: "COMPLETED", summary, messageIds, output: result ?? null };
}

export function partsOf(result: JsonValue | undefined): Part[] {
  if (result === undefined) return [];
  if (typeof result === "string") return [textPart(result)];
  return [{ type: "json", value: result, visibility: "public" }];
}

export async function readInput({ own, task }: Run): Promise<RunInput> {
  if ("payload" in task.input) {
    const input = jsonCopy(await unseal(task.input.payload, own));
    return { input, text: typeof input.text === "string" ? input.text : "", parts: [], message: null };
  }
  const { message_id: messageId } = task.input;
  const document = own.proposed("message", messageId) ?? (await own.get("message", messageId));
  if (document === undefined)
    throw new Error(`Message ${messageId} is the input of task ${task.id} but missing`);
  const sealed = (document.body as MessageRecord).parts;
  const parts = jsonCopy(inlined(sealed) ?? (await unseal(sealed, own)));
  const message = receivedMessage(document.body as MessageRecord, parts);
  return { input: firstJsonObject(parts), text: textOf(parts), parts, message };
}

function receivedMessage({ id, metadata: all }: MessageRecord, parts: readonly Part[]): ReceivedMessage {
  const { said, metadata } = clientSaid(all);
  const { messageId = id, referenceTaskIds = [], extensions = [], acceptedOutputModes = [] } = said ?? {};
  return {
    id: messageId,
    metadata: jsonCopy(metadata),
    parts: parts.map((part, index) => ({ ...part, ...namesOf(said?.parts?.[index]) })),
    referenceTaskIds,
    extensions,
    acceptedOutputModes,
  };
}

function namesOf({ filename, metadata }: ClientSaidPart = {}): Pick<ReceivedPart, "filename" | "metadata"> {
  return {
    ...(filename === undefined ? {} : { filename }),
    ...(metadata === undefined ? {} : { metadata: metadata as JsonObject }),
  };
}
