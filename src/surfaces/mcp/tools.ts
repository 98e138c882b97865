/** The tools of a caller: the agents that it may give work to, and what there is to do with a task afterwards. */

import type { Tool } from "@modelcontextprotocol/server";
import { type Static, type TObject, Type } from "typebox";
import type { Kernel } from "../../kernel/kernel.ts";
import { personaForAgent } from "../../kernel/personas/agent-persona.ts";
import type { AgentInfo, AgentSkill } from "../../kernel/personas/agents.ts";
import { type Caller, mayUse, type Scope } from "../../policy/caller.ts";
import type { JsonObject } from "../../store/port.ts";

/** The longest that a call waits for its task: less than the minute after which most clients give up. */
export const waitSecondsMax = 50;

const TaskId = Type.String({ minLength: 1, maxLength: 200, description: "The id of the task: task_…" });

/** What an agent takes that has no skill with a schema of its own. */
export const SayArguments = Type.Object({
  text: Type.String({ description: "What to say to the agent." }),
  session_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description:
        "A session from an earlier answer, to go on with that conversation. Without it a new one begins.",
    }),
  ),
});
export const GetTaskArguments = Type.Object({
  task_id: TaskId,
  wait_seconds: Type.Optional(
    Type.Integer({ minimum: 0, maximum: waitSecondsMax, description: "How long to wait for its end." }),
  ),
});
export const AnswerTaskArguments = Type.Object({
  task_id: TaskId,
  answer: Type.Unknown({ description: "A text, or JSON where the question asks for a form." }),
});
export const SignalTaskArguments = Type.Object({
  task_id: TaskId,
  name: Type.String({
    minLength: 1,
    maxLength: 100,
    description: "The name that the task's code waits for.",
  }),
  payload: Type.Optional(Type.Unknown({ description: "Any JSON; null by default." })),
});
export const CancelTaskArguments = Type.Object({ task_id: TaskId });

interface GeneralTool {
  description: string;
  arguments: TObject;
  scope: Scope;
  isReadOnly: boolean;
}

const generalTools = {
  get_task: {
    description: "Where a task stands: its result when it has ended, else what it waits for.",
    arguments: GetTaskArguments,
    scope: "tasks:read",
    isReadOnly: true,
  },
  answer_task: {
    description: "Answer the question that a task waits with, then wait for what comes of it.",
    arguments: AnswerTaskArguments,
    scope: "messages:write",
    isReadOnly: false,
  },
  signal_task: {
    description:
      "Send a signal to a task whose code waits for one of that name, now or later. It answers no question.",
    arguments: SignalTaskArguments,
    scope: "tasks:write",
    isReadOnly: false,
  },
  cancel_task: {
    description: "Cancel a task for good.",
    arguments: CancelTaskArguments,
    scope: "tasks:write",
    isReadOnly: false,
  },
} as const satisfies Record<string, GeneralTool>;

export type GeneralToolName = keyof typeof generalTools;
export type GetTask = Static<typeof GetTaskArguments>;

export function isGeneralTool(name: string): name is GeneralToolName {
  return Object.hasOwn(generalTools, name);
}

/** An agent as a tool. */
export interface AgentTool {
  info: AgentInfo;
  /** The skill whose arguments it takes; null when it takes a text. */
  skill: (AgentSkill & { input_schema: JsonObject }) | null;
  /** What its result is promised to be. */
  output: JsonObject | null;
}

export async function listTools(kernel: Kernel, caller: Caller): Promise<Tool[]> {
  const mayCall = mayUse(caller, "tasks:write");
  const agents = mayCall
    ? await Promise.all(kernel.agents.list().map((info) => asTool(kernel, caller, info)))
    : [];
  const general = Object.entries<GeneralTool>(generalTools).flatMap(([name, tool]) =>
    mayUse(caller, tool.scope) ? [presentGeneral(name, tool)] : [],
  );
  return [...agents.flatMap((tool) => (tool === null ? [] : [presentAgent(tool)])), ...general];
}

export async function findAgentTool(kernel: Kernel, caller: Caller, name: string): Promise<AgentTool | null> {
  const info = mayUse(caller, "tasks:write") ? kernel.agents.find(name) : undefined;
  return info === undefined ? null : await asTool(kernel, caller, info);
}

/** Work reaches an agent through a persona; where it has none that is meant, there is no tool. */
async function asTool(kernel: Kernel, caller: Caller, info: AgentInfo): Promise<AgentTool | null> {
  if ((await personaForAgent(kernel.store, caller, info.name)) === null) return null;
  const [first] = info.skills;
  const input = first === undefined ? null : objectSchema(first.input_schema);
  return {
    info,
    skill: first === undefined || input === null ? null : { ...first, input_schema: input },
    output: objectSchema(first?.output_schema ?? null),
  };
}

/** Arguments and structured results are objects in this protocol. */
function objectSchema(schema: JsonObject | null): JsonObject | null {
  return schema?.type === "object" ? schema : null;
}

function presentAgent({ info, skill, output }: AgentTool): Tool {
  return {
    name: info.name,
    description: info.description,
    inputSchema: { ...(skill?.input_schema ?? jsonSchema(SayArguments)), type: "object" },
    ...(output === null ? {} : { outputSchema: { ...output, type: "object" } }),
  };
}

function presentGeneral(name: string, { description, arguments: schema, isReadOnly }: GeneralTool): Tool {
  return {
    name,
    description,
    inputSchema: { ...jsonSchema(schema), type: "object" },
    annotations: { readOnlyHint: isReadOnly },
  };
}

function jsonSchema(schema: TObject): JsonObject {
  return JSON.parse(JSON.stringify(schema));
}
