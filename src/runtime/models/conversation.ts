/** `ctx.conversation`: what was said in the session before the task. */

import type { StepSpan } from "../../kernel/core/events.ts";
import { getRecord } from "../../kernel/core/read.ts";
import { extentOf, isExtent, readConversation } from "../../kernel/sessions/chat-transcript.ts";
import type { ModelMessage } from "../../models/messages.ts";
import type { JsonValue } from "../../store/port.ts";
import { AgentFailure } from "../run/failures.ts";
import { outputOf } from "../run/recorded-steps.ts";
import type { Run } from "../run/run.ts";
import { knownMessages, messageHash } from "./input-record.ts";

const lastDefault = 100;
const lastMax = 1000;

export async function conversation(run: Run, last = lastDefault): Promise<ModelMessage[]> {
  if (!Number.isInteger(last) || last < 1 || last > lastMax) {
    throw new AgentFailure("invalid_conversation", `A conversation of 1 to ${lastMax} messages can be read.`);
  }
  const span: StepSpan = { step: run.key("conversation"), kind: "conversation", name: `the last ${last}` };
  const recorded = await run.recording.recall(span.step);
  const given = recorded === undefined ? await note(run, span, last) : await outputOf(run, recorded);
  const said = isExtent(given) ? await readConversation(run.own, given) : messagesIn(given);
  const messages = await run.redact((redactor) => redactor.value(said));
  knownMessages(run).learn(span.step, messages.map(messageHash));
  return messages;
}

async function note(run: Run, span: StepSpan, last: number): Promise<JsonValue> {
  const { kernel, caller, task } = run;
  // A run may be ahead of its task, and of the session that came with it: both are on disk after this.
  await run.flush();
  const session = await getRecord(kernel, caller, "session", task.session_id);
  const extent = extentOf(session, task, await kernel.store.head(), last);
  await run.recording.note((unit, current) =>
    unit.emit(current, "span.completed", { ...span, result: { output: { inline: extent } } }),
  );
  return extent;
}

/** A file with the log of one task has the messages themselves, and a replay may be given others. */
function messagesIn(given: JsonValue): ModelMessage[] {
  const items: unknown[] = Array.isArray(given) ? given : [];
  return items.filter(
    (item): item is ModelMessage =>
      typeof item === "object" && item !== null && "role" in item && "content" in item,
  );
}
