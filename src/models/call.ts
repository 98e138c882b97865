/** One call of a model through the SDK. Loaded with the first one, because the SDK is large. */

import {
  generateText,
  isStepCount,
  jsonSchema,
  type LanguageModelUsage,
  Output,
  type StepResult,
  streamText,
  type ToolSet,
  tool,
} from "ai";
import type { JsonObject, JsonValue } from "../store/port.ts";
import { answerOf, usageOf } from "./answer.ts";
import type { Provider } from "./configured.ts";
import { tokensOfText } from "./estimate.ts";
import { failureOf, modelError, tooSlow } from "./failures.ts";
import { guardedFetch } from "./guarded-fetch.ts";
import type { ModelAnswer, ModelCall, ModelDelta, ModelUsage, ModelWatch } from "./model.ts";
import { languageModel, optionsFor } from "./sdk.ts";

export interface Target {
  provider: Provider;
  model: string;
  timeoutMs: number;
  idleTimeoutMs: number;
}

interface Step {
  step: StepResult<ToolSet>;
  object: JsonValue;
}

/** What the program that listens to a stream threw: not ours to name. */
class ListenerFailed {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

export async function callModel(target: Target, call: ModelCall, watch: ModelWatch): Promise<ModelAnswer> {
  watch.signal.throwIfAborted();
  const end = new AbortController();
  const timer = setTimeout(() => end.abort(), target.timeoutMs);
  const heard = new Heard(watch.onDelta);
  try {
    const options = {
      ...(await optionsOf(target, call, AbortSignal.any([watch.signal, end.signal]))),
      ...(watch.headers === undefined ? {} : { headers: watch.headers }),
      onLanguageModelCallEnd: ({ usage }: { usage: LanguageModelUsage }) => heard.count(usage),
    };
    const { step, object } = await (watch.onDelta === undefined ? plain(options) : streamed(options, heard));
    return answerOf(step, { object, call, kind: target.provider.kind });
  } catch (error) {
    watch.signal.throwIfAborted();
    if (error instanceof ListenerFailed) throw error.error;
    const name = `${target.provider.name}/${target.model}`;
    throw modelError(name, end.signal.aborted ? tooSlow(target.timeoutMs) : failureOf(error), {
      usage: heard.usage(call),
      hidden: { secrets: secretsOf(target.provider), prompt: call.messages },
    });
  } finally {
    clearTimeout(timer);
    // Whatever is still open to the provider is of no use any more.
    end.abort();
  }
}

type Options = Awaited<ReturnType<typeof optionsOf>> & {
  onLanguageModelCallEnd: (event: { usage: LanguageModelUsage }) => void;
};

async function optionsOf(
  { provider, model, idleTimeoutMs }: Target,
  call: ModelCall,
  abortSignal: AbortSignal,
) {
  // Warnings of the SDK would go to standard error, which has our log.
  globalThis.AI_SDK_LOG_WARNINGS ??= false;
  const { tools = [], stopSequences } = call;
  return {
    model: await languageModel(provider, model, guardedFetch(idleTimeoutMs)),
    messages: [...call.messages],
    allowSystemInMessages: true,
    // None of them can be run: the SDK is given no function.
    ...(tools.length > 0 && {
      tools: Object.fromEntries(
        tools.map(({ name, description, input }) => [
          name,
          tool({ description, inputSchema: schemaOf(input) }),
        ]),
      ) as ToolSet,
      ...(call.toolChoice !== undefined && { toolChoice: call.toolChoice }),
    }),
    ...(call.output !== undefined && { output: outputOf(call.output) }),
    ...(call.maxOutputTokens !== undefined && { maxOutputTokens: call.maxOutputTokens }),
    ...(call.temperature !== undefined && { temperature: call.temperature }),
    ...(call.topP !== undefined && { topP: call.topP }),
    ...(stopSequences !== undefined && { stopSequences: [...stopSequences] }),
    ...(call.seed !== undefined && { seed: call.seed }),
    providerOptions: optionsFor(provider.kind, call),
    stopWhen: isStepCount(1),
    maxRetries: 0,
    abortSignal,
  };
}

async function plain(options: Options): Promise<Step> {
  const result = await generateText(options);
  return { step: result.finalStep, object: await objectOf(options, async () => result.output) };
}

async function streamed(options: Options, heard: Heard): Promise<Step> {
  // Errors come in the stream; the SDK would print them, too.
  const result = streamText({ ...options, onError: () => {} });
  for await (const part of result.stream) {
    if (part.type === "text-delta") heard.tell({ type: "text", text: part.text });
    else if (part.type === "reasoning-delta") heard.tell({ type: "reasoning", text: part.text });
    else if (part.type === "tool-input-delta") heard.add(part.delta);
    else if (part.type === "error") throw part.error;
    else if (part.type === "abort") throw new Error("aborted");
  }
  return { step: await result.finalStep, object: await objectOf(options, async () => await result.output) };
}

/** What has come of an answer so far. */
class Heard {
  #text = "";
  #counted: LanguageModelUsage | null = null;
  readonly #onDelta: ((delta: ModelDelta) => void) | undefined;

  constructor(onDelta: ((delta: ModelDelta) => void) | undefined) {
    this.#onDelta = onDelta;
  }

  add(text: string): void {
    this.#text += text;
  }

  tell(delta: ModelDelta): void {
    if (delta.text === "") return;
    this.add(delta.text);
    try {
      this.#onDelta?.(delta);
    } catch (error) {
      throw new ListenerFailed(error);
    }
  }

  /** The provider's own count, if there is one. */
  count(usage: LanguageModelUsage): void {
    if (usage.inputTokens !== undefined) this.#counted = usage;
  }

  usage(call: ModelCall): ModelUsage | null {
    if (this.#counted === null && this.#text === "") return null;
    return usageOf(this.#counted, call, tokensOfText(this.#text));
  }
}

/** The SDK would throw the whole answer away for JSON that is not right; whether it is, is for the caller to say. */
function outputOf(schema: JsonObject) {
  return {
    ...Output.object({ schema: schemaOf(schema) }),
    async parseCompleteOutput({ text }: { text: string }): Promise<JsonValue> {
      try {
        return JSON.parse(text) as JsonValue;
      } catch {
        return null;
      }
    },
  };
}

/** There is none when nobody asked for it, or when the model asks for tools instead. */
async function objectOf(options: Options, output: () => Promise<unknown>): Promise<JsonValue> {
  if (options.output === undefined) return null;
  // What `parseCompleteOutput` above gave.
  return (await output().catch(() => null)) as JsonValue;
}

// `JsonObject` is wider than the SDK's type of a JSON Schema; what is none is refused by the provider.
function schemaOf(schema: JsonObject) {
  return jsonSchema<JsonValue>(schema as Parameters<typeof jsonSchema>[0]);
}

function secretsOf({ apiKey, headers }: Provider): string[] {
  return [...(apiKey === null ? [] : [apiKey]), ...Object.values(headers)];
}
