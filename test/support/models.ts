/** Models of every kind of provider, all of them played by one server. */

import type { ModelCall, ModelDelta, ModelError, ModelSource } from "../../src/models/model.ts";
import { createModels } from "../../src/models/providers.ts";
import type { ModelSettings } from "../../src/models/settings.ts";
import type { ModelServer } from "./model-server.ts";

/** A model of each kind. */
export const modelNames = [
  "anthropic/claude-sonnet-5-5",
  "openai/gpt-6-sol",
  "google/gemini-3.8-flash",
  "local/llama",
] as const;

/** They must not be seen anywhere but at the provider. */
export const modelKeys = {
  anthropic: "sk-ant-api03-the-key-of-anthropic",
  openai: "sk-proj-the-key-of-openai",
  google: "AIzaTheKeyOfGoogle",
  local: "a-local-key-of-no-form",
} as const;

export function modelsAt({ url }: Pick<ModelServer, "url">, settings: ModelSettings = {}): ModelSource {
  return createModels(
    {
      ...settings,
      providers: {
        anthropic: { kind: "anthropic", baseUrl: `${url}/v1`, apiKey: modelKeys.anthropic },
        openai: { kind: "openai", baseUrl: `${url}/v1`, apiKey: modelKeys.openai },
        google: { kind: "google", baseUrl: `${url}/v1beta`, apiKey: modelKeys.google },
        local: { kind: "openai-compatible", baseUrl: `${url}/v1`, apiKey: modelKeys.local },
        ...settings.providers,
      },
    },
    {},
  );
}

/** What came of a call: whole, or streamed with the pieces that were heard. */
export async function callOnce(
  models: ModelSource,
  name: string,
  { isStreamed, ...call }: Partial<ModelCall> & { isStreamed: boolean },
) {
  const deltas: ModelDelta[] = [];
  const { signal } = new AbortController();
  const answer = await models
    .open(name)
    .call(
      { messages: [{ role: "user", content: "What is the weather like?" }], ...call },
      { signal, ...(isStreamed && { onDelta: (delta: ModelDelta) => void deltas.push(delta) }) },
    );
  return { answer, deltas };
}

/** The error that a call ended with; anything else fails. */
export async function failureOf(call: Promise<unknown>): Promise<ModelError> {
  const { ModelError } = await import("../../src/models/model.ts");
  const outcome = await call.then(
    (answer) => new Error(`There was an answer: ${JSON.stringify(answer)}`),
    (error: unknown) => error,
  );
  if (outcome instanceof ModelError) return outcome;
  throw outcome;
}
