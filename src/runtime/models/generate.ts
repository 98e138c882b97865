/** `ctx.model`: a request, which is one call of a model, or several with the tools that it asks for in between. */

import type { ModelMessage, ToolCallContent, ToolOutput, ToolResultContent } from "../../models/messages.ts";
import type { ModelCall } from "../../models/model.ts";
import { checkValue, jsonSchemaOf, listProblems, type Schema } from "../../tools/schema.ts";
import type {
  ModelReply,
  ModelRequest,
  StreamOptions,
  StructuredReply,
  StructuredRequest,
} from "../agents/agent-model.ts";
import { AgentFailure, ApprovalDenied } from "../run/failures.ts";
import { jsonCopy } from "../run/json.ts";
import type { Run } from "../run/run.ts";
import type { ToolCaller } from "../tools/call-tool.ts";
import type { World } from "../world.ts";
import { type RecordedAnswer, textIn, toolCallsIn } from "./answer.ts";
import { askModel, redactedMessages } from "./model-step.ts";
import { type Offer, offerOf } from "./offer.ts";

const maxStepsDefault = 10;
const maxStepsMax = 100;
/** How often a model is told that its JSON does not fit, before that is a failure. */
const repairsMax = 2;

type AnyRequest = ModelRequest | StructuredRequest<Schema>;

export interface Asking {
  run: Run;
  world: World;
  tools: ToolCaller;
}

export async function generate(
  asking: Asking,
  request: AnyRequest,
  stream: StreamOptions | null,
): Promise<ModelReply | StructuredReply<Schema>> {
  const { run } = asking;
  const maxSteps = stepsOf(request);
  const schema = request.output;
  const offer = await offerOf(asking.tools.toolbox, request.tools ?? []);
  const usage = { inputTokens: 0, outputTokens: 0, usd: 0 as number | null };
  let messages = opening(run, request);
  let repairs = 0;
  for (let step = 1; ; step++) {
    const answer = await askModel(run, asking.world.models, {
      label: request.label ?? "model",
      model: request.model,
      call: callOf(run, request, messages, step < maxSteps ? offer : null),
      stream,
    });
    messages = [...messages, answer.message];
    usage.inputTokens += answer.usage.input_tokens;
    usage.outputTokens += answer.usage.output_tokens;
    usage.usd = usage.usd === null || answer.usage.usd === null ? null : usage.usd + answer.usage.usd;
    const calls = step < maxSteps ? toolCallsIn(answer.message) : [];
    if (calls.length > 0) {
      messages = [...messages, { role: "tool", content: await callAll(asking, offer, calls) }];
      continue;
    }
    const reply = replyOf(answer, { messages, usage });
    if (schema === undefined) return reply;
    const checked = await checkAnswer(schema, answer);
    if ("value" in checked) return { ...reply, object: checked.value };
    const { problem } = checked;
    if (repairs >= repairsMax || step >= maxSteps) throw new AgentFailure("model_output_invalid", problem);
    repairs += 1;
    messages = [
      ...messages,
      { role: "user", content: `${problem} Answer again with JSON that fits the schema.` },
    ];
  }
}

function stepsOf({ maxSteps, tools, output }: AnyRequest): number {
  const steps = maxSteps ?? (tools === undefined && output === undefined ? 1 : maxStepsDefault);
  if (Number.isInteger(steps) && steps >= 1 && steps <= maxStepsMax) return steps;
  throw new AgentFailure("invalid_model_request", `maxSteps is a whole number from 1 to ${maxStepsMax}.`);
}

function opening(run: Run, { system, prompt, messages }: AnyRequest): ModelMessage[] {
  const said: ModelMessage[] =
    prompt === undefined ? [...(messages ?? [])] : [{ role: "user", content: prompt }];
  if (said.length === 0)
    throw new AgentFailure("invalid_model_request", "There is nothing to say to the model.");
  const told: ModelMessage[] = system === undefined ? [] : [{ role: "system", content: system }];
  return redactedMessages(run, jsonCopyOnce([...told, ...said]));
}

/** Messages that came from here are JSON already, and known by their identity. */
function jsonCopyOnce(messages: ModelMessage[]): ModelMessage[] {
  return messages.map((message) => (Object.isFrozen(message) ? message : Object.freeze(jsonCopy(message))));
}

function callOf(
  { task }: Run,
  request: AnyRequest,
  messages: readonly ModelMessage[],
  offer: Offer | null,
): ModelCall {
  const { temperature = task.policy.model_policy?.temperature, topP, stopSequences, seed } = request;
  const maxOutputTokens = request.maxTokens ?? task.policy.model_policy?.max_tokens;
  const output = jsonSchemaOf(request.output);
  return {
    messages,
    ...(offer === null || offer.tools.length === 0 ? {} : { tools: offer.tools }),
    ...(output === null ? {} : { output }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(stopSequences === undefined ? {} : { stopSequences: [...stopSequences] }),
    ...(seed === undefined ? {} : { seed }),
  };
}

/** Tools that only look are called side by side; as soon as one of them acts, they come one after the other. */
async function callAll(
  { tools }: Asking,
  offer: Offer,
  calls: readonly ToolCallContent[],
): Promise<ToolResultContent[]> {
  const call = async ({ toolCallId, toolName, input }: ToolCallContent): Promise<ToolResultContent> => ({
    type: "tool-result",
    toolCallId,
    toolName,
    output: await outputFor(tools, offer, { toolCallId, toolName, input }),
  });
  if (calls.every(({ toolName }) => offer.isHarmless(toolName))) return await Promise.all(calls.map(call));
  const results: ToolResultContent[] = [];
  for (const each of calls) results.push(await call(each));
  return results;
}

/** What goes wrong with a tool is for the model to hear, and to make something of. */
async function outputFor(
  tools: ToolCaller,
  offer: Offer,
  { toolCallId, toolName, input }: Omit<ToolCallContent, "type">,
): Promise<ToolOutput> {
  const found = offer.find(toolName);
  if (found === undefined)
    return { type: "error-text", value: `There is no tool ${JSON.stringify(toolName)}.` };
  try {
    const { output, withheld } = await tools.act(found, input, toolCallId);
    if (withheld !== null) return { type: "execution-denied", reason: withheld };
    return typeof output === "string" ? { type: "text", value: output } : { type: "json", value: output };
  } catch (error) {
    if (error instanceof ApprovalDenied) return { type: "execution-denied", reason: error.message };
    if (error instanceof AgentFailure)
      return { type: "error-text", value: `${error.code}: ${error.message}` };
    throw error;
  }
}

async function checkAnswer(
  schema: Schema,
  { object, finish_reason }: RecordedAnswer,
): Promise<{ value: unknown } | { problem: string }> {
  if (object === undefined) {
    const isCut = finish_reason === "length";
    return {
      problem: isCut ? "The answer was cut off before its JSON was complete." : "The answer is not JSON.",
    };
  }
  const checked = await checkValue(schema, object);
  if ("value" in checked) return checked;
  return { problem: `The answer does not fit the schema: ${listProblems(checked.problems)}.` };
}

function replyOf(
  answer: RecordedAnswer,
  { messages, usage }: Pick<ModelReply, "messages" | "usage">,
): ModelReply {
  return {
    text: textIn(answer.message),
    finishReason: answer.finish_reason,
    usage,
    model: answer.model,
    messages,
  };
}
