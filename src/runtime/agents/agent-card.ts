/**
 * What an agent's author may say of its card. It is checked when the agent is defined: a card that is wrong would be found
 * by others, much later.
 */

import { Type } from "typebox";
import { Compile } from "typebox/schema";
import { lazy } from "../../lazy.ts";
import type { AgentCard, Skill } from "./agent.ts";

/** `text/*` for all that begin so, and `text` for the same in the words of older cards. */
const MediaType = Type.String({
  pattern: "^(\\*/\\*|[A-Za-z0-9][\\w.+-]*(/(\\*|[A-Za-z0-9][\\w.+-]*))?)$",
  maxLength: 127,
});
const MediaTypes = Type.Array(MediaType, { minItems: 1, maxItems: 50, uniqueItems: true });

const Words = Type.String({ minLength: 1, maxLength: 2000 });
const HttpUrl = Type.String({ pattern: "^https?://[^\\s]+$", maxLength: 2000 });

const skillSchema = lazy(() =>
  Compile(
    Type.Object({
      tags: Type.Optional(Type.Array(Words, { minItems: 1, maxItems: 50, uniqueItems: true })),
      examples: Type.Optional(Type.Array(Words, { minItems: 1, maxItems: 50 })),
      inputModes: Type.Optional(MediaTypes),
      outputModes: Type.Optional(MediaTypes),
    }),
  ),
);

const publicSchema = lazy(() =>
  Compile(
    Type.Object(
      {
        tenantId: Type.Optional(Type.String({ pattern: "^tenant_[a-z0-9][a-z0-9-]{0,62}$" })),
        requestsPerMinute: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
      },
      { additionalProperties: false },
    ),
  ),
);

const Extension = Type.Object(
  {
    uri: Type.String({ pattern: "^[A-Za-z][A-Za-z0-9+.-]*:[^\\s,]+$", maxLength: 500 }),
    description: Type.Optional(Type.String()),
    required: Type.Optional(Type.Boolean()),
    params: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { minProperties: 1 })),
  },
  { additionalProperties: false },
);

const cardSchema = lazy(() =>
  Compile(
    Type.Object(
      {
        public: Type.Optional(Type.Unknown()),
        inputModes: Type.Optional(MediaTypes),
        outputModes: Type.Optional(MediaTypes),
        streaming: Type.Optional(Type.Boolean()),
        pushNotifications: Type.Optional(Type.Boolean()),
        extendedCard: Type.Optional(Type.Enum(["yes", "no", "unconfigured"])),
        extensions: Type.Optional(Type.Array(Extension, { maxItems: 50 })),
        provider: Type.Optional(
          Type.Object({ organization: Words, url: HttpUrl }, { additionalProperties: false }),
        ),
        documentationUrl: Type.Optional(HttpUrl),
        iconUrl: Type.Optional(HttpUrl),
        answersWithMessage: Type.Optional(Type.Boolean()),
      },
      { additionalProperties: false },
    ),
  ),
);

/** What the server itself offers is under this name. */
const reservedUris = "urn:bridle:";

export function assertCard(agent: string, card: AgentCard): void {
  const problem =
    firstOf(cardSchema().Errors(card)[1], "") ??
    publicProblem(card.public) ??
    extensionProblem(card.extensions ?? []);
  if (problem !== null) throw new TypeError(`The card of agent ${agent} is wrong: ${problem}.`);
}

/** What a skill says for the card. */
export function assertSkill(agent: string, skill: Skill): void {
  const { tags, examples, inputModes, outputModes } = skill;
  const told = JSON.parse(JSON.stringify({ tags, examples, inputModes, outputModes }));
  const problem = firstOf(skillSchema().Errors(told)[1], "");
  if (problem !== null) throw new TypeError(`The skill ${skill.id} of agent ${agent} is wrong: ${problem}.`);
}

function publicProblem(value: AgentCard["public"]): string | null {
  if (value === undefined || typeof value === "boolean") return null;
  return firstOf(publicSchema().Errors(value)[1], "public");
}

/** Where the first of the problems is, and what it is. */
function firstOf([problem]: { instancePath: string; message: string }[], within: string): string | null {
  if (problem === undefined) return null;
  const where = (within + problem.instancePath.replaceAll("/", ".")).replace(/^\./, "");
  return where === "" ? problem.message : `${where} ${problem.message}`;
}

function extensionProblem(extensions: NonNullable<AgentCard["extensions"]>): string | null {
  const uris = extensions.map(({ uri }) => uri);
  for (const [index, { uri, params }] of extensions.entries()) {
    if (uri.startsWith(reservedUris)) return `the extension ${uri} has a name that is kept for the server`;
    if (uris.indexOf(uri) !== index) return `the extension ${uri} is there twice`;
    const path = params === undefined ? null : emptyIn(params);
    if (path !== null) return `params${path} of the extension ${uri} is empty; leave it out`;
  }
  return null;
}

/** Verifiers disagree on whether what is empty is signed, so a card has nothing of the kind. Gives where it is. */
function emptyIn(value: unknown): string | null {
  if (value === "" || value === null || value === undefined) return "";
  if (typeof value !== "object") return null;
  const members = Object.entries(value);
  if (members.length === 0) return "";
  for (const [name, each] of members) {
    const path = emptyIn(each);
    if (path !== null) return `.${name}${path}`;
  }
  return null;
}
