/** The `ctx` of an agent: each call is a step, taken from the journal if it is there and recorded if it is not. */

import type { Part } from "../../kernel/kinds/message.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import type {
  Agent,
  AgentContext,
  ArtifactContent,
  ArtifactInput,
  ReceivedMessage,
} from "../agents/agent.ts";
import { handOff } from "../handoff/hand-off.ts";
import { conversation } from "../models/conversation.ts";
import { modelOf } from "../models/model-of.ts";
import { guarded } from "../run/promises.ts";
import type { Run } from "../run/run.ts";
import { availableTools } from "../tools/available.ts";
import { ToolCaller } from "../tools/call-tool.ts";
import { Toolbox, type UsableTool } from "../tools/toolbox.ts";
import { openArtifact, writeArtifact } from "./artifacts.ts";
import { spawn } from "./children.ts";
import { filesOf } from "./files.ts";
import { hostCall } from "./host.ts";
import { createMemory } from "./memory.ts";
import { contextPack } from "./packs.ts";
import { personaOf } from "./persona.ts";
import { approve, ask } from "./questions.ts";
import { sayingOf } from "./say.ts";
import { secret } from "./secrets.ts";
import { shellOf } from "./shell.ts";
import { mapSideBySide } from "./side-by-side.ts";
import { type WaitForOptions, waitFor } from "./signals.ts";
import { sleep } from "./sleep.ts";
import { stepsOf } from "./steps.ts";
import { valuesOf } from "./values.ts";

/** Branches side by side, where the agent does not say. */
const concurrencyDefault = 10;

export interface RunInput {
  input: JsonObject;
  text: string;
  parts: readonly Part[];
  message: ReceivedMessage | null;
}

export function createContext(
  run: Run,
  { input, text, parts, message }: RunInput,
  agent: Pick<Agent, "tools">,
): AgentContext {
  const { task, world } = run;
  const toolbox = new Toolbox(run, agent, world);
  const tools = new ToolCaller(run, world, toolbox, () => context);
  const asking = { run, world, tools };
  const context = guarded<AgentContext>({
    taskId: run.recording.actsAs,
    sessionId: task.session_id,
    workspaceId: task.workspace_id,
    input,
    text,
    parts,
    message,
    signal: run.signal,

    ...stepsOf(run),
    secret: (name, { vault } = {}) => secret(run, name, vault),
    files: filesOf(run),

    ...sayingOf(run),
    ask: ((prompt: string, schema?: object, options?: { expiresInMs?: number }) =>
      ask(run, prompt, schema, options?.expiresInMs)) as AgentContext["ask"],

    approve: (request) => approve(run, request),
    host: (capability, input = null, options = {}) => hostCall(run, capability, input, options),
    shell: shellOf(run),

    artifact: (artifact: ArtifactInput & ArtifactContent) => writeArtifact(run, artifact),
    streamArtifact: (artifact) => openArtifact(run, artifact),

    sleep: (ms) => sleep(run, ms),
    waitFor: ((name: string, options: WaitForOptions = {}) =>
      waitFor(run, name, options)) as AgentContext["waitFor"],
    map: (items, work, { concurrency = concurrencyDefault } = {}) => mapSideBySide(items, work, concurrency),
    parallel: (branches, { concurrency = concurrencyDefault } = {}) =>
      mapSideBySide(branches, (branch) => branch(), concurrency),

    ...valuesOf(run),

    memory: guarded(createMemory(run)),
    model: modelOf(asking),
    persona: personaOf(task),
    context: (name) => contextPack(run, name),
    tool: ((tool: UsableTool | string, given?: JsonValue) => tools.call(tool, given)) as AgentContext["tool"],
    tools: (names) => availableTools(run, toolbox, names),
    conversation: ({ last } = {}) => conversation(run, last),

    spawn: (request) => spawn(run, request),
    spawnAll: (requests, { concurrency = concurrencyDefault } = {}) =>
      mapSideBySide(requests, async (request) => await (await spawn(run, request)).result(), concurrency),
    handoff: (request) => handOff(run, request),
  });
  return context;
}
