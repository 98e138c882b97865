/** `ctx.say` and `ctx.progress`: what an agent tells while it works. */

import { unseal } from "../../kernel/core/content.ts";
import { saidKey } from "../../kernel/kinds/client-message.ts";
import { type Part, textPart } from "../../kernel/kinds/message.ts";
import { appendMessage } from "../../kernel/tasks/tasks.ts";
import type { JsonObject } from "../../store/port.ts";
import type { AgentContext } from "../agents/agent.ts";
import type { JournalEntry } from "../run/journal.ts";
import { jsonCopy } from "../run/json.ts";
import type { Run } from "../run/run.ts";

export function sayingOf(run: Run): Pick<AgentContext, "say" | "progress"> {
  return {
    async say(content, { metadata, extensions } = {}) {
      const said = typeof content === "string" ? [textPart(content)] : jsonCopy(content);
      const step = run.key("say");
      const recorded = await run.recording.recall(step);
      if (recorded !== undefined && (await isSaidAgain(run, step, recorded, said))) return;
      await run.recording.note((unit, current) => {
        const session = { id: current.session_id, workspace_id: current.workspace_id };
        const beside =
          metadata === undefined && extensions === undefined ? {} : besideOf(metadata, extensions);
        appendMessage(unit, { session, taskId: current.id }, { role: "agent", parts: said, ...beside }, step);
        return current;
      });
    },

    async progress(message, percent) {
      const step = run.key("progress");
      if ((await run.recording.recall(step)) !== undefined) return;
      const update = percent === undefined ? { step, message } : { step, message, percent };
      await run.recording.note((unit, current) => unit.emit(current, "span.updated", update));
    },
  };
}

/** What the agent says of its message, kept as what a client says of its own. */
function besideOf(metadata: JsonObject = {}, extensions: readonly string[] = []): { metadata: JsonObject } {
  const said = extensions.length === 0 ? {} : { [saidKey]: { extensions: [...extensions] } };
  return { metadata: jsonCopy({ ...metadata, ...said }) };
}

async function isSaidAgain(
  run: Run,
  step: string,
  { ended }: JournalEntry,
  attempted: Part[],
): Promise<boolean> {
  if (ended?.event !== "agent.message") return true;
  const said = await unseal(ended.payload.message.parts, run.own);
  if (run.isRecordedAs(said, attempted)) {
    await run.recording.repeat(step);
    return true;
  }
  const written = run.redactor.value(attempted);
  await run.recording.differs(`${step} ${JSON.stringify(said)}`, `${step} ${JSON.stringify(written)}`);
  return false;
}
