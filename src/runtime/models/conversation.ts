/**
 * `ctx.conversation`: what was said in the session before the task. What is recorded is where in the log it stands, not what
 * was said: the messages are there already.
 */

import { MissingContent, unseal } from "../../kernel/content.ts";
import type { StepSpan } from "../../kernel/events.ts";
import { getRecord } from "../../kernel/queries/read.ts";
import { type MessageRecord, textOf } from "../../kernel/resources/message.ts";
import type { TranscriptRange } from "../../kernel/resources/session.ts";
import { walkTranscript } from "../../kernel/transcript.ts";
import type { ModelMessage } from "../../models/messages.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import { AgentFailure } from "../failures.ts";
import { outputOf } from "../recorded-steps.ts";
import type { Run } from "../run.ts";
import { knownMessages, messageHash } from "./input-record.ts";

const lastDefault = 100;
const lastMax = 1000;

/** Which messages: those of these ranges of the log, the last so many of them. */
type Extent = { ranges: (TranscriptRange & JsonObject)[]; before: string; last: number };

export async function conversation(run: Run, last = lastDefault): Promise<ModelMessage[]> {
  if (!Number.isInteger(last) || last < 1 || last > lastMax) {
    throw new AgentFailure("invalid_conversation", `A conversation of 1 to ${lastMax} messages can be read.`);
  }
  const span: StepSpan = { step: run.key("conversation"), kind: "conversation", name: `the last ${last}` };
  const recorded = await run.recall(span.step);
  const given = recorded === undefined ? await note(run, span, last) : await outputOf(run, recorded);
  const messages = isExtent(given) ? await read(run, given) : messagesIn(given);
  knownMessages(run).learn(span.step, messages.map(messageHash));
  return messages;
}

async function note(run: Run, span: StepSpan, last: number): Promise<JsonValue> {
  const { kernel, caller, task } = run;
  // A run may be ahead of its task, and of the session that came with it: both are on disk after this.
  await run.flush();
  const session = await getRecord(kernel, caller, "session", task.session_id);
  const before = "message_id" in task.input ? task.input.message_id : task.id;
  // What is said from here on is not what the task was told.
  const through = await kernel.store.head();
  const ranges = session.ranges.map((range) => ({ ...range, through: range.through ?? through }));
  const extent: Extent = { ranges, before, last };
  await run.note((unit, current) =>
    unit.emit(current, "span.completed", { ...span, result: { output: { inline: extent } } }),
  );
  return extent;
}

async function read(run: Run, { ranges, before, last }: Extent): Promise<ModelMessage[]> {
  const { store } = run.kernel;
  const messages: ModelMessage[] = [];
  for await (const { message } of walkTranscript(store, ranges)) {
    // Ids are in the order of time: what came after the task was submitted is not what it was told.
    if (message.id === before || message.task_id === run.task.id || isAfter(message, run)) break;
    const said = await saidIn(run, message);
    if (said !== null) messages.push(said);
    if (messages.length > last) messages.shift();
  }
  return messages;
}

function isAfter(message: MessageRecord, { task }: Run): boolean {
  return message.created_at > task.created_at;
}

/** As a model is told it; what was erased, or is not for reading, is left out. */
async function saidIn(run: Run, message: MessageRecord): Promise<ModelMessage | null> {
  const role = message.role === "agent" ? "assistant" : message.role === "user" ? "user" : null;
  if (role === null) return null;
  try {
    const parts = await unseal(message.parts, run.kernel.store);
    const json = parts.flatMap((part) => (part.type === "json" ? [JSON.stringify(part.value)] : []));
    const content = run.redactor.text([textOf(parts), ...json].filter((text) => text !== "").join("\n"));
    return content === "" ? null : { role, content };
  } catch (error) {
    if (error instanceof MissingContent) return null;
    throw error;
  }
}

function isExtent(given: JsonValue): given is Extent & JsonObject {
  return typeof given === "object" && given !== null && !Array.isArray(given) && "ranges" in given;
}

/** A replay may be given the messages themselves. */
function messagesIn(given: JsonValue): ModelMessage[] {
  const items: unknown[] = Array.isArray(given) ? given : [];
  return items.filter(
    (item): item is ModelMessage =>
      typeof item === "object" && item !== null && "role" in item && "content" in item,
  );
}
