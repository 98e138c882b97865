/** What users say about models: in the configuration, and in the environment. */

import { type Static, Type } from "typebox";
import { Compile } from "typebox/schema";
import { lazy } from "../lazy.ts";
import { ModelError } from "./model.ts";

const Price = Type.Object(
  {
    input: Type.Number({ minimum: 0 }),
    output: Type.Number({ minimum: 0 }),
    cachedInput: Type.Optional(Type.Number({ minimum: 0 })),
    cacheWrite: Type.Optional(Type.Number({ minimum: 0 })),
  },
  { additionalProperties: false },
);

/** Without a query and without a password: it is named in logs. */
export const baseUrlPattern = /^https?:\/\/[^\s?#@]+$/;

const ProviderSettings = Type.Object(
  {
    kind: Type.Enum(["anthropic", "openai", "google", "openai-compatible"]),
    /** Another address than the provider's own: a proxy, or a server that speaks the same. */
    baseUrl: Type.Optional(Type.String({ pattern: baseUrlPattern.source })),
    apiKey: Type.Optional(Type.String({ minLength: 1 })),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
  },
  { additionalProperties: false },
);
export type ProviderSettings = Static<typeof ProviderSettings>;
export type ProviderKind = ProviderSettings["kind"];

/** Nobody waits longer than this for one answer. */
const timeoutMsMax = 60 * 60 * 1000;
/** The platform's own bound on silence, which cannot be moved. */
const idleTimeoutMsMax = 5 * 60 * 1000;

export const ModelSettings = Type.Object(
  {
    /** The model of those who name none; `BRIDLE_MODEL` when left out. */
    default: Type.Optional(Type.String()),
    providers: Type.Optional(
      Type.Record(Type.String({ pattern: "^[a-z][a-z0-9-]{0,31}$" }), ProviderSettings, {
        additionalProperties: false,
      }),
    ),
    /** By `provider/model`, or by `provider/prefix*`. They go before the built-in ones. */
    prices: Type.Optional(
      Type.Record(Type.String({ pattern: "^[^/]+/.+$" }), Price, { additionalProperties: false }),
    ),
    /** How long one call may take. */
    timeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: timeoutMsMax })),
    /** How long a stream may be silent. */
    idleTimeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: idleTimeoutMsMax })),
  },
  { additionalProperties: false },
);
export type ModelSettings = Static<typeof ModelSettings>;

export type Environment = Readonly<Record<string, string | undefined>>;

const compiled = lazy(() => Compile(ModelSettings));

/** Settings come from files and from code that nobody checked; what is wrong is said when the server starts. */
export function checkSettings(settings: ModelSettings): void {
  const [, [problem]] = compiled().Errors(settings);
  if (problem === undefined) return;
  const { keyword, instancePath, message } = problem;
  const where = `models${instancePath.replaceAll("/", ".").replaceAll("~1", "/")}`;
  // A name that no schema is for is checked against `false`.
  const words = keyword === "boolean" ? "is not a name that there can be" : message;
  throw new ModelError("model_not_configured", `The settings are wrong: ${where} ${words}.`);
}
