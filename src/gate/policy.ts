/** `bridle.gate.yaml`: what is allowed, asked for and denied. One schema, which is published and checked against. */

import { type Static, Type } from "typebox";
import { Compile } from "typebox/compile";
import { LineCounter, parseDocument } from "yaml";

export const gateRisks = ["low", "medium", "high", "dangerous"] as const;
export type GateRisk = (typeof gateRisks)[number];
const gateActions = ["allow", "ask", "deny"] as const;
export type GateAction = (typeof gateActions)[number];

const text = (description: string) => Type.String({ minLength: 1, maxLength: 1024, description });
const oneOrMore = (description: string) =>
  Type.Union([text(description), Type.Array(text(description), { minItems: 1, maxItems: 100 })], {
    description,
  });
const words = Type.Array(Type.String({ maxLength: 1024 }), { minItems: 1, maxItems: 50 });
const closed = { additionalProperties: false };

const Risk = Type.Union(gateRisks.map((risk) => Type.Literal(risk)));
const Action = Type.Union(gateActions.map((action) => Type.Literal(action)));

const Match = Type.Object(
  {
    tool: Type.Optional(
      oneOrMore("shell, read, edit, fetch, mcp, or the name of a tool; `*` stands for any characters"),
    ),
    argv: Type.Optional(
      Type.Union([words, Type.Array(words, { minItems: 1, maxItems: 100 })], {
        description: "the first words of a command, or a list of such; compared word by word",
      }),
    ),
    exact: Type.Optional(Type.Boolean({ description: "argv is the whole command" })),
    paths: Type.Optional(
      oneOrMore(
        "paths of files, with * for one step and ** for any; ~ is the home directory, ./ the policy's directory",
      ),
    ),
    hosts: Type.Optional(oneOrMore("names of hosts; *.example.com is every host below example.com")),
    risk: Type.Optional(
      Type.Union([...Risk.anyOf], { description: "the least risk for ask and deny, the highest for allow" }),
    ),
  },
  { ...closed, minProperties: 1 },
);

export const GatePolicy = Type.Object(
  {
    version: Type.Literal(1),
    default: Type.Optional(
      Type.Union([...Action.anyOf], { description: "what happens where no rule matches. Default: ask" }),
    ),
    rules: Type.Optional(
      Type.Array(
        Type.Object(
          {
            name: Type.Optional(text("shown in decisions; the number of the rule without it")),
            match: Match,
            action: Action,
            risk: Type.Optional(Type.Union([...Risk.anyOf], { description: "what the approver is told" })),
          },
          closed,
        ),
        { maxItems: 500 },
      ),
    ),
  },
  {
    ...closed,
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "bridle.gate.yaml",
    description: "What `bridle gate` allows, asks a person for, and denies.",
  },
);

type PolicyText = Static<typeof GatePolicy>;
export type GateMatch = Static<typeof Match>;

export interface GateRule {
  name: string;
  match: GateMatch;
  action: GateAction;
  risk: GateRisk | null;
  /** Where `./` of its paths is. */
  root: string;
  /** Whether it leaves alone what is only known when it runs. */
  isKnownOnly?: boolean;
}

export interface Policy {
  rules: GateRule[];
  default: GateAction;
}

export class PolicyError extends Error {
  override name = "PolicyError";
}

const policyCharsMax = 256 * 1024;
const compiled = Compile(GatePolicy);

/** Throws `PolicyError`, with the line where it helps. */
export function readPolicy(source: string, { file, root }: { file: string; root: string }): Policy {
  if (source.length > policyCharsMax)
    throw new PolicyError(`${file} is larger than ${policyCharsMax} characters.`);
  const lines = new LineCounter();
  const document = parseDocument(source, { lineCounter: lines, uniqueKeys: true, strict: true });
  const [problem] = [...document.errors, ...document.warnings];
  if (problem !== undefined) {
    throw new PolicyError(`${file}:${lines.linePos(problem.pos[0]).line}: ${problem.message.split("\n")[0]}`);
  }
  const value: unknown = document.toJS({ maxAliasCount: 10 });
  if (!compiled.Check(value)) {
    const [first] = compiled.Errors(value);
    const path = first?.instancePath.split("/").slice(1) ?? [];
    const node = document.getIn(path, true);
    const range = typeof node === "object" && node !== null && "range" in node ? node.range : null;
    const line = Array.isArray(range) ? `:${lines.linePos(Number(range[0])).line}` : "";
    throw new PolicyError(
      `${file}${line}: ${path.join(".") || "the policy"} ${first?.message ?? "is not valid"}.`,
    );
  }
  return { default: value.default ?? "ask", rules: rulesOf(value, root) };
}

function rulesOf({ rules = [] }: PolicyText, root: string): GateRule[] {
  return rules.map(({ name, match, action, risk }, index) => {
    if (match.exact === true && match.argv === undefined) {
      throw new PolicyError(`rule ${index + 1}: exact needs argv.`);
    }
    return { name: name ?? `rule ${index + 1}`, match, action, risk: risk ?? null, root };
  });
}

/** The strictest of all: what one policy denies no other allows. */
export function combined(policies: readonly Policy[]): Policy {
  const order = policies.map((policy) => policy.default);
  return { rules: policies.flatMap(({ rules }) => rules), default: strictest(order) ?? "ask" };
}

export function strictest(actions: readonly GateAction[]): GateAction | undefined {
  return gateActions.findLast((action) => actions.includes(action));
}
