/** A model call: which model was asked for, which one answered, and what that used. */

import type { EventPayloads } from "../../kernel/core/events.ts";
import type { ModelCallBegun, ModelCallEnded } from "../../kernel/kinds/model-call.ts";
import type { ModelMessage } from "../../models/messages.ts";
import type { JsonValue } from "../../store/port.ts";
import type { ContentReader } from "./content.ts";
import type { Described } from "./describe.ts";
import { type Attributes, type AttributeValue, known } from "./span.ts";
import type { StepEnd } from "./task-trace.ts";

/** The conventions' names of providers where ours are others. */
const providers: Readonly<Record<string, string>> = { google: "gcp.gemini" };

/** Null for a step of the agent's own code that only says that it talks to a model. */
export async function describeModelCall(step: StepEnd, reader: ContentReader): Promise<Described | null> {
  const begun = step.begun?.event === "span.started" ? (step.begun.payload.model_call ?? null) : null;
  const end =
    step.ended?.event === "span.completed" || step.ended?.event === "span.failed" ? step.ended : null;
  const told = end?.payload.model_call ?? null;
  if (begun === null && told === null) return null;
  const { provider, model } = asked(begun, told);
  return {
    name: model === null ? "chat" : `chat ${model}`,
    kind: "client",
    attributes: {
      "gen_ai.operation.name": "chat",
      ...known({
        "gen_ai.provider.name": provider === null ? null : (providers[provider] ?? provider),
        "gen_ai.request.model": model,
      }),
      ...(begun === null ? {} : { ...settingsOf(begun.settings), ...(await reader.input(begun)) }),
      ...(told === null ? {} : usageOf(told)),
      ...(end === null ? {} : await answerOf(end.payload, reader)),
    },
  };
}

/** The one that answered; when none did, the one that was to be asked first. */
function asked(
  begun: ModelCallBegun | null,
  told: ModelCallEnded | null,
): { provider: string | null; model: string | null } {
  if (told?.chosen != null) return told.chosen;
  const first = begun?.candidates[0];
  if (first === undefined) return { provider: null, model: null };
  const slash = first.indexOf("/");
  return { provider: first.slice(0, slash), model: first.slice(slash + 1) };
}

function settingsOf(settings: ModelCallBegun["settings"]): Attributes {
  const { maxOutputTokens, temperature, topP, seed, stopSequences, output } = settings;
  const stops = Array.isArray(stopSequences) ? stopSequences.map(String) : null;
  return known({
    "gen_ai.request.max_tokens": number(maxOutputTokens),
    "gen_ai.request.temperature": number(temperature),
    "gen_ai.request.top_p": number(topP),
    "gen_ai.request.seed": number(seed),
    "gen_ai.request.stop_sequences": stops,
    "gen_ai.output.type": output === undefined ? null : "json",
  });
}

function number(value: JsonValue | undefined): AttributeValue | null {
  return typeof value === "number" ? value : null;
}

function usageOf({ chosen, usage, usd, attempts }: ModelCallEnded): Attributes {
  return known({
    "gen_ai.response.model": chosen?.served_by,
    "gen_ai.usage.input_tokens": usage.input_tokens,
    "gen_ai.usage.output_tokens": usage.output_tokens,
    "gen_ai.usage.cache_read.input_tokens": usage.cached_input_tokens,
    "bridle.usage.estimated": usage.is_estimated,
    "bridle.usage.usd": usd,
    "bridle.model.attempts": attempts,
  });
}

async function answerOf(
  { result }: EventPayloads["span.completed"] | EventPayloads["span.failed"],
  reader: ContentReader,
): Promise<Attributes> {
  const output = "output" in result ? await reader.open(result.output) : null;
  if (typeof output !== "object" || output === null || Array.isArray(output)) return {};
  const { finish_reason, message } = output;
  if (typeof finish_reason !== "string") return {};
  // The output of a model call is written by the runtime only, with the message that it came with.
  const said = reader.isWanted ? await reader.output(message as ModelMessage, finish_reason) : {};
  return { "gen_ai.response.finish_reasons": [finish_reason], ...said };
}
