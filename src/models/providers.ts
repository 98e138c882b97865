/** Models of providers over the network, as the settings and the environment describe them. */

import { Providers } from "./configured.ts";
import { guideName, guideProvider, openGuide } from "./guide.ts";
import { ModelError, type ModelSource } from "./model.ts";
import { priceOf } from "./prices.ts";
import { checkSettings, type Environment, type ModelSettings } from "./settings.ts";

/** Long thoughts take minutes; after this nobody is waiting any more. */
const timeoutMsDefault = 10 * 60 * 1000;
/** Providers give a sign of life every few seconds; a local server may read a long prompt before it does. */
const idleTimeoutMsDefault = 2 * 60 * 1000;

// It becomes part of an address with some providers, so that it has none of what changes the meaning of one.
const namePattern = /^(?<provider>[^/]+)\/(?<model>(?!.*\.\.)[\w.:@+/-]{1,200})$/;

/** A name that is none would fail every call; it is better heard of when the server starts. */
function defaultOf({ default: set }: ModelSettings, env: Environment): string | null {
  const name = set ?? (env.BRIDLE_MODEL || null);
  const where = set === undefined ? "BRIDLE_MODEL" : "models.default";
  if (name?.startsWith(`${guideProvider}/`)) {
    const script = `${where} names ${guideName}, which is a script and no model: agents would take what it says for an answer.`;
    throw new ModelError("model_not_configured", script);
  }
  if (name === null || namePattern.test(name)) return name;
  throw new ModelError(
    "model_not_configured",
    `${where} must name a model as provider/model, such as anthropic/claude-sonnet-5-5; found ${JSON.stringify(name)}.`,
  );
}

export function createModels(settings: ModelSettings = {}, env: Environment = process.env): ModelSource {
  checkSettings(settings);
  const providers = new Providers(settings, env);
  const { timeoutMs = timeoutMsDefault, idleTimeoutMs = idleTimeoutMsDefault } = settings;
  return {
    defaultModel: defaultOf(settings, env),
    open(name) {
      if (name === guideName) return openGuide();
      const { provider: providerName, model } = namePattern.exec(name)?.groups ?? {};
      if (providerName === undefined || model === undefined) throw providers.malformed(name);
      const provider = providers.find(providerName);
      return {
        provider: providerName,
        model,
        price: priceOf(name, settings.prices),
        async call(call, watch) {
          // The SDK takes longer to load than the whole server does.
          const { callModel } = await import("./call.ts");
          return await callModel({ provider, model, timeoutMs, idleTimeoutMs }, call, watch);
        },
      };
    },
  };
}
