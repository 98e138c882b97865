/** The SDK's side of a provider. Each package is loaded when a model of it is called first. */

import type { LanguageModel } from "ai";
import type { JsonObject, JsonValue } from "../store/port.ts";
import type { Provider } from "./configured.ts";
import type { ProviderOptions } from "./messages.ts";
import type { ModelCall } from "./model.ts";
import type { ProviderKind } from "./settings.ts";

type Make = (provider: Provider, model: string, send: typeof fetch) => Promise<LanguageModel>;

const makers: Readonly<Record<ProviderKind, Make>> = {
  async anthropic(provider, model, send) {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    return createAnthropic({ ...common(provider, send), apiKey: keyOf(provider) })(model);
  },
  // The responses API, and not chat completions: only there can the thoughts of a model be taken along from one call of a
  // tool loop to the next. Nothing is kept at OpenAI for that (`store: false` in the options below): they come encrypted,
  // are kept in the message, and are sent again.
  async openai(provider, model, send) {
    const { createOpenAI } = await import("@ai-sdk/openai");
    return createOpenAI({ ...common(provider, send), apiKey: keyOf(provider) }).responses(model);
  },
  async google(provider, model, send) {
    const { createGoogleGenerativeAI } = await import("@ai-sdk/google");
    return createGoogleGenerativeAI({ ...common(provider, send), apiKey: keyOf(provider) })(model);
  },
  async "openai-compatible"(provider, model, send) {
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    return createOpenAICompatible({
      ...common(provider, send),
      name: provider.name,
      ...(provider.apiKey !== null && { apiKey: provider.apiKey }),
      includeUsage: true,
      supportsStructuredOutputs: true,
    })(model);
  },
};

export function languageModel(provider: Provider, model: string, send: typeof fetch): Promise<LanguageModel> {
  return makers[provider.kind](provider, model, send);
}

/** What only this kind of provider is told. */
export function optionsFor(kind: ProviderKind, { output }: ModelCall): ProviderOptions {
  const strictJsonSchema = output !== undefined && isStrict(output);
  switch (kind) {
    case "openai":
      return { openai: { store: false, strictJsonSchema } };
    case "openai-compatible":
      return { openaiCompatible: { strictJsonSchema } };
    case "anthropic":
    case "google":
      return {};
  }
}

function common({ baseUrl, headers }: Provider, send: typeof fetch) {
  return { baseURL: baseUrl, headers: { ...headers }, fetch: send };
}

function keyOf({ name, apiKey }: Provider): string {
  if (apiKey === null) throw new Error(`The provider ${name} was opened without a key.`);
  return apiKey;
}

/** OpenAI refuses a strict schema unless every object is closed and every property required; others are taken as a hint. */
function isStrict(schema: JsonValue): boolean {
  if (Array.isArray(schema)) return schema.every(isStrict);
  if (typeof schema !== "object" || schema === null) return true;
  return (
    Object.values(schema).every(isStrict) &&
    (!isObject(schema.properties) || isClosed(schema, schema.properties))
  );
}

function isClosed({ additionalProperties, required }: JsonObject, properties: JsonObject): boolean {
  return (
    additionalProperties === false &&
    Array.isArray(required) &&
    Object.keys(properties).every((name) => required.includes(name))
  );
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
