/** The `ctx` of an agent: each call is a step, taken from the journal if it is there and recorded if it is not. */

import { unseal } from "../../kernel/core/content.ts";
import type { StepSpan } from "../../kernel/core/events.ts";
import { saidKey } from "../../kernel/kinds/client-message.ts";
import { type Part, textPart } from "../../kernel/kinds/message.ts";
import type { Amounts } from "../../kernel/kinds/quota.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { requireModel, requireTool } from "../../kernel/personas/persona-policy.ts";
import { appendMessage } from "../../kernel/tasks/tasks.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import { problemWithRetries, type RetryOptions, retriesDefault, retryPolicy } from "../../tools/retry.ts";
import type {
  Agent,
  AgentContext,
  ArtifactContent,
  ArtifactInput,
  ReceivedMessage,
  Spending,
} from "../agents/agent.ts";
import { asJsonSchema } from "../agents/registry.ts";
import { handOff } from "../handoff/hand-off.ts";
import { conversation } from "../models/conversation.ts";
import { modelOf } from "../models/model-of.ts";
import { AgentFailure } from "../run/failures.ts";
import type { JournalEntry } from "../run/journal.ts";
import { jsonCopy } from "../run/json.ts";
import { guarded } from "../run/promises.ts";
import { allowed, oneCall, outputOf, performStep } from "../run/recorded-steps.ts";
import type { Run } from "../run/run.ts";
import { mayPass } from "../run/step-attempts.ts";
import { attemptOf } from "../run/step-context.ts";
import { availableTools } from "../tools/available.ts";
import { ToolCaller } from "../tools/call-tool.ts";
import { Toolbox, type UsableTool } from "../tools/toolbox.ts";
import { openArtifact, writeArtifact } from "./artifacts.ts";
import { spawn } from "./children.ts";
import { type EffectSpan, performEffect } from "./effects.ts";
import { filesOf } from "./files.ts";
import { hostCall } from "./host.ts";
import { createMemory } from "./memory.ts";
import { personaOf } from "./persona.ts";
import { approve, ask } from "./questions.ts";
import { readSecret, secret } from "./secrets.ts";
import { shellOf } from "./shell.ts";
import { mapSideBySide } from "./side-by-side.ts";
import { type WaitForOptions, waitFor } from "./signals.ts";
import { sleep } from "./sleep.ts";

/** Branches side by side, where the agent does not say. */
const concurrencyDefault = 10;

type Choose<T> = (task: TaskRecord, step: string) => T;

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
  const { task, kernel, world } = run;
  const toolbox = new Toolbox(run, agent, world);
  const tools = new ToolCaller(run, world, toolbox, () => context);
  const asking = { run, world, tools };
  /** A step of its own name, which is written down and so must not be a secret. */
  function named(kind: "time" | "random" | "checkpoint", given: string): StepSpan {
    const name = run.redactor.text(given);
    return { step: run.key(`${kind}:${name}`), kind, name };
  }

  /** A value that the world gives for free: noted at once, on disk before anybody outside can see what came of it. */
  async function value<T extends JsonValue>(span: StepSpan, make: () => T): Promise<T> {
    const recorded = await run.recording.recall(span.step);
    if (recorded !== undefined) return (await outputOf(run, recorded)) as T;
    const made = make();
    await run.recording.note((unit, current) =>
      unit.emit(current, "span.completed", { ...span, result: { output: unit.seal<JsonValue>(made) } }),
    );
    return made;
  }

  /** A value that chance gives. */
  function chosen<T extends JsonValue>(label: string, choose: Choose<T>): Promise<T> {
    const span = named("random", label);
    return value(span, () => choose(task, span.step));
  }

  const context = guarded<AgentContext>({
    taskId: run.recording.actsAs,
    sessionId: task.session_id,
    workspaceId: task.workspace_id,
    input,
    text,
    parts,
    message,
    signal: run.signal,

    async step(given, code, { kind = "step", model, maxTokens, ...retry } = {}) {
      const name = run.redactor.text(given);
      assertRetries(name, retry);
      if (kind === "secret" && Object.keys(retry).length > 0)
        throw new TypeError(`Step ${name} reads a secret; such a step takes no retries.`);
      const span: StepSpan = { step: run.key(`${kind}:${name}`), kind, name };
      const attempt = attemptOf(run, span, code, retry.timeoutMs);
      if (kind === "llm") await allowed(run, span, () => requireModel(task, { model, maxTokens }));
      if (kind === "mcp") await allowed(run, span, () => requireTool(task, name));
      // The journal holds what this very step returned before, so it has the step's own type.
      type Output = Awaited<ReturnType<typeof code>>;
      if (kind === "secret") return (await readSecret(run, span, attempt)) as Output;
      const cost = kind === "llm" ? { declaredModel: model } : { amounts: oneCall };
      const terms = { ...cost, retry: retryPolicy(retry, { retries: retriesDefault, retryIf: mayPass }) };
      return (await performStep(run, span, attempt, terms)) as Output;
    },

    async effect(given, code, { payload = null, simulate = null, risk, expiresInMs, ...retry } = {}) {
      const name = run.redactor.text(given);
      assertRetries(name, retry);
      const span: EffectSpan = { step: run.key(`effect:${name}`), kind: "effect", name };
      await allowed(run, span, () => requireTool(task, name));
      const policy = retryPolicy(retry, { retries: 0, retryIf: mayPass });
      const terms = { ...(risk && { risk }), ...(expiresInMs && { expiresInMs }) };
      const effect = { intent: jsonCopy(payload), simulate: jsonCopy(simulate), ...terms };
      return await performEffect(run, span, effect, attemptOf(run, span, code, retry.timeoutMs), policy);
    },

    async spend(spending) {
      const spent = amountsOf(spending);
      const span: StepSpan = { step: run.key("spend"), kind: "spend", name: Object.keys(spent).join(", ") };
      await performStep(run, span, async () => ({ output: null }), { amounts: spent, spent });
    },

    secret: (name, { vault } = {}) => secret(run, name, vault),
    files: filesOf(run),

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

    ask: ((prompt: string, schema?: object, options?: { expiresInMs?: number }) =>
      ask(run, prompt, asJsonSchema(schema), options?.expiresInMs)) as AgentContext["ask"],

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

    now: async (label = "now") => new Date(await value(named("time", label), () => kernel.clock.now())),
    random: (label = "random") => chosen(label, kernel.chance.random),
    uuid: (label = "uuid") => chosen(label, kernel.chance.uuid),

    async checkpoint(name) {
      await value(named("checkpoint", name), () => null);
    },

    async progress(message, percent) {
      const step = run.key("progress");
      if ((await run.recording.recall(step)) !== undefined) return;
      const update = percent === undefined ? { step, message } : { step, message, percent };
      await run.recording.note((unit, current) => unit.emit(current, "span.updated", update));
    },

    memory: guarded(createMemory(run)),
    model: modelOf(asking),
    persona: personaOf(task),
    tool: ((tool: UsableTool | string, given?: JsonValue) => tools.call(tool, given)) as AgentContext["tool"],
    tools: (names) => availableTools(run, toolbox, names),
    conversation: ({ last } = {}) => conversation(run, last),

    spawn: (request) => spawn(run, request),
    handoff: (request) => handOff(run, request),
  });
  return context;
}

/** What the agent says of its message, kept as what a client says of its own. */
function besideOf(metadata: JsonObject = {}, extensions: readonly string[] = []): { metadata: JsonObject } {
  const said = extensions.length === 0 ? {} : { [saidKey]: { extensions: [...extensions] } };
  return { metadata: jsonCopy({ ...metadata, ...said }) };
}

/** The types say the same, but not to those who write JavaScript. */
function assertRetries(name: string, options: RetryOptions): void {
  const problem = problemWithRetries(options);
  if (problem !== null) throw new TypeError(`Step ${name}: ${problem}.`);
}

/** Whole tokens, and no refunds. */
function amountsOf({ inputTokens, outputTokens, usd }: Spending): Amounts {
  const amounts = { input_tokens: inputTokens, output_tokens: outputTokens, usd };
  const given = Object.entries(amounts).filter(([, amount]) => amount !== undefined);
  const wrong = given.find(
    ([name, amount]) => !isAmount(amount) || (name !== "usd" && !Number.isInteger(amount)),
  );
  if (wrong !== undefined)
    throw new AgentFailure(
      "invalid_spending",
      `${wrong[0]} is ${wrong[1]}; it must be a number that is not negative.`,
    );
  return Object.fromEntries(given);
}

function isAmount(amount: unknown): boolean {
  return typeof amount === "number" && Number.isFinite(amount) && amount >= 0;
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
