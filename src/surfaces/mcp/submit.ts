/** From the arguments of a call, and what is said beside them, to the task. */

import { type Static, Type } from "typebox";
import { readTrace } from "../../kernel/core/trace.ts";
import { textPart } from "../../kernel/kinds/message.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { callAgent } from "../../kernel/tasks/call-agent.ts";
import type { JsonObject, Position } from "../../store/port.ts";
import { refusalOf } from "../server-facts.ts";
import { checker } from "../validate.ts";
import type { McpRequest } from "./request.ts";
import { type AgentTool, SayArguments, waitSecondsMax } from "./tools.ts";

const CallMeta = Type.Object({
  "bridle/idempotency-key": Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
  "bridle/session-id": Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  "bridle/wait-seconds": Type.Optional(Type.Integer({ minimum: 0, maximum: waitSecondsMax })),
  progressToken: Type.Optional(Type.Union([Type.String(), Type.Number()])),
  traceparent: Type.Optional(Type.String()),
  tracestate: Type.Optional(Type.String()),
});
/** What a client may say beside the arguments. */
export type CallMeta = Static<typeof CallMeta>;
export const readMeta = checker(CallMeta);
const checkSay = checker(SayArguments);

export interface Submitted {
  task: TaskRecord;
  /** The last event before what comes of it. */
  after: Position;
}

export async function submitCall(
  { kernel, caller, facts }: McpRequest,
  { info, skill }: AgentTool,
  given: Record<string, unknown>,
  meta: CallMeta,
): Promise<Submitted> {
  const refusal = refusalOf(facts);
  if (refusal !== null) throw refusal;
  const { "bridle/idempotency-key": key, "bridle/session-id": named, traceparent, tracestate } = meta;
  const said = skill === null ? checkSay(given) : null;
  const sessionId = said?.session_id ?? named ?? null;
  const { result, position } = await kernel.dispatch(
    callAgent,
    caller,
    {
      agent: info.name,
      sessionId,
      input:
        said === null
          ? { payload: given as JsonObject }
          : { message: { role: "user", parts: [textPart(said.text)] } },
      metadata: skill === null ? undefined : { skill_id: `${info.name}/${skill.id}` },
      trace: readTrace(traceparent, tracestate),
    },
    key === undefined ? undefined : { key, target: `mcp ${info.name}`, body: { given, sessionId } },
  );
  return { task: result, after: position ?? (await kernel.store.head()) };
}
